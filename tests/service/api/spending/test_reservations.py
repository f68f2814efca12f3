"""Reservations as clients see them: what is held, what is refused, and how a hold ends."""

from __future__ import annotations

import json
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

from service.app import build_app
from service.domain.spending.budgets import NANO, Scope, ScopeKind, Totals
from service.store.ledger import sql_ledger
from tests.service.api.spending.desk import Desk, refusal_counts
from tests.service.conftest import Api

HELLO = {"model": "own", "text": "Hello, World!", "max_output_tokens": 100}
HELLO_NANO = 1_090_000  # 4 tokens, the 32 of a message's framing, and 100 of output


def test_an_amount_is_held_of_a_budget(desk: Desk) -> None:
    desk.budget()
    hold = desk.held(budget="team-a", amount_usd="1", tokens=7, ttl_seconds=60, tags={"team": "search"})
    known = {
        "state": "held",
        "project": "default",
        "amount_usd": "1",
        "tokens": 7,
        "created_at": "2026-11-20T12:00:00Z",
        "expires_at": "2026-11-20T12:01:00Z",
        "model": None,
        "provider": None,
        "tags": {"team": "search"},
        "budgets": ["team-a"],
        "estimate": None,
        "price_revision": "",
        "entry_id": None,
        "warnings": [],
    }
    assert hold == {"id": hold["id"], **known}
    assert desk.api.get(f"/v1/reservations/{hold['id']}").json() == hold
    assert desk.totals() == Totals(0, NANO, 0, 7, 1)
    desk.audit()


def test_what_is_sent_is_held_at_its_high_cost_of_every_budget_that_counts_it(desk: Desk) -> None:
    desk.budget("all-of-it")
    desk.budget("of-the-model", scope=Scope(ScopeKind.MODEL, "own"))
    desk.budget("of-the-team", scope=Scope(ScopeKind.TAG, "search", "team"))
    desk.budget("of-another", "0", scope=Scope(ScopeKind.TAG, "ads", "team"))
    hold = desk.held(**HELLO, expected_output_tokens=10, tags={"team": "search"})
    assert (hold["amount_usd"], hold["tokens"]) == ("0.00109", 136)
    assert (hold["model"], hold["provider"]) == ("own", "local")
    assert hold["budgets"] == ["all-of-it", "of-the-model", "of-the-team"]
    assert hold["estimate"] == {"input_tokens": 4, "output_tokens": 10, "usd": "0.00011"}
    assert [w["code"] for w in hold["warnings"]] == ["framing_not_included"]
    assert len(hold["price_revision"]) == 12
    assert desk.totals("of-the-team") == Totals(0, HELLO_NANO, 0, 136, 1)
    assert desk.totals("of-another") == Totals()


def test_a_hold_fits_to_the_nano_dollar(desk: Desk) -> None:
    desk.budget(limit="0.00109")
    desk.held(**HELLO)
    assert desk.totals().held_nano == HELLO_NANO
    desk.budget("narrow", "0.001089999")
    answer = desk.reserve(**HELLO, budget="narrow")
    assert answer.status_code == 402
    problem = answer.json()
    assert (problem["code"], problem["status"]) == ("budget_exceeded", 402)
    assert problem["shortfalls"] == [{"budget": "narrow", "unit": "usd", "remaining": "0.001089999"}]
    assert desk.totals("narrow") == Totals()


@pytest.mark.parametrize(("tokens", "status"), [(136, 201), (135, 402)])
def test_a_hold_fits_to_the_token(desk: Desk, tokens: int, status: int) -> None:
    desk.budget(limit=None, limit_tokens=tokens)
    answer = desk.reserve(**HELLO)
    assert answer.status_code == status
    if status == 402:
        assert answer.json()["shortfalls"] == [{"budget": "team-a", "unit": "tokens", "remaining": 135}]


def test_an_amount_under_a_token_limit_needs_tokens(desk: Desk) -> None:
    desk.budget(limit=None, limit_tokens=10)
    answer = desk.reserve(amount_usd="1")
    assert (answer.status_code, answer.json()["code"]) == (422, "tokens_required")
    assert desk.held(amount_usd="1", tokens=10)["tokens"] == 10


def test_an_amount_for_a_model_goes_before_its_estimate(desk: Desk) -> None:
    desk.budget(scope=Scope(ScopeKind.MODEL, "local/own"))
    hold = desk.held(model="own-latest", provider="local", amount_usd="0.5")
    assert (hold["model"], hold["tokens"], hold["estimate"], hold["budgets"]) == ("own", None, None, ["team-a"])
    hold = desk.held(**HELLO, amount_usd=0.25)
    assert (hold["amount_usd"], hold["tokens"], hold["estimate"]["usd"]) == ("0.25", 136, "0.00101")
    hold = desk.held(model="unpriced", text="Hello", amount_usd="0.25")
    assert (hold["amount_usd"], hold["budgets"], hold["estimate"]["usd"]) == ("0.25", [], None)


