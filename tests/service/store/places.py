"""Where a test's ledger is kept, how it is opened, and what must hold in it at any time."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import TypeVar

from sqlalchemy import Connection, select

from service.domain.spending.budgets import NANO, BudgetSpec, Spender, Terms, Totals
from service.domain.spending.ledger import Metered, ReserveRequest, Settlement
from service.store.ledger import SqlLedger, sql_ledger
from service.store.rows import held_of, totals_of
from service.store.tables import BUDGET_PERIODS, BUDGETS, ENTRIES, HOLDS, ROLLUP_DAYS, ROLLUPS

T = TypeVar("T")

START = datetime(2026, 11, 20, 12, tzinfo=UTC)
SPENDER = Spender("p", "k1", "maker", "some-model", "words", {"team": "search"})


@dataclass
class TestClock:
    """Time that passes when a test says so."""

    __test__ = False
    now: datetime = START

    def __call__(self) -> datetime:
        return self.now

    def pass_(self, **time: float) -> None:
        self.now += timedelta(**time)


@dataclass
class Place:
    """A database of a test's own. ``run`` opens the ledger for one coroutine."""

    url: str
    folder: Path
    clock: TestClock = field(default_factory=TestClock)

    def ledger(self, clock: Callable[[], datetime] | None = None) -> SqlLedger:
        return sql_ledger(self.url, self.folder, clock or self.clock)

    @contextlib.asynccontextmanager
    async def opened(self, clock: Callable[[], datetime] | None = None) -> AsyncIterator[SqlLedger]:
        ledger = self.ledger(clock)
        try:
            await ledger.open()
            yield ledger
        finally:
            await ledger.close()

    def run(self, work: Callable[[SqlLedger], Awaitable[T]]) -> T:
        async def main() -> T:
            async with self.opened() as ledger:
                return await work(ledger)

        return asyncio.run(main())


def usd(text: str) -> Decimal:
    return Decimal(text)


def asked(
    amount: str = "1", tokens: int | None = None, *, spender: Spender = SPENDER, **more: object
) -> ReserveRequest:
    return ReserveRequest(spender, Decimal(amount), tokens, **more)  # type: ignore[arg-type]


def cost(amount: str | None, tokens: int | None = None, **more: object) -> Settlement:
    metered = None if tokens is None else Metered(tokens, 0)
    return Settlement(None if amount is None else Decimal(amount), metered, **more)  # type: ignore[arg-type]


def budget(name: str = "team-a", limit: str | None = "10", **more: object) -> BudgetSpec:
    terms = Terms(None if limit is None else int(Decimal(limit) * NANO))
    return BudgetSpec("p", name, **{"terms": terms, **more})  # type: ignore[arg-type]


async def totals(ledger: SqlLedger, name: str = "team-a") -> Totals:
    return (await ledger.budget("p", name)).totals


async def read(ledger: SqlLedger, work: Callable[[Connection], T]) -> T:
    return await ledger._readers.run(work)


async def audited(ledger: SqlLedger) -> None:
    """What is held is the sum of the open holds, and what is rolled up the sum of the entries."""
    await read(ledger, _audit)


def _audit(connection: Connection) -> None:
    held: dict[tuple[int, int], list[int]] = {}
    names = {row.id: row.name for row in connection.execute(select(BUDGETS))}
    for row in connection.execute(select(HOLDS).where(HOLDS.c.state == "held")):
        one = held_of(row, names)
        for charge in one.charges:
            sums = held.setdefault(charge, [0, 0, 0])
            for place, value in enumerate((one.hold.nano, one.hold.tokens or 0, 1)):
                sums[place] += value
    for row in connection.execute(select(BUDGET_PERIODS)):
        found = totals_of(row)
        assert [found.held_nano, found.held_tokens, found.open_holds] == held.get((row.budget_id, row.start), [0, 0, 0])
        assert min(found.spent_nano, found.spent_tokens) >= 0
    booked = [row.nano for row in connection.execute(select(ENTRIES))]
    for table in (ROLLUPS, ROLLUP_DAYS):
        rolled = list(connection.execute(select(table)))
        assert (sum(row.nano for row in rolled), sum(row.entries for row in rolled)) == (sum(booked), len(booked))
