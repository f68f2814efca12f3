"""The clients and the service itself, in a process of its own."""

from __future__ import annotations

import asyncio
import itertools
import threading
from datetime import UTC, datetime
from decimal import Decimal

import httpx
import pytest

from service.client import (
    AsyncWeighbridge,
    BudgetExceeded,
    NotAllowed,
    Patience,
    Unavailable,
    Weighbridge,
    WeighbridgeError,
)
from tests.service.client.conftest import ADMIN_KEY

pytestmark = pytest.mark.xdist_group("client")

MESSAGES = [{"role": "user", "content": "Hello, World!"}]
USAGE = {"prompt_tokens": 1000, "completion_tokens": 100, "total_tokens": 1100}  # $0.0035
_names = (f"b{number}" for number in itertools.count())


@pytest.fixture
def client(server):
    """In a project of its own."""
    with Weighbridge(server.url, ADMIN_KEY, project=next(_names)) as found:
        yield found


@pytest.fixture
def budget(client):
    return client.create_budget(next(_names), limit_usd=Decimal("1.00"), limit_tokens=10_000)


class Losing(httpx.BaseTransport):
    """Sends each request, and loses the first answer of each path once the service has given it."""

    def __init__(self) -> None:
        self._inner = httpx.HTTPTransport()
        self.lost: set[str] = set()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        answer = self._inner.handle_request(request)
        if request.url.path not in self.lost:
            answer.read()
            self.lost.add(request.url.path)
            raise httpx.ReadError("lost", request=request)
        return answer

    def close(self) -> None:
        self._inner.close()


def test_counts_and_costs(client):
    assert client.count("gpt-4o", text="Hello, World!").tokens == 4
    counts = client.count_texts("gpt-4o", ["Hello", "Hello, World!"])
    assert [count.tokens for count in counts.items] == [1, 4]
    estimate = client.estimate("gpt-4o", messages=MESSAGES, max_output_tokens=100, max_cost_usd="0.5")
    assert estimate.input_tokens == 11
    assert estimate.cost.high == Decimal("0.0010275")
    assert estimate.context.fits
    assert estimate.affordable.max_cost_usd == Decimal("0.5")
    known = client.cost("gpt-4o", USAGE)
    assert known.cost.expected == known.cost.high == Decimal("0.0035")
    assert {component.usd for component in known.cost.components} == {Decimal("0.0025"), Decimal("0.001")}
    compared = client.compare(text="Hello", models=["gpt-4o", "gpt-4o-mini"], max_output_tokens=10)
    assert compared.cheapest == "gpt-4o-mini"
    assert [row.model for row in compared.rows] == ["gpt-4o-mini", "gpt-4o"]


def test_an_unknown_model_is_told_with_those_like_it(client):
    with pytest.raises(WeighbridgeError) as caught:
        client.count("gpt-4oo", text="Hello")
    assert (caught.value.code, caught.value.status, caught.value.path) == ("unknown_model", 422, "")
    assert "gpt-4o" in caught.value.nearest


def test_a_budget_is_made_changed_listed_and_deleted(client):
    name = next(_names)
    made = client.create_budget(name, limit_usd="0.1", period="month", warn_at="0.8", scope={"kind": "project"})
    assert (made.limit_usd, made.remaining_usd, made.warn_at) == (Decimal("0.1"), Decimal("0.1"), Decimal("0.8"))
    assert made.period_start.tzinfo is not None
    assert client.change_budget(name, limit_usd=None, limit_tokens=7).limit_usd is None
    assert client.get_budget(name).limit_tokens == 7
    assert name in {budget.name for budget in client.list_budgets(limit=1000).budgets}
    client.delete_budget(name)
    with pytest.raises(WeighbridgeError) as caught:
        client.get_budget(name)
    assert (caught.value.code, caught.value.status) == ("unknown_budget", 404)
    assert caught.value.request_id


