"""From a crossing in the ledger to a receiver over HTTP: retried, in order again after either side was down."""

from __future__ import annotations

import asyncio
import socket
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal

import pytest

from service.app.alerting import Courier
from service.domain.spending.alerts import Target
from service.domain.spending.budgets import NANO, Terms
from service.domain.spending.ledger import UsageRecord
from service.store.alerts import SqlAlerts
from service.store.ledger import SqlLedger, sql_ledger
from service.webhooks import Outcome, Sender
from tests.service.store.places import SPENDER, Place, budget, usd
from tests.service.webhooks.receiver import Receiver

SECRET = b"0123456789abcdef"
WARNED = Terms(10 * NANO, None, Decimal("0.8"))


@pytest.fixture
def place(tmp_path) -> Place:
    return Place("", tmp_path / "data")


class Round:
    """A ledger whose alerts are delivered when a test says so; what came of it is in ``outcomes``."""

    def __init__(self, ledger: SqlLedger, place: Place, *targets: Target) -> None:
        self.alerts = SqlAlerts(ledger.read, ledger.write, place.clock)
        self.outcomes: list[tuple[str, str]] = []
        self.sender = Sender(seconds=30)
        self.two = asyncio.Event()
        self.courier = Courier(self.alerts, self.sender, self.record, lambda: 0.0)
        self.ledger, self.targets, self.now = ledger, targets, place.clock

    def record(self, kind: str, outcome: str) -> None:
        self.outcomes.append((kind, outcome))
        if len(self.outcomes) == 2:
            self.two.set()

    async def cross(self) -> None:
        await self.ledger.create_budget(budget(terms=WARNED), by="test")
        await self.ledger.record([UsageRecord(SPENDER, usd("8"), self.now())])
        await self.alerts.raise_alerts(self.targets, lambda *_: True)

    async def deliver(self) -> list[str]:
        self.outcomes.clear()
        for target in self.targets:
            await self.courier.deliver(target)
        return [outcome for _, outcome in self.outcomes]


def test_after_a_failure_it_is_delivered_once(place, receiver):
    receiver.statuses += [500, 307, 429]

    async def work(ledger: SqlLedger) -> None:
        target = Target(receiver.url, SECRET, allow_private=True)
        round_ = Round(ledger, place, target)
        await round_.cross()
        outcomes = []
        for wait in (5, 10, 20, 3600):
            outcomes += await round_.deliver()
            assert await round_.deliver() == [], "it is not due yet"
            place.clock.pass_(seconds=wait)
        outcomes += await round_.deliver()
        assert outcomes == ["status", "redirected", "status", "delivered"]
        await round_.sender.close()

    place.run(work)
    got = [receiver.next() for _ in range(4)]
    assert receiver.got.empty()
    assert len({(one.id, one.body) for one in got}) == 1
    assert got[0].told["type"] == "budget.warning"
    for one in got:
        one.verify(SECRET)


def test_a_receiver_that_was_down_gets_it_once_it_is_up(place):
    receiver = Receiver()
    receiver.start()
    port = receiver.port
    receiver.stop()

    async def work(ledger: SqlLedger) -> None:
        round_ = Round(ledger, place, Target(f"http://127.0.0.1:{port}/", SECRET, allow_private=True))
        await round_.cross()
        assert await round_.deliver() == ["unreachable"]
        place.clock.pass_(seconds=5)
        receiver.start(port)
        assert await round_.deliver() == ["delivered"]
        await round_.sender.close()

    place.run(work)
    assert receiver.next().told["spent_usd"] == "8"
    receiver.stop()


def test_a_target_that_is_refused_or_slow_holds_up_no_other(place, receiver):
    async def work(ledger: SqlLedger) -> None:
        good = Target(receiver.url, SECRET, allow_private=True)
        private = Target(receiver.url.replace("http:", "https:"), SECRET)
        silent = socket.create_server(("127.0.0.1", 0))
        slow = Target(f"http://127.0.0.1:{silent.getsockname()[1]}/", SECRET, allow_private=True)
        round_ = Round(ledger, place, slow, private, good)
        await round_.cross()
        round_.courier.begin(round_.targets)
        round_.courier.begin(round_.targets)
        await asyncio.to_thread(receiver.next)
        await asyncio.wait_for(round_.two.wait(), 60)
        await round_.courier.end()
        await round_.sender.close()
        silent.close()
        assert sorted(outcome for _, outcome in round_.outcomes) == ["address_refused", "delivered"]

    place.run(work)
    assert receiver.got.empty()


def test_what_nobody_takes_is_given_up_after_three_days(place):
    async def work(ledger: SqlLedger) -> None:
        round_ = Round(ledger, place, Target("https://10.1.2.3/", SECRET))
        await round_.cross()
        waits = 0.0
        outcomes: list[str] = []
        while "given_up" not in outcomes:
            outcomes = await round_.deliver()
            assert outcomes[:1] == [Outcome.ADDRESS_REFUSED]
            place.clock.pass_(seconds=3600)
            waits += 3600
        assert 3 * 86_400 <= waits <= 3 * 86_400 + 7200
        assert await round_.deliver() == []
        await round_.sender.close()

    place.run(work)


def test_the_service_delivers_what_another_process_spent(serve, tmp_path, receiver):
    secret = "whsec_MDEyMzQ1Njc4OWFiY2RlZg=="
    (tmp_path / "secret-of-hook").write_text(secret)
    (tmp_path / "weighbridge.toml").write_text(
        f'[[webhook]]\nurl = "{receiver.url}"\nsecret_file = "secret-of-hook"\nallow_private = true\n'
        'events = ["budget.exceeded"]\n'
    )
    receiver.statuses.append(503)

    async def spend(name: str) -> None:
        ledger = sql_ledger("", tmp_path, lambda: datetime.now(UTC))
        await ledger.create_budget(replace(budget(name, terms=WARNED), project="default"), by="test")
        spender = replace(SPENDER, project="default", model="gpt-4o", provider="openai")
        await ledger.record([UsageRecord(spender, usd("10"), datetime.now(UTC))])
        await ledger.close()

    asyncio.run(spend("first"))  # before the service runs at all
    server, replica = (serve(vocabularies="o200k_base") for _ in range(2))
    first, second = receiver.next(), receiver.next()
    assert (first.id, first.body) == (second.id, second.body)
    assert (first.told["type"], first.told["project"]) == ("budget.exceeded", "default")
    second.verify(SECRET)
    asyncio.run(spend("second"))
    assert (third := receiver.next()).told["budget"] == "second"
    assert third.id != first.id
    assert [process.stop() for process in (server, replica)] == [0, 0]
    log = server.log.read_text()
    assert secret not in log
    assert SECRET.decode() not in log
    assert receiver.got.empty()
