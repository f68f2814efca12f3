"""Budgets, holds, entries and refusals as they stand."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal

from sqlalchemy import ColumnElement, Connection, bindparam, cast, exists, func, select
from sqlalchemy.dialects.postgresql import JSON

from service.domain.spending.budgets import Balance, Budget, Spender, Terms, Totals
from service.domain.spending.errors import UnknownBudget, UnknownReservation
from service.domain.spending.ledger import (
    BudgetVersion,
    Entry,
    EntryQuery,
    Hold,
    HoldState,
    LedgerStatus,
    Page,
    Refusal,
    RefusalCount,
)
from service.store.changes import require_known
from service.store.rows import budget_of, budgets_of, entry_of, first_id, held_of, json_text, micros, moment, totals_of
from service.store.tables import BUDGET_PERIODS, BUDGET_VERSIONS, BUDGETS, ENTRIES, HOLDS, REFUSALS
from service.store.working import padded

# Made once: these are read before each call that is asked about.
_COUNTING = (
    select(BUDGETS)
    .where(BUDGETS.c.deleted_at.is_(None), BUDGETS.c.selector.in_(bindparam("selectors", expanding=True)))
    .order_by(BUDGETS.c.id)
)
_PERIODS = select(BUDGET_PERIODS).where(
    BUDGET_PERIODS.c.budget_id.in_(bindparam("budgets", expanding=True)),
    BUDGET_PERIODS.c.start.in_(bindparam("starts", expanding=True)),
)
_MINUTE = 60 * 1_000_000


def one_balance(connection: Connection, project: str, name: str, now: datetime) -> Balance:
    """A budget in its present period. Raises ``UnknownBudget``."""
    found = _balances(connection, now, BUDGETS.c.project == project, BUDGETS.c.name == name)
    if not found:
        raise UnknownBudget
    return found[0]


def balances_of(connection: Connection, spenders: Sequence[Spender], now: datetime) -> list[Balance]:
    """Every budget that counts calls of one of ``spenders``."""
    selectors = {selector for spender in spenders for selector in spender.selectors()}
    if not selectors:
        return []
    found = connection.execute(_COUNTING, {"selectors": padded(sorted(selectors))})
    return _in_their_periods(connection, [budget_of(row) for row in found], now)


def page_of_balances(
    connection: Connection, project: str | None, now: datetime, after: int, limit: int
) -> Page[Balance]:
    """The budgets that come after the one with the id ``after``."""
    mine = [BUDGETS.c.project == project] if project is not None else []
    found = _balances(connection, now, BUDGETS.c.id > after, *mine, limit=limit + 1)
    more = len(found) > limit
    return Page(found[:limit], str(found[limit - 1].budget.id) if more else None)


def exported_balances(connection: Connection, now: datetime, limit: int) -> list[Balance]:
    """The budgets that are shown in the metrics, those made first."""
    return _balances(connection, now, BUDGETS.c.export.is_(True), limit=limit)


def _balances(
    connection: Connection, now: datetime, *conditions: ColumnElement[bool], limit: int | None = None
) -> list[Balance]:
    query = select(BUDGETS).where(BUDGETS.c.deleted_at.is_(None), *conditions).order_by(BUDGETS.c.id).limit(limit)
    return _in_their_periods(connection, [budget_of(row) for row in connection.execute(query)], now)


def _in_their_periods(connection: Connection, budgets: Sequence[Budget], now: datetime) -> list[Balance]:
    if not budgets:
        return []
    keys = {budget.id: micros(budget.period_at(now).start) for budget in budgets}
    wanted = {"budgets": padded(sorted(keys)), "starts": padded(sorted(set(keys.values())))}
    totals = {(row.budget_id, row.start): totals_of(row) for row in connection.execute(_PERIODS, wanted)}
    return [Balance(b, b.period_at(now), totals.get((b.id, keys[b.id]), Totals())) for b in budgets]


def versions_of(connection: Connection, project: str, name: str) -> list[BudgetVersion]:
    """The changes of a budget, the first first. Raises ``UnknownBudget``."""
    number = require_known(connection, project, name)
    query = select(BUDGET_VERSIONS).where(BUDGET_VERSIONS.c.budget_id == number)
    versions = []
    for row in connection.execute(query.order_by(BUDGET_VERSIONS.c.version)):
        warn_at = None if row.warn_at is None else Decimal(row.warn_at)
        terms = None if row.deleted else Terms(row.limit_nano, row.limit_tokens, warn_at, row.export)
        versions.append(BudgetVersion(row.version, terms, moment(row.at), row.by))
    return versions


def one_hold(connection: Connection, project: str, hold_id: str) -> Hold:
    """A hold as it stands. Raises ``UnknownReservation``."""
    query = select(HOLDS).where(HOLDS.c.id == hold_id, HOLDS.c.project == project)
    row = connection.execute(query).one_or_none()
    if row is None:
        raise UnknownReservation
    numbers = budgets_of(row)
    names = {}
    if numbers:
        found = connection.execute(select(BUDGETS.c.id, BUDGETS.c.name).where(BUDGETS.c.id.in_(padded(numbers))))
        names = {budget.id: budget.name for budget in found}
    return held_of(row, names).hold


def page_of_entries(connection: Connection, query: EntryQuery) -> Page[Entry]:
    """Entries, the last first; with tags, those that have all of them."""
    wanted = select(ENTRIES).order_by(ENTRIES.c.id.desc()).limit(query.limit + 1)
    if query.start is not None:
        wanted = wanted.where(ENTRIES.c.id >= first_id("e", query.start))
    if query.end is not None:
        wanted = wanted.where(ENTRIES.c.id < first_id("e", query.end))
    if query.cursor is not None:
        wanted = wanted.where(ENTRIES.c.id < query.cursor)
    for column, value in ((ENTRIES.c.project, query.project), (ENTRIES.c.model, query.model)):
        wanted = wanted if value is None else wanted.where(column == value)
    if query.provider is not None:
        wanted = wanted.where(ENTRIES.c.provider == query.provider)
    for tag, value in query.tags.items():
        wanted = wanted.where(*_tagged(connection, tag, value))
    found = [entry_of(row) for row in connection.execute(wanted)]
    more = len(found) > query.limit
    return Page(found[: query.limit], found[query.limit - 1].id if more else None)


def _tagged(connection: Connection, tag: str, value: str) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    """Entries with that tag. Few have its text in theirs, where it may also stand inside of another name."""
    near = ENTRIES.c.tags.contains(f"{json_text(tag)}:{json_text(value)}", autoescape=True)
    tags = func.nullif(ENTRIES.c.tags, "")
    if connection.dialect.name == "postgresql":
        return near, cast(tags, JSON)[tag].astext == value
    each = func.json_each(tags).table_valued("key", "value")
    return near, exists(select(each.c.key).where(each.c.key == tag, each.c.value == value))


def refusals_between(
    connection: Connection, project: str | None, start: datetime, end: datetime, limit: int
) -> Sequence[RefusalCount]:
    """Refusals by the minute, the last first."""
    table = REFUSALS.c
    query = select(REFUSALS).where(table.minute >= micros(start) // _MINUTE * _MINUTE, table.minute < micros(end))
    if project is not None:
        query = query.where(table.project == project)
    query = query.order_by(table.minute.desc(), table.project, table.reason, table.budget, table.model).limit(limit)
    return [
        RefusalCount(
            moment(row.minute), Refusal(row.project, row.reason, row.budget or None, row.model or None), row.times
        )
        for row in connection.execute(query)
    ]


def status_of(connection: Connection, now: datetime) -> LedgerStatus:
    """How many holds are open, and how late the sweeper is."""
    still = HOLDS.c.state == HoldState.HELD.value
    count, oldest = connection.execute(select(func.count(), func.min(HOLDS.c.expires_at)).where(still)).one()
    late = 0.0 if oldest is None else (now - moment(oldest)).total_seconds()
    return LedgerStatus(int(count), max(late, 0.0))
