"""A call is tried again where that is safe and may help, and nowhere else."""

from __future__ import annotations

from decimal import Decimal

import httpx
import pytest

from service.client import (
    BudgetExceeded,
    NotAllowed,
    RateLimited,
    Refused,
    Shortfall,
    Unavailable,
    WeighbridgeError,
)
from tests.service.client.script import COUNT, RESERVATION, Script, answer, problem

LOST = httpx.ReadError("lost")


def _reserve(client):
    return client.reserve(amount_usd="0.25", budget="team-a")


def _count(client):
    return client.count("gpt-4o", text="Hello")


@pytest.mark.parametrize("failure", [LOST, httpx.ConnectError("no"), httpx.ReadTimeout("late")], ids=repr)
def test_a_lost_answer_is_asked_for_again_with_the_same_key(asker, failure):
    script = Script(failure, failure, answer(201, RESERVATION))
    assert asker.ask(script, _reserve).id == "r1"
    assert len(script.seen) == 3
    assert len(set(script.keys)) == 1
    assert script.keys[0]


def test_each_call_has_a_key_of_its_own_unless_one_is_given(asker):
    script = Script()
    asker.ask(script, _reserve)
    asker.ask(script, _reserve)
    asker.ask(script, lambda client: client.reserve(amount_usd="1", idempotency_key="mine"))
    assert len(set(script.keys)) == 3
    assert script.keys[2] == "mine"


@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_what_passes_is_tried_again(asker, status):
    script = Script(problem(status, "overloaded"), answer(200, COUNT))
    assert asker.ask(script, _count).tokens == 7
    assert script.keys == [None, None]  # nothing is written


def test_a_first_request_that_is_under_way_is_waited_for(asker):
    script = Script(problem(409, "idempotency_in_flight", retry_after=1), answer(201, RESERVATION))
    assert asker.ask(script, _reserve).id == "r1"
    assert script.pauses == [1.1]


@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [
        (400, "invalid_json", WeighbridgeError),
        (401, "key_invalid", NotAllowed),
        (402, "budget_exceeded", BudgetExceeded),
        (402, "price_unknown", Refused),
        (403, "scope_missing", NotAllowed),
        (404, "unknown_budget", WeighbridgeError),
        (409, "already_settled", WeighbridgeError),
        (422, "unknown_model", WeighbridgeError),
        (500, "internal_error", WeighbridgeError),
    ],
)
def test_what_stands_is_not_tried_again(asker, status, code, kind):
    script = Script(problem(status, code, path="model", request_id="q-7"))
    with pytest.raises(kind) as caught:
        asker.ask(script, _reserve)
    error = caught.value
    assert type(error) is kind
    assert (error.code, error.status, error.detail, error.path, error.request_id) == (code, status, "D", "model", "q-7")
    assert len(script.seen) == 1
    assert script.pauses == []


def test_a_refusal_names_the_limits_exactly(asker):
    short = [
        {"budget": "team-a", "unit": "usd", "remaining": "0.000000001"},
        {"budget": "all", "unit": "tokens", "remaining": 3, "later": 1.5},
    ]
    with pytest.raises(Refused) as caught:
        asker.ask(Script(problem(402, "budget_exceeded", shortfalls=short)), _reserve)
    expected = (Shortfall("team-a", "usd", Decimal("0.000000001")), Shortfall("all", "tokens", Decimal(3)))
    assert caught.value.shortfalls == expected


def test_pauses_grow_and_end_after_four_attempts(asker):
    script = Script(*[problem(503, "ledger_unavailable")] * 9)
    with pytest.raises(Unavailable) as caught:
        asker.ask(script, _reserve)
    assert script.pauses == [0.1, 0.2, 0.4]
    assert caught.value.code == "ledger_unavailable"


def test_a_pause_is_random_from_nothing_to_its_limit(asker):
    asked = []

    def chance(low, high):
        asked.append((low, high))
        return low

    script = Script(*[LOST] * 3)
    patience = script.patience(chance=chance, longest_pause=0.15)
    assert asker.ask(script, _reserve, patience=patience).id == "r1"
    assert asked == [(0.0, 0.1), (0.0, 0.15), (0.0, 0.15)]


def test_what_the_service_says_of_when_to_come_again_is_the_least(asker):
    script = Script(problem(429, "rate_limited", retry_after=7), answer(200, COUNT))
    asker.ask(script, _count)
    assert script.pauses == [7.1]


def test_a_pause_past_the_deadline_is_not_waited_for(asker):
    script = Script(problem(429, "rate_limited", retry_after=30))
    with pytest.raises(RateLimited) as caught:
        asker.ask(script, _count)
    assert script.pauses == []
    assert caught.value.retry_after == 30


def test_the_last_attempt_has_no_longer_than_what_is_left(asker):
    script = Script(problem(503, "overloaded", retry_after=27), answer(200, COUNT))
    asker.ask(script, _count)
    first, last = (request.extensions["timeout"]["read"] for request in script.seen)
    assert first == 10
    assert last == pytest.approx(2.9)


def test_no_answer_at_all_is_unavailable(asker):
    script = Script(*[httpx.ConnectError("no")] * 4)
    with pytest.raises(Unavailable) as caught:
        asker.ask(script, _reserve)
    assert (caught.value.code, caught.value.status) == ("unreachable", 0)
    assert isinstance(caught.value.__cause__, httpx.ConnectError)


def test_a_timeout_says_so(asker):
    with pytest.raises(Unavailable, match="in time") as caught:
        asker.ask(Script(*[httpx.ReadTimeout("late")] * 4), _count)
    assert caught.value.code == "timeout"


def test_deleting_what_an_unanswered_attempt_deleted_is_done(asker):
    script = Script(LOST, problem(404, "unknown_budget"))
    assert asker.ask(script, lambda client: client.delete_budget("team-a")) is None
    assert script.paths == ["DELETE /v1/budgets/team-a"] * 2


def test_deleting_what_was_never_there_is_an_error(asker):
    with pytest.raises(WeighbridgeError) as caught:
        asker.ask(Script(problem(404, "unknown_budget")), lambda client: client.delete_budget("team-a"))
    assert caught.value.code == "unknown_budget"


def test_a_proxys_page_is_an_error_with_its_status(asker):
    page = httpx.Response(403, html="<h1>Forbidden</h1>")
    with pytest.raises(NotAllowed) as caught:
        asker.ask(Script(page), _count)
    assert caught.value.code == "http_403"


def test_an_answer_of_another_form_is_an_error_with_its_place(asker):
    with pytest.raises(WeighbridgeError, match="amount_usd") as caught:
        asker.ask(Script(answer(201, {**RESERVATION, "amount_usd": []})), _reserve)
    assert (caught.value.code, caught.value.request_id) == ("unexpected_answer", "q-1")


@pytest.mark.parametrize(("status", "code"), [(200, "unexpected_answer"), (402, "http_402")])
def test_an_answer_that_is_nested_too_deeply_is_an_error_of_the_client(asker, status, code):
    deep = httpx.Response(status, content=b'{"x":' + b"[" * 100_000)
    with pytest.raises(WeighbridgeError) as caught:
        asker.ask(Script(deep), _count)
    assert (caught.value.code, caught.value.status) == (code, status)
