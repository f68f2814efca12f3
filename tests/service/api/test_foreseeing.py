"""Bounds and output that past calls tell, as clients see them: asked for, too few, enough, and with the ledger down."""

from __future__ import annotations

import asyncio
import itertools
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal

import pytest

from service.api.services import Services
from service.app import build_app
from service.app.learning import show_errors_once
from service.domain.spending.budgets import Spender
from service.domain.spending.ledger import Estimate, Metered, UsageRecord
from service.store.ledger import SqlLedger, sql_ledger
from service.store.past_calls import SqlPastCalls
from tests.service.conftest import Api

CLOSE = "claude-opus-4-1"
EXACT = "gpt-4o"
TEXT = "The quick brown fox jumps over the lazy dog. " * 20


def now() -> datetime:
    return datetime.now(UTC)


class Past:
    """A service with a ledger of its own, of which nothing is kept in memory."""

    def __init__(self, services: Services, ledger: SqlLedger) -> None:
        past = SqlPastCalls(ledger.read, now, itertools.count(step=1000.0).__next__)
        self.services = replace(services, ledger=ledger, past=past)
        self.ledger = ledger
        self.api = Api(build_app(self.services))

    def made(self, number: int, model: str = CLOSE, error: str = "0", output: int = 40, **more: object) -> None:
        """So many calls are booked, each ``error`` off its estimate."""
        found = self.services.resolve(model, None)
        tokenizer = self.services.weigher.scale_of(found).info.name
        spender = Spender("default", None, found.provider, found.model.id, tokenizer, **more)
        metered = Metered(int(1000 * (1 + Decimal(error))), output)
        record = UsageRecord(spender, Decimal("0.01"), now(), metered, estimate=Estimate(1000))
        asyncio.run(self.ledger.record([record] * number))

    def ask(self, path: str, **body: object) -> dict:
        answer = self.api.post(path, body)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def estimate(self, **body: object) -> dict:
        return self.ask("/v1/estimate", **{"model": CLOSE, "text": TEXT, "max_output_tokens": 100} | body)


@pytest.fixture
def past(services, tmp_path):
    ledger = sql_ledger("", tmp_path, now)
    yield Past(services, ledger)
    asyncio.run(ledger.close())


@pytest.fixture
def down(services, tmp_path):
    ledger = sql_ledger("postgresql://nobody@127.0.0.1:1/none", tmp_path, now)
    yield Past(services, ledger)
    asyncio.run(ledger.close())


def codes(answer: dict) -> list[str]:
    return [warning["code"] for warning in answer["warnings"]]


def test_bounds_come_from_fifty_settled_calls_on(past):
    plain = past.estimate()
    past.made(49, error="0.10")
    few = past.estimate(bounds="calibrated")
    assert {**few, "warnings": plain["warnings"]} == plain
    assert "calibration_not_enough" in codes(few)
    past.made(1, error="-0.02")
    enough = past.estimate(bounds="calibrated")
    tokens = enough["tokens"]
    assert "bounds_calibrated" in codes(enough)
    assert tokens == plain["tokens"]
    assert enough["low"] == tokens, "a bound never lies on the wrong side of the count"
    assert tokens * 1.10 <= enough["high"] <= tokens * 1.1055 + 1
    assert Decimal(enough["cost"]["high"]) > Decimal(plain["cost"]["high"])


def test_a_whole_request_and_each_of_several_texts_are_bounded(past):
    past.made(60, error="-0.20")
    chat = past.estimate(text=None, messages=[{"role": "user", "content": TEXT}], bounds="calibrated")
    assert chat["tokens"] * 0.79 <= chat["low"] <= chat["tokens"] * 0.80
    assert chat["high"] == chat["tokens"]
    texts = past.estimate(text=None, texts=[TEXT, TEXT * 2] * 60, bounds="calibrated")
    assert all("bounds_calibrated" in codes(item) for item in texts["items"])
    assert texts["low"] == sum(item["low"] for item in texts["items"])


def test_calls_that_were_reserved_and_settled_bound_the_next_reservation(past):
    body = {"model": CLOSE, "text": TEXT, "max_output_tokens": 100, "tags": {"task": "sum"}}
    plain = past.api.post("/v1/reservations", body).json()
    tokens = plain["estimate"]["input_tokens"]
    for index in range(50):
        hold = plain if index == 0 else past.api.post("/v1/reservations", body).json()
        usage = {"input_tokens": tokens + 200, "output_tokens": 30}
        settled = past.api.post(f"/v1/reservations/{hold['id']}/settle", {"usage": usage})
        assert settled.status_code == 200, settled.text
    foretold = {**body, "bounds": "calibrated", "expected_output_tokens": "history"}
    estimate = past.ask("/v1/estimate", **foretold)
    held = past.api.post("/v1/reservations", foretold).json()
    assert estimate["high"] >= tokens + 200
    assert estimate["expected_output_tokens"] == held["estimate"]["output_tokens"] == 30
    assert held["amount_usd"] == estimate["cost"]["high"]
    assert Decimal(held["amount_usd"]) > Decimal(plain["amount_usd"])
    assert "bounds_calibrated" in codes(held)


