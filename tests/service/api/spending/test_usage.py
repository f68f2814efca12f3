"""Usage that is recorded without a reservation."""

from __future__ import annotations

from typing import Any

import pytest

from service.domain.spending.budgets import PeriodKind, Scope, ScopeKind, Totals
from service.domain.spending.ledger import Flag
from tests.service.api.spending.desk import Desk

USED = {"input_tokens": 1000, "output_tokens": 100}


def _recorded(desk: Desk, body: Any, **options: Any) -> list[dict[str, Any]]:
    answer = desk.api.post("/v1/usage", body, **options)
    assert answer.status_code == 201, answer.text
    return answer.json()["entries"]


def test_a_call_is_booked_in_every_budget_that_counts_it_whatever_its_limit(desk: Desk) -> None:
    desk.budget(limit="0")
    desk.budget("of-the-team", scope=Scope(ScopeKind.TAG, "search", "team"))
    desk.budget("of-another-model", scope=Scope(ScopeKind.MODEL, "cheap"))
    (entry,) = _recorded(desk, {"model": "own-latest", "usage": USED, "tags": {"team": "search"}})
    assert entry == {
        "id": entry["id"],
        "project": "default",
        "model": "own",
        "provider": "local",
        "at": "2026-11-20T12:00:00Z",
        "booked_at": "2026-11-20T12:00:00Z",
        "cost_usd": "0.0035",
        "cost_status": "known",
        "flags": [],
        "usage": {**USED, "cache_read_tokens": 0, "cache_write_tokens": 0, "reasoning_tokens": 0},
        "tags": {"team": "search"},
        "price_revision": entry["price_revision"],
        "warnings": [],
    }
    assert desk.totals() == desk.totals("of-the-team") == Totals(spent_nano=3_500_000, spent_tokens=1100)
    assert desk.totals("of-another-model") == Totals()
    desk.audit()


def test_records_are_booked_all_or_none_in_their_order(desk: Desk) -> None:
    desk.budget()
    costs = [f"0.{number:03}" for number in range(1, 1001)]
    records = [{"model": "own", "cost_usd": cost} for cost in costs]
    entries = _recorded(desk, {"records": records})
    assert [entry["cost_usd"] for entry in entries] == [cost.rstrip("0") for cost in costs[:-1]] + ["0.1"]
    spent = desk.totals().spent_nano
    assert spent == sum(range(1, 1000)) * 1_000_000 + 100_000_000
    for bad, path in (({"model": "own"}, "usage"), ({"model": "nobody", "usage": USED}, "model")):
        answer = desk.api.post("/v1/usage", {"records": [{"model": "own", "usage": USED}, bad]})
        assert (answer.status_code, answer.json()["path"]) == (422, f"records[1].{path}")
    answer = desk.api.post("/v1/usage", {"records": [*records, records[0]]})
    assert (answer.status_code, answer.json()["path"]) == (422, "records")
    assert desk.totals().spent_nano == spent


def test_a_call_is_priced_and_counted_at_its_time(desk: Desk) -> None:
    desk.budget(period=PeriodKind.DAY)
    desk.place.clock.pass_(days=2)
    before, after = "2026-11-20T23:59:59.999999Z", "2026-11-21T01:00:00+01:00"
    entries = _recorded(desk, {"records": [{"model": "own", "usage": USED, "at": at} for at in (before, after)]})
    assert [entry["cost_usd"] for entry in entries] == ["0.0035", "0.35"]
    assert [entry["at"] for entry in entries] == [before, "2026-11-21T00:00:00Z"]
    assert desk.totals() == Totals()  # of today
    for at in ("2026-11-22T12:05:00.000001Z", "2026-11-22T12:00:00"):
        assert desk.api.post("/v1/usage", {"model": "own", "usage": USED, "at": at}).status_code == 422


def test_an_unknown_price_is_never_nothing(desk: Desk) -> None:
    desk.budget()
    (entry,) = _recorded(desk, {"model": "unpriced", "usage": USED})
    assert (entry["cost_usd"], entry["cost_status"], entry["flags"]) == (None, "unknown", ["unpriced"])
    assert [warning["code"] for warning in entry["warnings"]] == ["price_unknown"]
    assert desk.totals() == Totals(spent_tokens=1100)
    (entry,) = _recorded(desk, {"model": "unpriced", "usage": USED, "cost_usd": "0.25"})
    assert (entry["cost_usd"], entry["cost_status"], entry["usage"]["input_tokens"]) == ("0.25", "known", 1000)
    (entry,) = _recorded(desk, {"model": "gratis", "usage": USED})
    assert (entry["cost_usd"], entry["cost_status"]) == ("0", "known")


