"""Preflight: whether a call may be made, why not, and what could be called in its place."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from service.api.exchange import Exchange
from service.api.pool import CountPool
from service.app import build_app, layered
from service.app.assembly import inner_app
from service.domain.keys.access import Caller, KeyScope
from service.domain.spending.budgets import Scope, ScopeKind, Totals
from service.store.ledger import sql_ledger
from tests.service.api.spending.desk import Desk, refusal_counts
from tests.service.conftest import Api

HELLO = {"model": "own", "text": "Hello, World!", "max_output_tokens": 100}
KEY = {"idempotency-key": "p-1"}


def _asked(desk: Desk, **body: Any) -> dict[str, Any]:
    answer = desk.api.post("/v1/preflight", body)
    assert answer.status_code == 200, answer.text
    return answer.json()


def _codes(answer: dict[str, Any]) -> list[str]:
    return [reason["code"] for reason in answer["reasons"]]


def test_a_call_that_fits_is_allowed_and_nothing_is_written(desk: Desk) -> None:
    desk.budget(limit="0.00109")
    answer = _asked(desk, **HELLO)
    assert (answer["allowed"], answer["reasons"], answer["reservation"]) == (True, [], None)
    assert answer["estimate"] == desk.api.post("/v1/estimate", HELLO).json()
    assert answer["budgets"] == [
        {
            "name": "team-a",
            "limit_usd": "0.00109",
            "remaining_usd": "0.00109",
            "limit_tokens": None,
            "remaining_tokens": None,
            "period_end": None,
            "fits": True,
        }
    ]
    assert answer["alternatives"] == []
    assert desk.totals() == Totals()


def test_a_nano_dollar_too_much_is_not(desk: Desk) -> None:
    desk.budget("wide", "1")
    desk.budget("narrow", "0.001089999")
    answer = _asked(desk, **HELLO)
    assert [(r["code"], r["budget"]) for r in answer["reasons"]] == [("budget_exceeded", "narrow")]
    assert [(b["name"], b["fits"]) for b in answer["budgets"]] == [("wide", True), ("narrow", False)]
    assert _asked(desk, **HELLO, budget="wide")["allowed"]
    assert [b["name"] for b in _asked(desk, **HELLO, budget="narrow")["budgets"]] == ["narrow"]
    assert desk.api.post("/v1/preflight", HELLO | {"budget": "nowhere"}).status_code == 404
    assert refusal_counts(desk) == []


@pytest.mark.parametrize(("tokens", "allowed"), [(136, True), (135, False)])
def test_a_token_limit_is_kept_to_the_token(desk: Desk, tokens: int, allowed: bool) -> None:
    desk.budget(limit=None, limit_tokens=tokens)
    answer = _asked(desk, **HELLO)
    assert answer["allowed"] is allowed
    assert answer["budgets"][0]["remaining_tokens"] == tokens


def test_a_call_is_held_in_the_same_step(desk: Desk) -> None:
    desk.budget(limit="0.00109")
    answer = _asked(desk, **HELLO, reserve=True, ttl_seconds=60)
    hold = answer["reservation"]
    assert (answer["allowed"], hold["state"], hold["amount_usd"], hold["tokens"]) == (True, "held", "0.00109", 136)
    assert hold["expires_at"] == "2026-11-20T12:01:00Z"
    assert answer["budgets"][0]["remaining_usd"] == "0.00109"  # as it stood before
    assert desk.api.get(f"/v1/reservations/{hold['id']}").json() == hold
    again = _asked(desk, **HELLO, reserve=True)
    assert (again["allowed"], again["reservation"], _codes(again)) == (False, None, ["budget_exceeded"])
    assert desk.totals().open_holds == 1
    assert refusal_counts(desk) == [("budget_exceeded", "team-a", "own", 1)]
    desk.audit()


def test_a_preflight_that_holds_is_carried_out_once(desk: Desk) -> None:
    desk.budget(limit="0.00109")
    body = HELLO | {"reserve": True}
    first = desk.api.post("/v1/preflight", body, headers=KEY)
    again = desk.api.post("/v1/preflight", body, headers=KEY)  # although the budget has nothing left
    assert again.content == first.content
    assert again.headers["idempotency-replayed"] == "true"
    other = desk.api.post("/v1/preflight", body | {"text": "Hi"}, headers=KEY)
    assert (other.status_code, other.json()["code"]) == (422, "idempotency_key_reused")
    refused = {"idempotency-key": "p-2"}
    assert not desk.api.post("/v1/preflight", body, headers=refused).json()["allowed"]
    desk.api.post(f"/v1/reservations/{first.json()['reservation']['id']}/release", {})
    assert desk.api.post("/v1/preflight", body, headers=refused).json()["allowed"]


def test_preflights_that_come_together_never_hold_more_than_the_limit(desk: Desk) -> None:
    desk.budget(limit="0.0218")
    answers = desk.together([("/v1/preflight", HELLO | {"reserve": True, "alternatives": []}, {})] * 60)
    assert sum(answer.json()["allowed"] for answer in answers) == 20
    assert {answer.status_code for answer in answers} == {200}
    assert desk.totals().held_nano == 20 * 1_090_000
    desk.audit()


@pytest.mark.parametrize(
    ("body", "codes"),
    [
        ({"limits": {"max_cost_usd": "0.00109"}}, []),
        ({"limits": {"max_cost_usd": "0.001089999999"}}, ["cost_above_limit"]),
        ({"max_cost_usd": "0.00109"}, []),
        ({"max_cost_usd": "0.001089999999", "limits": {"max_cost_usd": "1"}}, ["cost_above_limit"]),
        ({"limits": {"max_input_tokens": 36}}, []),
        ({"limits": {"max_input_tokens": 35}}, ["input_above_limit"]),
        ({"max_output_tokens": 200_000 - 36}, []),
        ({"max_output_tokens": 200_000 - 35}, ["context_exceeded"]),
        ({"limits": {"max_cost_usd": "0", "max_input_tokens": 0}}, ["input_above_limit", "cost_above_limit"]),
        ({"model": "nobody-makes-this"}, ["unknown_model"]),
        ({"model": "uncountable"}, ["no_tokenizer"]),
        ({"model": "unpriced"}, ["price_unknown"]),
        ({"service_tier": "priority"}, ["price_unknown"]),
        ({"model": "endless", "max_output_tokens": None}, ["tokens_required"]),
        ({"model": "endless", "max_output_tokens": 10**12}, ["invalid_amount"]),
        ({"model": "gratis", "limits": {"max_cost_usd": "0"}}, []),
    ],
)
def test_every_reason_has_its_code_and_is_200(file_desk: Desk, body: dict, codes: list[str]) -> None:
    answer = _asked(file_desk, **HELLO | body)
    assert (_codes(answer), answer["allowed"]) == (codes, not codes)
    assert (answer["estimate"] is None) is (codes in (["unknown_model"], ["no_tokenizer"]))
    held = _asked(file_desk, **HELLO | body, reserve=True)
    assert held["reservation"] is None or not codes


def test_a_sum_that_no_call_can_have_is_a_reason_too(file_desk: Desk) -> None:
    answer = _asked(file_desk, **HELLO | {"model": "endless", "max_output_tokens": 10**12}, reserve=True)
    assert _codes(answer) == ["invalid_amount"]
    assert refusal_counts(file_desk) == [("invalid_amount", None, "endless", 1)]


def test_a_limit_of_zero_refuses_a_free_model(file_desk: Desk) -> None:
    file_desk.budget(limit="0")
    assert _codes(_asked(file_desk, model="gratis", text="Hi")) == ["budget_exceeded"]


def test_several_texts_are_one_question(file_desk: Desk) -> None:
    texts = {"model": "own", "texts": ["Hello, World!"] * 3, "max_output_tokens": 100}
    answer = _asked(file_desk, **texts, limits={"max_input_tokens": 36, "max_cost_usd": "0.00327"})
    assert answer["allowed"]
    assert (answer["estimate"]["tokens"], len(answer["estimate"]["items"])) == (12, 3)
    assert _codes(_asked(file_desk, **texts, limits={"max_cost_usd": "0.003269"})) == ["cost_above_limit"]
    none = _asked(file_desk, model="own", texts=[], alternatives=["cheap"])
    assert (none["allowed"], none["alternatives"]) == (True, [])


def test_cheaper_models_are_named_where_the_call_may_not_be_made(desk: Desk) -> None:
    desk.budget(limit="0.001")
    answer = _asked(desk, **HELLO)
    assert _codes(answer) == ["budget_exceeded"]
    assert answer["alternatives"] == [
        {
            "model": "cheap",
            "provider": "local",
            "accuracy": "exact",
            "input_tokens": 4,
            "cost_usd": "0.000136",
            "expected_usd": "0.000104",
        }
    ]
    desk.budget("of-cheap", "0.000135", scope=Scope(ScopeKind.MODEL, "cheap"))
    assert _asked(desk, **HELLO)["alternatives"] == []
    assert desk.totals() == Totals()


def test_alternatives_are_looked_at_when_they_are_asked_for(file_desk: Desk) -> None:
    names = ["gpt-4o", "local/cheap", "own", "gratis", "unpriced", "uncountable", "nobody-makes-this", "cheap"]
    answer = _asked(file_desk, **HELLO, alternatives=names)
    assert answer["allowed"]
    assert [(a["model"], a["cost_usd"]) for a in answer["alternatives"]] == [
        ("gratis", "0"),
        ("cheap", "0.000136"),
        ("gpt-4o", "0.0010275"),
    ]
    assert [(w["code"], w["path"]) for w in answer["warnings"]] == [("unknown_model", "alternatives[6]")]
    assert "nobody" not in str(answer)
    costs = [Decimal(a["cost_usd"]) for a in answer["alternatives"]]
    assert max(costs) < Decimal(answer["estimate"]["cost"]["high"])
    assert (
        _asked(file_desk, **HELLO | {"model": "nobody"}, alternatives=["cheap"])["alternatives"][0]["model"] == "cheap"
    )


def test_at_most_five_alternatives_are_named_cheapest_first(file_desk: Desk) -> None:
    names = ["gpt-4o", "gpt-4o-mini", "gpt-5", "gpt-5-mini", "gpt-5-nano", "gpt-4.1", "gpt-4.1-mini", "o3"]
    answer = _asked(file_desk, **HELLO, limits={"max_cost_usd": "0"}, alternatives=names)
    assert answer["alternatives"] == []
    answer = _asked(file_desk, **HELLO | {"model": "unpriced"}, alternatives=names)
    costs = [Decimal(a["cost_usd"]) for a in answer["alternatives"]]
    assert len(costs) == 5
    assert costs == sorted(costs)


def test_a_verdict_does_not_wait_for_alternatives_that_there_is_no_time_for(file_desk: Desk) -> None:
    full = CountPool(workers=1, queue_limit=-1, deadline_seconds=1)
    api = Api(build_app(replace(file_desk.services, pool=full)))
    body = {"model": "own", "text": "weigh " * 400, "max_output_tokens": 1, "limits": {"max_input_tokens": 1}}
    answer = api.post("/v1/preflight", body).json()  # large enough for the pool only if counted many times
    assert (_codes(answer), answer["alternatives"]) == (["input_above_limit"], [])
    assert [warning["code"] for warning in answer["warnings"]] == ["alternatives_omitted"]
    assert api.post("/v1/preflight", body | {"text": "weigh " * 4000}).status_code == 503
    full.close()


def test_a_dearer_model_is_named_where_the_one_asked_for_cannot_take_the_call(file_desk: Desk) -> None:
    answer = _asked(file_desk, model="cheap", text="a " * 1000, max_output_tokens=1)
    assert _codes(answer) == ["context_exceeded"]
    assert [a["model"] for a in answer["alternatives"]] == ["own"]


def test_a_chat_is_counted_for_each_model_as_it_frames_it(file_desk: Desk) -> None:
    chat = {"model": "own", "messages": [{"role": "user", "content": "Hi"}], "max_output_tokens": 1}
    answer = _asked(file_desk, **chat | {"model": "unpriced"}, alternatives=["gpt-4o", "text-embedding-3-small"])
    assert [(a["model"], a["input_tokens"]) for a in answer["alternatives"]] == [("gpt-4o", 8)]


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({}, "text"),
        ({"text": "a"}, "model"),
        ({"model": "own", "text": "a", "messages": []}, "text"),
        ({"model": "own", "text": "a", "limit": 5}, "limit"),
        ({"model": "own", "text": "a", "limits": {"max_cost_usd": "-1"}}, "limits.max_cost_usd"),
        ({"model": "own", "text": "a", "limits": {"max_output_tokens": 1}}, "limits"),
        ({"model": "own", "text": "a", "reserve": True, "at": "2026-11-20T12:00:00Z"}, "at"),
        ({"model": "own", "text": "a", "amount_usd": "1"}, ""),
        ({"model": "own", "text": "a", "tags": {"a": "\x1f"}}, "tags"),
        ({"model": "own", "text": "a", "alternatives": [""]}, "alternatives[0]"),
    ],
)
def test_a_malformed_body_is_422(file_desk: Desk, body: dict, path: str) -> None:
    answer = file_desk.api.post("/v1/preflight", body)
    problem = answer.json()
    assert (answer.status_code, problem["code"], problem.get("path", "")) == (422, "invalid_request", path)
    assert file_desk.api.post("/v1/preflight", b"[").status_code == 400


def test_the_output_that_a_sum_pays_for_is_told_as_in_an_estimate(file_desk: Desk) -> None:
    body = HELLO | {"max_cost_usd": "0.0006"}
    answer = _asked(file_desk, **body)
    assert answer["estimate"] == file_desk.api.post("/v1/estimate", body).json()
    assert answer["estimate"]["affordable"] == {"max_cost_usd": "0.0006", "output_tokens": 51, "input_fits": True}
    assert _codes(answer) == ["cost_above_limit"]


def test_the_time_of_the_call_decides_on_its_price(file_desk: Desk) -> None:
    answer = _asked(file_desk, **HELLO, at="2026-11-21T00:00:00Z")
    assert answer["estimate"]["cost"]["high"] == "0.109"


def test_to_hold_takes_a_scope_that_to_ask_does_not(file_desk: Desk) -> None:
    app = inner_app(file_desk.services)

    async def asked_with_a_key(scope: Any, receive: Any, send: Any) -> None:
        Exchange.of(scope).caller = Caller("other", "key-1", frozenset({KeyScope.ESTIMATE}))
        await app(scope, receive, send)

    api = Api(layered(asked_with_a_key, file_desk.services))
    file_desk.budget("of-the-key", "1", project="other", scope=Scope(ScopeKind.KEY, "key-1"))
    answer = api.post("/v1/preflight", HELLO)
    assert [b["name"] for b in answer.json()["budgets"]] == ["of-the-key"]
    answer = api.post("/v1/preflight", HELLO | {"reserve": True})
    assert (answer.status_code, answer.json()["code"]) == (403, "scope_missing")


def test_a_ledger_that_is_down_is_503_and_nothing_is_allowed(file_desk: Desk, tmp_path: Path) -> None:
    ledger = sql_ledger("postgresql://nobody@127.0.0.1:1/none", tmp_path, file_desk.place.clock)
    api = Api(build_app(replace(file_desk.services, ledger=ledger)))
    for reserve in (False, True):
        answer = api.post("/v1/preflight", HELLO | {"reserve": reserve})
        assert (answer.status_code, answer.json()["code"]) == (503, "ledger_unavailable")
    file_desk.do(ledger.close())


def test_a_budget_of_another_project_is_neither_asked_nor_shown(desk: Desk) -> None:
    desk.budget(limit="0", project="other")
    desk.budget(limit="1")
    answer = _asked(desk, **HELLO)
    assert (answer["allowed"], answer["budgets"][0]["remaining_usd"]) == (True, "1")
    other = desk.api.post("/v1/preflight?project=other", HELLO).json()
    assert (other["allowed"], other["budgets"][0]["remaining_usd"]) == (False, "0")
    assert desk.totals() == Totals()
