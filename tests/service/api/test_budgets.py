"""Budgets over HTTP: made, read, changed, deleted; exact dollars; what cannot be is refused."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal

import jsonschema
import pytest

from service.domain.keys.access import Caller, KeyScope
from service.domain.spending.budgets import Spender
from service.domain.spending.errors import BudgetExceeded
from service.domain.spending.ledger import Metered, UsageRecord
from tests.service.api.ledgers import LedgerApi, code
from tests.service.store.places import START, asked, usd

TEAM = {"name": "team-a", "limit_usd": "100", "period": "month"}
MEMBER = Caller("default", "k1", frozenset({KeyScope.BUDGET_READ, KeyScope.BUDGET_WRITE}))
FOREIGN = Caller("other", "k2", frozenset({KeyScope.BUDGET_READ, KeyScope.BUDGET_WRITE}))
MINE = Spender("default", "k1", "openai", "gpt-4o", "o200k_base", {"team": "search"})


def made(api: LedgerApi, **more: object) -> dict[str, object]:
    answer = api.post("/v1/budgets", TEAM | more)
    assert answer.status_code == 201, answer.text
    body: dict[str, object] = answer.json()
    return body


def test_a_budget_answers_what_it_was_asked_for_and_where_it_stands(ledger_api: LedgerApi) -> None:
    created = made(ledger_api)
    assert created == {
        "name": "team-a",
        "project": "default",
        "limit_usd": "100",
        "spent_usd": "0",
        "held_usd": "0",
        "remaining_usd": "100",
        "limit_tokens": None,
        "spent_tokens": 0,
        "held_tokens": 0,
        "remaining_tokens": None,
        "open_holds": 0,
        "period": "month",
        "period_start": "2026-11-01T00:00:00Z",
        "period_end": "2026-12-01T00:00:00Z",
        "timezone": "UTC",
        "scope": {"kind": "project", "key": None, "value": None},
        "warn_at": None,
        "warned": False,
        "export": False,
        "burn_rate_usd_per_day": "0",
        "forecast_usd": "0",
        "created_at": "2026-11-20T12:00:00Z",
        "changed_at": "2026-11-20T12:00:00Z",
        "version": 1,
    }
    assert ledger_api.get("/v1/budgets/team-a").json() == created
    assert ledger_api.get("/v1/budgets").json() == {"budgets": [created], "cursor": None}


def test_what_is_spent_and_held_is_told_to_the_nano_dollar(ledger_api: LedgerApi) -> None:
    made(ledger_api, limit_tokens=1000, warn_at="0.5", period="day")
    ledger = ledger_api.ledger
    spent = UsageRecord(MINE, usd("49.999999999"), START, Metered(500, 0))
    ledger_api.run(ledger.record([spent]))
    ledger_api.run(ledger.reserve(asked("0.000000001", 7, spender=MINE)))
    ledger_api.place.clock.pass_(hours=6)
    body = ledger_api.get("/v1/budgets/team-a").json()
    money = ("spent_usd", "held_usd", "remaining_usd", "burn_rate_usd_per_day", "forecast_usd")
    assert [body[name] for name in money] == ["49.999999999", "0.000000001", "50", "199.999999996", "99.999999998"]
    tokens = ("spent_tokens", "held_tokens", "remaining_tokens", "open_holds", "warned")
    assert [body[name] for name in tokens] == [500, 7, 493, 1, True]  # half of the tokens; a nano-dollar below half


def test_a_warning_is_due_from_its_part_of_the_limit_on(ledger_api: LedgerApi) -> None:
    made(ledger_api, warn_at=0.8, limit_usd="10")
    ledger_api.run(ledger_api.ledger.record([UsageRecord(MINE, usd("7.999999999"), START)]))
    assert ledger_api.get("/v1/budgets/team-a").json()["warned"] is False
    ledger_api.run(ledger_api.ledger.record([UsageRecord(MINE, usd("0.000000001"), START)]))
    assert ledger_api.get("/v1/budgets/team-a").json()["warned"] is True
    assert ledger_api.patch("/v1/budgets/team-a", {"warn_at": None}).json()["warned"] is False


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        (b'"100"', "100"),
        (b'"100.00"', "100"),
        (b"0.1", "0.1"),
        (b"0.100000001", "0.100000001"),
        (b'"1e2"', "100"),
        (b'"9000000000"', "9000000000"),
        (b'"0.000000001"', "0.000000001"),
        (b"0", "0"),
        (b"null", None),
    ],
)
def test_a_limit_is_exact_and_plain(api, ledger_api: LedgerApi, given: bytes, shown: str | None) -> None:
    answer = ledger_api.post("/v1/budgets", b'{"name": "b", "limit_usd": %s}' % given)
    assert answer.status_code == 201
    assert answer.json()["limit_usd"] == answer.json()["remaining_usd"] == shown


@pytest.mark.parametrize(
    ("body", "refused"),
    [
        ({"limit_usd": "1"}, ("invalid_request", "")),
        ({"name": "a b"}, ("invalid_budget", "name")),
        ({"name": ""}, ("invalid_budget", "name")),
        ({"name": "b" * 65}, ("invalid_budget", "name")),
        ({"name": "b", "limit_usd": "-1"}, ("invalid_budget", "limit_usd")),
        ({"name": "b", "limit_usd": "9000000000.000000001"}, ("invalid_budget", "limit_usd")),
        ({"name": "b", "limit_usd": "0.0000000001"}, ("invalid_budget", "limit_usd")),
        ({"name": "b", "limit_usd": "1." + "0" * 90 + "1"}, ("invalid_budget", "limit_usd")),
        ({"name": "b", "limit_usd": "NaN"}, ("invalid_budget", "limit_usd")),
        ({"name": "b", "limit_usd": "1e999999"}, ("invalid_budget", "limit_usd")),
        ({"name": "b", "limit_usd": "much"}, ("invalid_request", "limit_usd")),
        ({"name": "b", "limit_tokens": -1}, ("invalid_request", "limit_tokens")),
        ({"name": "b", "limit_tokens": 1.5}, ("invalid_request", "limit_tokens")),
        ({"name": "b", "period": "year"}, ("invalid_request", "period")),
        ({"name": "b", "timezone": "Mars/Olympus"}, ("invalid_budget", "timezone")),
        ({"name": "b", "timezone": "../../etc/passwd"}, ("invalid_budget", "timezone")),
        ({"name": "b", "timezone": "\0"}, ("invalid_budget", "timezone")),
        ({"name": "b", "warn_at": 0}, ("invalid_budget", "warn_at")),
        ({"name": "b", "warn_at": "1.000001"}, ("invalid_budget", "warn_at")),
        ({"name": "b", "warn_at": "0.0000001"}, ("invalid_budget", "warn_at")),
        ({"name": "b", "scope": {"kind": "tag", "value": "x"}}, ("invalid_budget", "scope.key")),
        ({"name": "b", "scope": {"kind": "key"}}, ("invalid_budget", "scope.value")),
        ({"name": "b", "scope": {"kind": "project", "value": "x"}}, ("invalid_budget", "scope.value")),
        ({"name": "b", "scope": {"kind": "tag", "key": "a\0", "value": "x"}}, ("invalid_budget", "scope")),
        ({"name": "b", "scope": {"kind": "planet"}}, ("invalid_request", "scope.kind")),
        ({"name": "b", "scope": {"kind": "model", "value": "zebra-7"}}, ("unknown_model", "")),
        ({"name": "b", "scope": {"kind": "model", "value": "ft:gpt-4o:me::x"}}, ("invalid_budget", "scope.value")),
        ({"name": "b", "limit": 5}, ("invalid_request", "")),
    ],
)
def test_a_budget_that_cannot_be_is_refused_with_its_place(api, body: dict[str, object], refused: tuple[str, str]):
    assert code(api.post("/v1/budgets", body)) == (422, *refused)


def test_names_are_of_one_project(ledger_api: LedgerApi) -> None:
    made(ledger_api)
    assert code(ledger_api.post("/v1/budgets", TEAM)) == (409, "budget_exists", "")
    ledger_api.asked_by(FOREIGN)
    for method, path in (("GET", ""), ("PATCH", ""), ("DELETE", ""), ("GET", "/changes")):
        answer = ledger_api.request(method, f"/v1/budgets/team-a{path}", json={"export": True})
        assert code(answer) == (404, "unknown_budget", "")
    assert ledger_api.get("/v1/budgets").json() == {"budgets": [], "cursor": None}
    assert made(ledger_api)["project"] == "other"
    assert code(ledger_api.get("/v1/budgets?project=default")) == (403, "scope_missing", "")
    ledger_api.asked_by(Caller("other", "k3", frozenset({KeyScope.ADMIN})))
    assert [each["project"] for each in ledger_api.get("/v1/budgets?project=default").json()["budgets"]] == ["default"]


@pytest.mark.parametrize("name", ["team%00a", "team-b", "%2e%2e", "b" * 300, "team%20a"])
def test_a_name_that_no_budget_has_is_not_found(ledger_api: LedgerApi, name: str) -> None:
    for method in ("GET", "PATCH", "DELETE"):
        answer = ledger_api.request(method, f"/v1/budgets/{name}", json={"export": True})
        assert code(answer) == (404, "unknown_budget", "")


def test_a_budget_over_all_projects_is_an_admins(ledger_api: LedgerApi) -> None:
    everything = {"scope": {"kind": "all"}, "limit_usd": "1"}
    ledger_api.asked_by(MEMBER)
    assert code(ledger_api.post("/v1/budgets", TEAM | everything)) == (403, "scope_missing", "scope.kind")
    ledger_api.asked_by(Caller("default", "k0", frozenset({KeyScope.ADMIN})))
    made(ledger_api, **everything)
    with pytest.raises(BudgetExceeded):
        ledger_api.run(ledger_api.ledger.reserve(asked("1.000000001", spender=Spender("anything"))))


@pytest.mark.parametrize(
    ("value", "booked", "counted"),
    [
        ("gpt-4o", "gpt-4o", {"openai", "azure"}),
        (" GPT-4o ", "gpt-4o", {"openai", "azure"}),
        ("gpt-4o-2024-08-06", "gpt-4o", {"openai", "azure"}),
        ("azure/gpt-4o", "azure/gpt-4o", {"azure"}),
        ("openai/gpt-4o", "openai/gpt-4o", {"openai"}),
    ],
)
def test_a_models_budget_counts_what_is_booked_under_its_id(
    ledger_api: LedgerApi, value: str, booked: str, counted: set[str]
) -> None:
    created = made(ledger_api, scope={"kind": "model", "value": value})
    assert created["scope"] == {"kind": "model", "key": None, "value": booked}
    for provider in ("openai", "azure"):
        before = ledger_api.get("/v1/budgets/team-a").json()["spent_usd"]
        spender = Spender("default", None, provider, "gpt-4o")
        ledger_api.run(ledger_api.ledger.record([UsageRecord(spender, usd("1"), START)]))
        spent = Decimal(ledger_api.get("/v1/budgets/team-a").json()["spent_usd"]) - Decimal(before)
        assert spent == (1 if provider in counted else 0)


@pytest.mark.parametrize("alias", ["claude-sonnet-4-5-20250929", "claude-3-5-sonnet-latest", "gpt-4o"])
def test_every_scope_of_a_model_is_among_the_selectors_of_its_calls(services, ledger_api: LedgerApi, alias: str):
    created = made(ledger_api, scope={"kind": "model", "value": alias})
    found = services.find(alias, None)
    call = UsageRecord(Spender("default", None, found.provider, found.model.id), usd("1"), START)
    ledger_api.run(ledger_api.ledger.record([call]))
    assert created["scope"]["value"] == found.model.id  # type: ignore[index]
    assert ledger_api.get("/v1/budgets/team-a").json()["spent_usd"] == "1"


def test_key_and_tag_budgets_count_their_calls_alone(ledger_api: LedgerApi) -> None:
    made(ledger_api, name="by-key", scope={"kind": "key", "value": "k1"})
    made(ledger_api, name="by-tag", scope={"kind": "tag", "key": "team", "value": "search"})
    other = Spender("default", "k2", tags={"team": "ads"})
    ledger_api.run(ledger_api.ledger.record([UsageRecord(s, usd("1"), START) for s in (MINE, other, other)]))
    spent = [ledger_api.get(f"/v1/budgets/{name}").json()["spent_usd"] for name in ("by-key", "by-tag")]
    assert spent == ["1", "1"]


def test_a_change_touches_what_it_names_and_null_removes_a_limit(ledger_api: LedgerApi) -> None:
    made(ledger_api, limit_tokens=10, warn_at=0.5)
    ledger_api.asked_by(MEMBER).place.clock.pass_(seconds=1)
    body = ledger_api.patch("/v1/budgets/team-a", {"limit_usd": "0.5", "limit_tokens": None}).json()
    assert (body["limit_usd"], body["limit_tokens"], body["warn_at"], body["version"]) == ("0.5", None, 0.5, 2)
    assert (body["created_at"], body["changed_at"]) == ("2026-11-20T12:00:00Z", "2026-11-20T12:00:01Z")
    body = ledger_api.patch("/v1/budgets/team-a", {"limit_usd": None, "export": True}).json()
    assert (body["limit_usd"], body["remaining_usd"], body["export"]) == (None, None, True)
    changes = ledger_api.get("/v1/budgets/team-a/changes").json()["changes"]
    assert [(c["version"], c["by"], c["limit_usd"], c["limit_tokens"], c["export"]) for c in changes] == [
        (1, "anyone", "100", 10, False),
        (2, "key k1", "0.5", None, False),
        (3, "key k1", None, None, True),
    ]


def test_a_limit_may_be_lowered_below_what_is_spent(ledger_api: LedgerApi) -> None:
    made(ledger_api)
    ledger_api.run(ledger_api.ledger.record([UsageRecord(MINE, usd("60"), START)]))
    assert ledger_api.patch("/v1/budgets/team-a", {"limit_usd": "10"}).json()["remaining_usd"] == "-50"


@pytest.mark.parametrize(
    ("body", "refused"),
    [
        ({}, ("invalid_request", "")),
        ({"name": "other"}, ("invalid_request", "")),
        ({"limit_usd": "-1"}, ("invalid_budget", "limit_usd")),
        ({"warn_at": 2}, ("invalid_budget", "warn_at")),
        ({"export": None}, ("invalid_request", "export")),
        ([], ("invalid_request", "")),
    ],
)
def test_a_change_that_cannot_be_changes_nothing(ledger_api: LedgerApi, body: object, refused: tuple[str, str]) -> None:
    before = made(ledger_api)
    assert code(ledger_api.patch("/v1/budgets/team-a", body)) == (422, *refused)
    assert ledger_api.get("/v1/budgets/team-a").json() == before


def test_a_budget_with_open_reservations_is_not_deleted(ledger_api: LedgerApi) -> None:
    made(ledger_api)
    hold = ledger_api.run(ledger_api.ledger.reserve(asked("1", spender=MINE)))
    assert code(ledger_api.delete("/v1/budgets/team-a")) == (409, "budget_has_holds", "")
    ledger_api.run(ledger_api.ledger.release("default", hold.id))
    answer = ledger_api.delete("/v1/budgets/team-a")
    assert (answer.status_code, answer.content) == (204, b"")
    assert code(ledger_api.get("/v1/budgets/team-a")) == (404, "unknown_budget", "")
    assert made(ledger_api)["version"] == 1  # the name is free again


def test_budgets_come_by_page(ledger_api: LedgerApi) -> None:
    for number in range(5):
        made(ledger_api, name=f"b{number}")
    found, cursor = [], ""
    while cursor is not None:
        page = ledger_api.get("/v1/budgets", params={"limit": "2"} | ({"cursor": cursor} if cursor else {})).json()
        found.append([each["name"] for each in page["budgets"]])
        cursor = page["cursor"]
    assert found == [["b0", "b1"], ["b2", "b3"], ["b4"]]


@pytest.mark.parametrize(
    ("query", "refused"),
    [
        ("limit=0", ("invalid_query", "limit")),
        ("limit=1001", ("invalid_query", "limit")),
        ("limit=%C2%B2", ("invalid_query", "limit")),
        ("limit=", ("invalid_request", "")),
        ("cursor=x", ("invalid_query", "cursor")),
        ("cursor=99999999999999999999", ("invalid_query", "cursor")),
        ("colour=red", ("invalid_request", "")),
        ("limit=1&limit=2", ("invalid_request", "")),
    ],
)
def test_a_query_that_cannot_be_is_refused(api, query: str, refused: tuple[str, str]) -> None:
    assert code(api.get(f"/v1/budgets?{query}")) == (422, *refused)


def test_a_budget_is_made_once_for_an_idempotency_key(ledger_api: LedgerApi) -> None:
    headers = {"idempotency-key": "first"}
    first = ledger_api.post("/v1/budgets", TEAM, headers=headers)
    ledger_api.place.clock.pass_(hours=1)
    again = ledger_api.post("/v1/budgets", TEAM, headers=headers)
    assert (first.status_code, again.status_code, again.json()) == (201, 201, first.json())
    assert (first.headers.get("idempotency-replayed"), again.headers["idempotency-replayed"]) == (None, "true")
    other = ledger_api.post("/v1/budgets", TEAM | {"limit_usd": "1"}, headers=headers)
    assert code(other) == (422, "idempotency_key_reused", "")


def test_a_period_rolls_over_by_the_budgets_own_clock(ledger_api: LedgerApi) -> None:
    made(ledger_api, period="day", timezone="America/New_York")
    ledger_api.run(ledger_api.ledger.record([UsageRecord(MINE, usd("1"), START)]))
    ledger_api.place.clock.now = START.replace(hour=5) + timedelta(days=1) - timedelta(microseconds=1)
    body = ledger_api.get("/v1/budgets/team-a").json()
    assert (body["spent_usd"], body["period_end"]) == ("1", "2026-11-21T05:00:00Z")
    ledger_api.place.clock.pass_(microseconds=1)
    body = ledger_api.get("/v1/budgets/team-a").json()
    assert (body["spent_usd"], body["period_start"]) == ("0", "2026-11-21T05:00:00Z")


def test_an_unforeseen_error_is_a_problem_too(ledger_api: LedgerApi, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(*_: object, **__: object) -> None:
        raise KeyError("team-a")

    monkeypatch.setattr(ledger_api.ledger, "budget", fail)
    answer = ledger_api.get("/v1/budgets/team-a")
    assert code(answer) == (500, "internal_error", "")
    assert "team-a" not in answer.text


def test_answers_fit_the_documented_schema(ledger_api: LedgerApi) -> None:
    document = ledger_api.get("/openapi.json").json()
    components = {"components": document["components"]}
    created = made(ledger_api, limit_tokens=5, warn_at=0.5)
    schema = document["paths"]["/v1/budgets"]["post"]["responses"]["201"]["content"]["application/json"]["schema"]
    jsonschema.validate(created, schema | components)
    changes = document["paths"]["/v1/budgets/{name}/changes"]["get"]["responses"]["200"]
    answer = ledger_api.get("/v1/budgets/team-a/changes").json()
    jsonschema.validate(answer, changes["content"]["application/json"]["schema"] | components)
