"""Spend, entries and refusals over HTTP: sums equal to the nano-dollar, by page, as CSV, of one project."""

from __future__ import annotations

import csv
import io
import random
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import jsonschema
import pytest

from service.domain.keys.access import Caller, KeyScope
from service.domain.spending.budgets import Spender
from service.domain.spending.errors import LedgerUnavailable
from service.domain.spending.ledger import Estimate, Flag, Metered, Refusal, ReserveRequest, Settlement, UsageRecord
from tests.service.api.ledgers import LedgerApi, code
from tests.service.store.places import START, usd

MINE = Spender("default", "k1", "openai", "gpt-4o", "o200k_base", {"team": "search"})
READER = Caller("default", "k1", frozenset({KeyScope.SPEND_READ}))
FOREIGN = Caller("other", "k2", frozenset({KeyScope.SPEND_READ}))
SPAN = {"start": "2026-10-01T00:00:00Z", "end": "2026-12-01T00:00:00Z"}
TEAMS = ("search", 'a "b", c', "=1+1", "é_%", "-", "")
GROUPS = ("", "model", "provider", "project", "key", "tokenizer", "tag.team", "tag.none")
INTERVALS = ("", "hour", "day", "week", "month")


def usage(number: int, seed: int) -> list[UsageRecord]:
    """Calls over two months: of every model, key and tag, some without one, costs with nine decimal places."""
    chance = random.Random(seed)
    made = []
    for _ in range(number):
        team = chance.choice(TEAMS)
        model = chance.choice((None, ("openai", "gpt-4o"), ("azure", "gpt-4o"), ("anthropic", "claude-sonnet-4-5")))
        provider, name = model or (None, None)
        spender = Spender(
            "default",
            chance.choice((None, "k1", "k2")),
            provider,
            name,
            chance.choice((None, "o200k_base")),
            {"team": team} if team else {},
        )
        at = START - timedelta(microseconds=chance.randrange(45 * 86_400 * 10**6))
        cost = Decimal(chance.randrange(10**10)).scaleb(-9) if chance.random() < 0.9 else None
        made.append(UsageRecord(spender, cost, at, Metered(chance.randrange(9), chance.randrange(9))))
    return made


def entries_of(api: LedgerApi, **query: str) -> list[dict[str, Any]]:
    """All pages of entries, seven a page."""
    found, cursor = [], None
    while True:
        more = {"cursor": cursor} if cursor else {}
        page = api.get("/v1/spend/entries", params={"limit": "7"} | query | more).json()
        found += page["entries"]
        cursor = page["cursor"]
        if cursor is None:
            return found


def rows_of(api: LedgerApi, query: Mapping[str, str], limit: str = "1000") -> Iterator[dict[str, Any]]:
    """All pages of spend."""
    cursor = None
    while True:
        more = {"cursor": cursor} if cursor else {}
        answer = api.get("/v1/spend", params={"limit": limit} | query | more)
        assert answer.status_code == 200, answer.text
        yield from answer.json()["rows"]
        cursor = answer.json()["cursor"]
        if cursor is None:
            return


def begins(at: str, interval: str, zone: str) -> datetime:
    """Where the interval of an entry begins, worked out from the clock of the zone alone."""
    local = datetime.fromisoformat(at).astimezone(ZoneInfo(zone))
    day = local.replace(hour=0, minute=0, second=0, microsecond=0)
    match interval:
        case "hour":
            return local.replace(minute=0, second=0, microsecond=0)
        case "day":
            return day
        case "week":
            return day - timedelta(days=day.weekday())
        case "month":
            return day.replace(day=1)
    return datetime.fromisoformat(SPAN["start"])


def group_of(entry: dict[str, Any], group_by: str) -> str | None:
    if group_by.startswith("tag."):
        found: str | None = entry["tags"].get(group_by.removeprefix("tag."))
        return found
    name = {"key": "key_id", "": "none"}.get(group_by, group_by)
    value: str | None = entry.get(name)
    return value


