"""Settling: what a call cost, in every form that it is told in, and what is booked where that cannot be told."""

from __future__ import annotations

import pytest

from service.domain.spending.budgets import NANO, Totals
from tests.service.api.spending.desk import Desk

HELLO = {"model": "own", "text": "Hello, World!", "max_output_tokens": 100}
EVEN = {"input_tokens": 1000, "output_tokens": 100, "cache_read_tokens": 400}  # 0.0015 + 0.0005 + 0.001
CHAT_USAGE = {
    "prompt_tokens": 1000,
    "completion_tokens": 100,
    "total_tokens": 1100,
    "prompt_tokens_details": {"cached_tokens": 400},
    "completion_tokens_details": {"reasoning_tokens": 40},
}


def test_a_cost_is_booked_and_the_hold_ends(desk: Desk) -> None:
    desk.budget()
    hold = desk.held(**HELLO, budget="team-a", amount_usd="1")
    done = desk.settled(hold, cost_usd="0.33")
    assert (done["id"], done["state"], done["amount_usd"]) == (hold["id"], "settled", "1")
    assert (done["cost_usd"], done["cost_status"], done["flags"]) == ("0.33", "known", [])
    assert done["entry_id"].startswith("e_")
    assert desk.totals() == Totals(spent_nano=330_000_000, spent_tokens=136)
    assert desk.api.get(f"/v1/reservations/{hold['id']}").json()["entry_id"] == done["entry_id"]
    (entry,) = desk.entries()
    assert (entry.estimate.input_tokens, entry.nano, entry.held_nano) == (4, 330_000_000, NANO)
    desk.audit()


def test_ten_times_a_tenth_is_one(desk: Desk) -> None:
    desk.budget(limit="1")
    for _ in range(10):
        desk.settled(desk.held(amount_usd="0.1"), cost_usd=0.1)
    assert desk.totals().spent_nano == NANO
    assert desk.reserve(amount_usd="0.000000001").json()["shortfalls"][0]["remaining"] == "0"


@pytest.mark.parametrize(
    "body",
    [
        {"usage": EVEN},
        {"usage": CHAT_USAGE},
        {"response": {"object": "chat.completion", "model": "own", "usage": CHAT_USAGE}},
        {
            "response": {
                "object": "response",
                "usage": {
                    "input_tokens": 1000,
                    "input_tokens_details": {"cached_tokens": 400},
                    "output_tokens": 100,
                    "output_tokens_details": {"reasoning_tokens": 40},
                    "total_tokens": 1100,
                },
            }
        },
        {"usage": {"input_tokens": 600, "cache_read_input_tokens": 400, "output_tokens": 100}},
        {
            "usage": {
                "promptTokenCount": 1000,
                "cachedContentTokenCount": 400,
                "candidatesTokenCount": 60,
                "thoughtsTokenCount": 40,
                "totalTokenCount": 1100,
            }
        },
        {"usage": {"inputTokens": 600, "cacheReadInputTokens": 400, "outputTokens": 100, "totalTokens": 1100}},
    ],
    ids=["own", "openai_chat", "openai_chat_response", "openai_responses", "anthropic", "gemini", "bedrock"],
)
def test_every_vendors_usage_is_priced_alike(file_desk: Desk, body: dict) -> None:
    done = file_desk.settled(file_desk.held(**HELLO), **body)
    assert (done["cost_usd"], done["cost_status"]) == ("0.003", "known")
    assert (done["usage"]["input_tokens"], done["usage"]["cache_read_tokens"]) == (1000, 400)
    assert done["usage"]["output_tokens"] == 100
    assert done["flags"] == ["overrun"]


def test_the_price_is_that_of_the_time_of_the_request(desk: Desk) -> None:
    desk.place.clock.pass_(hours=11, minutes=59, seconds=59, microseconds=999_999)
    before = desk.held(**HELLO, ttl_seconds=3600)
    desk.place.clock.pass_(microseconds=1)
    after = desk.held(**HELLO)
    assert (before["amount_usd"], after["amount_usd"]) == ("0.00109", "0.109")
    usage = {"input_tokens": 4, "output_tokens": 1}
    assert desk.settled(before, usage=usage)["cost_usd"] == "0.00002"
    assert desk.settled(after, usage=usage)["cost_usd"] == "0.002"


