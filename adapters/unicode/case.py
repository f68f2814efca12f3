"""Small letters, from a table of runs that are shifted by the same distance; and the marks that words hold."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

from adapters.unicode import case_tables
from adapters.unicode.ranges import Ranges, parse

_RUN = re.compile(r"([0-9a-f]+)-([0-9a-f]+)/([12])([+-][0-9a-f]+)")


@cache
def lowercase() -> Mapping[int, int]:
    """The small letter of each code point that has another one, where that is one code point."""
    small: dict[int, int] = {}
    for first, last, step, distance in _RUN.findall(case_tables.LOWERCASE):
        shift = int(distance, 16)
        small |= {number: number + shift for number in range(int(first, 16), int(last, 16) + 1, int(step))}
    return small


@cache
def alphabetic_marks() -> Ranges:
    """The combining marks that are letters too (property Alphabetic), such as vowel signs."""
    return parse(case_tables.ALPHABETIC_MARKS)


def render_shifts(small: Mapping[int, int]) -> list[str]:
    """Runs of every or every second code point with one distance: ``{65: 97, 66: 98}`` becomes ``["41-42/1+20"]``."""
    runs: list[list[int]] = []  # first, last, step, distance
    for number in sorted(small):
        distance = small[number] - number
        if runs:
            first, last, step, shift = runs[-1]
            if shift == distance and number - last in ((1, 2) if first == last else (step,)):
                runs[-1] = [first, number, number - last, distance]
                continue
        runs.append([number, number, 1, distance])
    return [f"{first:x}-{last:x}/{step}{shift:+x}" for first, last, step, shift in runs]