@pytest.mark.parametrize("zone", ["UTC", "America/New_York"])
def test_spend_is_the_sum_of_its_entries_by_every_group_and_interval(ledger_api: LedgerApi, zone: str) -> None:
    ledger_api.run(ledger_api.ledger.record(usage(120, seed=7)))
    entries = entries_of(ledger_api)
    assert len(entries) == 120
    for group_by in GROUPS:
        for interval in INTERVALS:
            given = {"group_by": group_by, "interval": interval}
            query = {name: value for name, value in given.items() if value} | SPAN | {"timezone": zone}
            sums: dict[tuple[datetime, str | None], list[Decimal]] = {}
            for entry in entries:
                start = max(begins(entry["at"], interval, zone), datetime.fromisoformat(SPAN["start"]))
                row = sums.setdefault((start, group_of(entry, group_by)), [Decimal(0)] * 5)
                used = entry["usage"]
                parts = (entry["cost_usd"] or "0", 1, used["input_tokens"], used["output_tokens"], bool(entry["flags"]))
                row[:] = [a + Decimal(b) for a, b in zip(row, parts, strict=True)]
            found = {
                (datetime.fromisoformat(row["start"]), row["group"]): [
                    Decimal(row[name]) for name in ("spend_usd", "entries", "input_tokens", "output_tokens", "flagged")
                ]
                for row in rows_of(ledger_api, query)
            }
            assert found == sums, (group_by, interval)


def test_pages_and_csv_have_the_same_rows(ledger_api: LedgerApi) -> None:
    ledger_api.run(ledger_api.ledger.record(usage(60, seed=3)))
    for group_by in ("model", "tag.team"):
        query = SPAN | {"group_by": group_by, "interval": "week"}
        whole = list(rows_of(ledger_api, query))
        assert list(rows_of(ledger_api, query, limit="1")) == whole
        assert list(rows_of(ledger_api, query, limit="4")) == whole
        text = ledger_api.get("/v1/spend", params=query, headers={"accept": "text/csv"})
        assert text.headers["content-type"] == "text/csv; charset=utf-8"
        table = list(csv.DictReader(io.StringIO(text.text)))
        for row in whole:
            row["group"] = f"'{row['group']}" if (row["group"] or "").startswith(("=", "-")) else row["group"] or ""
        assert table == [{name: str(value) for name, value in row.items()} for row in whole]