def test_a_call_is_sold_as_it_was_reserved_unless_the_body_says_otherwise(file_desk: Desk) -> None:
    usage = {"input_tokens": 1000, "output_tokens": 100}
    for told, cost in (({}, "0.00175"), ({"service_tier": "standard"}, "0.0035")):
        hold = file_desk.held(**HELLO, service_tier="flex")
        assert hold["amount_usd"] == "0.000545"
        assert file_desk.settled(hold, usage=usage, **told)["cost_usd"] == cost
    served = {"object": "chat.completion", "service_tier": "default", "usage": CHAT_USAGE}
    done = file_desk.settled(file_desk.held(**HELLO, service_tier="flex"), response=served)
    assert done["cost_usd"] == "0.003"
    assert "service_tier_differs" in [w["code"] for w in done["warnings"]]
    other = file_desk.settled(file_desk.held(**HELLO), usage=usage, model="cheap")
    assert (other["cost_usd"], other["model"]) == ("0.0011", "own")


def test_a_fine_tuned_model_is_settled_at_its_own_price(file_desk: Desk) -> None:
    hold = file_desk.held(model="ft:gpt-4o:acme::x1", text="Hi", max_output_tokens=10)
    assert (hold["model"], hold["provider"]) == ("gpt-4o", "openai")
    assert len(hold["price_revision"]) == 12
    assert file_desk.settled(hold, usage={"input_tokens": 1_000_000})["cost_usd"] == "3.75"
    plain = file_desk.held(model="gpt-4o", text="Hi", max_output_tokens=10)
    assert file_desk.settled(plain, usage={"input_tokens": 1_000_000})["cost_usd"] == "2.5"
    tuned = {"model": "ft:gpt-4o-2024-08-06:acme::x1", "usage": {"prompt_tokens": 1_000_000, "completion_tokens": 0}}
    again = file_desk.held(model="gpt-4o", text="Hi", max_output_tokens=10)
    assert file_desk.settled(again, response=tuned)["cost_usd"] == "3.75"
    entries = file_desk.api.get("/v1/spend/entries").json()["entries"]
    assert {entry["price_revision"] for entry in entries} == {hold["price_revision"]}


def test_more_than_was_held_is_booked_in_full(desk: Desk) -> None:
    desk.budget(limit="1")
    done = desk.settled(desk.held(amount_usd="1"), cost_usd="1.000000001")
    assert done["flags"] == ["overrun"]
    assert desk.totals().spent_nano == NANO + 1


def test_usage_after_the_end_of_a_hold_is_booked_as_late(desk: Desk) -> None:
    desk.budget()
    expired, swept, released = (desk.held(amount_usd="1", ttl_seconds=60) for _ in range(3))
    desk.api.post(f"/v1/reservations/{released['id']}/release", {})
    assert desk.settled(released, cost_usd="0.1")["flags"] == ["late"]
    desk.place.clock.pass_(seconds=60)
    done = desk.settled(expired, cost_usd="0.2")
    assert (done["state"], done["flags"]) == ("settled", ["late"])
    desk.do(desk.ledger.expire())
    done = desk.settled(swept, cost_usd="0.3")
    assert (done["state"], done["flags"], done["cost_usd"]) == ("expired", ["late"], "0.3")
    assert desk.totals() == Totals(spent_nano=600_000_000)
    desk.audit()


def test_the_same_content_again_gets_the_first_answer(desk: Desk) -> None:
    desk.budget()
    hold = desk.held(amount_usd="1", model="own")
    body = {"usage": {"input_tokens": 1000, "output_tokens": 0}, "service_tier": "standard"}
    first = desk.settled(hold, **body)
    desk.place.clock.pass_(days=1)
    assert desk.settled(hold, **dict(reversed(body.items()))) == first
    answer = desk.settle(hold, usage={"input_tokens": 1000, "output_tokens": 1}, service_tier="standard")
    assert (answer.status_code, answer.json()["code"]) == (409, "already_settled")
    assert answer.headers["x-should-retry"] == "false"
    assert desk.totals().spent_nano == 2_500_000
    assert len(desk.entries()) == 1


