"""Intervals of reports."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from service.domain.spending.errors import InvalidBudget, InvalidQuery
from service.domain.spending.intervals import intervals


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("interval", "zone", "start", "end", "starts"),
    [
        (None, "UTC", "2026-01-01T00:15", "2026-02-01T00:00", ["2026-01-01T00:15"]),
        ("hour", "UTC", "2026-01-01T00:15", "2026-01-01T01:15", ["2026-01-01T00:15", "2026-01-01T01:00"]),
        ("day", "Asia/Kolkata", "2026-01-01T00:00", "2026-01-02T18:30", ["2026-01-01T00:00", "2026-01-01T18:30"]),
        ("day", "Europe/Berlin", "2026-10-24T22:00", "2026-10-26T23:00", ["2026-10-24T22:00", "2026-10-25T23:00"]),
        ("week", "UTC", "2026-11-22T00:00", "2026-11-24T00:00", ["2026-11-22T00:00", "2026-11-23T00:00"]),
        ("month", "UTC", "2026-01-31T00:00", "2026-02-02T00:00", ["2026-01-31T00:00", "2026-02-01T00:00"]),
    ],
)  # fmt: skip
def test_intervals_cover_the_time_once(
    interval: str | None, zone: str, start: str, end: str, starts: list[str]
) -> None:
    found = intervals(at(start), at(end), interval, zone)
    assert [period.start for period in found] == [at(text) for text in starts]
    assert [period.end for period in found] == [*(at(text) for text in starts[1:]), at(end)]


@pytest.mark.parametrize(
    ("field", "start", "end", "interval"),
    [
        ("start", "2026-01-01T00:01", "2026-01-02T00:00", "day"),
        ("end", "2026-01-01T00:00", "2026-01-02T00:00:01", "day"),
        ("end", "2026-01-01T00:00", "2026-01-01T00:00", "day"),
        ("interval", "2026-01-01T00:00", "2026-01-02T00:00", "year"),
        ("interval", "2020-01-01T00:00", "2026-01-02T00:00", "hour"),
    ],
)
def test_what_cannot_be_told_is_refused_by_name(field: str, start: str, end: str, interval: str) -> None:
    with pytest.raises(InvalidQuery) as caught:
        intervals(at(start), at(end), interval, "UTC")
    assert caught.value.field == field


def test_a_zone_that_is_not_known_is_refused() -> None:
    with pytest.raises(InvalidBudget):
        intervals(at("2026-01-01"), at("2026-01-01") + timedelta(days=1), "day", "Nowhere")
