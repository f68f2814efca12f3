"""Spend by interval and group, from the rollups: one query, of days where they are whole and of quarters else."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import (
    ARRAY,
    CTE,
    BigInteger,
    ColumnElement,
    Connection,
    FromClause,
    Row,
    Select,
    Table,
    and_,
    column,
    func,
    literal,
    or_,
    select,
    text,
    true,
    union_all,
    values,
)
from sqlalchemy.exc import OperationalError

from service.domain.spending.budgets import Period, is_label
from service.domain.spending.errors import InvalidQuery
from service.domain.spending.intervals import intervals
from service.domain.spending.ledger import Page, SpendQuery, SpendRow
from service.store.rows import micros
from service.store.spans import Span, cut, times_of
from service.store.tables import MEASURES, ROLLUP_DAYS, ROLLUPS, TAG_ROLLUP_DAYS, TAG_ROLLUPS

_SUMS = (*MEASURES, "entries", "flagged")
_GROUPS = {"model": "model", "provider": "provider", "project": "project", "key": "key_id", "tokenizer": "tokenizer"}
_TAG = "tag."
_AT_ONCE = 400  # intervals of one query
_MOST_RANGES = 64
_SECOND = 1_000_000
_LAST = 1 << 40  # seconds: far beyond every calendar


def page_of_spend(connection: Connection, query: SpendQuery) -> Page[SpendRow]:
    """The rows after the query's cursor. Raises ``InvalidQuery``."""
    periods = intervals(query.start, query.end, query.interval, query.timezone)
    after = None
    if query.cursor is not None:
        after = _read_cursor(query.cursor)
        periods = [period for period in periods if _seconds(period.start) >= after[0]]  # the others are done with
    rows: list[SpendRow] = []
    while periods and len(rows) <= query.limit:  # a page of a long report reads no more than it has to
        some, periods = periods[:_AT_ONCE], periods[_AT_ONCE:]
        rows += _rows(connection, query, some, after, query.limit + 1 - len(rows))
    if len(rows) <= query.limit:
        return Page(rows)
    last = rows[query.limit - 1]
    return Page(rows[: query.limit], json.dumps([_seconds(last.start), last.group or ""]))


def _rows(
    connection: Connection, query: SpendQuery, periods: Sequence[Period], after: tuple[int, str] | None, limit: int
) -> list[SpendRow]:
    """At most ``limit`` rows of ``periods``, of the first one those with a group after the cursor's."""
    statement = _summed(query, _grains(connection, query, periods))
    if after is not None and _seconds(periods[0].start) == after[0]:
        statement = select(statement.subquery())
        columns = statement.selected_columns
        statement = statement.where(or_(columns.bucket > 1, columns.grp > after[1]))
    found = _found(connection, statement.order_by("bucket", "grp").limit(limit))
    return [_row(row, periods[row.bucket - 1].start) for row in found]


def _found(connection: Connection, statement: Select[Any]) -> Sequence[Row[Any]]:
    """The rows. Raises ``InvalidQuery`` where SQLite, whose sums are 64-bit integers, cannot add them up."""
    try:
        return connection.execute(statement).all()
    except OperationalError as error:
        if "integer overflow" not in str(error.orig):
            raise
        raise InvalidQuery("end", "The sums are too large: ask for a shorter time, or for intervals.") from None


@dataclass(frozen=True, slots=True)
class _Grain:
    """What is read of days, or of quarters: ``tables`` are the sums, and those by tag; ``spans`` the times.

    SQLite reads one span after the other (``joined``), in the order of a table's key. PostgreSQL would take that for a
    search of the whole table by each of them; it reads once, and finds each row's interval among the ``starts``.
    """

    tables: tuple[Table, Table]
    spans: Sequence[Span]
    starts: Sequence[int]
    joined: CTE | None

    def read(self, table: Table) -> tuple[ColumnElement[int], ColumnElement[bool], FromClause]:
        """The number of a row's interval, the rows that lie in any, and what to read."""
        at = table.c.start
        if self.joined is None:
            return func.width_bucket(at, _array(self.starts)), _within(at, times_of(self.spans)), table
        one = self.joined.c
        return one.number, and_(at >= one.start, at < one.stop), self.joined.join(table, true())


