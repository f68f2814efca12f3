"""The ledger with an eye on it: each call is timed, and what it books or finds down is counted."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import TypeVar

from service.domain.catalog import Catalog
from service.domain.spending.budgets import Balance, BudgetSpec, Spender, Terms
from service.domain.spending.errors import LedgerUnavailable
from service.domain.spending.health import LedgerHealth
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
from service.ledger_metrics import OTHER, LedgerMetrics

T = TypeVar("T")


class ObservedLedger(Ledger):
    """``ledger`` as it is; ``catalog`` gives the catalog in force, whose names alone become labels."""

    def __init__(
        self, ledger: Ledger, metrics: LedgerMetrics, health: LedgerHealth, catalog: Callable[[], Catalog]
    ) -> None:
        self._ledger = ledger
        self._metrics = metrics
        self._health = health
        self._catalog = catalog
        self._names: tuple[Catalog | None, frozenset[str]] = (None, frozenset())

    async def create_budget(self, spec: BudgetSpec, *, by: str, once: Once | None = None) -> Balance:
        return await self._write("create_budget", self._ledger.create_budget(spec, by=by, once=once))

    async def change_budget(
        self, project: str, name: str, change: Callable[[Terms], Terms], *, by: str, once: Once | None = None
    ) -> Balance:
        return await self._write("change_budget", self._ledger.change_budget(project, name, change, by=by, once=once))

    async def delete_budget(self, project: str, name: str, *, by: str) -> None:
        await self._write("delete_budget", self._ledger.delete_budget(project, name, by=by))

    async def budget(self, project: str, name: str) -> Balance:
        return await self._read("budget", self._ledger.budget(project, name))

    async def budgets(self, project: str | None, *, cursor: str | None = None, limit: int = 100) -> Page[Balance]:
        return await self._read("budgets", self._ledger.budgets(project, cursor=cursor, limit=limit))

    async def exported_budgets(self, limit: int) -> Sequence[Balance]:
        return await self._read("exported_budgets", self._ledger.exported_budgets(limit))

    async def budget_versions(self, project: str, name: str) -> Sequence[BudgetVersion]:
        return await self._read("budget_versions", self._ledger.budget_versions(project, name))

    async def balances(self, *spenders: Spender) -> Sequence[Balance]:
        return await self._read("balances", self._ledger.balances(*spenders))

    async def reserve(self, request: ReserveRequest, *, once: Once | None = None) -> Hold:
        return await self._write("reserve", self._ledger.reserve(request, once=once))

    async def hold(self, project: str, hold_id: str) -> Hold:
        return await self._read("hold", self._ledger.hold(project, hold_id))

    async def settle(self, project: str, hold_id: str, settlement: Settlement, *, once: Once | None = None) -> Settled:
        settled = await self._write("settle", self._ledger.settle(project, hold_id, settlement, once=once))
        if not settled.repeated:
            self._booked(settled.entry)
        return settled

    async def release(self, project: str, hold_id: str, *, once: Once | None = None) -> Hold:
        return await self._write("release", self._ledger.release(project, hold_id, once=once))

    async def extend(self, project: str, hold_id: str, ttl_seconds: float, *, once: Once | None = None) -> Hold:
        return await self._write("extend", self._ledger.extend(project, hold_id, ttl_seconds, once=once))

    async def record(self, records: Sequence[UsageRecord], *, once: Once | None = None) -> Sequence[Entry]:
        entries = await self._write("record", self._ledger.record(records, once=once))
        for entry in entries:
            self._booked(entry)
        return entries

    async def expire(self) -> int:
        return await self._write("expire", self._ledger.expire())

    async def spend(self, query: SpendQuery) -> Page[SpendRow]:
        return await self._read("spend", self._ledger.spend(query))

    async def entries(self, query: EntryQuery) -> Page[Entry]:
        return await self._read("entries", self._ledger.entries(query))

    def refused(self, refusal: Refusal) -> None:
        self._metrics.refused(refusal.reason)
        self._ledger.refused(refusal)

    async def refusals(
        self, project: str | None, start: datetime, end: datetime, *, limit: int = 1000
    ) -> Sequence[RefusalCount]:
        return await self._read("refusals", self._ledger.refusals(project, start, end, limit=limit))

    async def status(self) -> LedgerStatus:
        return await self._read("status", self._ledger.status())

    async def prune(self, before: datetime) -> int:
        return await self._write("prune", self._ledger.prune(before))

    async def rebuild(self) -> int:
        return await self._write("rebuild", self._ledger.rebuild())

    async def _write(self, operation: str, work: Awaitable[T]) -> T:
        try:
            result = await self._read(operation, work)
        except LedgerUnavailable as down:
            self._health.wrote(down.problem)
            raise
        self._health.wrote(None)
        return result

    async def _read(self, operation: str, work: Awaitable[T]) -> T:
        started = time.perf_counter()
        try:
            return await work
        except LedgerUnavailable:
            self._metrics.failed(operation)
            raise
        finally:
            self._metrics.took(operation, time.perf_counter() - started)

    def _booked(self, entry: Entry) -> None:
        model, provider = entry.spender.model or "", entry.spender.provider or ""
        known = model in self._models()
        sold = provider in self._catalog().hosts
        self._metrics.booked(entry, model if known else OTHER, provider if sold else OTHER)

    def _models(self) -> frozenset[str]:
        catalog = self._catalog()
        if self._names[0] is not catalog:
            self._names = (catalog, frozenset(model.id for model in (*catalog.models, *catalog.priced)))
        return self._names[1]
