"""Times cut into whole days of UTC and what is left of them at both ends, in seconds since 1970."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

DAY = 86_400


class Span(NamedTuple):
    """From ``start`` to ``stop`` (exclusive), a part of the interval ``number``."""

    number: int
    start: int
    stop: int


def cut(periods: Iterable[tuple[int, int]]) -> tuple[list[Span], list[Span]]:
    """The whole days in each period, and the rest; periods are numbered from 1."""
    days: list[Span] = []
    rest: list[Span] = []
    for number, (start, stop) in enumerate(periods, 1):
        first, last = -(-start // DAY) * DAY, stop // DAY * DAY
        if first >= last:
            rest.append(Span(number, start, stop))
            continue
        days.append(Span(number, first, last))
        rest += [Span(number, *edge) for edge in ((start, first), (last, stop)) if edge[0] < edge[1]]
    return days, rest


def times_of(spans: Sequence[Span]) -> list[tuple[int, int]]:
    """The times that ``spans`` cover, those that meet in one."""
    found: list[tuple[int, int]] = []
    for span in spans:
        if found and found[-1][1] == span.start:
            found[-1] = (found[-1][0], span.stop)
        else:
            found.append((span.start, span.stop))
    return found