@pytest.mark.parametrize(
    ("model", "body", "code"),
    [
        ("unpriced", {"usage": EVEN}, "price_unknown"),
        ("own", {"usage": EVEN, "service_tier": "priority"}, "price_unknown"),
        ("own", {"usage": EVEN, "model": "nobody-makes-this"}, "unknown_model"),
        (None, {"usage": EVEN}, "model_missing"),
        ("own", {"usage": {"input_tokens": 1000, "web_searches": 1, "output_tokens": 100}}, "unit_unpriced"),
    ],
)
def test_what_cannot_be_priced_is_booked_as_it_was_held(desk: Desk, model: str | None, body: dict, code: str) -> None:
    desk.budget()
    hold = desk.held(amount_usd="0.5", **({"model": model} if model else {}))
    done = desk.settled(hold, **body)
    assert (done["cost_usd"], done["cost_status"], done["flags"]) == ("0.5", "unknown", ["unpriced"])
    assert done["usage"]["input_tokens"] == 1000
    assert code in [w["code"] for w in done["warnings"]]
    assert desk.totals() == Totals(spent_nano=NANO // 2, spent_tokens=1100)


@pytest.mark.parametrize(
    ("body", "flag"),
    [
        ({"usage": {"input_tokens": 10, "cache_read_tokens": 11}}, "inconsistent_usage"),
        ({"usage": {"prompt_tokens": 10, "completion_tokens": 1, "total_tokens": 12}}, "inconsistent_usage"),
        ({"usage": {"prompt_tokens": -1, "completion_tokens": 1}}, "inconsistent_usage"),
        ({"usage": {}}, "unpriced"),
        ({"response": {"object": "chat.completion", "choices": []}}, "unpriced"),
        ({"usage": {"prompt_tokens": 1, "completion_tokens": None}}, "unpriced"),
    ],
)
def test_a_usage_that_cannot_be_believed_is_booked_as_it_was_held(file_desk: Desk, body: dict, flag: str) -> None:
    file_desk.budget()
    done = file_desk.settled(file_desk.held(**HELLO), **body)
    assert (done["cost_usd"], done["cost_status"], done["flags"]) == ("0.00109", "unknown", [flag])
    assert file_desk.totals() == Totals(spent_nano=1_090_000, spent_tokens=136)
    assert len(done["warnings"]) == 1


def test_a_cost_that_is_given_goes_before_its_usage(file_desk: Desk) -> None:
    done = file_desk.settled(file_desk.held(amount_usd="1", model="unpriced"), usage=EVEN, cost_usd="0.25")
    assert (done["cost_usd"], done["cost_status"], done["usage"]["output_tokens"]) == ("0.25", "known", 100)
    wrong = {"input_tokens": 10, "cache_read_tokens": 11}
    done = file_desk.settled(file_desk.held(amount_usd="1"), usage=wrong, cost_usd="0.25", model="own")
    assert (done["cost_usd"], done["flags"]) == ("0.25", [])
    assert [w["code"] for w in done["warnings"]] == ["inconsistent_usage"]


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({}, "cost_usd"),
        ({"cost_usd": "-0.1"}, "cost_usd"),
        ({"cost_usd": None}, "cost_usd"),
        ({"cost_usd": "1", "colour": 1}, ""),
        ({"usage": EVEN, "response": {"usage": EVEN}}, "usage"),
        ({"usage": {"input_tokens": "five"}}, "usage.input_tokens"),
        ({"usage": {"prompt_tokens": 1.5, "completion_tokens": 1}}, "usage.prompt_tokens"),
        ({"response": [1]}, "response[0]"),
        ({"response": "text"}, "response"),
    ],
)
def test_a_body_that_cannot_be_read_books_nothing(file_desk: Desk, body: dict, path: str) -> None:
    hold = file_desk.held(**HELLO)
    answer = file_desk.settle(hold, **body)
    problem = answer.json()
    assert (answer.status_code, problem["code"], problem.get("path", "")) == (422, "invalid_request", path)
    assert file_desk.api.get(f"/v1/reservations/{hold['id']}").json()["state"] == "held"
    assert file_desk.api.post(f"/v1/reservations/{hold['id']}/settle", b"{").status_code == 400
    assert file_desk.entries() == []


