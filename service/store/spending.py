"""Spend by interval and group, from the rollups: one query."""

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

from service.domain.budgets import Period, is_label
from service.domain.intervals import intervals
from service.domain.ledger import Page, SpendQuery, SpendRow
from service.domain.ledger_errors import InvalidQuery
from service.store.rows import micros
from service.store.tables import MEASURES, ROLLUPS, TAG_ROLLUPS

_SUMS = (*MEASURES, "entries", "flagged")
_GROUPS = {"model": "model", "provider": "provider", "project": "project", "key": "key_id", "tokenizer": "tokenizer"}
_TAG = "tag."
_SECOND = 1_000_000
_LAST = 1 << 40  # seconds: far beyond every calendar


def page_of_spend(connection: Connection, query: SpendQuery) -> Page[SpendRow]:
    """The rows after the query's cursor. Raises ``InvalidQuery``."""
    periods = intervals(query.start, query.end, query.interval, query.timezone)
    after = None
    if query.cursor is not None:
        after = _read_cursor(query.cursor)
        periods = [period for period in periods if _seconds(period.start) >= after[0]]  # the others are done with
        if not periods:
            return Page([])
    statement = _summed(query, _buckets(connection, query, periods))
    if after is not None and _seconds(periods[0].start) == after[0]:
        statement = select(statement.subquery())
        columns = statement.selected_columns
        statement = statement.where(or_(columns.bucket > 1, columns.grp > after[1]))
    statement = statement.order_by("bucket", "grp").limit(query.limit + 1)
    found = list(connection.execute(statement))
    rows = [_row(row, periods[row.bucket - 1].start) for row in found[: query.limit]]
    more = len(found) > query.limit
    return Page(rows, json.dumps([_seconds(rows[-1].start), rows[-1].group or ""]) if more else None)


@dataclass(frozen=True, slots=True)
class _Buckets:
    """The intervals, in seconds, by number from 1: ``joined`` to what is read, or only where each begins (``starts``).

    SQLite reads one interval after the other, in the order of a table's key. PostgreSQL would take that for a search
    of the whole table by each of them; it reads once, and finds each row's interval among the starts.
    """

    joined: CTE | None
    starts: Sequence[int]
    end: int

    def read(self, table: Table) -> tuple[ColumnElement[int], ColumnElement[bool], FromClause]:
        """The number of a row's interval, the rows that lie in any, and what to read."""
        at = table.c.start
        if self.joined is None:
            number = func.width_bucket(at, literal(self.starts, ARRAY(BigInteger)))
            return number, and_(at >= self.starts[0], at < self.end), table
        one = self.joined.c
        return one.number, and_(at >= one.start, at < one.stop), self.joined.join(table, true())


def _buckets(connection: Connection, query: SpendQuery, periods: Sequence[Period]) -> _Buckets:
    spans = [(_seconds(period.start), _seconds(period.end or query.end)) for period in periods]
    joined = None
    if connection.dialect.name == "sqlite":
        columns = (column(name, BigInteger) for name in ("number", "start", "stop"))
        rows = [(number, *span) for number, span in enumerate(spans, 1)]
        joined = values(*columns, name="buckets").data(rows).cte("buckets")
    return _Buckets(joined, [start for start, _ in spans], spans[-1][1])


def _summed(query: SpendQuery, buckets: _Buckets) -> Select[Any]:
    parts = _parts(query, buckets)
    if len(parts) == 1:
        return parts[0]
    part = union_all(*parts).subquery()
    sums = [func.sum(part.c[name]).label(name) for name in _SUMS]
    summed = select(part.c.bucket, part.c.grp, *sums).group_by(part.c.bucket, part.c.grp)
    return summed.having(func.sum(part.c.entries) != 0)


def _parts(query: SpendQuery, buckets: _Buckets) -> list[Select[Any]]:
    """What is added up, by interval and group: for a tag its values, and all that has no value of it."""
    if query.group_by is None:
        return [_part(query, buckets, ROLLUPS, literal(""))]
    if query.group_by in _GROUPS:
        return [_part(query, buckets, ROLLUPS, ROLLUPS.c[_GROUPS[query.group_by]])]
    if not (query.group_by.startswith(_TAG) and is_label(query.group_by.removeprefix(_TAG))):
        raise InvalidQuery("group_by", f"Group by one of {', '.join(_GROUPS)}, or tag.NAME.")
    mine = TAG_ROLLUPS.c.tag == query.group_by.removeprefix(_TAG)
    tagged = _part(query, buckets, TAG_ROLLUPS, TAG_ROLLUPS.c.value).where(mine)
    counted_twice = _part(query, buckets, TAG_ROLLUPS, literal(""), sign=-1).where(mine)
    return [tagged, _part(query, buckets, ROLLUPS, literal("")), counted_twice]


def _part(query: SpendQuery, buckets: _Buckets, table: Table, group: ColumnElement[str], sign: int = 1) -> Select[Any]:
    """Sums of one table by interval and group."""
    start, within, source = buckets.read(table)
    sums = [(sign * func.sum(table.c[name])).label(name) for name in _SUMS]
    summed = select(start.label("bucket"), group.label("grp"), *sums).select_from(source).where(within)
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
    except (ValueError, TypeError):
        start = group = None
    known = isinstance(start, int) and abs(start) < _LAST and isinstance(group, str) and (not group or is_label(group))
    if not known:
        raise InvalidQuery("cursor", "The cursor is not one that an answer gave.")
    return start, group
