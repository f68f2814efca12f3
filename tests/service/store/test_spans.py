"""Times cut into whole days and the rest."""

from __future__ import annotations

import itertools
import random

import pytest

from service.store.spans import DAY, Span, cut, times_of

NOON = DAY // 2


@pytest.mark.parametrize(
    ("period", "days", "rest"),
    [
        ((0, DAY), [(0, DAY)], []),
        ((0, DAY - 900), [], [(0, DAY - 900)]),
        ((900, DAY), [], [(900, DAY)]),
        ((NOON, 2 * DAY), [(DAY, 2 * DAY)], [(NOON, DAY)]),
        ((0, DAY + NOON), [(0, DAY)], [(DAY, DAY + NOON)]),
        ((NOON, 3 * DAY + NOON), [(DAY, 3 * DAY)], [(NOON, DAY), (3 * DAY, 3 * DAY + NOON)]),
        ((NOON, DAY + NOON), [], [(NOON, DAY + NOON)]),
    ],
)
def test_whole_days_and_what_is_left(period, days, rest):
    assert cut([period]) == ([Span(1, *span) for span in days], [Span(1, *span) for span in rest])


def test_every_quarter_is_in_one_span_of_its_period():
    chance = random.Random(5)
    edges = sorted({chance.randrange(0, 40 * 96) * 900 for _ in range(9)})
    periods = list(itertools.pairwise(edges))
    days, rest = cut(periods)
    for at in range(edges[0], edges[-1], 900):
        [number] = [span.number for span in (*days, *rest) if span.start <= at < span.stop]
        start, stop = periods[number - 1]
        assert start <= at < stop


def test_spans_that_meet_are_one_time():
    assert times_of([Span(1, 0, 2), Span(2, 2, 3), Span(3, 5, 6)]) == [(0, 3), (5, 6)]
