"""Metrics of the ledger: exact, counted once, and with labels from closed sets alone."""

from __future__ import annotations

import asyncio
import re
from dataclasses import replace

import pytest

from service.app.watching import look
from service.domain.spending.budgets import Spender
from service.domain.spending.errors import LedgerUnavailable, Replayed
from service.domain.spending.ledger import Flag, Metered, Refusal, Settlement, UsageRecord
from service.ledger_metrics import MOST_BUDGETS
from service.store.ledger import sql_ledger
from tests.service.api.ledgers import LedgerApi
from tests.service.store.places import START, asked, usd
from tests.service.store.test_ledger import once

MINE = Spender("default", "k1", "openai", "gpt-4o", "o200k_base")
DIME = UsageRecord(MINE, usd("0.1"), START, Metered(3, 4))


def values(api: LedgerApi, name: str) -> dict[str, float]:
    """The samples of a metric by their labels."""
    found = re.findall(rf"^weighbridge_{name}(?:{{(.*)}})? (\S+)$", api.get("/metrics").text, re.MULTILINE)
    return {labels: float(value) for labels, value in found}


def test_ten_dimes_are_exactly_a_dollar(ledger_api: LedgerApi) -> None:
    for _ in range(10):
        ledger_api.run(ledger_api.services.ledger.record([DIME]))
    assert values(ledger_api, "spend_nanodollars_total") == {'model="gpt-4o",provider="openai"': 1_000_000_000}
    assert values(ledger_api, "entries_booked_total")['flag="none"'] == 10


def test_what_comes_again_is_counted_once(ledger_api: LedgerApi) -> None:
    ledger = ledger_api.services.ledger
    ledger_api.run(ledger.record([DIME], once=once()))
    with pytest.raises(Replayed):
        ledger_api.run(ledger.record([DIME], once=once()))
    hold = ledger_api.run(ledger.reserve(asked("1", spender=MINE)))
    for repeated in (False, True, True):
        settled = ledger_api.run(ledger.settle("default", hold.id, Settlement(usd("2"))))
        assert settled.repeated is repeated
    assert values(ledger_api, "spend_nanodollars_total") == {'model="gpt-4o",provider="openai"': 2_100_000_000}
    entries = values(ledger_api, "entries_booked_total")
    assert (entries['flag="overrun"'], entries['flag="none"'], entries['flag="late"']) == (1, 1, 0)
    assert set(entries) == {f'flag="{flag}"' for flag in ("none", *Flag)}


def test_a_thousand_made_up_models_are_one_series(ledger_api: LedgerApi) -> None:
    made = [replace(DIME, spender=Spender("default", None, f"maker-{n}", f"model-{n}")) for n in range(1000)]
    ledger_api.run(ledger_api.services.ledger.record(made))
    assert values(ledger_api, "spend_nanodollars_total") == {'model="other",provider="other"': 100_000_000_000}
    for number in range(1000):
        ledger_api.services.ledger.refused(Refusal("default", f"made-up-{number}"))
    assert len(values(ledger_api, "refusals_total")) <= 65
    assert sum(values(ledger_api, "refusals_total").values()) == 1000


def test_refusals_are_counted_by_reason(ledger_api: LedgerApi) -> None:
    for reason in ("budget_exceeded", "budget_exceeded", "price_unknown"):
        ledger_api.services.ledger.refused(Refusal("default", reason, "team-a"))
    assert values(ledger_api, "refusals_total") == {'reason="budget_exceeded"': 2, 'reason="price_unknown"': 1}


def test_routes_are_templates_and_calls_of_the_ledger_are_timed(ledger_api: LedgerApi) -> None:
    for number in range(50):
        ledger_api.get(f"/v1/budgets/team-{number}")
    seconds = values(ledger_api, "ledger_operation_duration_seconds_count")
    assert seconds == {'operation="budget"': 50}
    requests = values(ledger_api, "http_requests_total")
    assert requests == {'method="GET",route="/v1/budgets/{name}",status="404"': 50} | {
        'method="GET",route="/metrics",status="200"': 1
    }