def test_csv_is_read_page_by_page_and_cut_where_the_ledger_fails(
    ledger_api: LedgerApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("service.api.reports.work._CSV_ROWS", 2)
    ledger_api.run(ledger_api.ledger.record(usage(20, seed=5)))
    text = ledger_api.get("/v1/spend/entries?format=csv").text
    assert len(list(csv.DictReader(io.StringIO(text)))) == 20
    asked = []
    entries = ledger_api.ledger.entries

    async def fail(query: Any) -> Any:
        asked.append(query.cursor)
        if len(asked) == 3:
            raise LedgerUnavailable("the disk is gone")
        return await entries(query)

    monkeypatch.setattr(ledger_api.ledger, "entries", fail)
    sent = ledger_api.messages("/v1/spend/entries?format=csv")
    assert sent[0]["status"] == 200
    assert all(message["more_body"] for message in sent[1:])  # no end: the server then cuts the connection
    asked[:] = ["", ""]
    assert code(ledger_api.get("/v1/spend/entries?format=csv")) == (503, "ledger_unavailable", "")


def test_no_cell_of_csv_begins_as_a_formula(ledger_api: LedgerApi) -> None:
    evil = ["=cmd|'/c calc'!A0", "+1", "-1", "@SUM(A1)", "'=1", "a=1", "\uff1d1"]
    made = [UsageRecord(replace(MINE, tags={"team": text}), usd("1"), START) for text in evil]
    ledger_api.run(ledger_api.ledger.record(made))
    text = ledger_api.get("/v1/spend", params=SPAN | {"group_by": "tag.team", "format": "csv"}).text
    groups = {row[1] for row in csv.reader(io.StringIO(text))}
    assert groups == {"group", "'=cmd|'/c calc'!A0", "'+1", "'-1", "'@SUM(A1)", "'=1", "a=1", "'\uff1d1"}


def test_an_entry_tells_what_was_expected_and_what_was_billed(ledger_api: LedgerApi) -> None:
    wanted = ReserveRequest(MINE, usd("2"), 100, estimate=Estimate(40, 60, usd("1.5")), price_revision="r1")
    ledger = ledger_api.ledger
    hold = ledger_api.run(ledger.reserve(wanted))
    ledger_api.place.clock.pass_(seconds=2)
    ledger_api.run(ledger.settle("default", hold.id, Settlement(usd("2.000000001"), Metered(50, 70, 20, 10, 30))))
    [entry] = ledger_api.get("/v1/spend/entries").json()["entries"]
    assert entry.pop("id").startswith("e_")
    assert entry == {
        "reservation_id": hold.id,
        "project": "default",
        "key_id": "k1",
        "provider": "openai",
        "model": "gpt-4o",
        "tokenizer": "o200k_base",
        "tags": {"team": "search"},
        "at": "2026-11-20T12:00:00Z",
        "booked_at": "2026-11-20T12:00:02Z",
        "cost_usd": "2.000000001",
        "held_usd": "2",
        "usage": {
            "input_tokens": 50,
            "output_tokens": 70,
            "cache_read_tokens": 20,
            "cache_write_tokens": 10,
            "reasoning_tokens": 30,
        },
        "estimate": {"input_tokens": 40, "output_tokens": 60, "usd": "1.5"},
        "flags": ["overrun"],
        "price_revision": "r1",
    }


def test_a_cost_that_nobody_knows_is_null_and_never_nothing(ledger_api: LedgerApi) -> None:
    ledger = ledger_api.ledger
    free = UsageRecord(MINE, usd("0"), START)
    unknown = UsageRecord(MINE, None, START, Metered(7, 7))
    wrong = UsageRecord(MINE, usd("1"), START, Metered(7, 7), frozenset({Flag.INCONSISTENT_USAGE}))
    hold = ledger_api.run(ledger.reserve(ReserveRequest(MINE, usd("3"))))
    ledger_api.run(ledger.settle("default", hold.id, Settlement(None)))
    for record in (wrong, unknown, free):
        ledger_api.place.clock.pass_(milliseconds=1)
        ledger_api.run(ledger.record([record]))
    found = ledger_api.get("/v1/spend/entries").json()["entries"]
    assert [(each["cost_usd"], each["flags"]) for each in found] == [
        ("0", []),
        (None, ["unpriced"]),
        (None, ["inconsistent_usage"]),
        ("3", ["unpriced"]),
    ]
    rows = csv.DictReader(io.StringIO(ledger_api.get("/v1/spend/entries?format=csv").text))
    assert [row["cost_usd"] for row in rows] == ["0", "", "", "3"]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({"model": "gpt-4o"}, {"openai/gpt-4o", "azure/gpt-4o"}),
        ({"model": " GPT-4o "}, {"openai/gpt-4o", "azure/gpt-4o"}),
        ({"model": "azure/gpt-4o"}, {"azure/gpt-4o"}),
        ({"model": "gpt-4o", "provider": "openai"}, {"openai/gpt-4o"}),
        ({"provider": "azure"}, {"azure/gpt-4o"}),
        ({"model": "claude-sonnet-4-5-20250929"}, {"anthropic/claude-sonnet-4-5"}),
        ({"model": "zebra-7"}, set()),
        ({"tag.team": "search", "tag.unit": "x"}, set()),
    ],
)
def test_entries_are_found_by_what_they_are(ledger_api: LedgerApi, query: dict[str, str], expected: set[str]) -> None:
    ledger_api.run(ledger_api.ledger.record(usage(40, seed=11)))
    found = entries_of(ledger_api, **query)
    assert {f"{each['provider']}/{each['model']}" for each in found} == expected
    for team in TEAMS[:-1]:
        tagged = entries_of(ledger_api, **{"tag.team": team})
        assert {each["tags"]["team"] for each in tagged} == {team}


def test_entries_are_those_booked_from_start_to_end(ledger_api: LedgerApi) -> None:
    for _ in range(3):
        ledger_api.run(ledger_api.ledger.record([UsageRecord(MINE, usd("1"), START - timedelta(days=9))]))
        ledger_api.place.clock.pass_(seconds=1)
    span = {"start": "2026-11-20T12:00:01Z", "end": "2026-11-20T14:00:02+02:00"}
    assert [each["booked_at"] for each in entries_of(ledger_api, **span)] == ["2026-11-20T12:00:01Z"]


