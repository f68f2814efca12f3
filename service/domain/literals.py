"""Special-token literals in a caller's text: counted as ordinary text, and pointed out.

A literal such as ``<|im_end|>`` in text that a stranger wrote can forge the structure of a prompt once it reaches a
template. The literals of the tokenizer in use are looked for, and every ``<|...|>`` control mark of any vocabulary or
chat format that is shipped; other formats' marks that look like HTML (``<s>``) are not: they occur in plain text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

CONTROL_MARK = re.compile(r"<[|｜][^<>|｜\s]{1,64}[|｜]>")
"""The shape of a control mark."""


@dataclass(frozen=True, slots=True)
class Literal:
    """A special-token literal found in a text: ``offset`` is where it first occurs, in code points."""

    literal: str
    offset: int
    occurrences: int


class LiteralScanner:
    """Finds special-token literals in text; a text without any costs two substring searches."""

    __slots__ = ("_html_like", "_marks", "_starts")

    def __init__(self, special_tokens: Iterable[str], marks: Iterable[str]) -> None:
        own = set(special_tokens)
        self._marks = frozenset(m for m in own.union(marks) if CONTROL_MARK.fullmatch(m))
        others = sorted((literal for literal in own - self._marks if literal), key=len, reverse=True)
        self._html_like = re.compile("|".join(map(re.escape, others))) if others else None
        self._starts = tuple({literal[0] for literal in others})

    def scan(self, text: str) -> list[Literal]:
        """Every distinct literal in ``text``, in the order of its first occurrence."""
        found: dict[str, list[int]] = {}
        for literal, offset in self._occurrences(text):
            found.setdefault(literal, []).append(offset)
        return sorted((Literal(k, v[0], len(v)) for k, v in found.items()), key=lambda hit: hit.offset)

    def _occurrences(self, text: str) -> Iterator[tuple[str, int]]:
        if "<|" in text or "<｜" in text:
            for match in CONTROL_MARK.finditer(text):
                if match.group() in self._marks:
                    yield match.group(), match.start()
        if self._html_like and any(start in text for start in self._starts):
            for match in self._html_like.finditer(text):
                yield match.group(), match.start()


def control_marks(special_tokens: Iterable[Mapping[str, int]], chat_marks: Iterable[str]) -> frozenset[str]:
    """Every ``<|...|>`` control mark among the given vocabularies' special tokens and chat formats."""
    literals = {literal for special in special_tokens for literal in special}
    return frozenset(literal for literal in literals.union(chat_marks) if CONTROL_MARK.fullmatch(literal))
