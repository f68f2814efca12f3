"""Spend by interval and group, from the rollups: one indexed query."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import (
    CTE,
    BigInteger,
    ColumnElement,
    Connection,
    Row,
    Select,
    Table,
    and_,
    column,
    func,
    literal,
    select,
    text,
    tuple_,
    union_all,
    values,
)

from service.domain.budgets import Period, is_label
from service.domain.intervals import intervals
from service.domain.ledger import Page, SpendQuery, SpendRow
from service.domain.ledger_errors import InvalidQuery
from service.store.rows import micros, moment
from service.store.tables import MEASURES, ROLLUPS, TAG_ROLLUPS

_SUMS = (*MEASURES, "entries", "flagged")
_GROUPS = {"model": "model", "provider": "provider", "project": "project", "key": "key_id", "tokenizer": "tokenizer"}
_TAG = "tag."
_SECOND = 1_000_000


def page_of_spend(connection: Connection, query: SpendQuery) -> Page[SpendRow]:
    """The rows after the query's cursor. Raises ``InvalidQuery``."""
    periods = intervals(query.start, query.end, query.interval, query.timezone)
    statement = _summed(query, periods)
    if query.cursor is not None:
        start, group = _read_cursor(query.cursor)
        statement = select(statement.subquery())
        columns = statement.selected_columns
        statement = statement.where(tuple_(columns.start, columns.grp) > tuple_(literal(start), literal(group)))
    statement = statement.order_by("start", "grp").limit(query.limit + 1)
    found = list(connection.execute(statement))
    more = len(found) > query.limit
    rows = [_row(row) for row in found[: query.limit]]
    last = found[query.limit - 1] if more else None
    return Page(rows, None if last is None else json.dumps([last.start, last.grp]))


def _summed(query: SpendQuery, periods: Sequence[Period]) -> Select[Any]:
    buckets = values(column("start", BigInteger), column("stop", BigInteger), name="buckets").data(
        [(_seconds(period.start), _seconds(period.end or query.end)) for period in periods]
    )
    parts = _parts(query, buckets.cte("buckets"))
    if len(parts) == 1:
        return parts[0]
    part = union_all(*parts).subquery()
    sums = [func.sum(part.c[name]).label(name) for name in _SUMS]
    summed = select(part.c.start, part.c.grp, *sums).group_by(part.c.start, part.c.grp)
    return summed.having(func.sum(part.c.entries) != 0)


def _parts(query: SpendQuery, buckets: CTE) -> list[Select[Any]]:
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


def _part(query: SpendQuery, buckets: CTE, table: Table, group: ColumnElement[str], sign: int = 1) -> Select[Any]:
    """Sums of one table, read in the order of its key: interval by interval."""
    rows = table.c
    within = and_(rows.start >= buckets.c.start, rows.start < buckets.c.stop)
    if query.project is not None:
        within = and_(rows.project == query.project, within)
    sums = [(sign * func.sum(rows[name])).label(name) for name in _SUMS]
    summed = select(buckets.c.start.label("start"), group.label("grp"), *sums)
    return summed.select_from(buckets.join(table, within)).group_by(buckets.c.start, text("grp"))


def _row(row: Row[Any]) -> SpendRow:
    return SpendRow(
        start=moment(row.start * _SECOND),
        group=row.grp or None,
        **{name: int(getattr(row, name)) for name in _SUMS},
    )


def _seconds(at: datetime) -> int:
    return micros(at) // _SECOND


def _read_cursor(text: str) -> tuple[int, str]:
    try:
        start, group = json.loads(text)
    except (ValueError, TypeError):
        start = group = None
    if not (isinstance(start, int) and isinstance(group, str)):
        raise InvalidQuery("cursor", "The cursor is not one that an answer gave.")
    return start, group
