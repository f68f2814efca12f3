"""The last good copy: what serves after a restart, and when the copy cannot be read or kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from service.domain.ports import Snapshot, SnapshotError
from tests.service.pricebook.price_server import Answer, PriceServer, core_list
from tests.service.pricebook.refreshing import (
    ETAG,
    GOOD,
    NOW,
    Bench,
    benches,
    dearer,
    good,
    input_price,
    revision,
    run_until,
    without_newest,
)


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Callable[..., Bench]]:
    with benches(tmp_path) as build:
        yield build


class FullDisk:
    """A store that reads, and on which nothing can be kept."""

    def __init__(self, snapshot: Snapshot | None = None) -> None:
        self.snapshot = snapshot

    def load(self) -> Snapshot | None:
        return self.snapshot

    def save(self, snapshot: Snapshot) -> None:
        raise SnapshotError("not_saved")

    def touch(self, checked: datetime) -> None:
        raise SnapshotError("not_saved")


def test_a_data_directory_that_cannot_be_written_is_reported_and_changes_nothing(bench: Callable[..., Bench]) -> None:
    with PriceServer(good(), good(), Answer(status=304)) as server:
        desk = bench(server.url)
        desk.store = FullDisk()
        desk.refresher = desk.started()
        assert desk.refresh() == ("failed", "not_saved")
        assert desk.table[0] == "bundled"
        desk.store = FullDisk(Snapshot(GOOD, revision(GOOD), ETAG, server.url, NOW, NOW))
        assert desk.restart() == ("updated", "restored")
        assert [desk.refresh(), desk.refresh()] == [("failed", "not_saved")] * 2
    assert desk.table[1] == revision(GOOD)


def test_a_restart_serves_the_last_good_copy(bench: Callable[..., Bench]) -> None:
    with PriceServer(good(dearer), Answer(status=304)) as server:
        desk = bench(server.url)
        desk.refresh()
        table = desk.table
        assert desk.restart() == ("updated", "restored")
        assert desk.table[:3] == table[:3]
        assert input_price(desk.table) == input_price(table)
        assert desk.refresh() == ("unchanged", "not_modified")
    assert server.requests[-1][1]["if-none-match"] == ETAG


def test_without_a_copy_the_bundled_list_serves(bench: Callable[..., Bench]) -> None:
    desk = bench("https://prices.test/")
    assert desk.restart() == ("unchanged", "no_copy")
    assert desk.table[0] == "bundled"


@pytest.mark.parametrize(
    ("checked_at", "expected"),
    [
        (datetime(2026, 11, 9, 23, 59, tzinfo=UTC), ("rejected", "older")),
        (datetime(2026, 11, 10, tzinfo=UTC), ("updated", "restored")),
    ],
)
def test_the_newer_of_copy_and_bundled_list_serves(
    bench: Callable[..., Bench], checked_at: datetime, expected: tuple[str, str]
) -> None:
    desk = bench("https://prices.test/")
    desk.store.save(Snapshot(GOOD, revision(GOOD), ETAG, "https://prices.test/", checked_at, checked_at))
    assert desk.restart() == expected
    assert desk.file.exists()


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (core_list(without_newest), ("rejected", "older")),
        (b"[]", ("rejected", "empty")),
        (core_list(lambda raw: raw.pop(0)), ("rejected", "canary_missing")),
    ],
)
def test_a_copy_that_is_not_sane_is_left_where_it_is(
    bench: Callable[..., Bench], body: bytes, expected: tuple[str, str]
) -> None:
    desk = bench("https://prices.test/")
    desk.store.save(Snapshot(body, revision(body), None, "https://prices.test/", NOW, NOW))
    kept = desk.file.read_bytes()
    assert desk.restart() == expected
    assert (desk.table[0], desk.file.read_bytes()) == ("bundled", kept)


def test_a_damaged_copy_is_ignored_with_a_reason_and_replaced_by_the_next_good_list(
    bench: Callable[..., Bench],
) -> None:
    with PriceServer(good()) as server:
        desk = bench(server.url)
        desk.refresh()
        damaged = desk.file.read_bytes()[:-1]
        desk.file.write_bytes(damaged)
        assert desk.restart() == ("failed", "damaged")
        assert (desk.table[0], desk.file.read_bytes()) == ("bundled", damaged)
        assert desk.refresh() == ("updated", "accepted")
    assert desk.restart() == ("updated", "restored")
    assert "if-none-match" not in server.requests[-1][1]


def test_a_copy_that_is_damaged_while_its_list_serves_is_written_anew(bench: Callable[..., Bench]) -> None:
    with PriceServer(good(), Answer(status=304)) as server:
        desk = bench(server.url)
        desk.refresh()
        desk.file.write_bytes(b"damaged")
        assert desk.refresh() == ("unchanged", "not_modified")
    kept = desk.store.load()
    assert kept is not None
    assert kept.body == GOOD


def test_a_copy_from_another_address_serves_but_its_tag_is_not_sent(bench: Callable[..., Bench]) -> None:
    with PriceServer(good()) as server:
        desk = bench(server.url)
        desk.store.save(Snapshot(GOOD, revision(GOOD), '"other"', "https://prices.test/", NOW, NOW))
        assert desk.restart() == ("updated", "restored")
        assert desk.refresh() == ("unchanged", "same_list")
    assert "if-none-match" not in server.requests[0][1]
    kept = desk.store.load()
    assert kept is not None
    assert (kept.url, kept.etag) == (server.url, ETAG)


def test_a_copy_that_is_not_the_pinned_list_is_ignored(bench: Callable[..., Bench]) -> None:
    desk = bench("https://prices.test/", sha256="0" * 64)
    desk.store.save(Snapshot(GOOD, revision(GOOD), None, "https://prices.test/", NOW, NOW))
    assert desk.restart() == ("rejected", "hash_mismatch")


def test_a_replica_takes_up_what_another_one_has_kept(bench: Callable[..., Bench]) -> None:
    with PriceServer(good()) as server:
        leader = bench(server.url)
        follower = bench(server.url)
        leader.refresh()
        outcome = follower.refresher.restore()
        assert (outcome.status, outcome.reason, outcome.revision) == ("updated", "restored", leader.table[1])
        leader.store.touch(NOW + timedelta(days=1))
        assert follower.refresher.restore().reason == "same_list"
    assert follower.table[1:3] == (leader.table[1], "2026-11-21")


@pytest.mark.parametrize(
    ("later", "pause"), [(timedelta(minutes=20), 2400.0), (timedelta(hours=3), 0.0), (-timedelta(hours=5), 3600.0)]
)
def test_after_a_restart_it_waits_for_what_is_left_of_the_interval(
    bench: Callable[..., Bench], later: timedelta, pause: float
) -> None:
    with PriceServer(good()) as server:
        desk = bench(server.url)
        desk.refresh()
        desk.now = NOW + later
        desk.restart()
        run_until(desk, 1)
    assert desk.pauses == [pause]
