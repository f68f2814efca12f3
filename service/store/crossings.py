"""Marks of what may have to be told: written with what crossed a threshold, and looked at a moment later.

Most calls cross nothing, which is told from the rows in memory: then nothing is written.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Any, TypeAlias

from sqlalchemy import Connection

from service.domain.spending.alerts import reached
from service.domain.spending.budgets import Budget, Totals
from service.domain.spending.ledger import Entry, Flag
from service.store.rows import Charge, micros
from service.store.tables import ALERT_MARKS
from service.store.writing import upsert

Spent: TypeAlias = tuple[Budget, Charge, Totals, Totals]
"""A budget, which of its periods, and what it came to before and after."""

DAY = 86_400 * 1_000_000
_MARK = upsert(ALERT_MARKS, add=())


class MarkKind(StrEnum):
    """What a mark is about: a budget in a period, a call that had no price, a model that lost its price."""

    BUDGET = "budget"
    UNPRICED = "unpriced"
    LOST = "lost"


def mark_crossings(connection: Connection, spent: Sequence[Spent], entries: Iterable[Entry], now: datetime) -> None:
    """Mark the budgets whose spend has reached another threshold, and the models of calls without a price."""
    rows = []
    for budget, charge, before, after in spent:
        if reached(budget.spec.terms, before) != reached(budget.spec.terms, after):
            rows.append(_row(MarkKind.BUDGET, str(charge[0]), charge[1], now))
    unpriced = {(e.spender.provider or "", e.spender.model) for e in entries if Flag.UNPRICED in e.flags}
    rows += [_of_model(MarkKind.UNPRICED, provider, model, now) for provider, model in unpriced if model]
    _write(connection, rows)


def mark_budget(connection: Connection, charge: Charge, now: datetime) -> None:
    """Mark a budget whose terms were changed."""
    _write(connection, [_row(MarkKind.BUDGET, str(charge[0]), charge[1], now)])


def mark_lost(connection: Connection, models: Iterable[tuple[str, str]], now: datetime) -> None:
    """Mark models that have no price any more."""
    _write(connection, [_of_model(MarkKind.LOST, provider, model, now) for provider, model in models])


def _of_model(kind: MarkKind, provider: str, model: str, now: datetime) -> dict[str, Any]:
    return _row(kind, f"{provider}/{model}", micros(now) // DAY * DAY, now)


def _row(kind: MarkKind, subject: str, period: int, now: datetime) -> dict[str, Any]:
    return {"kind": kind.value, "subject": subject, "period": period, "at": micros(now)}


def _write(connection: Connection, rows: list[dict[str, Any]]) -> None:
    if rows:
        connection.execute(_MARK, sorted(rows, key=lambda row: (row["kind"], row["subject"], row["period"])))