def test_all_the_output_that_a_call_allows_is_held(desk: Desk) -> None:
    hold = desk.held(request={"model": "own", "messages": [{"role": "user", "content": "Hi"}], "max_tokens": 100_000})
    assert hold["tokens"] > 100_000
    assert float(hold["amount_usd"]) > 1  # 100,000 tokens at 10 dollars a million
    without = desk.held(model="own", text="Hi")
    assert "max_output_assumed" in [w["code"] for w in without["warnings"]]
    assert without["tokens"] == 1 + 32 + 100


@pytest.mark.parametrize(
    "request_body",
    [
        {"model": "own", "messages": [{"role": "user", "content": "Hi"}], "max_tokens": 50, "n": 3},
        {
            "model": "own",
            "contents": [{"parts": [{"text": "Hi"}]}],
            "generationConfig": {"maxOutputTokens": 50, "candidateCount": 3},
        },
    ],
)
def test_the_output_of_every_answer_that_is_asked_for_is_held(file_desk: Desk, request_body: dict) -> None:
    held = file_desk.held(request=request_body)
    one = file_desk.held(request=request_body, max_output_tokens=0)
    assert held["tokens"] - one["tokens"] == 150
    assert Decimal(held["amount_usd"]) - Decimal(one["amount_usd"]) == Decimal("0.0015")
    assert held["estimate"]["output_tokens"] == 150
    assert "several_answers" in [warning["code"] for warning in held["warnings"]]
    estimate = file_desk.api.post("/v1/estimate", {"request": request_body, "max_cost_usd": held["amount_usd"]}).json()
    assert estimate["affordable"]["output_tokens"] == 50


def test_more_output_than_was_expected_at_most_is_held(file_desk: Desk) -> None:
    hold = file_desk.held(model="own", text="Hi", expected_output_tokens=150)  # the model's own limit is 100
    assert hold["tokens"] == 1 + 32 + 150


def test_several_texts_are_one_hold(desk: Desk) -> None:
    hold = desk.held(model="own", texts=["Hello, World!"] * 3, max_output_tokens=100)
    assert (hold["amount_usd"], hold["tokens"]) == ("0.00327", 408)


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"model": "nobody-makes-this", "text": "a"}, "unknown_model"),
        ({"model": "nobody-makes-this", "amount_usd": "1"}, "unknown_model"),
        ({"model": "uncountable", "text": "a"}, "no_tokenizer"),
        ({"model": "unpriced", "text": "a"}, "price_unknown"),
        ({"model": "own", "text": "a", "service_tier": "priority"}, "price_unknown"),
        ({"model": "endless", "text": "a"}, "tokens_required"),
    ],
)
def test_what_cannot_be_bounded_is_refused_with_402_and_noted(file_desk: Desk, body: dict, code: str) -> None:
    answer = file_desk.reserve(**body)
    assert (answer.status_code, answer.json()["code"]) == (402, code)
    assert answer.headers["content-type"] == "application/problem+json"
    assert "nobody" not in answer.text
    model = None if code == "unknown_model" else body["model"]
    assert refusal_counts(file_desk) == [(code, None, model, 1)]


def test_refusals_by_a_budget_are_noted_with_its_name(desk: Desk) -> None:
    desk.budget(limit="0")
    for _ in range(3):
        assert desk.reserve(**HELLO).status_code == 402
    assert refusal_counts(desk) == [("budget_exceeded", "team-a", "own", 3)]


