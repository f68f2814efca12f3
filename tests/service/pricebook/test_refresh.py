"""The refresh, end to end: a real server, a real file, and the table in service."""

from __future__ import annotations

import asyncio
import gzip
import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from service.domain.ports import Snapshot
from service.pricebook.fetching import MAX_BYTES, FetchLimits
from service.pricebook.refresh import RefreshOptions, RefreshOutcome
from tests.service.pricebook.price_server import Answer, PriceServer, core_list, model_in
from tests.service.pricebook.refreshing import (
    ETAG,
    GOOD,
    NOW,
    Bench,
    benches,
    dearer,
    good,
    halved,
    input_price,
    revision,
    run_until,
    ten_times,
    without_newest,
    wrong_unit,
)


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Callable[..., Bench]]:
    with benches(tmp_path) as build:
        yield build


def test_a_new_list_is_kept_and_swapped_in(bench: Callable[..., Bench]) -> None:
    answer = good(dearer)
    with PriceServer(answer) as server:
        desk = bench(server.url)
        before = input_price(desk.table)
        assert desk.refresh() == ("updated", "accepted")
    assert input_price(desk.table) == before * 2
    assert desk.table[:3] == ("genai-prices from 127.0.0.1", revision(answer.body), "2026-11-20")
    assert desk.outcomes == [RefreshOutcome("updated", "accepted", revision(answer.body), NOW)]
    kept = desk.store.load()
    assert kept == Snapshot(answer.body, revision(answer.body), ETAG, server.url, NOW, NOW)


def test_the_first_request_is_unconditional_and_the_second_names_the_copy(bench: Callable[..., Bench]) -> None:
    with PriceServer(good(), Answer(status=304)) as server:
        desk = bench(server.url)
        desk.refresh()
        assert desk.refresh() == ("unchanged", "not_modified")
    assert [headers.get("if-none-match") for _, headers in server.requests] == [None, ETAG]


def test_not_modified_moves_only_the_date_of_the_check(bench: Callable[..., Bench]) -> None:
    with PriceServer(good(), Answer(status=304)) as server:
        desk = bench(server.url)
        desk.refresh()
        desk.now = NOW + timedelta(days=2)
        assert desk.refresh() == ("unchanged", "not_modified")
    kept = desk.store.load()
    assert kept == Snapshot(GOOD, revision(GOOD), ETAG, server.url, NOW, desk.now)
    assert desk.table[:3] == ("genai-prices from 127.0.0.1", revision(GOOD), "2026-11-22")


def test_not_modified_on_the_same_day_swaps_nothing(bench: Callable[..., Bench]) -> None:
    with PriceServer(good(), Answer(status=304)) as server:
        desk = bench(server.url)
        desk.refresh()
        desk.now = NOW + timedelta(hours=1)
        desk.refresh()
    assert desk.swaps == 1


def test_the_same_list_without_a_tag_is_unchanged(bench: Callable[..., Bench]) -> None:
    with PriceServer(Answer(GOOD)) as server:
        desk = bench(server.url)
        assert desk.refresh() == ("updated", "accepted")
        desk.now = NOW + timedelta(hours=1)
        assert desk.refresh() == ("unchanged", "same_list")
    assert desk.swaps == 1
    kept = desk.store.load()
    assert kept is not None
    assert (kept.fetched_at, kept.checked_at) == (NOW, desk.now)


def test_the_same_list_under_a_new_tag_is_asked_for_by_the_new_tag(bench: Callable[..., Bench]) -> None:
    with PriceServer(good(), Answer(GOOD, headers={"etag": '"two"'}), Answer(status=304)) as server:
        desk = bench(server.url)
        assert desk.refresh() == ("updated", "accepted")
        desk.now = NOW + timedelta(hours=1)
        assert [desk.refresh()[1], desk.refresh()[1]] == ["same_list", "not_modified"]
    assert desk.store.load() == Snapshot(GOOD, revision(GOOD), '"two"', server.url, NOW, desk.now)
    assert [headers.get("if-none-match") for _, headers in server.requests] == [None, ETAG, '"two"']


def test_a_gzipped_list_is_read(bench: Callable[..., Bench]) -> None:
    with PriceServer(Answer(gzip.compress(GOOD), headers={"content-encoding": "gzip"})) as server:
        desk = bench(server.url)
        assert desk.refresh() == ("updated", "accepted")
    assert desk.table[1] == revision(GOOD)


