"""Rollups: sums of entries by the quarter of an hour and by the day, written with the entries themselves."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from sqlalchemy import Connection, Table, delete, func, insert, literal_column, select

from service.domain.spending.errors import InvalidAmount
from service.domain.spending.ledger import Entry
from service.store.rows import micros
from service.store.spans import DAY
from service.store.tables import MEASURES, ROLLUP_DAYS, ROLLUPS, TAG_ROLLUP_DAYS, TAG_ROLLUPS
from service.store.writing import add_many, key_names

QUARTER = 900
"""Seconds."""

_LARGE_NANO = 10**12
_LARGE_TOKENS = 10**10
_LARGEST = 2**62  # half of what a 64-bit integer holds: the rest is for entries that are not large

_COLUMNS = (*MEASURES, "entries", "flagged")
Rows: TypeAlias = dict[tuple[Any, ...], list[int]]
"""Sums by the key of their table."""


def _zeros() -> list[int]:
    return [0] * len(_COLUMNS)


@dataclass(frozen=True, slots=True)
class Sums:
    """Sums by the keys of ``rollups`` and of ``tag_rollups``."""

    rollups: Rows = field(default_factory=lambda: defaultdict(_zeros))
    tags: Rows = field(default_factory=lambda: defaultdict(_zeros))


def add_up(entries: Iterable[Entry]) -> Sums:
    """The sums of ``entries``."""
    sums = Sums()
    for entry in entries:
        spender, start = entry.spender, quarter(micros(entry.at))
        whose = (spender.provider or "", spender.model or "", spender.key_id or "", spender.tokenizer or "")
        keys = [sums.rollups[spender.project, start, *whose]]
        keys += [sums.tags[spender.project, tag, start, value] for tag, value in spender.tags.items()]
        for row in keys:
            for place, value in enumerate(_values(entry)):
                row[place] += value
    return sums


def is_large(entry: Entry) -> bool:
    """Whether a few million entries like this would have a sum that is no 64-bit integer."""
    metered = entry.metered
    return entry.nano > _LARGE_NANO or metered.input_tokens > _LARGE_TOKENS or metered.output_tokens > _LARGE_TOKENS


def require_room(connection: Connection, entries: Sequence[Entry]) -> None:
    """Raise ``InvalidAmount`` where ``entries`` would make a sum of their days too large to go on with."""
    days: dict[tuple[str, int], list[Entry]] = defaultdict(list)
    for entry in entries:
        days[entry.spender.project, micros(entry.at) // 1_000_000 // DAY * DAY].append(entry)
    for (project, day), mine in days.items():
        more = [sum(values) for values in zip(*map(_values, mine), strict=True)]
        tags = sorted({tag for entry in mine for tag in entry.spender.tags})
        for table, those in ((ROLLUP_DAYS, ()), (TAG_ROLLUP_DAYS, (TAG_ROLLUP_DAYS.c.tag.in_(tags),))):
            most = select(*[func.max(table.c[name]) for name in _COLUMNS])
            row = connection.execute(most.where(table.c.project == project, table.c.start == day, *those)).one()
            if any((before or 0) + added > _LARGEST for before, added in zip(row, more, strict=True)):
                raise InvalidAmount("The spend of that day has reached the largest sum that can be kept.")


def quarter(at: int) -> int:
    """The start, in seconds, of the quarter of an hour that a time in microseconds lies in."""
    return at // (QUARTER * 1_000_000) * QUARTER


def write_rollups(connection: Connection, sums: Sums) -> None:
    """Add the sums to the tables of quarters and of days, by key in order."""
    for table, days, rows in ((ROLLUPS, ROLLUP_DAYS, sums.rollups), (TAG_ROLLUPS, TAG_ROLLUP_DAYS, sums.tags)):
        if rows:
            _add(connection, table, rows)
            _add(connection, days, _by_day(rows, key_names(days).index("start")))


def add_up_days(connection: Connection, start: int, end: int) -> None:
    """Make the sums of the days that lie, if only in part, from ``start`` to ``end`` (seconds) anew from quarters."""
    first, last = start // DAY * DAY, -(-end // DAY) * DAY
    for table, days in ((ROLLUPS, ROLLUP_DAYS), (TAG_ROLLUPS, TAG_ROLLUP_DAYS)):
        connection.execute(delete(days).where(days.c.start >= first, days.c.start < last))
        by = [literal_column(f"start - start % {DAY}") if key == "start" else table.c[key] for key in key_names(days)]
        summed = select(*by, *[func.sum(table.c[name]) for name in _COLUMNS]).group_by(*by)
        summed = summed.where(table.c.start >= first, table.c.start < last)
        connection.execute(insert(days).from_select([*key_names(days), *_COLUMNS], summed))


def _by_day(rows: Rows, place: int) -> Rows:
    found: Rows = defaultdict(_zeros)
    for key, measures in rows.items():
        row = found[(*key[:place], key[place] // DAY * DAY, *key[place + 1 :])]
        for number, value in enumerate(measures):
            row[number] += value
    return found


def _add(connection: Connection, table: Table, rows: Rows) -> None:
    add_many(connection, table, [(*key, *measures) for key, measures in sorted(rows.items())])


def _values(entry: Entry) -> tuple[int, ...]:
    metered = entry.metered
    return (
        entry.nano,
        metered.input_tokens,
        metered.output_tokens,
        metered.cache_read_tokens,
        metered.cache_write_tokens,
        metered.reasoning_tokens,
        1,
        1 if entry.flags else 0,
    )