def test_a_hold_is_settled_with_a_vendors_usage(client, budget):
    with client.budget(budget.name).hold("gpt-4o", MESSAGES, 100, tags={"team": "x"}) as hold:
        assert hold.reservation.budgets == (budget.name,)
        assert client.get_budget(budget.name).held_usd == hold.reservation.amount_usd == Decimal("0.0010275")
        hold.sent()
        settled = hold.settle(USAGE)
    assert settled.cost_usd == Decimal("0.0035")
    assert settled.flags == ("overrun",)
    after = client.get_budget(budget.name)
    assert (after.spent_usd, after.held_usd, after.spent_tokens) == (Decimal("0.0035"), Decimal(0), 1100)
    assert client.reservation(hold.id).state == "settled"


def test_a_hold_that_is_left_is_released_or_settled_in_part(client, budget):
    with client.budget(budget.name).hold("gpt-4o", MESSAGES, 100) as unused:
        unused.extend(3600)
    with client.budget(budget.name).hold("gpt-4o", MESSAGES, 100) as used:
        used.sent()
    assert client.reservation(unused.id).state == "released"
    assert "partial" in used.settled.flags
    after = client.get_budget(budget.name)
    assert (after.held_usd, after.open_holds) == (Decimal(0), 0)
    assert after.spent_usd == used.settled.cost_usd > 0


def test_a_preflight_tells_whether_why_and_what_else(client, budget):
    allowed = client.preflight("gpt-4o", messages=MESSAGES, max_output_tokens=100)
    assert allowed.allowed
    assert allowed.estimate.cost.high == Decimal("0.0010275")
    assert [(left.name, left.remaining_usd) for left in allowed.budgets] == [(budget.name, Decimal(1))]
    assert client.get_budget(budget.name).open_holds == 0
    limits = {"max_cost_usd": Decimal("0.001")}
    refused = client.preflight("gpt-4o", messages=MESSAGES, max_output_tokens=100, limits=limits,
                               alternatives=["gpt-4o-mini"])  # fmt: skip
    assert not refused.allowed
    assert [reason.code for reason in refused.reasons] == ["cost_above_limit"]
    assert [(each.model, each.cost_usd < Decimal("0.001")) for each in refused.alternatives] == [("gpt-4o-mini", True)]


def test_a_preflight_holds_at_once_where_that_is_asked_for(server, client, budget):
    transport = Losing()
    with Weighbridge(
        server.url, ADMIN_KEY, budget.project, transport=transport, patience=Patience(pause=0.001)
    ) as unlucky:
        found = unlucky.preflight("gpt-4o", messages=MESSAGES, max_output_tokens=100, reserve=True)
    assert found.reservation.amount_usd == Decimal("0.0010275")
    assert client.get_budget(budget.name).open_holds == 1
    client.release(found.reservation.id)


def test_spend_entries_and_refusals_are_read(client, budget):
    with client.budget(budget.name).hold("gpt-4o", MESSAGES, 100, tags={"team": "x y"}) as hold:
        hold.settle(USAGE)
    client.record_usage("gpt-4o-mini", cost_usd="0.1")
    rows = client.spend(group_by="model", interval="day").rows
    assert {row.group: row.spend_usd for row in rows} == {"gpt-4o": Decimal("0.0035"), "gpt-4o-mini": Decimal("0.1")}
    (entry,) = client.entries(tags={"team": "x y"}).entries
    assert (entry.reservation_id, entry.held_usd, entry.cost_usd) == (hold.id, Decimal("0.0010275"), Decimal("0.0035"))
    assert entry.estimate.input_tokens == 11
    first = client.entries(limit=1)
    assert first.cursor
    assert client.entries(limit=1, cursor=first.cursor).entries == (entry,)
    assert client.refusals(start=entry.at).more is False


def test_a_stream_that_breaks_off_is_booked_as_far_as_it_went(client, budget):
    chunk = {"model": "gpt-4o", "choices": [{"index": 0, "delta": {"content": "Hello, World!"}, "finish_reason": None}]}
    held = client.budget(budget.name).hold("gpt-4o", MESSAGES, 100)
    with pytest.raises(ConnectionError), held as hold:
        _broken(hold.stream(iter([chunk])))
    assert held.settled.usage.input_tokens == 11
    assert held.settled.usage.output_tokens == 4
    assert held.settled.cost_usd == Decimal("0.0000675")
    assert held.settled.flags == ("partial",)


def _broken(chunks):
    for _ in chunks:
        raise ConnectionError