def test_a_free_model_holds_nothing_and_a_limit_of_zero_refuses_it(desk: Desk) -> None:
    desk.budget(limit="0.000000001")
    hold = desk.held(model="gratis", text="Hello")
    assert (hold["amount_usd"], hold["estimate"]["usd"]) == ("0", "0")
    assert desk.held(model="gratis", amount_usd="0")["amount_usd"] == "0"
    desk.budget("closed", "0")
    answer = desk.reserve(model="gratis", text="Hello")
    assert answer.json()["shortfalls"] == [{"budget": "closed", "unit": "usd", "remaining": "0"}]
    for body in ({"amount_usd": "0"}, {"model": "own", "amount_usd": "0"}):
        answer = desk.reserve(**body)
        assert (answer.status_code, answer.json()["code"]) == (422, "invalid_amount")


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({}, "amount_usd"),
        ({"amount_usd": "-1"}, "amount_usd"),
        ({"amount_usd": "1e-13"}, "amount_usd"),
        ({"amount_usd": "NaN"}, "amount_usd"),
        ({"amount_usd": "one"}, "amount_usd"),
        ({"amount_usd": "1", "budget": "a b"}, "budget"),
        ({"amount_usd": "1", "budget": "a\x00"}, "budget"),
        ({"amount_usd": "1", "ttl_seconds": 0}, "ttl_seconds"),
        ({"amount_usd": "1", "ttl_seconds": 2_592_001}, "ttl_seconds"),
        ({"amount_usd": "1", "tokens": -1}, "tokens"),
        ({"amount_usd": "1", "tags": {"a": ""}}, "tags[...]"),
        ({"amount_usd": "1", "tags": {"a": "b\n"}}, "tags"),
        ({"amount_usd": "1", "tags": {"a\x00": "b"}}, "tags"),
        ({"amount_usd": "1", "tags": {"a": "\ud800"}}, "tags"),
        ({"amount_usd": "1", "tags": {f"t{n}": "x" for n in range(11)}}, "tags"),
        ({"amount_usd": "1", "tags": {"a": 1}}, "tags[...]"),
        ({"amount_usd": "1", "provider": "local"}, "provider"),
        ({"amount_usd": "1", "colour": "red"}, ""),
        ({"model": "own", "text": "a", "at": "2026-11-20T12:00:00Z"}, "at"),
        ({"model": "own", "text": "a", "limit": 3}, "limit"),
        ({"model": "own", "text": "a", "texts": ["a"]}, "text"),
        ({"model": "own", "text": "a", "max_cost_usd": "1"}, ""),
    ],
)
def test_a_malformed_body_is_422_with_its_path(file_desk: Desk, body: dict, path: str) -> None:
    answer = file_desk.reserve(**body)
    problem = answer.json()
    assert (answer.status_code, problem["code"], problem.get("path", "")) == (422, "invalid_request", path)
    assert refusal_counts(file_desk) == []


def test_what_is_no_json_is_400_and_no_budget_of_that_name_404(file_desk: Desk) -> None:
    assert file_desk.api.post("/v1/reservations", b"{").status_code == 400
    answer = file_desk.reserve(amount_usd="1", budget="nowhere")
    assert (answer.status_code, answer.json()["code"]) == (404, "unknown_budget")
    assert file_desk.reserve(amount_usd="1000000.000000001").json()["code"] == "invalid_amount"
    assert file_desk.held(amount_usd="1000000")["amount_usd"] == "1000000"


def test_a_part_of_a_nano_dollar_is_held_as_a_whole_one(file_desk: Desk) -> None:
    assert file_desk.held(amount_usd="0.0000000001")["amount_usd"] == "0.000000001"


@pytest.mark.parametrize("word", ["settle", "release", "extend", ""])
@pytest.mark.parametrize("hold_id", ["h_" + "0" * 32, "nothing", "h_%00", "%ff"])
def test_an_unknown_reservation_is_404(file_desk: Desk, hold_id: str, word: str) -> None:
    bodies = {"settle": {"cost_usd": "1"}, "release": {}, "extend": {"ttl_seconds": 1}}
    if word:
        answer = file_desk.api.post(f"/v1/reservations/{hold_id}/{word}", bodies[word])
    else:
        answer = file_desk.api.get(f"/v1/reservations/{hold_id}")
    assert (answer.status_code, answer.json()["code"]) == (404, "unknown_reservation")


def test_a_project_sees_its_own_reservations_alone(desk: Desk) -> None:
    desk.budget(project="other")
    hold = desk.api.post("/v1/reservations?project=other", {"amount_usd": "1"}).json()
    assert (hold["project"], hold["budgets"]) == ("other", ["team-a"])
    assert desk.api.get(f"/v1/reservations/{hold['id']}?project=other").status_code == 200
    for answer in (
        desk.api.get(f"/v1/reservations/{hold['id']}"),
        desk.settle(hold, cost_usd="1"),
        desk.api.post(f"/v1/reservations/{hold['id']}/release", {}),
    ):
        assert (answer.status_code, answer.json()["code"]) == (404, "unknown_reservation")
    assert desk.reserve(amount_usd="1", budget="team-a").status_code == 404


@pytest.mark.parametrize("path", ["/v1/reservations", "/v1/usage", "/v1/preflight"])
def test_a_query_that_is_not_known_is_refused(file_desk: Desk, path: str) -> None:
    answer = file_desk.api.post(f"{path}?projekt=other", {"model": "own", "text": "Hi", "cost_usd": "1"})
    assert (answer.status_code, answer.json()["detail"]) == (422, "Unknown query parameter. Allowed: project.")


