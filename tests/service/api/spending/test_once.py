"""Idempotency-Key on the routes that spend: the effect happens once, whatever is sent again."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from service.app import build_app
from service.domain.spending.budgets import Totals
from service.domain.spending.errors import InFlight
from service.domain.spending.ledger import Hold, Once, ReserveRequest
from service.store.ledger import SqlLedger
from tests.service.api.spending.desk import Desk
from tests.service.conftest import Api

KEY = {"idempotency-key": "k-1"}
ONE = {"amount_usd": "1"}


def test_a_request_that_comes_again_is_answered_as_before(desk: Desk) -> None:
    desk.budget(limit="3")
    first = desk.api.post("/v1/reservations", ONE, headers=KEY)
    again = desk.api.post("/v1/reservations", ONE, headers=KEY)
    assert (first.status_code, again.status_code) == (201, 201)
    assert "idempotency-replayed" not in first.headers
    assert again.headers["idempotency-replayed"] == "true"
    assert again.content == first.content
    assert desk.totals().open_holds == 1
    other = desk.api.post("/v1/reservations", {"amount_usd": "2"}, headers=KEY)
    assert (other.status_code, other.json()["code"]) == (422, "idempotency_key_reused")
    path = f"/v1/reservations/{first.json()['id']}/settle"
    done = desk.api.post(path, {"cost_usd": "0.5"}, headers=KEY)  # another route has keys of its own
    assert done.status_code == 200
    assert desk.api.post(path, {"cost_usd": "0.5"}, headers=KEY).content == done.content
    second = desk.held(**ONE)
    reused = desk.api.post(f"/v1/reservations/{second['id']}/settle", {"cost_usd": "0.5"}, headers=KEY)
    assert (reused.status_code, reused.json()["code"]) == (422, "idempotency_key_reused")
    assert desk.totals() == Totals(500_000_000, 1_000_000_000, 0, 0, 1)


def test_extending_and_releasing_happen_once_too(desk: Desk) -> None:
    hold = desk.held(**ONE)
    path = f"/v1/reservations/{hold['id']}/extend"
    first = desk.api.post(path, {"ttl_seconds": 60}, headers=KEY)
    desk.place.clock.pass_(seconds=30)
    assert desk.api.post(path, {"ttl_seconds": 60}, headers=KEY).content == first.content
    path = f"/v1/reservations/{hold['id']}/release"
    first = desk.api.post(path, {}, headers=KEY)
    again = desk.api.post(path, {}, headers=KEY)
    assert (again.content, again.headers["idempotency-replayed"]) == (first.content, "true")


def test_a_refusal_is_looked_at_anew(desk: Desk) -> None:
    desk.budget(limit="1")
    hold = desk.held(**ONE)
    assert desk.api.post("/v1/reservations", ONE, headers=KEY).status_code == 402
    desk.api.post(f"/v1/reservations/{hold['id']}/release", {})
    answer = desk.api.post("/v1/reservations", ONE, headers=KEY)
    assert answer.status_code == 201
    assert "idempotency-replayed" not in answer.headers


def test_a_replay_is_answered_although_the_budget_has_gone(desk: Desk) -> None:
    desk.budget(limit="1")
    first = desk.api.post("/v1/reservations", ONE, headers=KEY)
    assert desk.reserve(**ONE).status_code == 402
    assert desk.api.post("/v1/reservations", ONE, headers=KEY).content == first.content


def test_keys_of_two_projects_are_apart(desk: Desk) -> None:
    first = desk.api.post("/v1/reservations", ONE, headers=KEY)
    second = desk.api.post("/v1/reservations?project=other", ONE, headers=KEY)
    assert second.status_code == 201
    assert first.json()["id"] != second.json()["id"]


@pytest.mark.parametrize("key", ["", "x" * 256, "t\tb"])
def test_a_key_that_is_none_is_400(file_desk: Desk, key: str) -> None:
    answer = file_desk.api.post("/v1/reservations", ONE, headers={"idempotency-key": key})
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_idempotency_key")


@pytest.mark.parametrize("keys", [("a", "b"), ("a", "a"), ("", "a")])
def test_of_two_keys_nobody_knows_which_is_meant(file_desk: Desk, keys: tuple[str, str]) -> None:
    headers = [("content-type", "application/json"), *(("idempotency-key", key) for key in keys)]
    for path in ("/v1/reservations", "/v1/usage", "/v1/budgets", "/v1/keys"):
        body = {"name": "n", "scopes": ["admin"]} if path == "/v1/keys" else {"name": "n"} if "budgets" in path else ONE
        body = {"cost_usd": "1"} if "usage" in path else body
        answer = file_desk.api.request("POST", path, json=body, headers=headers)
        assert (answer.status_code, answer.json()["code"]) == (400, "invalid_idempotency_key")


def test_duplicates_that_come_together_settle_once(desk: Desk) -> None:
    desk.budget()
    hold = desk.held(**ONE)
    path = f"/v1/reservations/{hold['id']}/settle"
    answers = desk.together([(path, {"cost_usd": "0.5"}, KEY)] * 20 + [(path, {"cost_usd": "0.5"}, {})] * 20)
    assert {answer.status_code for answer in answers} == {200}
    assert len({answer.content for answer in answers}) == 1
    assert len(desk.entries()) == 1
    assert desk.totals() == Totals(spent_nano=500_000_000)
    desk.audit()


def test_duplicates_that_come_together_reserve_once(desk: Desk) -> None:
    desk.budget()
    answers = desk.together([("/v1/reservations", ONE, KEY)] * 20)
    assert len({answer.content for answer in answers}) == 1
    assert desk.totals().open_holds == 1


class Busy(SqlLedger):
    """A ledger in which the first request with a key is always still under way."""

    async def reserve(self, request: ReserveRequest, *, once: Once | None = None) -> Hold:
        raise InFlight


def test_a_duplicate_of_a_request_under_way_may_try_again(file_desk: Desk) -> None:
    ledger = file_desk.place.ledger()
    ledger.__class__ = Busy
    answer = Api(build_app(replace(file_desk.services, ledger=ledger))).post("/v1/reservations", ONE, headers=KEY)
    assert (answer.status_code, answer.json()["code"]) == (409, "idempotency_in_flight")
    assert (answer.headers["retry-after"], answer.headers["x-should-retry"]) == ("1", "true")
    asyncio.run(ledger.close())