def test_a_cost_is_booked_though_nobody_knows_its_model(desk: Desk) -> None:
    desk.budget()
    for body in ({"model": "my-own-thing", "cost_usd": "1"}, {"cost_usd": "1"}):
        (entry,) = _recorded(desk, body)
        assert (entry["model"], entry["cost_usd"]) == (None, "1")
        assert [w["code"] for w in entry["warnings"]] == (["unknown_model"] if "model" in body else [])
    (entry,) = _recorded(desk, {"model": "my-own-thing", "cost_usd": "1", "usage": USED})
    assert (entry["model"], entry["usage"]["output_tokens"]) == (None, 100)
    assert desk.totals() == Totals(spent_nano=3_000_000_000, spent_tokens=1100)
    assert all("own-thing" not in str(entry) for entry in desk.entries())


def test_a_response_names_its_model(file_desk: Desk) -> None:
    chat = {
        "object": "chat.completion",
        "model": "gpt-4o-2024-08-06",
        "usage": {"prompt_tokens": 4, "completion_tokens": 1},
    }
    (entry,) = _recorded(file_desk, {"response": chat})
    assert (entry["model"], entry["provider"], entry["cost_usd"]) == ("gpt-4o", "openai", "0.00002")


def test_a_call_cut_short_is_flagged(file_desk: Desk) -> None:
    (entry,) = _recorded(file_desk, {"model": "own", "usage": USED, "partial": True})
    assert entry["flags"] == ["partial"]
    start = {"type": "message_start", "message": {"id": "m", "usage": {"input_tokens": 25, "output_tokens": 1}}}
    (entry,) = _recorded(file_desk, {"model": "own", "response": [start]})
    assert entry["flags"] == ["partial"]
    assert {entry.flags for entry in file_desk.entries()} == {frozenset({Flag.PARTIAL})}


@pytest.mark.parametrize(
    ("body", "code", "path"),
    [
        ({"model": "own"}, "invalid_request", "usage"),
        ({"usage": USED}, "invalid_request", "model"),
        ({"model": "nobody-makes-this", "usage": USED}, "unknown_model", "model"),
        ({"model": "own", "usage": {"input_tokens": 1, "cache_read_tokens": 2}}, "inconsistent_usage", "usage"),
        ({"model": "own", "usage": {}}, "usage_missing", "usage"),
        ({"model": "own", "usage": USED, "response": {}}, "invalid_request", "usage"),
        ({"model": "own", "cost_usd": "-1"}, "invalid_request", "cost_usd"),
        ({"model": "own", "cost_usd": "1", "tags": {"a": "\u0000"}}, "invalid_request", "tags"),
        ({"provider": "local", "cost_usd": "1"}, "invalid_request", "provider"),
        ({"cost_usd": "1", "at": "1999-12-31T23:59:59Z"}, "invalid_request", "at"),
        ({"cost_usd": "1", "at": "0001-01-01T00:00:00+14:00"}, "invalid_request", "at"),
        ({"records": []}, "invalid_request", "records"),
        ({"records": [{"model": "own", "cost_usd": "1"}], "model": "own"}, "invalid_request", ""),
        (
            {"records": [{"model": "own", "usage": {"input_tokens": "x"}}]},
            "invalid_request",
            "records[0].usage.input_tokens",
        ),
        ([], "invalid_request", ""),
    ],
)
def test_what_cannot_be_read_is_refused(file_desk: Desk, body: Any, code: str, path: str) -> None:
    answer = file_desk.api.post("/v1/usage", body)
    problem = answer.json()
    assert (answer.status_code, problem["code"], problem.get("path", "")) == (422, code, path)
    assert "nobody" not in answer.text
    assert file_desk.entries() == []


def test_the_same_key_books_once(desk: Desk) -> None:
    desk.budget()
    key = {"idempotency-key": "u-1"}
    body = {"records": [{"model": "own", "usage": USED}, {"model": "unpriced", "usage": USED}]}
    answers = desk.together([("/v1/usage", body, key)] * 10)
    assert {answer.status_code for answer in answers} == {201}
    assert len({answer.content for answer in answers}) == 1
    assert len(desk.entries()) == 2
    assert _recorded(desk, body, headers=key) == answers[0].json()["entries"]
    desk.audit()


def test_a_text_with_half_a_character_is_no_other_shape(file_desk: Desk) -> None:
    chat = {"object": "chat.completion", "choices": [{"message": {"content": "records \ud800"}}]}
    usage = {"prompt_tokens": 4, "completion_tokens": 1}
    body = {"records": [{"model": "own", "response": chat | {"usage": usage}}]}
    assert _recorded(file_desk, body)[0]["cost_usd"] == "0.00002"
    assert _recorded(file_desk, body["records"][0])[0]["cost_usd"] == "0.00002"