def test_a_release_gives_back_what_was_held(desk: Desk) -> None:
    desk.budget()
    hold = desk.held(amount_usd="1")
    path = f"/v1/reservations/{hold['id']}/release"
    assert desk.api.request("POST", path).json() == hold | {"state": "released"}
    assert desk.api.post(path, {}).json()["state"] == "released"
    assert desk.totals() == Totals()
    assert desk.api.post(path, {"why": 1}).status_code == 422
    desk.settled(desk.held(amount_usd="1"), cost_usd="1")
    closed = desk.held(amount_usd="1")
    desk.settled(closed, cost_usd="1")
    answer = desk.api.post(f"/v1/reservations/{closed['id']}/release", {})
    assert (answer.status_code, answer.json()["code"]) == (409, "already_settled")
    assert answer.headers["x-should-retry"] == "false"


def test_an_extension_counts_from_now_and_never_revives(desk: Desk) -> None:
    desk.budget()
    hold = desk.held(amount_usd="1", ttl_seconds=60)
    desk.place.clock.pass_(seconds=59.999)
    path = f"/v1/reservations/{hold['id']}/extend"
    assert desk.api.post(path, {"ttl_seconds": 10}).json()["expires_at"] == "2026-11-20T12:01:09.999000Z"
    desk.place.clock.pass_(seconds=10)
    answer = desk.api.post(path, {"ttl_seconds": 10})
    assert (answer.status_code, answer.json()["code"]) == (409, "reservation_closed")
    assert desk.api.post(path, {}).status_code == 422
    desk.do(desk.ledger.expire())
    assert desk.api.get(f"/v1/reservations/{hold['id']}").json()["state"] == "expired"
    assert desk.totals() == Totals()


def test_reservations_that_come_together_never_pass_the_limit(desk: Desk) -> None:
    desk.budget(limit="0.109")  # a hundred times what one holds
    answers = desk.together([("/v1/reservations", HELLO, {})] * 200)
    codes = [answer.status_code for answer in answers]
    assert (codes.count(201), codes.count(402)) == (100, 100)
    assert desk.totals() == Totals(0, 100 * HELLO_NANO, 0, 13_600, 100)
    desk.audit()


def test_what_is_open_and_what_was_settled_add_up(desk: Desk) -> None:
    desk.budget(limit="1")
    holds = [desk.held(amount_usd="0.1", ttl_seconds=60 + index) for index in range(10)]
    assert desk.reserve(amount_usd="0.000000001").status_code == 402
    for hold in holds[:4]:
        desk.settled(hold, cost_usd="0.07")
    desk.place.clock.pass_(seconds=66)
    desk.do(desk.ledger.expire())
    assert desk.totals() == Totals(280_000_000, 300_000_000, 0, 0, 3)
    assert desk.held(amount_usd="0.42")["state"] == "held"
    assert desk.reserve(amount_usd="0.000000001").status_code == 402
    desk.audit()


def test_a_ledger_that_is_down_is_503_at_once_and_admits_nothing(file_desk: Desk, tmp_path: Path) -> None:
    ledger = sql_ledger("postgresql://nobody@127.0.0.1:1/none", tmp_path, file_desk.place.clock)
    api = Api(build_app(replace(file_desk.services, ledger=ledger)))
    try:
        for path, body in (
            ("/v1/reservations", HELLO),
            (f"/v1/reservations/h_{'0' * 32}/settle", {"cost_usd": "1"}),
        ):
            answer = api.post(path, body)
            assert (answer.status_code, answer.json()["code"]) == (503, "ledger_unavailable")
            assert int(answer.headers["retry-after"]) >= 1
    finally:
        file_desk.do(ledger.close())


def test_many_texts_are_estimated_in_the_pool(file_desk: Desk) -> None:
    hold = file_desk.held(model="own", texts=["Hello, World!"] * 150, max_output_tokens=0)
    assert (hold["tokens"], hold["estimate"]["input_tokens"]) == (150 * 36, 600)


def test_unknown_prices_are_counted(file_desk: Desk) -> None:
    def counted() -> float:
        return file_desk.services.metrics.registry.get_sample_value("weighbridge_unknown_prices_total") or 0.0

    before, used = counted(), {"input_tokens": 1}
    assert file_desk.reserve(model="unpriced", text="Hi").status_code == 402
    assert file_desk.api.post("/v1/preflight", {"model": "unpriced", "text": "Hi"}).json()["allowed"] is False
    file_desk.settled(file_desk.held(model="unpriced", amount_usd="1"), usage=used)
    file_desk.api.post("/v1/usage", {"model": "unpriced", "usage": used})
    assert counted() - before == 4


def test_a_large_body_is_counted_in_the_pool(file_desk: Desk) -> None:
    text = "weigh " * 50_000
    hold = file_desk.held(model="own", text=text, max_output_tokens=1)
    assert hold["estimate"]["input_tokens"] == 50_002
    assert json.dumps(hold).count("weigh") == 0