def test_exported_budgets_are_shown_as_they_stand(ledger_api: LedgerApi) -> None:
    for name, export in (("shown", True), ("hidden", False), ("open", True)):
        limit = {} if name == "open" else {"limit_usd": "5"}
        ledger_api.post("/v1/budgets", {"name": name, "export": export} | limit)
    ledger = ledger_api.services.ledger
    ledger_api.run(ledger.record([DIME]))
    ledger_api.run(ledger.reserve(asked("0.5", spender=MINE, ttl_seconds=60)))
    ledger_api.place.clock.pass_(seconds=75)
    ledger_api.run(look(ledger_api.ledger, ledger_api.services.metrics.ledger, ledger_api.health))
    shown, unlimited = 'budget="shown",project="default"', 'budget="open",project="default"'
    assert values(ledger_api, "budget_limit_nanodollars") == {shown: 5_000_000_000}
    assert values(ledger_api, "budget_spent_nanodollars") == {shown: 100_000_000, unlimited: 100_000_000}
    assert values(ledger_api, "budget_held_nanodollars") == {shown: 500_000_000, unlimited: 500_000_000}
    gauges = [values(ledger_api, name) for name in ("ledger_up", "ledger_open_holds", "ledger_overdue_seconds")]
    assert gauges == [{"": 1}, {"": 1}, {"": 15}]
    ledger_api.patch("/v1/budgets/shown", {"export": False})
    ledger_api.run(look(ledger_api.ledger, ledger_api.services.metrics.ledger, ledger_api.health))
    assert set(values(ledger_api, "budget_spent_nanodollars")) == {unlimited}


def test_at_most_two_hundred_budgets_are_shown(ledger_api: LedgerApi) -> None:
    async def make() -> None:
        for number in range(MOST_BUDGETS + 1):
            await ledger_api.ledger.create_budget(replace(spec, name=f"b{number}"), by="me")
        await look(ledger_api.ledger, ledger_api.services.metrics.ledger, ledger_api.health)

    ledger_api.post("/v1/budgets", {"name": "first", "export": True})
    spec = ledger_api.run(ledger_api.ledger.budget("default", "first")).budget.spec
    ledger_api.run(make())
    found = values(ledger_api, "budget_spent_nanodollars")
    assert len(found) == MOST_BUDGETS
    assert 'budget="first",project="default"' in found


def test_a_ledger_that_is_down_is_seen(ledger_api: LedgerApi) -> None:
    gone = sql_ledger("postgresql://nobody@127.0.0.1:1/nothing", ledger_api.place.folder, ledger_api.place.clock)
    metrics, health = ledger_api.services.metrics.ledger, ledger_api.health
    assert ledger_api.get("/readyz").json()["ledger"] == "starting"
    ledger_api.run(look(ledger_api.ledger, metrics, health))
    assert (ledger_api.get("/readyz").json()["ledger"], values(ledger_api, "ledger_up")) == ("up", {"": 1})
    ledger_api.run(look(gone, metrics, health))
    answer = ledger_api.get("/readyz")
    assert (answer.status_code, answer.json()["ledger"], values(ledger_api, "ledger_up")) == (200, "down", {"": 0})
    assert "ledger" not in ledger_api.get("/livez").json()
    ledger_api.run(look(ledger_api.ledger, metrics, health))
    assert ledger_api.get("/readyz").json()["ledger"] == "up"
    asyncio.run(gone.close())


def test_a_write_that_the_ledger_cannot_take_is_counted_and_seen(
    ledger_api: LedgerApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: object, **__: object) -> None:
        raise LedgerUnavailable("the disk is full")

    ledger_api.run(look(ledger_api.ledger, ledger_api.services.metrics.ledger, ledger_api.health))
    with monkeypatch.context() as patched:
        patched.setattr(ledger_api.ledger, "create_budget", fail)
        answer = ledger_api.post("/v1/budgets", {"name": "b"})
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
        assert "the disk is full" in answer.json()["detail"]
    assert values(ledger_api, "ledger_failures_total") == {'operation="create_budget"': 1}
    assert ledger_api.get("/readyz").json()["ledger"] == "down"
    assert ledger_api.post("/v1/budgets", {"name": "b"}).status_code == 201
    assert ledger_api.get("/readyz").json()["ledger"] == "up"


def test_over_http_a_retry_is_counted_once_and_a_refusal_as_one(ledger_api: LedgerApi) -> None:
    ledger_api.post("/v1/budgets", {"name": "team-a", "limit_usd": "1"})
    call = {"model": "gpt-4o", "cost_usd": "0.1"}
    for number in range(10):
        headers = {"idempotency-key": f"call-{number}"}
        for _ in range(2):
            assert ledger_api.post("/v1/usage", call, headers=headers).status_code == 201
    assert values(ledger_api, "spend_nanodollars_total") == {'model="gpt-4o",provider="openai"': 1_000_000_000}
    assert ledger_api.get("/v1/budgets/team-a").json()["remaining_usd"] == "0"
    assert ledger_api.post("/v1/reservations", {"amount_usd": "0.000000001"}).status_code == 402
    assert values(ledger_api, "refusals_total") == {'reason="budget_exceeded"': 1}
    ledger_api.run(ledger_api.ledger.keep_up_once())
    [refusal] = ledger_api.get("/v1/refusals").json()["refusals"]
    assert (refusal["reason"], refusal["budget"], refusal["count"]) == ("budget_exceeded", "team-a", 1)
