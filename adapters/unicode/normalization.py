"""NFC and NFKC exactly as Hugging Face tokenizers computes them, in linear time.

A text is cut where normalization cannot reach across: before every character that neither reorders nor composes with
what precedes it. Most of a text needs no work; only the segments that a quick scan finds are decomposed, ordered and
composed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from adapters.port import Stop
from adapters.unicode import normalization_tables as tables
from adapters.unicode.ranges import Ranges, from_code_points, parse, union

_ASTRAL = re.compile("[\U00010000-\U0010ffff]")
_BETWEEN_CHECKS = 1 << 16  # characters
_CACHED_LENGTH = 8  # characters of a segment worth remembering
_CACHED_SEGMENTS = 4096  # about 1 MB

# Hangul syllables decompose and compose by arithmetic (The Unicode Standard, section 3.12).
_L, _V, _T, _S = 0x1100, 0x1161, 0x11A7, 0xAC00
_L_COUNT, _V_COUNT, _T_COUNT = 19, 21, 28
_S_COUNT = _L_COUNT * _V_COUNT * _T_COUNT


class UnknownForm(ValueError):
    """A normalization form other than NFC and NFKC was asked for."""


@dataclass(frozen=True, slots=True)
class Change:
    """Characters ``start`` to ``end`` (exclusive) become ``text``; nothing smaller can be told apart."""

    start: int
    end: int
    text: str


def normalize(form: str, text: str, *, stop: Stop | None = None) -> str:
    """``text`` in ``form``, which is ``"NFC"`` or ``"NFKC"``.

    Raises ``UnknownForm``, and ``DeadlineExceeded`` once ``stop`` has passed.
    """
    rules = _rules(form)
    if text.isascii():
        return text
    parts: list[str] = []
    done = 0
    for start, end, replacement in rules.scan(text, stop):
        parts += (text[done:start], replacement)
        done = end
    return "".join((*parts, text[done:])) if parts else text


def changes(form: str, text: str, *, stop: Stop | None = None) -> Iterator[Change]:
    """The places where ``form`` changes ``text``, in order; the rest stays as it is."""
    rules = _rules(form)
    if text.isascii():
        return
    for start, end, replacement in rules.scan(text, stop):
        if text[start:end] != replacement:
            yield Change(start, end, replacement)


def settled(form: str, text: str) -> int:
    """Code points before the last character that neither reorders nor composes with what precedes it; -1 without one.

    Whatever follows ``text``, those before it are normalized as they are now. Raises ``UnknownForm``.
    """
    joining = _rules(form).joining
    return next((place for place in range(len(text) - 1, -1, -1) if text[place] not in joining), -1)


class _Rules:
    """One form's tables, and the scan that finds what they may change."""

    def __init__(self, *, compatibility: bool) -> None:
        self._decompositions = _mappings(tables.CANONICAL)
        if compatibility:
            self._decompositions |= _mappings(tables.COMPATIBILITY)
        self._cache: dict[str, str] = {}
        self.joining = self._find_joining()
        changing = {character for character in self._decompositions if self._rebuild(character) != character}
        # `re` looks up a set within the first 65,536 code points at once, but tries ranges beyond them one by one.
        self._narrow = _segment_pattern(changing, self.joining, last=0xFFFF)
        self._wide = _segment_pattern(changing, self.joining, last=0x10FFFF)

    def _find_joining(self) -> frozenset[str]:
        """Characters that may reorder or compose with what precedes them: no segment starts with one."""
        joining = {*_combining(), *(pair[1] for pair in _compositions())}
        joining |= {chr(_V + index) for index in range(_V_COUNT)} | {chr(_T + index) for index in range(1, _T_COUNT)}
        return frozenset(joining | {key for key, value in self._decompositions.items() if value[0] in joining})

    def scan(self, text: str, stop: Stop | None) -> Iterator[tuple[int, int, str]]:
        """Start, end and normalized text of every segment that may change."""
        pattern = self._wide if _ASTRAL.search(text) else self._narrow
        joining, remembered = self.joining, self._cache
        checked = 0
        for match in pattern.finditer(text):
            start, end = match.span()
            if start and text[start] in joining:
                start -= 1  # no earlier segment holds that character: it would have gone on to this one
            segment = text[start:end]
            yield start, end, remembered.get(segment) or self._remember(segment, stop)
            if stop is not None and end - checked >= _BETWEEN_CHECKS:
                checked = end
                stop.check()

    def _remember(self, segment: str, stop: Stop | None) -> str:
        result = self._rebuild(segment, stop)
        if len(segment) <= _CACHED_LENGTH:
            if len(self._cache) >= _CACHED_SEGMENTS:
                self._cache.clear()
            self._cache[segment] = result
        return result

    def _rebuild(self, segment: str, stop: Stop | None = None) -> str:
        """The segment decomposed, put in canonical order, and composed."""
        characters: list[str] = []
        for start in range(0, len(segment), _BETWEEN_CHECKS):
            for character in segment[start : start + _BETWEEN_CHECKS]:
                characters += self._decompositions.get(character) or _decompose_syllable(character)
            if stop is not None:
                stop.check()
        classes = [_combining().get(character, 0) for character in characters]
        return "".join(_compose(*_order(characters, classes), stop))


