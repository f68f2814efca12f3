"""The price list in the database: all of it or the one before, and one replica at a time that fetches it."""

from __future__ import annotations

import asyncio
import hashlib
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest
from sqlalchemy import update

from service.domain.ports import Snapshot, SnapshotError
from service.store.ledger import SqlLedger, sessions
from service.store.snapshots import DatabaseSnapshots, RefreshLease
from service.store.tables import PRICE_SNAPSHOTS
from service.store.workers import Use
from tests.service.pricebook.price_server import PriceServer
from tests.service.pricebook.refreshing import GOOD, Bench, benches, good, revision
from tests.service.store.places import START, Place


def snapshot(body: bytes = b"[1]", etag: str | None = '"1"') -> Snapshot:
    return Snapshot(body, hashlib.sha256(body).hexdigest(), etag, "https://prices.test/?key=1", START, START)


async def nothing(ledger: SqlLedger) -> None:
    """Make the tables."""


@pytest.fixture
def store(place: Place) -> DatabaseSnapshots:
    place.run(nothing)
    return DatabaseSnapshots(partial(sessions(place.url, place.folder), Use.WRITE))


def lease(place: Place, holder: str) -> RefreshLease:
    return RefreshLease(partial(sessions(place.url, place.folder), Use.WRITE), holder, place.clock)


def test_what_was_saved_is_loaded(store: DatabaseSnapshots) -> None:
    assert store.load() is None
    store.touch(START)
    for one in (snapshot(), snapshot(b"\n\x00\xff" * 1_000_000, None), snapshot(b"")):
        store.save(one)
        assert store.load() == one


def test_touching_moves_only_the_date_of_the_check(store: DatabaseSnapshots) -> None:
    store.save(snapshot())
    store.touch(START + timedelta(days=1))
    one = snapshot()
    assert store.load() == Snapshot(one.body, one.sha256, one.etag, one.url, START, START + timedelta(days=1))


def test_a_list_that_is_not_what_was_saved_is_damaged(store: DatabaseSnapshots, place: Place) -> None:
    store.save(snapshot())

    async def damage(ledger: SqlLedger) -> None:
        await ledger._writers.run(lambda c: c.execute(update(PRICE_SNAPSHOTS).values(body=b"other")).rowcount)

    place.run(damage)
    with pytest.raises(SnapshotError) as caught:
        store.load()
    assert caught.value.reason == "damaged"


def test_a_database_that_is_down_is_said_to_be_so(tmp_path: Path) -> None:
    store = DatabaseSnapshots(partial(sessions("postgresql://x@127.0.0.1:1/x", tmp_path), Use.WRITE))
    for call, reason in (
        (store.load, "unreadable"),
        (lambda: store.save(snapshot()), "not_saved"),
        (lambda: store.touch(START), "not_saved"),
    ):
        with pytest.raises(SnapshotError) as caught:
            call()
        assert caught.value.reason == reason
    assert not lease(Place("postgresql://x@127.0.0.1:1/x", tmp_path), "a").take()


def test_one_has_the_lease_at_a_time(place: Place) -> None:
    first, second = lease(place, "a"), lease(place, "b")
    assert (first.take(), second.take(), first.take()) == (True, False, True)
    place.clock.pass_(minutes=5)
    assert (second.take(), first.take()) == (True, False)


def test_one_replica_fetches_and_all_take_it_up(place: Place, store: DatabaseSnapshots, tmp_path: Path) -> None:
    def replica(url: str, holder: str) -> Bench:
        bench = build(url)
        bench.store, bench.last_pause = store, 2
        bench.refresher = bench.started()
        with pytest.raises(asyncio.CancelledError):
            bench.run(bench.refresher.run_in_turn(lease(place, holder).take))
        return bench

    with benches(tmp_path) as build, PriceServer(good()) as server:
        tables = [replica(server.url, holder).table for holder in "ab"]
        assert [table[1] for table in tables] == [revision(GOOD)] * 2
        assert len(server.requests) == 1
