"""Spend by interval and group, from the rollups: one indexed query."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    Row,
    Select,
    and_,
    column,
    func,
    literal,
    select,
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
    bucket = buckets.cte("buckets")
    parts = [part.subquery() for part in _parts(query)]
    part = parts[0] if len(parts) == 1 else union_all(*(select(p) for p in parts)).subquery()
    within = and_(part.c.start >= bucket.c.start, part.c.start < bucket.c.stop)
    sums = [func.sum(part.c[name]).label(name) for name in _SUMS]
    summed = select(bucket.c.start.label("start"), part.c.grp, *sums).select_from(bucket.join(part, within))
    return summed.group_by(bucket.c.start, part.c.grp).having(func.sum(part.c.entries) != 0)


def _parts(query: SpendQuery) -> list[Select[Any]]:
    """What is added up, by start and group: for a tag its values, and all that has no value of it."""
    if query.group_by is None:
        return [_rolled(query, literal(""))]
    if query.group_by in _GROUPS:
        return [_rolled(query, ROLLUPS.c[_GROUPS[query.group_by]])]
    if not (query.group_by.startswith(_TAG) and is_label(query.group_by.removeprefix(_TAG))):
        raise InvalidQuery("group_by", f"Group by one of {', '.join(_GROUPS)}, or tag.NAME.")
    tag = TAG_ROLLUPS.c
    mine = [tag.tag == query.group_by.removeprefix(_TAG), *_within(query, tag.start, tag.project)]
    tagged = select(tag.start, tag.value.label("grp"), *(tag[name] for name in _SUMS)).where(*mine)
    counted_twice = select(tag.start, literal("").label("grp"), *((-tag[name]).label(name) for name in _SUMS))
    return [tagged, _rolled(query, literal("")), counted_twice.where(*mine)]


def _rolled(query: SpendQuery, group: ColumnElement[str]) -> Select[Any]:
    table = ROLLUPS.c
    return select(table.start, group.label("grp"), *(table[name] for name in _SUMS)).where(
        *_within(query, table.start, table.project)
    )


def _within(query: SpendQuery, start: ColumnElement[int], project: ColumnElement[str]) -> list[ColumnElement[bool]]:
    conditions = [start >= _seconds(query.start), start < _seconds(query.end)]
    return conditions if query.project is None else [project == query.project, *conditions]


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