def test_a_call_cut_short_is_booked_as_it_was_estimated(desk: Desk) -> None:
    desk.budget()
    done = desk.settled(desk.held(**HELLO, expected_output_tokens=50), partial=True)
    assert (done["cost_usd"], done["cost_status"], done["flags"]) == ("0.00051", "known", ["partial"])
    assert done["usage"]["output_tokens"] == 50
    assert desk.totals() == Totals(spent_nano=510_000, spent_tokens=54)
    done = desk.settled(desk.held(amount_usd="0.5", tokens=9), partial=True)
    assert (done["cost_usd"], done["flags"]) == ("0.5", ["partial"])
    assert desk.totals() == Totals(spent_nano=500_510_000, spent_tokens=63)


@pytest.mark.parametrize(
    ("body", "usage"),
    [
        ({"usage": {"output_tokens": 15}}, (4, 15)),
        ({"usage": {"input_tokens": 25}}, (25, 50)),
        ({"usage": {"completion_tokens": 15}}, (4, 15)),
        ({"usage": {"candidatesTokenCount": 15}}, (4, 15)),
        ({"response": {"object": "chat.completion", "choices": []}}, (4, 50)),
        ({"response": [{"id": "c1", "choices": [{"delta": {"content": "He"}}]}]}, (4, 50)),
        ({"usage": {"input_tokens": 25, "output_tokens": 15}}, (25, 15)),
    ],
)
def test_what_a_partial_usage_lacks_is_that_of_the_estimate(file_desk: Desk, body: dict, usage: tuple) -> None:
    done = file_desk.settled(file_desk.held(**HELLO, expected_output_tokens=50), partial=True, **body)
    assert (done["usage"]["input_tokens"], done["usage"]["output_tokens"]) == usage
    assert "partial" in done["flags"]
    assert done["cost_status"] == "known"


@pytest.mark.parametrize(
    ("events", "usage", "flags"),
    [
        (
            [
                {"type": "message_start", "message": {"id": "m", "usage": {"input_tokens": 25, "output_tokens": 1}}},
                {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 15}},
            ],
            (25, 15, 0),
            [],
        ),
        (
            [
                {"type": "message_start", "message": {"id": "m", "usage": {"input_tokens": 27, "output_tokens": 1}}},
                {"type": "message_delta", "delta": {}, "usage": {"input_tokens": 27, "output_tokens": 47}},
            ],
            (27, 47, 0),
            [],
        ),
        (
            [{"type": "message_start", "message": {"id": "m", "usage": {"input_tokens": 25, "output_tokens": 1}}}],
            (25, 1, 0),
            ["partial"],
        ),
        (
            [
                {"id": "c", "choices": [{"delta": {"content": "He"}}], "usage": None},
                {
                    "id": "c",
                    "choices": [{"delta": {}, "finish_reason": "stop"}],
                    "usage": {
                        "prompt_tokens": 30,
                        "completion_tokens": 5,
                        "total_tokens": 35,
                        "prompt_tokens_details": {"cached_tokens": 20},
                    },
                },
            ],
            (30, 5, 20),
            [],
        ),
    ],
    ids=["last value of a field wins", "of both fields", "no end", "usage beside choices"],
)
def test_a_streams_usage_is_cumulative(file_desk: Desk, events: list, usage: tuple, flags: list) -> None:
    done = file_desk.settled(file_desk.held(**HELLO), response=events)
    told = done["usage"]
    assert (told["input_tokens"], told["output_tokens"], told["cache_read_tokens"]) == usage
    assert done["flags"] == flags


def test_a_free_model_is_settled_at_nothing(file_desk: Desk) -> None:
    done = file_desk.settled(file_desk.held(model="gratis", text="Hi"), usage=EVEN)
    assert (done["cost_usd"], done["cost_status"], done["flags"]) == ("0", "known", ["overrun"])
