"""What past calls tell, over both databases: counted with each entry, once, by project, model, tag and day."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import random
from collections import Counter
from dataclasses import replace

import pytest
from sqlalchemy import func, select

from service.domain.past.calibration import bucket_of, calibration_of
from service.domain.past.calls import CountedBy
from service.domain.past.output import OutputHistory
from service.domain.spending.errors import InvalidAmount, LedgerUnavailable, Replayed
from service.domain.spending.ledger import Estimate, Flag, Metered, Settlement, UsageRecord
from service.store.ledger import SqlLedger, sql_ledger
from service.store.past_calls import SqlPastCalls
from service.store.tables import CALIBRATION, OUTPUT_HISTORY
from tests.service.store.places import SPENDER, START, Place, asked, budget, read, usd
from tests.service.store.test_ledger import once

WORDS = CountedBy("maker", "some-model", "words")


def past_of(ledger: SqlLedger, place: Place) -> SqlPastCalls:
    """Nothing is kept for as long as one call after another."""
    return SqlPastCalls(ledger.read, place.clock, itertools.count(step=1000.0).__next__)


def record(estimated: int | None, actual: int, output: int = 7, **more: object) -> UsageRecord:
    spender = replace(SPENDER, **more)
    return UsageRecord(spender, usd("0.01"), START, Metered(actual, output), estimate=Estimate(estimated))


def test_each_settled_call_counts_once_in_its_project_and_in_all(place):
    chance = random.Random(5)
    calls = [(100, chance.randint(90, 120)) for _ in range(60)]

    async def work(ledger: SqlLedger) -> None:
        await ledger.create_budget(budget(limit=None), by="test")
        past = past_of(ledger, place)
        for estimated, actual in calls[:30]:
            hold = await ledger.reserve(asked("1", estimate=Estimate(estimated)))
            settlement = Settlement(usd("0.5"), Metered(actual, 3))
            first = await ledger.settle("p", hold.id, settlement)
            assert (await ledger.settle("p", hold.id, settlement)).entry == first.entry
        await ledger.record([record(*call) for call in calls[30:]])
        await ledger.record([record(100, 1000, project="q")])
        own = calibration_of(Counter(bucket_of(*call) for call in calls))
        assert await past.calibration("p", WORDS) == own
        assert await past.calibrations("p") == {WORDS: own}
        together = calibration_of(Counter(bucket_of(*call) for call in [*calls, (100, 1000)]))
        assert await past.calibrations(None) == {WORDS: together}
        assert await past.calibration("p", replace(WORDS, tokenizer="other")) is None

    place.run(work)


def test_only_what_was_measured_and_estimated_counts(place):
    async def work(ledger: SqlLedger) -> None:
        past = past_of(ledger, place)
        flagged = [replace(record(100, 200), flags=frozenset({flag})) for flag in (Flag.PARTIAL, Flag.UNPRICED)]
        unpriced = replace(record(100, 200), usd=None)
        nameless = record(100, 200, model=None)
        await ledger.record([*flagged, unpriced, nameless, record(None, 200), record(100, 0, output=0)])
        assert await past.calibrations(None) == {}
        assert await past.output("p", "maker", "some-model", {}) == OutputHistory(
            1, 7, 7, 7
        )  # of the one not estimated
        await ledger.record([record(100, 100)])
        assert (await past.calibrations(None))[WORDS].settles == 1

    place.run(work)


def test_what_was_not_committed_and_what_was_answered_before_counts_for_nothing(place):
    async def work(ledger: SqlLedger) -> None:
        past = past_of(ledger, place)
        for _ in range(3):
            with contextlib.suppress(Replayed):
                await ledger.record([record(100, 100)], once=once())
        with pytest.raises(InvalidAmount):
            await ledger.record([record(100, 100), replace(record(100, 100), usd=usd("-1"))])
        assert (await past.calibrations("p"))[WORDS].settles == 1

    place.run(work)


def test_output_is_that_of_the_tag_with_the_fewest_calls_of_those_that_have_enough(place):
    async def work(ledger: SqlLedger) -> None:
        past = past_of(ledger, place)
        calls = [record(9, 9, 10, tags={"task": "chat", "team": "a"})] * 30
        calls += [record(9, 9, 20, tags={"task": "sum", "team": "a"})] * 20
        calls += [record(9, 9, 40, tags={"task": "rare", "team": "b"})] * 19
        calls += [record(9, 9, 50, project="q", tags={"task": "sum"})] * 40
        await ledger.record(calls)

        async def median(**tags: str) -> tuple[int, int]:
            found = await past.output("p", "maker", "some-model", tags)
            assert found is not None
            return found.settles, found.p50

        assert await median() == (69, 20)
        assert await median(task="sum") == (20, 20)
        assert await median(task="chat") == (30, 10)
        assert await median(task="chat", team="a") == (30, 10)
        assert await median(task="rare", team="a") == (50, 10)  # 19 are too few
        assert await median(task="rare") == (69, 20)
        assert await median(task="nobody") == (69, 20)
        assert await median(task="\0", **{"\ud800": "x"}) == (69, 20)
        assert await past.output("p", "maker", "other", {}) is None

    place.run(work)


def test_after_a_month_a_call_tells_nothing_and_is_forgotten(place):
    async def work(ledger: SqlLedger) -> None:
        past = past_of(ledger, place)
        await ledger.record([record(100, 100)])
        place.clock.pass_(days=30)
        await ledger.keep_up_once()
        assert (await past.calibrations("p"))[WORDS].settles == 1
        place.clock.pass_(days=1)
        assert await past.calibrations("p") == {}
        assert await past.output("p", "maker", "some-model", {}) is None
        await ledger.keep_up_once()
        for table in (CALIBRATION, OUTPUT_HISTORY):
            assert (
                await read(
                    ledger, lambda c, table=table: c.execute(select(func.count()).select_from(table)).scalar_one()
                )
                == 0
            )

    place.run(work)


def test_two_processes_add_to_the_same_counts(place):
    async def work() -> None:
        async with place.opened() as one, place.opened() as other:
            await asyncio.gather(*(ledger.record([record(100, 103)]) for ledger in (one, other) * 40))
            assert (await past_of(one, place).calibrations("p"))[WORDS].settles == 80

    asyncio.run(work())


def test_answers_are_kept_for_some_seconds(place):
    async def work(ledger: SqlLedger) -> None:
        now = [0.0]
        past = SqlPastCalls(ledger.read, place.clock, lambda: now[0])
        assert await past.calibrations("p") == {}
        await ledger.record([record(100, 100)])
        now[0] = 9.9
        assert await past.calibrations("p") == {}
        now[0] = 10.0
        assert (await past.calibrations("p"))[WORDS].settles == 1

    place.run(work)


def test_a_database_that_is_down_is_asked_once_in_ten_seconds(tmp_path):
    async def work() -> None:
        ledger = sql_ledger("postgresql://nobody@127.0.0.1:1/none", tmp_path, lambda: START)
        asked_for, now = [0], [0.0]

        async def read_counted(work):
            asked_for[0] += 1
            return await ledger.read(work)

        past = SqlPastCalls(read_counted, lambda: START, lambda: now[0])
        for model in "abc":
            with pytest.raises(LedgerUnavailable):
                await past.calibration("p", CountedBy("maker", model, "words"))
        assert asked_for == [1]
        now[0] = 10.0
        with pytest.raises(LedgerUnavailable):
            await past.output("p", "maker", "a", {})
        assert asked_for == [2]
        await ledger.close()

    asyncio.run(work())