def test_an_exact_count_stays_exact(past):
    past.made(60, model=EXACT, error="0.3")
    answer = past.estimate(model=EXACT, bounds="calibrated")
    assert (answer["accuracy"], answer["low"], answer["high"]) == ("exact", answer["tokens"], answer["tokens"])
    assert "bounds_calibrated" not in codes(answer)


def test_output_comes_from_twenty_settled_calls_on(past):
    past.made(19, output=40)
    few = past.estimate(expected_output_tokens="history")
    assert (few["expected_output_tokens"], "history_not_enough" in codes(few)) == (100, True)
    assert "output_history" not in few
    past.made(2, output=45)
    enough = past.estimate(expected_output_tokens="history")
    assert enough["expected_output_tokens"] == 40
    assert enough["output_history"] == {"settles": 21, "p50": 40, "p90": 40, "p95": 45}
    assert enough["cost"] == past.estimate(expected_output_tokens=40)["cost"]
    assert past.estimate(expected_output_tokens="history", max_output_tokens=30)["expected_output_tokens"] == 30


def test_output_is_that_of_a_tag(past):
    past.made(30, output=10, tags={"task": "title"})
    past.made(50, output=45, tags={"task": "essay"})
    assert past.estimate(expected_output_tokens="history")["expected_output_tokens"] == 45
    tagged = past.estimate(expected_output_tokens="history", tags={"task": "title"})
    assert (tagged["expected_output_tokens"], tagged["output_history"]["settles"]) == (10, 30)


def test_models_are_compared_by_what_past_calls_tell(past):
    past.made(60, error="0.05", output=10)
    asked = {"texts": [TEXT], "models": [CLOSE, EXACT], "bounds": "calibrated", "expected_output_tokens": "history"}
    answer = past.ask("/v1/compare", **asked)
    rows = {row["model"]: row for row in answer["rows"]}
    assert rows[CLOSE]["output_history"] == {"settles": 60, "p50": 10, "p90": 10, "p95": 10}
    assert rows[CLOSE]["tokens"] * 1.05 <= rows[CLOSE]["high"] <= rows[CLOSE]["tokens"] * 1.0553 + 1
    assert "output_history" not in rows[EXACT]
    assert {"bounds_calibrated", "history_not_enough"} <= set(codes(answer))
    refused = past.api.post("/v1/compare", {"texts": [TEXT], "tokenizers": ["qwen"], "bounds": "calibrated"})
    assert (refused.status_code, refused.json()["path"]) == (422, "tokenizers")


@pytest.mark.parametrize(
    "body",
    [
        {"bounds": "narrow"},
        {"expected_output_tokens": "past"},
        {"expected_output_tokens": -1},
        {"tags": {"a": ""}},
        {"tags": {str(n): "x" for n in range(11)}},
        {"tags": ["a"]},
        {"tags": {"a": "\0"}},
        {"tags": {"\ud800": "x"}, "expected_output_tokens": "history"},
    ],
)
def test_what_is_no_way_to_ask_is_refused(past, body):
    answer = past.api.post("/v1/estimate", {"model": CLOSE, "text": "Hello"} | body)
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid_request")


def test_with_the_ledger_down_the_plain_answer_says_so(down):
    answer = down.estimate(bounds="calibrated", expected_output_tokens="history")
    plain = down.estimate()
    assert {"calibration_not_available", "history_not_available"} <= set(codes(answer))
    assert {**answer, "warnings": plain["warnings"]} == plain
    assert down.api.get("/v1/models").status_code == 200
    asyncio.run(show_errors_once(down.services))


def test_models_are_listed_with_their_errors(past):
    past.made(60, error="0.05")
    rows = {(row["provider"], row["id"]): row for row in past.api.get("/v1/models").json()["models"]}
    found = rows["anthropic", CLOSE]["calibration"]
    assert found["settles"] == 60
    assert (found["p5"], found["p50"], found["p95"]) == pytest.approx((0.05,) * 3, abs=0.0053)
    assert found["p5"] <= 0.05 <= found["p95"]
    assert rows["openai", EXACT]["calibration"] is None


def test_the_metrics_show_models_of_the_catalog_with_enough_calls(past):
    past.made(50, error="0.05")
    past.made(49, model=EXACT)
    made_up = Spender("default", None, "nobody", "made-up", "words")
    record = UsageRecord(made_up, Decimal(1), now(), Metered(7, 7), estimate=Estimate(7))
    asyncio.run(past.ledger.record([record] * 60))
    asyncio.run(show_errors_once(past.services))
    lines = [line for line in past.api.get("/metrics").text.splitlines() if "estimate_error_ratio{" in line]
    assert [line.split("{")[1].split("}")[0] for line in lines] == [
        f'model="{CLOSE}",provider="anthropic",quantile="{quantile}"' for quantile in ("0.05", "0.5", "0.95")
    ]
    past.services.metrics.estimate_errors({})
