"""Several processes on one ledger, and processes that are killed."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlalchemy import select

from service.domain.spending.budgets import NANO, Balance
from service.domain.spending.errors import BudgetExceeded, BudgetExists, InFlight
from service.domain.spending.ledger import Hold, HoldState
from service.store.ledger import SWEEP_SECONDS, SqlLedger
from service.store.tables import ENTRIES, HOLDS
from service.store.workers import WAIT_SECONDS
from tests.service.store.places import Place, asked, audited, budget, cost, read, totals
from tests.service.store.server import PostgresServer
from tests.service.store.test_ledger import once

ROOT = Path(__file__).parents[3]


@pytest.fixture
def place(place: Place) -> Place:
    place.clock.now = datetime.now(UTC)  # the processes have the real time
    return place


def start(place: Place, what: str, number: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.service.store.child", place.url, str(place.folder), what, str(number)]
    process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def go(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()


def test_ten_thousand_reservations_at_once_admit_exactly_as_many_as_fit(place: Place) -> None:
    count = 2 if place.url else 4

    async def limit(ledger: SqlLedger) -> None:
        await ledger.create_budget(budget(limit="1000"), by="me")

    async def settle(ledger: SqlLedger) -> None:
        assert (await totals(ledger)).open_holds == 1000
        holds = await read(ledger, lambda c: c.execute(select(HOLDS.c.id)).scalars().all())
        for first in range(0, 1000, 100):
            await asyncio.gather(*(ledger.settle("p", h, cost("0.333333333")) for h in holds[first : first + 100]))
        found = await totals(ledger)
        assert (found.held_nano, found.spent_nano) == (0, 333_333_333_000)
        await audited(ledger)

    place.run(limit)
    processes = [start(place, "reserve", 10_000 // count) for _ in range(count)]
    for process in processes:
        go(process)
    admitted = [int(process.communicate(timeout=200)[0]) for process in processes]
    assert sum(admitted) == 1000
    assert [process.returncode for process in processes] == [0] * count
    place.run(settle)


def test_a_process_that_is_killed_loses_nothing_it_acknowledged(place: Place) -> None:
    async def limit(ledger: SqlLedger) -> None:
        await ledger.create_budget(budget(limit="1000"), by="me")

    async def check(ledger: SqlLedger) -> None:
        held = set(await read(ledger, lambda c: c.execute(select(HOLDS.c.id)).scalars().all()))
        booked = await read(ledger, lambda c: c.execute(select(ENTRIES.c.id)).scalars().all())
        assert said["held"] <= held
        assert said["booked"] <= set(booked)
        assert len(said["booked"]) > 20
        found = await totals(ledger)
        assert found.spent_nano == len(booked) * NANO // 1000
        await audited(ledger)
        place.clock.pass_(hours=1)
        assert await ledger.expire() == found.open_holds
        assert (await totals(ledger)).held_nano == 0
        await ledger.reserve(asked("1"))

    place.run(limit)
    said: dict[str, set[str]] = {"held": set(), "booked": set()}
    processes = [start(place, "pairs", 16) for _ in range(2)]
    for process in processes:
        go(process)
    time.sleep(1)
    for process in processes:
        process.send_signal(signal.SIGKILL)
    for process in processes:
        output = process.communicate(timeout=60)[0]
        for line in output.splitlines(keepends=True):
            if line.endswith("\n"):
                what, number = line.split()
                said[what].add(number)
    place.run(check)


def test_a_commit_waits_for_the_disk_whatever_the_server_is_set_to(
    place: Place, request: pytest.FixtureRequest
) -> None:
    if place.url:
        name = place.url.rpartition("/")[2]
        request.getfixturevalue("postgres").sql(f"ALTER DATABASE {name} SET synchronous_commit = off", "postgres")
    asked_of, waits = ("SHOW synchronous_commit", "on") if place.url else ("PRAGMA synchronous", 2)

    async def look(ledger: SqlLedger) -> object:
        return await ledger.write(lambda connection: connection.exec_driver_sql(asked_of).scalar_one())

    assert place.run(look) == waits


def test_holds_outlive_the_process_and_expire_in_the_next(place: Place) -> None:
    async def before(ledger: SqlLedger) -> str:
        await ledger.create_budget(budget(), by="me")
        return (await ledger.reserve(asked("1", ttl_seconds=60))).id

    async def after(ledger: SqlLedger) -> HoldState:
        assert await ledger.expire() == 1
        return (await ledger.hold("p", hold)).state

    hold = place.run(before)
    place.clock.pass_(seconds=60)
    assert place.run(after) is HoldState.EXPIRED


def test_ledgers_that_open_at_once_find_the_tables_made_once(place: Place) -> None:
    async def work() -> None:
        ledgers = [place.ledger() for _ in range(4)]
        await asyncio.gather(*(ledger.open() for ledger in ledgers))
        for number, ledger in enumerate(ledgers):
            await ledger.create_budget(budget(f"b{number}"), by="me")
        assert len((await ledgers[0].budgets("p")).items) == 4
        await asyncio.gather(*(ledger.close() for ledger in ledgers))

    asyncio.run(work())


def test_threads_with_event_loops_of_their_own_share_a_ledger(place: Place) -> None:
    async def work(ledger: SqlLedger) -> None:
        await ledger.create_budget(budget(limit="30"), by="me")
        counts = await asyncio.gather(*(asyncio.to_thread(lambda: asyncio.run(admitted(ledger, 20))) for _ in range(4)))
        assert sum(counts) == 30
        await audited(ledger)

    place.run(work)


async def admitted(ledger: SqlLedger, number: int) -> int:
    done = await asyncio.gather(*(ledger.reserve(asked("1")) for _ in range(number)), return_exceptions=True)
    assert {type(one) for one in done} <= {Hold, BudgetExceeded}
    return sum(isinstance(one, Hold) for one in done)


def test_upkeep_ends_holds_while_the_ledger_runs(place: Place) -> None:
    async def work(ledger: SqlLedger) -> None:
        hold = await ledger.reserve(asked("1", ttl_seconds=60))
        tasks = [asyncio.create_task(ledger.keep_up(0.02)) for _ in range(3)]
        place.clock.pass_(seconds=60)
        async with asyncio.timeout(60):
            while (await ledger.hold("p", hold.id)).state is HoldState.HELD:  # noqa: ASYNC110 - the database tells
                await asyncio.sleep(0.02)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert (await ledger.hold("p", hold.id)).state is HoldState.EXPIRED
        await audited(ledger)

    place.run(work)


def test_a_budget_that_many_make_at_once_is_made_once(place: Place) -> None:
    async def work(ledger: SqlLedger) -> None:
        async with place.opened() as second, place.opened() as third:
            for number in range(10):
                name = f"b{number}"
                makers = [each.create_budget(budget(name), by="me") for each in (ledger, second, third) * 3]
                outcomes = await asyncio.gather(*makers, return_exceptions=True)
                made = [each for each in outcomes if isinstance(each, Balance)]
                assert len(made) == 1
                assert [type(each) for each in outcomes if each not in made] == [BudgetExists] * 8

    place.run(work)


def test_a_hold_counts_five_seconds_past_its_time_at_the_most() -> None:
    assert SWEEP_SECONDS + WAIT_SECONDS < 5


@pytest.mark.xdist_group("postgresql")
def test_a_request_whose_first_is_still_under_way_elsewhere_is_told_so(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    place = Place(postgres.new_database(), tmp_path)
    begun = threading.Event()

    def slow(result: object) -> bytes:
        begun.set()
        time.sleep(2.5)  # in the transaction, with the key's lock
        return b"first"

    async def work(ledger: SqlLedger) -> None:
        async with place.opened() as other:
            first = asyncio.create_task(other.reserve(asked("1"), once=replace(once(), answer=slow)))
            await asyncio.to_thread(begun.wait)
            with pytest.raises(InFlight):
                await ledger.reserve(asked("1"), once=once())
            await ledger.reserve(asked("1"), once=once("another"))
            await asyncio.wait([first])
        assert (await ledger.status()).open_holds == 2 if first.exception() is None else 1

    place.run(work)
