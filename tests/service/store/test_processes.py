"""Several processes on one ledger, and processes that are killed."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlalchemy import select

from service.domain.budgets import NANO
from service.domain.ledger import HoldState
from service.store.ledger import SqlLedger
from service.store.tables import ENTRIES, HOLDS
from tests.service.store.places import Place, asked, audited, budget, cost, read, totals

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
        for hold in holds:
            await ledger.settle("p", hold, cost("0.333333333"))
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