def _grains(connection: Connection, query: SpendQuery, periods: Sequence[Period]) -> list[_Grain]:
    cuts = [(_seconds(period.start), _seconds(period.end or query.end)) for period in periods]
    starts = [start for start, _ in cuts]
    grains = []
    for tables, spans in zip(((ROLLUP_DAYS, TAG_ROLLUP_DAYS), (ROLLUPS, TAG_ROLLUPS)), cut(cuts), strict=True):
        rows = None
        if connection.dialect.name == "sqlite" and spans:
            columns = (column(name, BigInteger) for name in Span._fields)
            rows = values(*columns, name="spans").data(list(spans)).cte(f"spans_of_{tables[0].name}")
        if spans:
            grains.append(_Grain(tables, spans, starts, rows))
    return grains


def _within(at: ColumnElement[int], times: Sequence[tuple[int, int]]) -> ColumnElement[bool]:
    """Rows of any of ``times``: found by an index where these are few."""
    if len(times) <= _MOST_RANGES:
        return or_(*[and_(at >= start, at < stop) for start, stop in times])
    place = func.width_bucket(at, _array([edge for time in times for edge in time]))
    return and_(at >= times[0][0], at < times[-1][1], func.mod(place, 2) == 1)


def _array(numbers: Sequence[int]) -> ColumnElement[Any]:
    return literal(list(numbers), ARRAY(BigInteger))


def _summed(query: SpendQuery, grains: Sequence[_Grain]) -> Select[Any]:
    parts = [part for grain in grains for part in _parts(query, grain)]
    if len(parts) == 1:
        return parts[0]
    part = union_all(*parts).subquery()
    sums = [func.sum(part.c[name]).label(name) for name in _SUMS]
    summed = select(part.c.bucket, part.c.grp, *sums).group_by(part.c.bucket, part.c.grp)
    return summed.having(func.sum(part.c.entries) != 0)


def _parts(query: SpendQuery, grain: _Grain) -> list[Select[Any]]:
    """What is added up, by interval and group: for a tag its values, and all that has no value of it."""
    sums, tagged_sums = grain.tables
    if query.group_by is None:
        return [_part(query, grain, sums, literal(""))]
    if query.group_by in _GROUPS:
        return [_part(query, grain, sums, sums.c[_GROUPS[query.group_by]])]
    if not (query.group_by.startswith(_TAG) and is_label(query.group_by.removeprefix(_TAG))):
        raise InvalidQuery("group_by", f"Group by one of {', '.join(_GROUPS)}, or tag.NAME.")
    mine = tagged_sums.c.tag == query.group_by.removeprefix(_TAG)
    tagged = _part(query, grain, tagged_sums, tagged_sums.c.value).where(mine)
    counted_twice = _part(query, grain, tagged_sums, literal(""), sign=-1).where(mine)
    return [tagged, _part(query, grain, sums, literal("")), counted_twice]


def _part(query: SpendQuery, grain: _Grain, table: Table, group: ColumnElement[str], sign: int = 1) -> Select[Any]:
    """Sums of one table by interval and group."""
    number, within, source = grain.read(table)
    sums = [(sign * func.sum(table.c[name])).label(name) for name in _SUMS]
    summed = select(number.label("bucket"), group.label("grp"), *sums).select_from(source).where(within)
    if query.project is not None:
        summed = summed.where(table.c.project == query.project)
    return summed.group_by(text("bucket"), text("grp"))


def _row(row: Row[Any], start: datetime) -> SpendRow:
    return SpendRow(start=start, group=row.grp or None, **{name: int(getattr(row, name)) for name in _SUMS})


def _seconds(at: datetime) -> int:
    return micros(at) // _SECOND


def _read_cursor(text: str) -> tuple[int, str]:
    try:
        start, group = json.loads(text)
    except (ValueError, TypeError, RecursionError):
        start = group = None
    known = isinstance(start, int) and abs(start) < _LAST and isinstance(group, str) and (not group or is_label(group))
    if not known:
        raise InvalidQuery("cursor", "The cursor is not one that an answer gave.")
    return start, group
