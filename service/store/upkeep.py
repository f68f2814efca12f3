"""What is done beside the requests: old answers removed, refusals written, entries pruned, rollups made anew."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

from sqlalchemy import Connection, delete, func, select, text

from service.domain.spending.intervals import floor_quarter
from service.domain.spending.ledger import HoldState, Refusal
from service.store.rollups import add_up, add_up_days, write_rollups
from service.store.rows import entry_of, micros, moment
from service.store.tables import ANSWERS, ENTRIES, HOLDS, MARKS, REFUSALS, ROLLUPS, TAG_ROLLUPS
from service.store.working import ANSWERS_KEPT
from service.store.writing import upsert

PRUNED = "pruned_before"
DAY = timedelta(days=1)

_CHUNK = 5_000
_MINUTE = 60 * 1_000_000
_ADD_REFUSALS = upsert(REFUSALS, add=("times",))
_SET_MARK = upsert(MARKS, add=())


def write_refusals(connection: Connection, counts: Mapping[tuple[int, Refusal], int]) -> None:
    """Add refusals, by minute (microseconds) and kind."""
    rows = [
        {
            "minute": minute,
            "project": refusal.project,
            "budget": refusal.budget or "",
            "model": refusal.model or "",
            "reason": refusal.reason,
            "times": times,
        }
        for (minute, refusal), times in counts.items()
    ]
    keys = ("minute", "project", "budget", "model", "reason")
    connection.execute(_ADD_REFUSALS, sorted(rows, key=lambda row: [row[key] for key in keys]))


def minute_of(at: datetime) -> int:
    """The start, in microseconds, of the minute that ``at`` lies in."""
    return micros(at) // _MINUTE * _MINUTE


def forget_answers(connection: Connection, now: datetime) -> None:
    """Remove answers to requests with a key that are older than a day."""
    connection.execute(delete(ANSWERS).where(ANSWERS.c.at <= micros(now - ANSWERS_KEPT)))


def prune_some(connection: Connection, before: datetime) -> int:
    """Remove some entries booked, and made, before then; how many: with 0 all are gone, and holds and refusals."""
    cut = micros(floor_quarter(before))
    known = connection.execute(select(MARKS.c.at).where(MARKS.c.name == PRUNED)).scalar_one_or_none()
    if known is None or known < cut:
        connection.execute(_SET_MARK, {"name": PRUNED, "at": cut})
    old = select(ENTRIES.c.id).where(ENTRIES.c.at < cut, ENTRIES.c.booked_at < cut).limit(_CHUNK)
    removed = connection.execute(delete(ENTRIES).where(ENTRIES.c.id.in_(old))).rowcount
    if not removed:
        ended = (HOLDS.c.state != HoldState.HELD.value, HOLDS.c.expires_at < cut, HOLDS.c.at < cut)
        connection.execute(delete(HOLDS).where(*ended))
        connection.execute(delete(REFUSALS).where(REFUSALS.c.minute < cut))
    return removed


def rebuilding_span(connection: Connection) -> tuple[datetime, datetime] | None:
    """From when to when the rollups can be made anew: what was pruned before that is known from them alone."""
    pruned = connection.execute(select(MARKS.c.at).where(MARKS.c.name == PRUNED)).scalar_one_or_none()
    first, last = connection.execute(select(func.min(ENTRIES.c.at), func.max(ENTRIES.c.at))).one()
    rolled, until = connection.execute(select(func.min(ROLLUPS.c.start), func.max(ROLLUPS.c.start))).one()
    starts = [at for at in (first, None if rolled is None else rolled * 1_000_000) if at is not None]
    ends = [at for at in (last, None if until is None else until * 1_000_000) if at is not None]
    if not starts:
        return None
    return floor_quarter(moment(max(min(starts), pruned or 0))), moment(max(ends) + 1)


def rebuild_between(connection: Connection, start: datetime, end: datetime) -> int:
    """Make the rollups of entries from ``start`` to ``end`` anew, in one transaction; how many entries there are."""
    if connection.dialect.name == "postgresql":  # nobody may book in that time meanwhile
        connection.execute(text("LOCK TABLE entries IN SHARE ROW EXCLUSIVE MODE"))
    seconds = (micros(start) // 1_000_000, micros(end) // 1_000_000)
    for table in (ROLLUPS, TAG_ROLLUPS):
        connection.execute(delete(table).where(table.c.start >= seconds[0], table.c.start < seconds[1]))
    query = select(ENTRIES).where(ENTRIES.c.at >= micros(start), ENTRIES.c.at < micros(end))
    entries = [entry_of(row) for row in connection.execute(query)]
    write_rollups(connection, add_up(entries))
    add_up_days(connection, *seconds)
    return len(entries)
