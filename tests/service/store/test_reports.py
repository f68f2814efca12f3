"""Spend from the rollups, single entries, refusals; pruning and rebuilding."""

from __future__ import annotations

import asyncio
import random
import threading
from collections import defaultdict
from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy import Connection, delete, select, update

from service.domain.spending.budgets import NANO, PeriodKind, Spender, period_at
from service.domain.spending.errors import AlreadySettled, InvalidQuery
from service.domain.spending.ledger import EntryQuery, Metered, Page, Refusal, SpendQuery, SpendRow, UsageRecord
from service.store.ledger import SqlLedger
from service.store.spending import page_of_spend
from service.store.tables import ANSWERS, HOLDS, ROLLUP_DAYS, ROLLUPS, TAG_ROLLUP_DAYS, TAG_ROLLUPS
from tests.service.store.places import SPENDER, START, Place, asked, audited, budget, cost, read, usd
from tests.service.store.test_ledger import once

DAY = timedelta(days=1)
MIDNIGHT = START.replace(hour=0)
ALL = SpendQuery(MIDNIGHT - 30 * DAY, MIDNIGHT + 30 * DAY)


def records(number: int, seed: int = 1) -> list[UsageRecord]:
    chance = random.Random(seed)
    found = []
    for _ in range(number):
        tags = {name: chance.choice(("x", "y", 'a "b"', "é_%")) for name in ("team", "unit") if chance.random() < 0.6}
        model = chance.choice((None, "m1", "m2"))
        spender = Spender(chance.choice("pq"), chance.choice((None, "k1")), model and "v", model, None, tags)
        at = START - timedelta(seconds=chance.randrange(20 * 86_400))
        found.append(UsageRecord(spender, usd("0.001") * chance.randrange(1, 99), at, Metered(chance.randrange(9), 1)))
    return found


async def everything(ledger: SqlLedger, query: SpendQuery) -> list[SpendRow]:
    """All pages, three rows each."""
    rows, page = [], await ledger.spend(replace(query, limit=3))
    rows += page.items
    while page.cursor is not None:
        page = await ledger.spend(replace(query, limit=3, cursor=page.cursor))
        rows += page.items
    return rows


def group(record: UsageRecord, group_by: str | None) -> str | None:
    spender = record.spender
    if group_by is not None and group_by.startswith("tag."):
        return spender.tags.get(group_by.removeprefix("tag."))
    known = {"model": spender.model, "provider": spender.provider, "project": spender.project, "key": spender.key_id}
    return known.get(group_by or "")


def added_up(made: list[UsageRecord], query: SpendQuery, offset: float) -> dict[tuple[object, str | None], list[int]]:
    """By start and group, as one would do it by hand; days begin ``offset`` hours before those of UTC."""
    sums: dict[tuple[object, str | None], list[int]] = defaultdict(lambda: [0, 0, 0])
    for record in made:
        assert record.usd is not None
        assert record.metered is not None
        day = (record.at + timedelta(hours=offset)).replace(hour=0, minute=0, second=0) - timedelta(hours=offset)
        row = sums[max(day, query.start) if query.interval else query.start, group(record, query.group_by)]
        for place, value in enumerate((int(record.usd * NANO), 1, record.metered.input_tokens)):
            row[place] += value
    return sums


def test_spend_adds_up_the_entries(place: Place) -> None:
    made = records(60)

    async def work(ledger: SqlLedger) -> None:
        await ledger.record(made)
        for group_by in (None, "model", "provider", "project", "key", "tokenizer", "tag.team", "tag.none"):
            for interval, zone, offset in (("day", "UTC", 0), ("day", "Asia/Kolkata", 5.5), (None, "UTC", 0)):
                query = replace(ALL, group_by=group_by, interval=interval, timezone=zone)
                rows = (await ledger.spend(query)).items
                found = {(row.start, row.group): [row.nano, row.entries, row.input_tokens] for row in rows}
                assert found == added_up(made, query, offset)
        by_team = replace(ALL, group_by="tag.team", interval="day")
        rows = await everything(ledger, by_team)
        assert rows == (await ledger.spend(by_team)).items
        assert [(row.start, row.group or "") for row in rows] == sorted((row.start, row.group or "") for row in rows)

    place.run(work)