def test_without_a_time_spend_is_that_of_the_last_thirty_days(ledger_api: LedgerApi) -> None:
    edge = START - timedelta(days=30) + timedelta(minutes=15)
    made = [UsageRecord(MINE, usd(text), at) for text, at in (("1", START), ("2", edge))]
    made.append(UsageRecord(MINE, usd("4"), edge - timedelta(microseconds=1)))
    ledger_api.run(ledger_api.ledger.record(made))
    body = ledger_api.get("/v1/spend").json()
    assert (body["start"], body["end"]) == ("2026-10-21T12:15:00Z", "2026-11-20T12:15:00Z")
    assert [row["spend_usd"] for row in body["rows"]] == ["3"]


def test_another_projects_spend_is_not_there(ledger_api: LedgerApi) -> None:
    ledger_api.run(ledger_api.ledger.record([UsageRecord(MINE, usd("1"), START)]))
    ledger_api.ledger.refused(Refusal("default", "budget_exceeded", "team-a", "gpt-4o"))
    ledger_api.run(ledger_api.ledger.keep_up_once())
    ledger_api.asked_by(FOREIGN)
    assert ledger_api.get("/v1/spend").json()["rows"] == []
    assert ledger_api.get("/v1/spend/entries").json() == {"entries": [], "cursor": None}
    assert ledger_api.get("/v1/refusals").json()["refusals"] == []
    for path in ("/v1/spend", "/v1/spend/entries", "/v1/refusals"):
        assert code(ledger_api.get(f"{path}?project=default"))[:2] == (403, "scope_missing")


def test_spend_by_project_is_an_admins(ledger_api: LedgerApi) -> None:
    made = [UsageRecord(replace(MINE, project=name), usd("1"), START) for name in ("default", "other", "other")]
    ledger_api.run(ledger_api.ledger.record(made))
    by_project = {"group_by": "project"}
    ledger_api.asked_by(READER)
    assert code(ledger_api.get("/v1/spend", params=by_project)) == (403, "scope_missing", "group_by")
    ledger_api.asked_by(Caller("default", "k0", frozenset({KeyScope.ADMIN})))
    body = ledger_api.get("/v1/spend", params=by_project).json()
    assert [(row["group"], row["spend_usd"]) for row in body["rows"]] == [("default", "1"), ("other", "2")]
    assert body["project"] is None
    body = ledger_api.get("/v1/spend", params=by_project | {"project": "other"}).json()
    assert [(row["group"], row["spend_usd"]) for row in body["rows"]] == [("other", "2")]


def test_refusals_are_told_by_the_minute(ledger_api: LedgerApi) -> None:
    ledger = ledger_api.ledger
    for refusal in (Refusal("default", "budget_exceeded", "team-a", "gpt-4o"), Refusal("default", "price_unknown")):
        ledger.refused(refusal)
        ledger.refused(refusal)
        ledger_api.place.clock.pass_(minutes=1)
    ledger_api.run(ledger.keep_up_once())
    body = ledger_api.get("/v1/refusals").json()
    rows = [
        {"minute": "2026-11-20T12:01:00Z", "reason": "price_unknown", "budget": None, "model": None},
        {"minute": "2026-11-20T12:00:00Z", "reason": "budget_exceeded", "budget": "team-a", "model": "gpt-4o"},
    ]
    assert body["refusals"] == [row | {"project": "default", "count": 2} for row in rows]
    assert body["more"] is False
    body = ledger_api.get("/v1/refusals?limit=1").json()
    assert ([row["reason"] for row in body["refusals"]], body["more"]) == (["price_unknown"], True)
    earlier = {"start": "2026-11-20T12:00:00Z", "end": "2026-11-20T12:01:00Z"}
    assert [row["reason"] for row in ledger_api.get("/v1/refusals", params=earlier).json()["refusals"]] == [
        "budget_exceeded"
    ]


