"""Alerts over both databases: at the exact nano-dollar, once for each crossing, and kept until they are delivered."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

import msgspec
import pytest
from sqlalchemy import func, select

from service.api.alerts import BudgetAlert, DriftAlert, PriceAlert
from service.domain.spending.alerts import GIVEN_UP_AFTER, AlertKind, Delivery, Target
from service.domain.spending.budgets import NANO, BudgetSpec, PeriodKind, Terms
from service.domain.spending.ledger import Estimate, Flag, Metered, Settlement, UsageRecord
from service.store.alerts import SqlAlerts
from service.store.ledger import SqlLedger
from service.store.tables import ALERT_MARKS, ALERTS, DELIVERIES
from tests.service.store.places import SPENDER, Place, asked, budget, cost, read, usd

TARGET = Target("https://one.example/", b"x" * 16)
OTHER = Target("https://other.example/", b"y" * 16, events=frozenset({AlertKind.BUDGET_EXCEEDED}))
DOCUMENTED = {
    "budget.warning": BudgetAlert,
    "budget.exceeded": BudgetAlert,
    "price.unknown": PriceAlert,
    "estimate.drift": DriftAlert,
}
WARNED = Terms(10 * NANO, None, Decimal("0.8"))


class Watch:
    """Alerts of a ledger, as one process looks at them."""

    def __init__(self, ledger: SqlLedger, place: Place, targets: Sequence[Target] = (TARGET,)) -> None:
        self.alerts = SqlAlerts(ledger.read, ledger.write, place.clock)
        self.ledger = ledger
        self.targets = targets
        self.now = place.clock

    async def look(self) -> int:
        return await self.alerts.raise_alerts(self.targets, lambda provider, _model: provider != "made-up")

    async def due(self, target: Target = TARGET) -> list[Delivery]:
        found: list[Delivery] = []
        while some := await self.alerts.claim(target, 8):
            found += some
        return found

    async def told(self) -> list[dict]:
        """What is told now: it is taken as delivered."""
        await self.look()
        found = await self.due()
        for delivery in found:
            await self.alerts.delivered(delivery)
        told = [json.loads(delivery.body) for delivery in found]
        for alert in told:
            msgspec.convert(alert, DOCUMENTED[alert["type"]])
        return told

    async def kinds(self) -> list[str]:
        return sorted(told["type"] for told in await self.told())

    async def spend(self, amount: str, **more: object) -> None:
        record = UsageRecord(replace(SPENDER, **more), usd(amount), self.now(), Metered(3, 4))
        await self.ledger.record([record])


async def rows(ledger: SqlLedger, table: object) -> int:
    return await read(ledger, lambda c: c.execute(select(func.count()).select_from(table)).scalar_one())


def test_a_threshold_is_crossed_at_the_exact_nano_dollar_and_told_once(place):
    async def work(ledger: SqlLedger) -> None:
        watch = Watch(ledger, place)
        await ledger.create_budget(budget(terms=WARNED), by="test")
        await watch.spend("7.999999999")
        assert await watch.told() == []
        await watch.spend("0.000000001")
        [told] = await watch.told()
        assert {name: told[name] for name in told if name not in ("id", "at")} == {
            "type": "budget.warning",
            "budget": "team-a",
            "project": "p",
            "unit": "usd",
            "warn_at": 0.8,
            "limit_usd": "10",
            "spent_usd": "8",
            "held_usd": "0",
            "period": "none",
            "period_start": None,
            "period_end": None,
        }
        assert (told["id"][:4], told["at"]) == ("evt_", "2026-11-20T12:00:00.000Z")
        await watch.spend("1.999999999")
        assert await watch.told() == []
        await watch.spend("0.000000001")
        assert await watch.kinds() == ["budget.exceeded"]
        await watch.spend("5")
        assert await watch.told() == []
        assert await rows(ledger, DELIVERIES) == 0

    place.run(work)


def test_settling_crosses_and_holding_does_not(place):
    async def work(ledger: SqlLedger) -> None:
        watch = Watch(ledger, place)
        await ledger.create_budget(budget(terms=WARNED), by="test")
        hold = await ledger.reserve(asked("10"))
        assert await watch.told() == []
        await ledger.settle("p", hold.id, cost("10"))
        assert await watch.kinds() == ["budget.exceeded", "budget.warning"]

    place.run(work)


def test_tokens_have_thresholds_of_their_own(place):
    async def work(ledger: SqlLedger) -> None:
        watch = Watch(ledger, place)
        await ledger.create_budget(budget(terms=Terms(NANO, 10, Decimal(1))), by="test")
        hold = await ledger.reserve(asked("0.1", 9))
        await ledger.settle("p", hold.id, Settlement(usd("0.1"), Metered(4, 5)))
        assert await watch.told() == []
        hold = await ledger.reserve(asked("0.1", 1))
        await ledger.settle("p", hold.id, Settlement(usd("0.1"), Metered(0, 1)))
        told = await watch.told()
        assert [(one["unit"], one["limit_tokens"], one["spent_tokens"]) for one in told] == [("tokens", 10, 10)] * 2
        await watch.spend("0.8")
        assert {one["unit"] for one in await watch.told()} == {"usd"}

    place.run(work)


def test_two_processes_tell_it_once(place):
    async def work() -> None:
        async with place.opened() as one, place.opened() as other:
            await one.create_budget(budget(terms=WARNED), by="test")
            watches = [Watch(one, place), Watch(other, place)]
            for _ in range(20):
                await asyncio.gather(*(watch.spend("0.5") for watch in watches), *(watch.look() for watch in watches))
            await asyncio.gather(*(watch.look() for watch in watches))
            told = [delivery for due in await asyncio.gather(*(watch.due() for watch in watches)) for delivery in due]
            assert sorted(delivery.kind for delivery in told) == ["budget.exceeded", "budget.warning"]

    asyncio.run(work())


def test_the_next_period_tells_anew(place):
    async def work(ledger: SqlLedger) -> None:
        watch = Watch(ledger, place)
        spec = BudgetSpec("p", "daily", WARNED, period=PeriodKind.DAY, timezone="Europe/Berlin")
        await ledger.create_budget(spec, by="test")
        for start in ("2026-11-19T23:00:00Z", "2026-11-20T23:00:00Z"):
            await watch.spend("8")
            [told] = await watch.told()
            assert (told["type"], told["period"], told["period_start"]) == ("budget.warning", "day", start)
            await watch.spend("0.1")
            assert await watch.told() == []
            place.clock.pass_(days=1)

    place.run(work)


def test_a_raised_limit_arms_it_again_and_a_lowered_one_crosses(place):
    async def work(ledger: SqlLedger) -> None:
        watch = Watch(ledger, place)
        await ledger.create_budget(budget(terms=WARNED), by="test")

        async def limit(nano: int | None) -> list[str]:
            await ledger.change_budget("p", "team-a", lambda terms: replace(terms, limit_nano=nano), by="test")
            return await watch.kinds()

        await watch.spend("10")
        assert await watch.kinds() == ["budget.exceeded", "budget.warning"]
        assert await limit(12 * NANO) == []  # spend is still above 80 % of it
        assert await limit(10 * NANO) == ["budget.exceeded"]
        assert await limit(20 * NANO) == []
        await watch.spend("5.999999999")
        assert await watch.told() == []
        await watch.spend("0.000000001")
        assert await watch.kinds() == ["budget.warning"]
        assert await limit(None) == []
        assert await limit(16 * NANO) == ["budget.exceeded", "budget.warning"]

    place.run(work)


def test_a_budget_that_is_deleted_meanwhile_tells_nothing(place):
    async def work(ledger: SqlLedger) -> None:
        watch = Watch(ledger, place)
        await ledger.create_budget(budget(terms=WARNED), by="test")
        await watch.spend("10")
        await ledger.delete_budget("p", "team-a", by="test")
        assert await watch.told() == []
        assert await rows(ledger, ALERT_MARKS) == 0

    place.run(work)


def test_calls_that_cross_nothing_leave_no_mark(place):
    async def work(ledger: SqlLedger) -> None:
        watch = Watch(ledger, place)
        await ledger.create_budget(budget(terms=WARNED), by="test")
        for _ in range(5):
            await watch.spend("1")
        assert await rows(ledger, ALERT_MARKS) == 0
        await watch.spend("3")
        assert await rows(ledger, ALERT_MARKS) == 1
        assert await Watch(ledger, place, ()).look() == 0
        assert await rows(ledger, ALERT_MARKS) == 1, "without a webhook nobody looks"
        assert await watch.kinds() == ["budget.warning"]

    place.run(work)


def test_a_model_without_a_price_is_told_once_a_day(place):
    async def work(ledger: SqlLedger) -> None:
        watch = Watch(ledger, place)

        async def unpriced(**more: object) -> None:
            await ledger.record([UsageRecord(replace(SPENDER, **more), None, place.clock(), Metered(1, 1))])

        await unpriced()
        await unpriced()
        await unpriced(provider="made-up")
        await unpriced(model=None)
        [told] = await watch.told()
        assert (told["type"], told["provider"], told["model"]) == ("price.unknown", "maker", "some-model")
        await unpriced()
        assert await watch.told() == []
        await watch.alerts.lost_prices({("maker", "some-model"), ("gone", "model/x")})
        [told] = await watch.told()
        assert (told["provider"], told["model"]) == ("gone", "model/x")
        place.clock.pass_(days=1)
        await unpriced()
        assert await watch.kinds() == ["price.unknown"]
        inconsistent = UsageRecord(SPENDER, usd("1"), place.clock(), flags=frozenset({Flag.INCONSISTENT_USAGE}))
        await ledger.record([inconsistent])
        assert await rows(ledger, ALERT_MARKS) == 0

    place.run(work)


def test_a_drift_is_told_once_until_the_estimates_are_right_again(place):
    async def work(ledger: SqlLedger) -> None:
        watch = Watch(ledger, place)

        async def calls(number: int, actual: int, model: str = "some-model") -> list[dict]:
            spender = replace(SPENDER, model=model)
            record = UsageRecord(spender, usd("0.01"), place.clock(), Metered(actual, 1), estimate=Estimate(1000))
            await ledger.record([record] * number)
            await watch.alerts.raise_drifts(watch.targets, lambda counted_by: counted_by.model != "made-up")
            return await watch.told()

        assert await calls(60, 2000, "made-up") == []
        assert await calls(49, 1111) == []
        [told] = await calls(1, 1111)
        assert {name: told[name] for name in ("type", "provider", "model", "tokenizer", "settles")} == {
            "type": "estimate.drift",
            "provider": "maker",
            "model": "some-model",
            "tokenizer": "words",
            "settles": 50,
        }
        assert 0.1083 <= told["p50"] <= 0.1139
        assert await calls(30, 1200) == []
        assert await calls(90, 1090) == []  # between the two
        assert await calls(300, 1000) == []
        [told] = await calls(900, 800)
        assert -0.205 <= told["p50"] <= -0.195
        place.clock.pass_(days=2)
        assert await calls(50, 1000) == []
        assert len(await calls(60, 1200)) == 1

    place.run(work)


def test_each_target_gets_the_events_it_asked_for(place):
    async def work(ledger: SqlLedger) -> None:
        watch = Watch(ledger, place, (TARGET, OTHER))
        await ledger.create_budget(budget(terms=WARNED), by="test")
        await watch.spend("10")
        assert await watch.look() == 2
        one, other = await watch.due(TARGET), await watch.due(OTHER)
        assert {delivery.kind for delivery in one} == {"budget.warning", "budget.exceeded"}
        assert [delivery.kind for delivery in other] == ["budget.exceeded"]
        assert {delivery.id for delivery in other} < {delivery.id for delivery in one}

    place.run(work)


def test_what_is_not_delivered_outlives_the_process_and_keeps_its_id(place):
    async def crossed(ledger: SqlLedger) -> None:
        await ledger.create_budget(budget(terms=WARNED), by="test")
        await Watch(ledger, place).spend("8")  # and the process is gone before anybody looked

    async def begun(ledger: SqlLedger) -> str:
        watch = Watch(ledger, place)
        await watch.look()
        [delivery] = await watch.due()
        assert (delivery.attempt, await watch.due()) == (1, []), "nobody else gets it meanwhile"
        return delivery.id  # and the process is gone before it could tell how that ended

    async def ended(ledger: SqlLedger) -> Delivery:
        watch = Watch(ledger, place)
        assert await watch.look() == 0
        place.clock.pass_(seconds=59)
        assert await watch.due() == []
        place.clock.pass_(seconds=1)
        [delivery] = await watch.due()
        await watch.alerts.delivered(delivery)
        place.clock.pass_(days=1)
        assert await watch.due() == []
        return delivery

    place.run(crossed)
    number = place.run(begun)
    delivery = place.run(ended)
    assert (delivery.id, delivery.attempt) == (number, 2)


def test_what_failed_is_due_after_its_wait_and_dropped_after_three_days(place):
    async def work(ledger: SqlLedger) -> None:
        watch = Watch(ledger, place)
        await ledger.create_budget(budget(terms=WARNED), by="test")
        await watch.spend("8")
        await watch.look()
        [delivery] = await watch.due()
        assert await watch.alerts.failed(delivery, timedelta(seconds=20))
        place.clock.pass_(seconds=19)
        assert await watch.due() == []
        place.clock.pass_(seconds=1)
        [again] = await watch.due()
        assert (again.id, again.body, again.attempt) == (delivery.id, delivery.body, 2)
        place.clock.now = delivery.created_at + GIVEN_UP_AFTER - timedelta(microseconds=1)
        assert await watch.alerts.failed(again, timedelta(0))
        [again] = await watch.due()
        place.clock.pass_(microseconds=1)
        assert not await watch.alerts.failed(again, timedelta(0))
        assert await rows(ledger, DELIVERIES) == 0

    place.run(work)


def test_what_is_too_old_to_matter_is_forgotten(place):
    async def work(ledger: SqlLedger) -> None:
        watch = Watch(ledger, place)
        daily = BudgetSpec("p", "daily", WARNED, period=PeriodKind.DAY)
        for spec in (budget(terms=WARNED), daily):
            await ledger.create_budget(spec, by="test")
        await watch.spend("8")
        assert await watch.look() == 2
        place.clock.pass_(days=6)
        await watch.alerts.forget()
        assert await rows(ledger, DELIVERIES) == 2
        await watch.spend("8")
        place.clock.pass_(days=4)
        await watch.alerts.forget()
        counts = [await rows(ledger, table) for table in (DELIVERIES, ALERT_MARKS, ALERTS)]
        assert counts == [0, 0, 2]
        place.clock.pass_(days=400)
        await watch.alerts.forget()
        assert await rows(ledger, ALERTS) == 1, "the budget without an end is still above its threshold"

    place.run(work)


@pytest.mark.parametrize("number", [1, 8, 9, 40])
def test_many_are_claimed_some_at_a_time(place, number):
    async def work(ledger: SqlLedger) -> None:
        watch = Watch(ledger, place)
        for index in range(number):
            await ledger.create_budget(budget(f"b{index}", terms=WARNED), by="test")
        await watch.spend("8")
        assert await watch.look() == number
        assert len(await watch.alerts.claim(TARGET, 8)) == min(number, 8)
        assert len(await watch.due()) == max(number - 8, 0)

    place.run(work)