def test_weeks_of_years_in_a_zone_apart_from_utc(place: Place) -> None:
    chance = random.Random(4)
    made = [replace(record, at=START - timedelta(minutes=chance.randrange(2_000_000))) for record in records(80)]
    long = replace(ALL, start=MIDNIGHT - 1500 * DAY, group_by="tag.team")

    async def work(ledger: SqlLedger) -> None:
        await ledger.record(made)
        whole = (await ledger.spend(long)).items
        for zone in ("Asia/Kolkata", "UTC"):
            for interval in ("week", "month"):
                sums: dict[str | None, int] = defaultdict(int)
                weeks = (await ledger.spend(replace(long, interval=interval, timezone=zone))).items
                for row in weeks:
                    period = period_at(PeriodKind(interval), zone, row.start)
                    assert row.start == period.start
                    assert period.end is not None
                    mine = [r for r in made if period.start <= r.at < period.end]
                    mine = [r for r in mine if r.spender.tags.get("team") == row.group]
                    assert row.nano == sum(int((r.usd or usd("0")) * NANO) for r in mine)
                    sums[row.group] += row.nano
                assert dict(sums) == {row.group: row.nano for row in whole}

    place.run(work)


def test_a_long_report_is_the_same_whole_and_by_page(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    hours = replace(ALL, interval="hour", group_by="tag.team")

    async def work(ledger: SqlLedger) -> None:
        await ledger.record(records(50))
        whole = (await ledger.spend(hours)).items
        assert len({row.start for row in whole}) > 30
        assert await everything(ledger, hours) == whole
        monkeypatch.setattr("service.store.spending._AT_ONCE", 7)
        assert (await ledger.spend(hours)).items == whole
        assert await everything(ledger, hours) == whole
        assert (await ledger.spend(replace(hours, limit=len(whole)))).cursor is None
        assert (await ledger.spend(replace(hours, limit=len(whole) - 1))).items == whole[:-1]

    place.run(work)


def test_sums_by_the_day_are_made_of_those_that_were_there(place: Place) -> None:
    async def before(ledger: SqlLedger) -> list[SpendRow]:
        await ledger.record(records(40))
        rows = [*(await ledger.spend(replace(ALL, group_by="tag.team", interval="day"))).items]

        def take_back(connection: Connection) -> None:
            for statement in (
                "DROP TABLE rollup_days",
                "DROP TABLE tag_rollup_days",
                "UPDATE alembic_version SET version_num = '0005'",
            ):
                connection.exec_driver_sql(statement)

        await ledger._writers.run(take_back)
        return rows

    async def after(ledger: SqlLedger) -> list[SpendRow]:
        await audited(ledger)
        return [*(await ledger.spend(replace(ALL, group_by="tag.team", interval="day"))).items]

    assert place.run(before) == place.run(after)


def test_spend_of_a_project_within_a_time(place: Place) -> None:
    async def work(ledger: SqlLedger) -> None:
        record = UsageRecord(SPENDER, usd("1"), MIDNIGHT)
        foreign = replace(record, spender=Spender("q"))
        await ledger.record([record, foreign, replace(record, at=MIDNIGHT - timedelta(microseconds=1))])
        query = SpendQuery(MIDNIGHT, MIDNIGHT + DAY, "p", "tag.team")
        assert [(row.group, row.nano) for row in (await ledger.spend(query)).items] == [("search", NANO)]
        assert (await ledger.spend(replace(query, start=MIDNIGHT + timedelta(minutes=15)))).items == []

    place.run(work)


def test_a_query_that_cannot_be_is_refused(place: Place) -> None:
    wrong = [("group_by", "colour"), ("group_by", "tag."), ("cursor", "7"), ("cursor", "x"), ("cursor", '["a", 1]')]

    async def work(ledger: SqlLedger) -> None:
        for field, value in wrong:
            with pytest.raises(InvalidQuery) as caught:
                await ledger.spend(replace(ALL, **{field: value}))  # type: ignore[arg-type]
            assert caught.value.field == field

    place.run(work)


def test_entries_come_by_page_and_by_what_they_are(place: Place) -> None:
    async def work(ledger: SqlLedger) -> None:
        for record in records(25):
            place.clock.pass_(milliseconds=1)
            await ledger.record([record])
        pages, query = [], EntryQuery(limit=10)
        while True:
            page = await ledger.entries(query)
            pages.append(page.items)
            if page.cursor is None:
                break
            query = replace(query, cursor=page.cursor)
        found = [entry for page in pages for entry in page]
        assert [len(page) for page in pages] == [10, 10, 5]
        assert [entry.booked_at for entry in found] == sorted((entry.booked_at for entry in found), reverse=True)
        for tag in ('a "b"', "é_%", "x"):
            tagged = (await ledger.entries(EntryQuery(tags={"team": tag}))).items
            assert tagged == [entry for entry in found if entry.spender.tags.get("team") == tag]
        mine = (await ledger.entries(EntryQuery(project="p", model="m1", provider="v"))).items
        assert mine == [e for e in found if (e.spender.project, e.spender.model) == ("p", "m1")]
        middle = found[12].booked_at
        newer = (await ledger.entries(EntryQuery(start=middle))).items
        assert newer == found[:13]
        assert (await ledger.entries(EntryQuery(end=middle))).items == found[13:]

    place.run(work)


@pytest.mark.parametrize(
    ("tags", "asked_for"),
    [
        ({'foo"x': "y"}, ("x", "y")),
        ({"foo,": ":", "k": "v"}, (":", ",")),
        ({"a": '","x":"y'}, ("x", "y")),
        ({'{"x': "y"}, ("x", "y")),
        ({"x": 'y"'}, ("x", "y")),
        ({"x": "y%"}, ("x", "y_")),
    ],
)
def test_a_tag_is_not_found_inside_of_another(place: Place, tags: dict[str, str], asked_for: tuple[str, str]) -> None:
    async def work(ledger: SqlLedger) -> None:
        other = UsageRecord(replace(SPENDER, tags=tags), usd("1"), START)
        name, value = asked_for
        mine = UsageRecord(replace(SPENDER, tags={"a": "b", name: value}), usd("1"), START)
        await ledger.record([other, replace(other, spender=replace(SPENDER, tags={}))])
        [entry] = await ledger.record([mine])
        assert (await ledger.entries(EntryQuery(tags={name: value}))).items == [entry]
        for each in tags.items():
            assert len((await ledger.entries(EntryQuery(tags=dict([each])))).items) == 1

    place.run(work)


@pytest.mark.parametrize("cursor", ["[" * 3000, "[1,", '["a", 1]', "[1e9, 2]"])
def test_a_cursor_that_no_answer_gave_is_refused(place: Place, cursor: str) -> None:
    async def work(ledger: SqlLedger) -> None:
        with pytest.raises(InvalidQuery):
            await ledger.spend(replace(ALL, cursor=cursor))

    place.run(work)


def test_rebuilding_gives_the_same_rollups(place: Place) -> None:
    async def work(ledger: SqlLedger) -> None:
        await ledger.record(records(50))
        tables = (ROLLUPS, TAG_ROLLUPS, ROLLUP_DAYS, TAG_ROLLUP_DAYS)
        before = [await read(ledger, lambda c, t=t: sorted(map(tuple, c.execute(select(t))))) for t in tables]
        for damaged in (ROLLUPS, TAG_ROLLUP_DAYS):
            await ledger._writers.run(lambda c, t=damaged: c.execute(update(t).values(nano=7)).rowcount)
        await ledger._writers.run(lambda c: c.execute(delete(TAG_ROLLUPS).where(TAG_ROLLUPS.c.value == "x")).rowcount)
        assert await ledger.rebuild() == 50
        after = [await read(ledger, lambda c, t=t: sorted(map(tuple, c.execute(select(t))))) for t in tables]
        assert after == before
        await audited(ledger)

    place.run(work)


def test_an_empty_ledger_has_nothing_to_rebuild(place: Place) -> None:
    assert place.run(lambda ledger: ledger.rebuild()) == 0


def test_pruning_removes_entries_and_keeps_what_was_spent(place: Place) -> None:
    async def work(ledger: SqlLedger) -> None:
        hold = await ledger.reserve(asked("1", ttl_seconds=86_400))
        open_hold = await ledger.reserve(asked("1", ttl_seconds=60))
        await ledger.settle("p", hold.id, cost("1"))
        await ledger.record(records(40))
        before = await everything(ledger, replace(ALL, group_by="tag.team", interval="day"))
        place.clock.pass_(hours=1)
        await ledger.record(records(5, seed=2))
        total = (await ledger.spend(ALL)).items
        cut = START + timedelta(minutes=30)
        assert (await ledger.prune(cut), await ledger.prune(cut)) == (41, 0)
        assert len((await ledger.entries(EntryQuery())).items) == 5
        assert (await ledger.spend(ALL)).items == total
        assert await ledger.rebuild() == 0  # those that are left were made before the cut
        assert (await ledger.spend(ALL)).items == total
        assert sum(row.nano for row in before) < total[0].nano
        with pytest.raises(AlreadySettled):
            await ledger.settle("p", hold.id, cost("1"))
        place.clock.pass_(days=2)
        await ledger.prune(START + DAY + timedelta(hours=1))
        left = await read(ledger, lambda c: c.execute(select(HOLDS.c.id)).scalars().all())
        assert left == [open_hold.id]  # it is still open: nobody has swept

    place.run(work)


def test_refusals_are_counted_by_the_minute(place: Place) -> None:
    one, other = Refusal("p", "budget_exceeded", "team-a", "some-model"), Refusal("q", "price_unknown")

    async def work(ledger: SqlLedger) -> None:
        for refusal in (one, other, one):
            ledger.refused(refusal)
        await ledger.keep_up_once()
        ledger.refused(one)
        await ledger.keep_up_once()
        place.clock.pass_(minutes=1)
        ledger.refused(one)

    async def look(ledger: SqlLedger) -> None:
        found = await ledger.refusals(None, START, START + DAY)
        minute = timedelta(minutes=1)
        expected = [(START + minute, one, 1), (START, one, 3), (START, other, 1)]
        assert [(count.minute, count.refusal, count.count) for count in found] == expected
        assert [count.refusal for count in await ledger.refusals("q", START, START + DAY)] == [other]
        assert await ledger.refusals("p", START + 2 * minute, START + DAY) == []
        await ledger.prune(START)
        assert len(await ledger.refusals(None, START, START + DAY)) == 3
        await ledger.prune(START + timedelta(minutes=15))  # it cuts by the quarter of an hour
        assert await ledger.refusals(None, START, START + DAY) == []

    place.run(work)
    place.run(look)


def test_upkeep_ends_all_holds_that_are_past_their_time_and_forgets_old_answers(place: Place) -> None:
    async def work(ledger: SqlLedger) -> None:
        await asyncio.gather(*(ledger.reserve(asked("1", ttl_seconds=1)) for _ in range(1100)))
        await ledger.reserve(asked("1", ttl_seconds=1), once=once())
        place.clock.pass_(days=1)
        await ledger.keep_up_once()
        assert (await ledger.status()).open_holds == 0
        assert await read(ledger, lambda c: c.execute(select(ANSWERS)).all()) == []
        await audited(ledger)

    place.run(work)


def test_no_call_waits_for_a_report(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def slow(connection: Connection, query: SpendQuery) -> Page[SpendRow]:
        begun.set()
        assert go_on.wait(30)
        return page_of_spend(connection, query)

    monkeypatch.setattr("service.store.ledger.page_of_spend", slow)

    async def work(ledger: SqlLedger) -> None:
        await ledger.create_budget(budget(), by="me")
        reports = [asyncio.create_task(ledger.spend(ALL)) for _ in range(5)]
        await asyncio.to_thread(begun.wait, 30)
        hold = await ledger.reserve(asked("1"))
        assert await ledger.hold("p", hold.id) == hold
        assert [balance.totals.held_nano for balance in await ledger.balances(SPENDER)] == [NANO]
        assert not any(report.done() for report in reports)
        go_on.set()
        assert [list(page.items) for page in await asyncio.gather(*reports)] == [[]] * 5

    place.run(work)