@pytest.mark.parametrize(
    ("query", "refused"),
    [
        ("spend?start=2026-11-01T00:00:00", ("invalid_query", "start")),
        ("spend?start=2026-11-01", ("invalid_query", "start")),
        ("spend?start=20261101T000000Z", ("invalid_query", "start")),
        ("spend?start=0001-01-01T00:00:00%2B14:00", ("invalid_query", "start")),
        ("spend?end=9999-12-31T23:59:59-14:00", ("invalid_query", "end")),
        ("spend?end=2026-11-01T00:05:00Z", ("invalid_query", "end")),
        ("spend?start=2026-11-01T00:00:00Z&end=2026-11-01T00:00:00Z", ("invalid_query", "end")),
        ("spend?start=1980-01-01T00:00:00Z&interval=hour", ("invalid_query", "interval")),
        ("spend?interval=minute", ("invalid_query", "interval")),
        ("spend?timezone=Mars/Olympus", ("invalid_query", "timezone")),
        ("spend?timezone=../../etc/passwd", ("invalid_query", "timezone")),
        ("spend?group_by=colour", ("invalid_query", "group_by")),
        ("spend?group_by=tag.", ("invalid_query", "group_by")),
        ("spend?cursor=x", ("invalid_query", "cursor")),
        ("spend?cursor=%C3%A9", ("invalid_query", "cursor")),
        ("spend?cursor=W10", ("invalid_query", "cursor")),
        ("spend?cursor=WzFlNDAwLCAiIl0", ("invalid_query", "cursor")),
        ("spend?cursor=WzEwMDAwMDAwMDAwMDAwMDAwMDAwMDAwLCAiIl0", ("invalid_query", "cursor")),
        ("spend?cursor=WzEsICJcdTAwMDAiXQ", ("invalid_query", "cursor")),
        ("spend?limit=10001", ("invalid_query", "limit")),
        ("spend?format=xml", ("invalid_query", "format")),
        ("spend?format=csv&limit=5", ("invalid_query", "limit")),
        ("spend?format=csv&cursor=x", ("invalid_query", "cursor")),
        ("spend?colour=red", ("invalid_request", "")),
        ("spend?tag.team=x", ("invalid_request", "")),
        ("spend?group_by=model&group_by=key", ("invalid_request", "")),
        ("spend?group_by=%00", ("invalid_request", "")),
        ("spend/entries?start=now", ("invalid_query", "start")),
        ("spend/entries?cursor=e_1", ("invalid_query", "cursor")),
        ("spend/entries?limit=1001", ("invalid_query", "limit")),
        ("spend/entries?tag.=x", ("invalid_query", "tag")),
        ("spend/entries?tag.team=", ("invalid_request", "")),
        ("spend/entries?model=%00", ("invalid_request", "")),
        ("spend/entries?group_by=model", ("invalid_request", "")),
        ("refusals?end=2026-11-01T00:00:00Z&start=2026-11-02T00:00:00Z", ("invalid_query", "end")),
        ("refusals?cursor=x", ("invalid_request", "")),
        ("refusals?limit=no", ("invalid_query", "limit")),
    ],
)
def test_a_query_that_cannot_be_is_refused_with_its_place(api, query: str, refused: tuple[str, str]) -> None:
    assert code(api.get(f"/v1/{query}")) == (422, *refused)


def test_a_header_asks_for_csv_too(ledger_api: LedgerApi) -> None:
    for accept, kind in (("text/csv", "csv"), ("text/csv;q=0.9, */*", "csv"), ("application/json, text/csv", "json")):
        assert kind in ledger_api.get("/v1/spend", headers={"accept": accept}).headers["content-type"]
    answer = ledger_api.get("/v1/spend?format=json", headers={"accept": "text/csv"})
    assert answer.headers["content-type"] == "application/json"


def test_answers_fit_the_documented_schema(ledger_api: LedgerApi) -> None:
    document = ledger_api.get("/openapi.json").json()
    ledger_api.run(ledger_api.ledger.record(usage(10, seed=1)))
    ledger_api.ledger.refused(Refusal("default", "budget_exceeded", "team-a", "gpt-4o"))
    ledger_api.run(ledger_api.ledger.keep_up_once())
    for path in ("/v1/spend", "/v1/spend/entries", "/v1/refusals"):
        schema = document["paths"][path]["get"]["responses"]["200"]["content"]["application/json"]["schema"]
        answer = ledger_api.get(path).json()
        assert next(part for part in answer.values() if isinstance(part, list))
        jsonschema.validate(answer, schema | {"components": document["components"]})
