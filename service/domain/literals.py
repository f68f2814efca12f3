"""Special-token literals in a caller's text: counted as ordinary text, and pointed out.

A literal such as ``<|im_end|>`` in text that a stranger wrote can forge the structure of a prompt once it reaches a
template. The literals of the tokenizer in use are looked for, and every ``<|...|>`` control mark of any vocabulary or
chat format that is shipped; other formats' marks that look like HTML (``<s>``) are not: they occur in plain text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from adapters.port import Stop
from adapters.special import LiteralFinder, LiteralStream

CONTROL_MARK = re.compile(r"<[|｜][^<>|｜\s]{1,64}[|｜]>")
"""The shape of a control mark."""


@dataclass(frozen=True, slots=True)
class Literal:
    """A special-token literal found in a text: ``offset`` is where it first occurs, in code points."""

    literal: str
    offset: int
    occurrences: int


class LiteralScanner:
    """Finds special-token literals in text; a text without the beginning of one costs a few substring searches."""

    __slots__ = ("_finder", "_literals")

    def __init__(self, special_tokens: Iterable[str], marks: Iterable[str]) -> None:
        self._literals = frozenset({*special_tokens, *marks})
        self._finder = LiteralFinder(self._literals)

    def stream(self) -> LiteralStream:
        """Finds the same literals in a text that arrives in parts."""
        return LiteralStream(self._literals)

    def scan(self, text: str, stop: Stop | None = None) -> list[Literal]:
        """Every distinct literal in ``text``, in the order of its first occurrence."""
        return gathered(self._finder.find_all(text, stop))


def gathered(places: Iterable[tuple[int, str]]) -> list[Literal]:
    """The distinct literals among occurrences, in the order of the first of each."""
    found: dict[str, list[int]] = {}
    for offset, literal in places:
        seen = found.setdefault(literal, [offset, 0])
        seen[1] += 1
    return [Literal(literal, offset, occurrences) for literal, (offset, occurrences) in found.items()]


def control_marks(special_tokens: Iterable[Mapping[str, int]], chat_marks: Iterable[str]) -> frozenset[str]:
    """Every ``<|...|>`` control mark among the given vocabularies' special tokens and chat formats."""
    literals = {literal for special in special_tokens for literal in special}
    return frozenset(literal for literal in literals.union(chat_marks) if CONTROL_MARK.fullmatch(literal))
