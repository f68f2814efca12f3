"""Many records at once hold up nobody for longer than one such request takes."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

import pytest
from sqlalchemy import Connection

from service.domain.spending.ledger import UsageRecord
from service.store.operations import Operation, Record, Reserve
from service.store.workers import Workers
from tests.service.store.places import SPENDER, START, TestClock, asked, usd

T = TypeVar("T")

ONE = UsageRecord(SPENDER, usd("1"), START)
LONG = Record((ONE,) * 51)


@dataclass
class Groups:
    """In place of a database: what was done together, in order. It begins when ``go`` is set."""

    go: threading.Event = field(default_factory=threading.Event)
    done: list[list[Operation[Any]]] = field(default_factory=list)

    @contextmanager
    def turn(self) -> Iterator[None]:
        assert self.go.wait(30)
        yield

    def run(self, work: Callable[[Connection], T], seconds: float) -> T:
        raise NotImplementedError

    def close(self) -> None:
        pass


def carried_out(operations: list[Operation[Any]], monkeypatch: pytest.MonkeyPatch) -> list[list[Operation[Any]]]:
    """The groups in which ``operations`` are done that all wait from the beginning."""
    groups = Groups()

    def once(_workers: Workers, _session: Groups, jobs: list[Any]) -> None:
        groups.done.append([job.operation for job in jobs])

    monkeypatch.setattr(Workers, "_once", once)

    async def main() -> None:
        workers = Workers(lambda: groups, 1, TestClock(), "test")
        waiting = [asyncio.create_task(workers.carry_out(operation)) for operation in operations]
        await asyncio.sleep(0)
        groups.go.set()
        await asyncio.gather(*waiting)
        workers.close()

    asyncio.run(main())
    return groups.done


def test_what_is_short_goes_before_what_is_long(monkeypatch: pytest.MonkeyPatch) -> None:
    short = [Reserve(asked("1")), Record((ONE,) * 50), Reserve(asked("2"))]
    done = carried_out([LONG, short[0], LONG, short[1], LONG, short[2]], monkeypatch)
    assert done == [short, [LONG], [LONG], [LONG]]


def test_what_is_long_has_its_turn_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("service.store.workers._GROUP", 1)
    short: list[Operation[Any]] = [Reserve(asked(str(number))) for number in range(1, 11)]
    done = carried_out([LONG, LONG, *short], monkeypatch)
    assert [group == [LONG] for group in done] == [False] * 4 + [True] + [False] * 4 + [True] + [False] * 2
    assert [group for group in done if group != [LONG]] == [[each] for each in short]