@cache
def _rules(form: str) -> _Rules:
    if form not in ("NFC", "NFKC"):
        raise UnknownForm(f"No normalization form {form!r}. Known: NFC, NFKC.")
    return _Rules(compatibility=form == "NFKC")


def _order(characters: list[str], classes: list[int]) -> tuple[list[str], list[int]]:
    """Runs of combining marks sorted by class, marks of one class in the order they came in."""
    count = len(classes)
    start = 0
    while start < count:
        if not classes[start]:
            start += 1
            continue
        end = start + 1
        while end < count and classes[end]:
            end += 1
        order = sorted(range(start, end), key=classes.__getitem__)
        characters[start:end] = [characters[index] for index in order]
        classes[start:end] = [classes[index] for index in order]
        start = end
    return characters, classes


def _compose(characters: list[str], classes: list[int], stop: Stop | None) -> list[str]:
    """Characters composed with the last starter, unless one of the same or of a lower class stands between."""
    composed: list[str] = []
    starter = -1  # index into composed
    last_class = 0
    for index, character in enumerate(characters):
        if stop is not None and index % _BETWEEN_CHECKS == _BETWEEN_CHECKS - 1:
            stop.check()
        own_class = classes[index]
        adjacent = starter == len(composed) - 1
        if starter >= 0 and (adjacent or last_class < own_class):
            whole = _composite(composed[starter], character)
            if whole:
                composed[starter] = whole
                continue
        if own_class == 0:
            starter = len(composed)
        last_class = own_class
        composed.append(character)
    return composed


def _composite(first: str, second: str) -> str:
    """What the two compose to, else an empty text."""
    return _compositions().get(first + second) or _compose_syllable(first, second)


def _decompose_syllable(character: str) -> str:
    index = ord(character) - _S
    if not 0 <= index < _S_COUNT:
        return character
    vowel, trailing = divmod(index % (_V_COUNT * _T_COUNT), _T_COUNT)
    letters = chr(_L + index // (_V_COUNT * _T_COUNT)) + chr(_V + vowel)
    return letters + chr(_T + trailing) if trailing else letters


def _compose_syllable(first: str, second: str) -> str:
    leading, vowel = ord(first) - _L, ord(second) - _V
    if 0 <= leading < _L_COUNT and 0 <= vowel < _V_COUNT:
        return chr(_S + (leading * _V_COUNT + vowel) * _T_COUNT)
    syllable, trailing = ord(first) - _S, ord(second) - _T
    if 0 <= syllable < _S_COUNT and syllable % _T_COUNT == 0 and 0 < trailing < _T_COUNT:
        return chr(_S + syllable + trailing)
    return ""


def _segment_pattern(changing: set[str], joining: frozenset[str], last: int) -> re.Pattern[str]:
    """Matches one character that needs work and every joining one behind it, none of them above ``last``."""
    head = from_code_points(number for number in map(ord, changing | joining) if number <= last)
    tail = from_code_points(number for number in map(ord, joining) if number <= last)
    return re.compile(f"(?:{_character_set(head)})(?:{_character_set(tail)})*+")


def _character_set(ranges: Ranges) -> str:
    """A regular expression for one character of ``ranges``, which hold no ASCII, with the quick part first."""
    basic = "".join(f"{chr(first)}-{chr(last)}" for first, last in ranges if last <= 0xFFFF)
    astral = "".join(f"{chr(first)}-{chr(last)}" for first, last in ranges if first > 0xFFFF)
    return f"[{basic}]|(?=[\U00010000-\U0010ffff])[{astral}]" if astral else f"[{basic}]"


def _mappings(table: str) -> dict[str, str]:
    """Entries such as ``c0=41+300``."""
    entries = (entry.split("=") for entry in table.split())
    return {_text(source): _text(target) for source, target in entries}


def _text(numbers: str) -> str:
    return "".join(chr(int(number, 16)) for number in numbers.split("+"))


@cache
def _compositions() -> Mapping[str, str]:
    return _mappings(tables.COMPOSITIONS)


@cache
def combining_marks() -> Ranges:
    """The marks that have a canonical combining class other than 0."""
    return union(pair for ranges in tables.COMBINING.values() for pair in parse(ranges))


@cache
def _combining() -> Mapping[str, int]:
    """Every combining mark and its class, counted from 1."""
    return {
        chr(number): order
        for order, ranges in tables.COMBINING.items()
        for first, last in union(parse(ranges))
        for number in range(first, last + 1)
    }
