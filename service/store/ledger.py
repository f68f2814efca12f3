"""The ledger on a database: every call of the port, handed to the threads that write or read."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypeVar

from sqlalchemy import Connection, make_url
from sqlalchemy.exc import ArgumentError

from service.domain.spending.budgets import Balance, BudgetSpec, Spender, Terms
from service.domain.spending.errors import LedgerNotOpened, LedgerUnavailable
from service.domain.spending.ledger import (
    BudgetVersion,
    Entry,
    EntryQuery,
    Hold,
    Ledger,
    LedgerStatus,
    Once,
    Page,
    Refusal,
    RefusalCount,
    ReserveRequest,
    Settled,
    Settlement,
    SpendQuery,
    SpendRow,
    UsageRecord,
)
from service.store import reading, upkeep
from service.store.changes import ChangeBudget, CreateBudget, DeleteBudget
from service.store.migrate import upgrade
from service.store.operations import EXPIRED_AT_ONCE, Expire, Extend, Operation, Record, Release, Reserve, Settle
from service.store.past_calls import forget_some
from service.store.postgresql import PostgresSession
from service.store.spending import page_of_spend
from service.store.sqlite import SqliteSession
from service.store.workers import WAIT_SECONDS, WORK_SECONDS, Session, Use, Workers

T = TypeVar("T")

_MIGRATION_SECONDS = 300.0
_OPEN_SECONDS = 20.0  # of a caller who finds the tables out of date; a server that is silent is found out sooner
_REPORT_SECONDS = 30.0
_READERS = 2
_FORGET_EVERY = timedelta(minutes=10)

SWEEP_SECONDS = 2.0
"""Time between two rounds of upkeep: a hold that is past its time counts five seconds longer at the most."""


class SqlLedger(Ledger):
    """The port ``Ledger`` over three sets of threads: reports have their own, so no call waits for one. ``close`` it.

    It opens itself with the first call, and again with the next where the database was down; ``open`` says why not.
    """

    def __init__(self, writers: Workers, readers: Workers, reporters: Workers, clock: Callable[[], datetime]) -> None:
        self._writers = writers
        self._readers = readers
        self._reporters = reporters
        self._clock = clock
        self._refusals: Counter[tuple[int, Refusal]] = Counter()
        self._forget_at = datetime.min.replace(tzinfo=UTC)
        self._opened = False

    async def open(self) -> None:
        """Bring the tables up to date. Raises ``LedgerUnavailable``, ``LedgerNotOpened``."""
        await self._open(_MIGRATION_SECONDS)

    async def close(self) -> None:
        """Finish what was begun, and end the threads."""
        with contextlib.suppress(LedgerUnavailable):
            await self._write_refusals()
        workers = (self._writers, self._readers, self._reporters)
        await asyncio.gather(*(asyncio.to_thread(each.close) for each in workers))

    async def create_budget(self, spec: BudgetSpec, *, by: str, once: Once | None = None) -> Balance:
        return await self._carry_out(CreateBudget(spec, by, once))

    async def change_budget(
        self, project: str, name: str, change: Callable[[Terms], Terms], *, by: str, once: Once | None = None
    ) -> Balance:
        return await self._carry_out(ChangeBudget(project, name, change, by, once))

    async def delete_budget(self, project: str, name: str, *, by: str) -> None:
        await self._carry_out(DeleteBudget(project, name, by))

    async def budget(self, project: str, name: str) -> Balance:
        now = self._clock()
        return await self._read(lambda c: reading.one_balance(c, project, name, now))

    async def budgets(self, project: str | None, *, cursor: str | None = None, limit: int = 100) -> Page[Balance]:
        now, after = self._clock(), int(cursor) if cursor is not None and cursor.isdecimal() else 0
        return await self._read(lambda c: reading.page_of_balances(c, project, now, after, limit))

    async def exported_budgets(self, limit: int) -> Sequence[Balance]:
        now = self._clock()
        return await self._read(lambda c: reading.exported_balances(c, now, limit))

    async def budget_versions(self, project: str, name: str) -> Sequence[BudgetVersion]:
        return await self._read(lambda c: reading.versions_of(c, project, name))

    async def balances(self, *spenders: Spender) -> Sequence[Balance]:
        now = self._clock()
        return await self._read(lambda c: reading.balances_of(c, spenders, now))

    async def reserve(self, request: ReserveRequest, *, once: Once | None = None) -> Hold:
        return await self._carry_out(Reserve(request, once))

    async def hold(self, project: str, hold_id: str) -> Hold:
        return await self._read(lambda c: reading.one_hold(c, project, hold_id))

    async def settle(self, project: str, hold_id: str, settlement: Settlement, *, once: Once | None = None) -> Settled:
        return await self._carry_out(Settle(project, hold_id, settlement, once))

    async def release(self, project: str, hold_id: str, *, once: Once | None = None) -> Hold:
        return await self._carry_out(Release(project, hold_id, once))

    async def extend(self, project: str, hold_id: str, ttl_seconds: float, *, once: Once | None = None) -> Hold:
        return await self._carry_out(Extend(project, hold_id, ttl_seconds, once))

    async def record(self, records: Sequence[UsageRecord], *, once: Once | None = None) -> Sequence[Entry]:
        return await self._carry_out(Record(tuple(records), once))

    async def expire(self) -> int:
        return await self._carry_out(Expire())

    async def spend(self, query: SpendQuery) -> Page[SpendRow]:
        return await self._report(lambda c: page_of_spend(c, query))

    async def entries(self, query: EntryQuery) -> Page[Entry]:
        return await self._report(lambda c: reading.page_of_entries(c, query))

    def refused(self, refusal: Refusal) -> None:
        self._refusals[upkeep.minute_of(self._clock()), refusal] += 1

    async def refusals(
        self, project: str | None, start: datetime, end: datetime, *, limit: int = 1000
    ) -> Sequence[RefusalCount]:
        return await self._report(lambda c: reading.refusals_between(c, project, start, end, limit))

    async def status(self) -> LedgerStatus:
        now = self._clock()
        return await self._read(lambda c: reading.status_of(c, now))

    async def prune(self, before: datetime) -> int:
        removed = 0
        while some := await self._write(lambda c: upkeep.prune_some(c, before), _REPORT_SECONDS, _REPORT_SECONDS):
            removed += some
        return removed

    async def rebuild(self) -> int:
        span = await self._report(upkeep.rebuilding_span)
        entries = 0
        if span is not None:
            at, end = span
            while at < end:
                entries += await self._rebuild_day(at)
                at += upkeep.DAY
        return entries

    async def _rebuild_day(self, start: datetime) -> int:
        end = start + upkeep.DAY
        return await self._write(lambda c: upkeep.rebuild_between(c, start, end), _REPORT_SECONDS, _REPORT_SECONDS)

    async def keep_up(self, interval_seconds: float = SWEEP_SECONDS) -> None:
        """Until cancelled: end holds that are past their time, write refusals, forget old answers.

        Several processes may do so at once. While the database is down it goes on trying.
        """
        while True:
            with contextlib.suppress(LedgerUnavailable, LedgerNotOpened):
                await self.keep_up_once()
            await asyncio.sleep(interval_seconds)

    async def keep_up_once(self) -> None:
        """One round of ``keep_up``. Raises ``LedgerUnavailable``."""
        while await self.expire() == EXPIRED_AT_ONCE:
            pass
        await self._write_refusals()
        now = self._clock()
        if now >= self._forget_at:
            await self._write(lambda c: upkeep.forget_answers(c, now))
            while await self._write(lambda c: forget_some(c, now)):
                pass
            self._forget_at = now + _FORGET_EVERY

    async def carry_out(self, operation: Operation[T]) -> T:
        """The result of ``operation``, for what is kept beside the ledger. Raises what it raises."""
        return await self._carry_out(operation)

    async def read(self, work: Callable[[Connection], T]) -> T:
        """The result of ``work``, which only reads, for other ports over the same database. Raises as every call."""
        return await self._read(work)

    async def write(self, work: Callable[[Connection], T]) -> T:
        """As ``read``, of work in a transaction of its own that is committed."""
        return await self._write(work)

    async def _write_refusals(self) -> None:
        counts, self._refusals = self._refusals, Counter()
        if counts:
            await self._write(lambda c: upkeep.write_refusals(c, counts))

    async def _open(self, seconds: float) -> None:
        if not self._opened:
            await self._writers.run(upgrade, seconds, seconds)
            self._opened = True

    async def _carry_out(self, operation: Operation[T]) -> T:
        await self._open(_OPEN_SECONDS)
        return await self._writers.carry_out(operation)

    async def _write(
        self, work: Callable[[Connection], T], seconds: float = WORK_SECONDS, wait_seconds: float = WAIT_SECONDS
    ) -> T:
        await self._open(_OPEN_SECONDS)
        return await self._writers.run(work, seconds, wait_seconds)

    async def _read(self, work: Callable[[Connection], T]) -> T:
        await self._open(_OPEN_SECONDS)
        return await self._readers.run(work)

    async def _report(self, work: Callable[[Connection], T]) -> T:
        await self._open(_OPEN_SECONDS)
        return await self._reporters.run(work, _REPORT_SECONDS, _REPORT_SECONDS)


def sql_ledger(database_url: str, data_dir: Path, clock: Callable[[], datetime]) -> SqlLedger:
    """The ledger in PostgreSQL where a URL is given, else in a file in ``data_dir``. Raises ``LedgerNotOpened``."""
    return _over(sessions(database_url, data_dir), clock)


def sessions(database_url: str, data_dir: Path) -> Callable[[Use], Session]:
    """What makes a connection to the ledger's database, for a use. Raises ``LedgerNotOpened``."""
    if not database_url:
        return lambda use: SqliteSession(data_dir, writes=use is Use.WRITE)
    try:
        url = make_url(database_url)
    except ArgumentError:
        url = make_url("none://")
    if url.drivername not in ("postgresql", "postgres", "postgresql+asyncpg"):
        raise LedgerNotOpened("WEIGHBRIDGE_DATABASE_URL must be a URL such as postgresql://user@host:5432/weighbridge.")
    return lambda use: PostgresSession(url, looks_up=use is not Use.REPORT)


def _over(make: Callable[[Use], Session], clock: Callable[[], datetime]) -> SqlLedger:
    writers = Workers(lambda: make(Use.WRITE), 1, clock, "ledger-writer")
    readers = Workers(lambda: make(Use.LOOK_UP), _READERS, clock, "ledger-reader")
    reporters = Workers(lambda: make(Use.REPORT), 1, clock, "ledger-reports")
    return SqlLedger(writers, readers, reporters, clock)
