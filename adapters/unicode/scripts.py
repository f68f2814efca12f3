"""The script of a character, for those scripts that the tables hold."""

from __future__ import annotations

from bisect import bisect_right
from functools import cache

from adapters.unicode.classes import code_points

SCRIPTS = (
    *("Arabic", "Cyrillic", "Devanagari", "Greek", "Han", "Hangul"),
    *("Hebrew", "Hiragana", "Katakana", "Latin", "Thai"),
)
COMMON, OTHER = "Common", "Other"


def script_of(character: str) -> str:
    """``Latin``, ``Han`` and so on; ``Other`` for a letter of another script, ``Common`` for all that is no letter."""
    starts, found = _table()
    start, end, script = found[bisect_right(starts, ord(character)) - 1]
    return script if start <= ord(character) <= end else COMMON


@cache
def _table() -> tuple[list[int], list[tuple[int, int, str]]]:
    named = [(first, last, script) for script in SCRIPTS for first, last in code_points(script)]
    named.sort()
    ranges: list[tuple[int, int, str]] = [(-1, -1, COMMON)]
    letters = [(first, last) for group in ("L", "M") for first, last in code_points(group)]
    for first, last in letters:
        ranges += ((lo, hi, OTHER) for lo, hi in _outside(first, last, named))
    ranges = sorted(ranges + named)
    return [start for start, _, _ in ranges], ranges


def _outside(first: int, last: int, named: list[tuple[int, int, str]]) -> list[tuple[int, int]]:
    """What is left of ``first`` to ``last`` once the ``named`` ranges, in order and apart, are taken out."""
    left = []
    for start, end, _ in named:
        if end < first or start > last:
            continue
        if start > first:
            left.append((first, start - 1))
        first = end + 1
    if first <= last:
        left.append((first, last))
    return left
