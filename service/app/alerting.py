"""Alerts beside the requests: what was crossed is raised every two seconds, and what is due is delivered."""

from __future__ import annotations

import asyncio
import contextlib
import random
import time
from collections.abc import Callable, Sequence

from service.app.assembly import Assembly
from service.app.learning import counts_now
from service.domain.errors import UnknownModel
from service.domain.spending.alerts import Alerts, Delivery, Target, wait_after
from service.domain.spending.errors import LedgerNotOpened, LedgerUnavailable
from service.store.alerts import SqlAlerts
from service.webhooks import Outcome, Sender

ROUND_SECONDS = 2.0
_DRIFT_SECONDS = 60.0
_FORGET_SECONDS = 600.0
_AT_ONCE = 8
GIVEN_UP = "given_up"


async def send_alerts(assembly: Assembly) -> None:
    """Raise and deliver alerts until cancelled; while the ledger is down it goes on trying."""
    rounds = Rounds(assembly)
    while not assembly.webhooks:  # they may come with a reload; until then there is no need of a client
        await rounds.tried()
        await asyncio.sleep(ROUND_SECONDS)
    sender = Sender()
    courier = Courier(assembly.alerts, sender, assembly.metrics.webhook)
    try:
        while True:
            await rounds.tried()
            courier.begin(assembly.webhooks)
            await asyncio.sleep(ROUND_SECONDS)
    finally:
        await courier.end()
        await sender.close()


class Rounds:
    """Looks at what may have to be told: budgets and prices in each round, estimates once a minute."""

    def __init__(self, assembly: Assembly, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._assembly = assembly
        self._monotonic = monotonic
        self._drifts_at = self._forget_at = monotonic()

    async def tried(self) -> None:
        """One round, or nothing where the ledger is down."""
        with contextlib.suppress(LedgerUnavailable, LedgerNotOpened):
            await self.once()

    async def once(self) -> None:
        """One round. Raises ``LedgerUnavailable``, and what it had not come to is looked at in the next."""
        assembly, now = self._assembly, self._monotonic()
        alerts: SqlAlerts = assembly.alerts
        lost = frozenset(assembly.lost_prices)
        if lost:
            await alerts.lost_prices(lost)
            assembly.lost_prices -= lost
        services = assembly.services
        await alerts.raise_alerts(assembly.webhooks, self._is_known)
        if now >= self._drifts_at:
            await alerts.raise_drifts(assembly.webhooks, lambda counted_by: counts_now(services, counted_by))
            self._drifts_at = now + _DRIFT_SECONDS
        if now >= self._forget_at:
            await alerts.forget()
            self._forget_at = now + _FORGET_SECONDS

    def _is_known(self, provider: str, model: str) -> bool:
        try:
            return self._assembly.services.weigher.catalog.find(model, provider).model.id == model
        except UnknownModel:
            return False


class Courier:
    """Delivers what is due, each target apart: one that is slow holds up no other."""

    def __init__(
        self,
        alerts: Alerts,
        sender: Sender,
        record: Callable[[str, str], None],
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._alerts = alerts
        self._sender = sender
        self._record = record
        self._chance = chance
        self._under_way: dict[str, asyncio.Task[None]] = {}

    def begin(self, targets: Sequence[Target]) -> None:
        """Begin to deliver what is due to ``targets``, where that is not under way."""
        self._under_way = {key: task for key, task in self._under_way.items() if not task.done()}
        for target in targets:
            if target.key not in self._under_way:
                self._under_way[target.key] = asyncio.create_task(self.deliver(target))

    async def end(self) -> None:
        """Break off what is under way: it is delivered by whoever is next, or anew."""
        for task in self._under_way.values():
            task.cancel()
        await asyncio.gather(*self._under_way.values(), return_exceptions=True)

    async def deliver(self, target: Target) -> None:
        """Deliver all that is due to ``target``; what fails is due again later."""
        with contextlib.suppress(LedgerUnavailable, LedgerNotOpened):
            while claimed := await self._alerts.claim(target, _AT_ONCE):
                await asyncio.gather(*(self._attempt(target, delivery) for delivery in claimed))

    async def _attempt(self, target: Target, delivery: Delivery) -> None:
        outcome = await self._sender.send(target, delivery)
        self._record(delivery.kind.value, outcome.value)
        with contextlib.suppress(LedgerUnavailable):  # then it is due again in a minute, delivered or not
            if outcome is Outcome.DELIVERED:
                await self._alerts.delivered(delivery)
            elif not await self._alerts.failed(delivery, wait_after(delivery.attempt, self._chance())):
                self._record(delivery.kind.value, GIVEN_UP)
