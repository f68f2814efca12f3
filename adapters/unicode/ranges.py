"""Sets of code points as ranges: small, exact, and quick to combine."""

from __future__ import annotations

from collections.abc import Iterable

LAST_CODE_POINT = 0x10FFFF

# Inclusive (first, last) pairs, ascending, neither overlapping nor touching.
Ranges = tuple[tuple[int, int], ...]


def union(pairs: Iterable[tuple[int, int]]) -> Ranges:
    """Any inclusive pairs as ranges: ``[(5, 6), (1, 3), (4, 4)]`` becomes ``((1, 6),)``."""
    merged: list[tuple[int, int]] = []
    for first, last in sorted(pairs):
        if merged and first <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(last, merged[-1][1]))
        else:
            merged.append((first, last))
    return tuple(merged)


def from_code_points(numbers: Iterable[int]) -> Ranges:
    """Single code points as ranges: ``[1, 2, 9]`` becomes ``((1, 2), (9, 9))``."""
    return union((number, number) for number in numbers)


def complement(ranges: Ranges) -> Ranges:
    """Every code point that ``ranges`` lacks."""
    gaps: list[tuple[int, int]] = []
    start = 0
    for first, last in ranges:
        if first > start:
            gaps.append((start, first - 1))
        start = last + 1
    if start <= LAST_CODE_POINT:
        gaps.append((start, LAST_CODE_POINT))
    return tuple(gaps)


def intersection(left: Ranges, right: Ranges) -> Ranges:
    """The code points that both sets hold."""
    return complement(union((*complement(left), *complement(right))))


def parse(text: str) -> Ranges:
    """Ranges as the tables write them: ``"9-d 20"`` becomes ``((9, 13), (32, 32))``."""
    pairs = []
    for item in text.split():
        first, _, last = item.partition("-")
        pairs.append((int(first, 16), int(last or first, 16)))
    return tuple(pairs)


def render(ranges: Ranges) -> str:
    """The opposite of ``parse``."""
    return " ".join(f"{first:x}" if first == last else f"{first:x}-{last:x}" for first, last in ranges)
