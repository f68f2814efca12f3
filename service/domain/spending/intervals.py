"""The intervals of a report: hours, days, weeks or months, as the clocks of a time zone show them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from service.domain.spending.budgets import Period, PeriodKind, period_at
from service.domain.spending.errors import InvalidQuery

MAX_INTERVALS = 10_000
INTERVALS = ("hour", "day", "week", "month")

_HOUR = timedelta(hours=1)


def intervals(start: datetime, end: datetime, interval: str | None, timezone: str) -> list[Period]:
    """The intervals that ``start`` to ``end`` touches, cut off at both. Raises ``InvalidQuery``.

    Both must lie on a quarter of an hour, which is as fine as spend is added up. An hour is one of the clock of UTC,
    which every zone shares but those that are off by a part of an hour; a day of 25 hours has 25 of them.
    """
    for name, at in (("start", start), ("end", end)):
        if at != floor_quarter(at):
            raise InvalidQuery(name, "Spend is added up by the quarter of an hour: begin and end at one.")
    if end <= start:
        raise InvalidQuery("end", "The end must be after the start.")
    if interval is None:
        return [Period(start, end)]
    if interval not in INTERVALS:
        raise InvalidQuery("interval", f"An interval is one of {', '.join(INTERVALS)}.")
    found: list[Period] = []
    for period in _steps(start, interval, timezone):
        if len(found) == MAX_INTERVALS:
            raise InvalidQuery("interval", f"More than {MAX_INTERVALS:,} intervals: ask for a shorter time.")
        last = period.end is None or period.end >= end
        found.append(Period(max(period.start, start), end if last else period.end))
        if last:
            break
    return found


def floor_quarter(at: datetime) -> datetime:
    """The start of the quarter of an hour that ``at`` lies in."""
    return at.astimezone(UTC).replace(minute=at.astimezone(UTC).minute // 15 * 15, second=0, microsecond=0)


def _steps(start: datetime, interval: str, timezone: str) -> Iterator[Period]:
    while True:
        if interval == "hour":
            first = start.astimezone(UTC).replace(minute=0)
            period = Period(first, first + _HOUR)
        else:
            period = period_at(PeriodKind(interval), timezone, start)
        yield period
        start = period.end or start + _HOUR