BAD: dict[str, tuple[Answer, str, str]] = {
    "garbage": (Answer(b"\x00\xff\xfe garbage"), "rejected", "not_json"),
    "html": (Answer(b"<!doctype html><title>Sign in</title>"), "rejected", "not_json"),
    "no body": (Answer(b""), "rejected", "not_json"),
    "empty list": (Answer(b"[]"), "rejected", "empty"),
    "object": (Answer(b'{"units": {}, "providers": []}'), "rejected", "not_a_list"),
    "truncated JSON": (Answer(GOOD[: len(GOOD) // 2]), "rejected", "not_json"),
    "ten times the price": (Answer(core_list(ten_times)), "rejected", "canary_moved"),
    "a price of a thousand times": (Answer(core_list(wrong_unit)), "rejected", "price_too_high"),
    "half of the models": (Answer(core_list(halved)), "rejected", "too_few_models"),
    "older": (Answer(core_list(without_newest)), "rejected", "older"),
    "length above the cap": (Answer(b" " * (MAX_BYTES + 1)), "rejected", "too_large"),
    "endless": (Answer(b" " * 65536, length=False, endless=True), "rejected", "too_large"),
    "gzip bomb": (
        Answer(gzip.compress(b" " * (MAX_BYTES + 1)), headers={"content-encoding": "gzip"}),
        "rejected",
        "too_large",
    ),
    "other encoding": (Answer(GOOD, headers={"content-encoding": "br"}), "rejected", "encoding"),
    "gzip cut short": (
        Answer(gzip.compress(GOOD)[:-9], headers={"content-encoding": "gzip"}),
        "rejected",
        "encoding",
    ),
    "slow": (Answer(GOOD, part=100, hang=True), "failed", "timeout"),
    "reset": (Answer(GOOD, part=100_000, reset=True), "failed", "transport"),
    "cut short": (Answer(GOOD, part=100_000), "failed", "transport"),
    "server error": (Answer(status=500), "failed", "http_status"),
    "not found": (Answer(b"[]", status=404), "failed", "http_status"),
    "no content": (Answer(status=204, length=False), "failed", "http_status"),
    "redirect elsewhere": (
        Answer(status=302, headers={"location": "https://other.test/"}),
        "failed",
        "redirect_refused",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_answer_leaves_the_good_table_and_says_why(bench: Callable[..., Bench], case: str) -> None:
    answer, status, reason = BAD[case]
    with PriceServer(good(dearer), answer) as server:
        desk = bench(server.url)
        desk.refresh()
        if case == "slow":
            desk.options = replace(desk.options, limits=FetchLimits(wait_seconds=0.1))
            desk.restart()
        table, kept = desk.table, desk.file.read_bytes()
        assert desk.refresh() == (status, reason)
    assert desk.table is table
    assert desk.file.read_bytes() == kept
    assert desk.outcomes[-1].revision == table[1]


@pytest.mark.parametrize("case", BAD)
def test_a_bad_first_answer_leaves_the_bundled_list(bench: Callable[..., Bench], case: str) -> None:
    answer, status, reason = BAD[case]
    with PriceServer(answer) as server:
        desk = bench(server.url, limits=FetchLimits(wait_seconds=0.1 if case == "slow" else 10))
        assert desk.refresh() == (status, reason)
    assert (desk.table[0], desk.outcomes[-1].revision) == ("bundled", None)
    assert not desk.file.exists()


def test_the_outcome_holds_no_text_of_the_answer(bench: Callable[..., Bench]) -> None:
    def poison(raw: list[Any]) -> None:
        model_in(raw, "openai", "gpt-4o")["prices"] = {"input_mtok": "leaked-words"}

    with PriceServer(Answer(core_list(poison)), Answer(b"leaked-words", status=418)) as server:
        desk = bench(server.url)
        assert [desk.refresh()[1], desk.refresh()[1]] == ["price_invalid", "http_status"]
    assert "leaked-words" not in repr(desk.outcomes)
    assert desk.outcomes[-1].detail == "418"


def test_a_canary_that_is_gone_is_named(bench: Callable[..., Bench]) -> None:
    def lose(raw: list[Any]) -> None:
        openai = next(provider for provider in raw if provider["id"] == "openai")
        openai["models"] = [model for model in openai["models"] if model["id"] != "gpt-4o"]

    with PriceServer(Answer(core_list(lose))) as server:
        desk = bench(server.url)
        assert desk.refresh() == ("rejected", "canary_missing")
    assert desk.outcomes[-1].detail == "openai/gpt-4o"


def test_a_pinned_hash_lets_only_its_list_pass(bench: Callable[..., Bench]) -> None:
    other = core_list(dearer)
    with PriceServer(Answer(other), Answer(GOOD)) as server:
        desk = bench(server.url, sha256=revision(GOOD).upper())
        assert [desk.refresh(), desk.refresh()] == [("rejected", "hash_mismatch"), ("updated", "accepted")]
    assert desk.table[1] == revision(GOOD)


def test_a_list_that_cannot_be_built_is_refused_and_the_copy_put_back(bench: Callable[..., Bench]) -> None:
    with PriceServer(good(), Answer(core_list(dearer)), good()) as server:
        desk = bench(server.url)
        desk.refresh()
        kept = desk.file.read_bytes()

        def refuse(*_: Any) -> None:
            raise ValueError("no")

        desk.refresher._accept = refuse
        assert desk.refresh() == ("rejected", "not_accepted")
        assert desk.file.read_bytes() == kept
        assert desk.refresh() == ("unchanged", "same_list")


def test_an_error_nobody_expected_is_an_outcome_too(bench: Callable[..., Bench]) -> None:
    desk = bench("https://prices.test/data.json")

    async def break_down(_etag: str | None) -> None:
        raise ZeroDivisionError("secret")

    desk.refresher._fetcher.fetch = break_down  # type: ignore[method-assign] - a fault that no server can cause
    assert desk.refresh() == ("failed", "unexpected")
    assert desk.outcomes[-1].detail == "ZeroDivisionError"


def test_readers_see_one_whole_table_or_the_other(bench: Callable[..., Bench]) -> None:
    lists = [core_list(), core_list(dearer)]
    prices = {}
    with PriceServer(*(Answer(body) for _ in range(4) for body in lists)) as server:
        desk = bench(server.url)
        for body in lists:
            desk.refresh()
            prices[revision(body)] = input_price(desk.table)
        seen: list[tuple[str, Any]] = []
        over = threading.Event()

        def read() -> None:
            while not over.wait(0.001):
                table = desk.table
                seen.append((table[1], input_price(table)))

        readers = [threading.Thread(target=read) for _ in range(3)]
        for reader in readers:
            reader.start()
        for _ in range(6):
            assert desk.refresh() == ("updated", "accepted")
            before = len(seen)
            while len(seen) < before + 6:
                over.wait(0.001)
        over.set()
        for reader in readers:
            reader.join()
    assert set(seen) == set(prices.items())


def test_two_refreshes_at_once_take_turns(bench: Callable[..., Bench]) -> None:
    async def both(desk: Bench) -> list[RefreshOutcome]:
        return list(await asyncio.gather(desk.refresher.refresh(), desk.refresher.refresh()))

    with PriceServer(good(), Answer(status=304)) as server:
        desk = bench(server.url)
        outcomes = desk.run(both(desk))
    assert [outcome.reason for outcome in outcomes] == ["accepted", "not_modified"]


def test_it_runs_at_once_and_then_never_sooner_than_the_interval(bench: Callable[..., Bench]) -> None:
    with PriceServer(good(), Answer(b"[]"), Answer(status=304)) as server:
        desk = bench(server.url, interval_seconds=7200)
        run_until(desk, 4)
    assert desk.pauses == [0.0, 7560.0, 7560.0, 7560.0]
    assert [outcome.reason for outcome in desk.outcomes[:3]] == ["accepted", "empty", "not_modified"]


@pytest.mark.parametrize("seconds", [0, 3599.9, float("inf"), float("nan")])
def test_an_interval_below_an_hour_is_refused(seconds: float) -> None:
    with pytest.raises(ValueError, match="3600"):
        RefreshOptions("https://prices.test/", interval_seconds=seconds)


@pytest.mark.parametrize("sha256", ["", "0" * 63, "g" * 64])
def test_a_pin_that_is_no_sha256_is_refused(sha256: str) -> None:
    with pytest.raises(ValueError, match="64 hexadecimal"):
        RefreshOptions("https://prices.test/", sha256=sha256)


def test_the_address_is_shown_nowhere(bench: Callable[..., Bench]) -> None:
    with PriceServer(good()) as server:
        desk = bench(f"{server.url}?key=hidden")
        desk.refresh()
    shown = repr((desk.options, desk.outcomes, desk.table[:3], desk.store.load()))
    assert "hidden" not in shown
    assert json.loads(desk.file.read_bytes().partition(b"\n")[0])["url"].endswith("?key=hidden")
