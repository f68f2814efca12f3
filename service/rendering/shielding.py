"""Tells the caller's literals of special tokens from the template's own marks, in a chat that was rendered.

A literal in the caller's text is *shielded* before a second rendering: its first character is replaced by a
private-use character that occurs nowhere else, one for each character replaced. That keeps every length, so slices
come out alike, and survives trimming, joining and ``tojson``. Putting the first characters back must give the first
rendering exactly: then nothing in the template depended on the literals, and each shield in the output shows where the
caller wrote one. A template may look for literals, though (``'</think>' in content``). Those that its source holds are
then tried kind by kind, and string by string, and where shielding changes the outcome they stay what the template takes
them for. The end of a string that begins a literal is shielded too, since the next string may complete it.

Limits: a literal that begins in the template's own text and ends in the caller's is read as the template's; and after a
dozen trials, or in a very long chat, literals that the template looks for stay the template's.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple

from adapters.port import Stop
from adapters.special import LiteralFinder
from service.domain.errors import ChatNotRendered
from service.domain.ports import Segment

_PRIVATE = range(0xF0000, 0xFFFFE)  # supplementary private use: no filter changes its case, width or white space
_MOST_TRIALS = 12
_LONG = 1 << 18  # characters of a chat in which no string is tried alone
_BETWEEN = "\0"  # no literal holds it


class Rendering(NamedTuple):
    """A rendered chat: its text, cut into special tokens and ordinary text, and the caller's literals in it."""

    text: str
    segments: tuple[Segment, ...]
    literals: int


class Found(NamedTuple):
    """A literal in the caller's strings, or the beginning of one: the number of the string, and the offset in it."""

    literal: str
    string: int
    offset: int


class Marks:
    """The literals of a vocabulary's special tokens."""

    __slots__ = ("_by_first", "_finder", "_longest")

    def __init__(self, literals: Collection[str]) -> None:
        self._finder = LiteralFinder(literals)
        self._longest = max(map(len, literals), default=0)
        self._by_first: dict[str, list[str]] = {}
        for literal in filter(None, literals):
            self._by_first.setdefault(literal[0], []).append(literal)

    def cut(self, text: str, stop: Stop | None = None) -> list[Segment]:
        """``text`` as special tokens and the ordinary text between them."""
        segments: list[Segment] = []
        start = 0
        for place, literal in self._finder.find_all(text, stop):
            if place > start:
                segments.append(Segment(text[start:place], markup=False))
            segments.append(Segment(literal, markup=True))
            start = place + len(literal)
        if start < len(text):
            segments.append(Segment(text[start:], markup=False))
        return segments

    def count(self, text: str, stop: Stop | None = None) -> int:
        """How many literals ``text`` holds."""
        return sum(1 for _ in self._finder.find_all(text, stop))

    def kinds(self, text: str, stop: Stop | None = None) -> set[str]:
        """The literals that ``text`` holds."""
        return {literal for _, literal in self._finder.find_all(text, stop)}

    def find(self, strings: Sequence[str], stop: Stop | None = None) -> list[Found]:
        """The literals in ``strings``, and where the end of a string begins one."""
        starts, length = [], 0
        for string in strings:
            starts.append(length)
            length += len(string) + len(_BETWEEN)
        found = []
        for place, literal in self._finder.find_all(_BETWEEN.join(strings), stop):
            number = bisect_right(starts, place) - 1
            found.append(Found(literal, number, place - starts[number]))
        for number, string in enumerate(strings):
            offset = self._open_end(string)
            if offset is not None:
                found.append(Found(string[offset:], number, offset))
        return found

    def _open_end(self, string: str) -> int | None:
        """Where a literal begins that ``string`` does not end; the leftmost such place."""
        start = max(0, len(string) - self._longest + 1)
        tail = string[start:]
        if self._by_first.keys().isdisjoint(tail):
            return None
        for offset, first in enumerate(tail, start):
            ending = string[offset:]
            if any(literal.startswith(ending) and literal != ending for literal in self._by_first.get(first, ())):
                return offset
        return None