def test_a_refusal_names_what_is_left(client, budget):
    with pytest.raises(BudgetExceeded) as caught, client.hold(budget=budget.name, amount_usd="1.000000001", tokens=1):
        raise AssertionError("the block is not entered")
    (short,) = caught.value.shortfalls
    assert (short.budget, short.unit, short.remaining) == (budget.name, "usd", Decimal(1))


def test_an_answer_that_is_lost_after_the_commit_is_one_hold_and_one_entry(server, client, budget):
    transport = Losing()
    patience = Patience(pause=0.001)
    with Weighbridge(server.url, ADMIN_KEY, budget.project, transport=transport, patience=patience) as unlucky:
        held = unlucky.reserve(budget=budget.name, amount_usd="0.25", tokens=10)
        assert client.get_budget(budget.name).open_holds == 1
        settled = unlucky.settle(held.id, cost_usd="0.1")
        (entry,) = unlucky.record_usage("gpt-4o", USAGE).entries
    assert len(transport.lost) == 3
    after = client.get_budget(budget.name)
    assert (after.open_holds, after.held_usd) == (0, Decimal(0))
    assert settled.cost_usd == Decimal("0.1")
    assert entry.cost_usd == Decimal("0.0035")
    assert after.spent_usd == Decimal("0.1035")


def test_ten_times_a_tenth_is_one(client):
    records = [{"model": "gpt-4o", "cost_usd": Decimal("0.1"), "tags": {"case": "tenths"}}] * 10
    name = client.create_budget(
        next(_names), limit_usd="1", scope={"kind": "tag", "key": "case", "value": "tenths"}
    ).name
    assert len(client.record_all(records).entries) == 10
    assert client.get_budget(name).spent_usd == Decimal(1)
    with pytest.raises(BudgetExceeded):
        client.reserve("gpt-4o", amount_usd="0.000000001", tags={"case": "tenths"})


def test_two_threads_share_a_client_and_a_budget(client, budget):
    def work():
        for _ in range(10):
            with client.hold(budget=budget.name, amount_usd="0.05", tokens=10) as hold:
                hold.settle(cost_usd="0.001")

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    after = client.get_budget(budget.name)
    assert (after.spent_usd, after.held_usd) == (Decimal("0.02"), Decimal(0))


def test_the_awaited_client_does_the_same_at_once(server, budget):
    async def run():
        async with AsyncWeighbridge(server.url, ADMIN_KEY, budget.project) as client:

            async def one():
                async with client.budget(budget.name).hold(amount_usd="0.05", tokens=10) as hold:
                    hold.sent()
                    return await hold.settle(cost_usd="0.001")

            settled = await asyncio.gather(*[one() for _ in range(20)])
            return settled, await client.get_budget(budget.name)

    settled, after = asyncio.run(run())
    assert {each.cost_usd for each in settled} == {Decimal("0.001")}
    assert after.spent_usd == Decimal("0.02")


def test_without_a_key_nothing_is_told(server):
    with Weighbridge(server.url) as client, pytest.raises(NotAllowed) as caught:
        client.list_budgets()
    assert (caught.value.status, caught.value.code) == (401, "key_missing")


def test_an_admin_may_name_another_project(server, client):
    name = next(_names)
    with Weighbridge(server.url, ADMIN_KEY, project="lab") as lab:
        assert lab.create_budget(name, limit_usd="1").project == "lab"
        with pytest.raises(WeighbridgeError):
            client.get_budget(name)
        with lab.budget(name).hold(amount_usd="0.5", tokens=1) as hold:
            hold.settle(cost_usd="0.5")
        assert lab.get_budget(name).remaining_usd == Decimal("0.5")


def test_a_service_that_is_not_there_is_unavailable():
    patience = Patience(pause=0.001, attempts=2)
    with Weighbridge("http://127.0.0.1:1", patience=patience) as client, pytest.raises(Unavailable) as caught:
        client.count("gpt-4o", text="a")
    assert caught.value.code == "unreachable"


def test_times_are_aware(client, budget):
    held = client.reserve(budget=budget.name, amount_usd="0.01", tokens=1)
    assert held.created_at <= datetime.now(UTC) < held.expires_at
    assert client.release(held.id).state == "released"