def render_shielded(
    render: Callable[[Any], str], values: Any, marks: Marks, source: str, *, stop: Stop | None = None
) -> Rendering:
    """Render ``values``, JSON in the caller's words, with ``render``, and tell the caller's literals apart.

    ``source`` is the template's; it tells which literals the template may look for.
    """
    text = render(values)
    strings = strings_of(values)
    found = marks.find(strings, stop)
    if not found:
        return Rendering(text, tuple(marks.cut(text, stop)), 0)
    shielded = _Shielded(render, values, strings, text, found)
    shielded.shield(found, source, lambda: marks.kinds(text, stop))
    own = marks.cut(shielded.text, stop)
    segments = tuple(Segment(shielded.restored(part.text), part.markup) for part in own)
    return Rendering(text, segments, marks.count(text, stop) - sum(part.markup for part in own))


class _Shielded:
    """Renderings in which some of the caller's literals are shielded; ``text`` is the one in which none is."""

    def __init__(
        self, render: Callable[[Any], str], values: Any, strings: Sequence[str], text: str, found: Sequence[Found]
    ) -> None:
        self._render = render
        self._values = values
        self._strings = strings
        self._plain = text
        taken = set(text).union(*strings)
        unused = (chr(code) for code in _PRIVATE if chr(code) not in taken)
        self._shields = {first: next(unused) for first in sorted({item.literal[0] for item in found})}
        self._back = {ord(shield): first for first, shield in self._shields.items()}
        self.text = text

    def restored(self, text: str) -> str:
        """``text`` without shields."""
        return text.translate(self._back)

    def shield(self, found: Sequence[Found], source: str, present: Callable[[], set[str]]) -> None:
        """Render so that as many of ``found`` are shielded as change nothing else.

        ``present`` tells the literals in the plain rendering: of others there is nothing to shield.
        """
        if self._try(found):
            return
        harmless = [item for item in found if item.literal not in source]
        free = harmless if self._try(harmless) else []
        trials = _MOST_TRIALS
        for kind in sorted({item.literal for item in found} & present()):
            items = [item for item in found if item.literal == kind and kind in source]
            for group in (items, *(_by_string(items) if len(self._plain) <= _LONG else ())):
                trials -= 1
                if not group or trials < 0:
                    break
                if self._try(group):
                    free = free + group
                    if group is items:
                        break
        self._try(free)

    def _try(self, chosen: Sequence[Found]) -> bool:
        """Render with ``chosen`` shielded; whether that changed nothing else, and so became ``text``."""
        try:
            again = self._render(rebuilt(self._values, self._with_shields(chosen)))
        except ChatNotRendered:
            again = ""
        kept = self.restored(again) == self._plain
        self.text = again if kept else self._plain
        return kept

    def _with_shields(self, chosen: Sequence[Found]) -> list[str]:
        places: dict[int, list[int]] = {}
        for item in chosen:
            places.setdefault(item.string, []).append(item.offset)
        changed = list(self._strings)
        for number, offsets in places.items():
            pieces: list[str] = []
            string, start = changed[number], 0
            for offset in sorted(offsets):
                pieces += (string[start:offset], self._shields[string[offset]])
                start = offset + 1
            changed[number] = "".join((*pieces, string[start:]))
        return changed


def _by_string(items: Sequence[Found]) -> list[list[Found]]:
    groups: dict[int, list[Found]] = {}
    for item in items:
        groups.setdefault(item.string, []).append(item)
    return list(groups.values())


def strings_of(value: Any) -> list[str]:
    """Every string in ``value``, keys too, in order."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [text for pair in value.items() for part in pair for text in strings_of(part)]
    if isinstance(value, (list, tuple)):
        return [text for part in value for text in strings_of(part)]
    return []


def rebuilt(value: Any, strings: Sequence[str]) -> Any:
    """``value`` with its strings, in the order of ``strings_of``, replaced by ``strings``."""
    left = iter(strings)

    def again(item: Any) -> Any:
        if isinstance(item, str):
            return next(left)
        if isinstance(item, dict):
            return {again(key): again(part) for key, part in item.items()}
        if isinstance(item, (list, tuple)):
            return [again(part) for part in item]
        return item

    return again(value)
