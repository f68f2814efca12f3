"""Sums that come near what a 64-bit integer holds: refused in words, and what is there stays exact."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy import update

from service.domain.spending.budgets import MAX_AMOUNT_NANO, Spender
from service.domain.spending.errors import InvalidAmount, InvalidQuery
from service.domain.spending.ledger import Metered, SpendQuery, UsageRecord
from service.store.ledger import SqlLedger
from service.store.tables import BUDGET_PERIODS
from tests.service.store.places import SPENDER, START, Place, asked, audited, budget, cost, totals, usd

DAY = timedelta(days=1)
MILLION = UsageRecord(SPENDER, usd("1000000"), START)
MOST = 2**63 - 1
WEEK = SpendQuery(START - 7 * DAY, START + DAY)


async def fill(ledger: SqlLedger, record: UsageRecord) -> int:
    """Book a thousand of ``record`` again and again until that is refused; how many there are."""
    for booked in range(0, 20_000, 1000):
        try:
            await ledger.record([record] * 1000)
        except InvalidAmount:
            return booked
    raise AssertionError("nothing was refused")


def test_a_days_spend_is_refused_before_its_sum_is_no_integer(place: Place) -> None:
    async def work(ledger: SqlLedger) -> None:
        booked = await fill(ledger, MILLION)
        assert booked * MAX_AMOUNT_NANO <= 2**62 < (booked + 1000) * MAX_AMOUNT_NANO
        hold = await ledger.reserve(asked("1"))
        await ledger.settle("p", hold.id, cost("0.000000001"))  # what is not large has room yet
        [row] = (await ledger.spend(WEEK)).items
        assert (row.nano, row.entries) == (booked * MAX_AMOUNT_NANO + 1, booked + 1)
        for group_by in ("model", "tag.team"):
            [row] = (await ledger.spend(replace(WEEK, group_by=group_by))).items
            assert row.nano == booked * MAX_AMOUNT_NANO + 1
        await ledger.record([replace(MILLION, at=START - DAY)])  # another day
        await ledger.record([replace(MILLION, spender=Spender("q"))])  # another project
        await audited(ledger)

    place.run(work)


def test_a_tags_sum_is_looked_at_too(place: Place) -> None:
    async def work(ledger: SqlLedger) -> None:
        for model in ("a", "b"):  # each of them has room, and both together have none
            spender = replace(SPENDER, model=model)
            for _ in range(3 if model == "a" else 1):
                await ledger.record([UsageRecord(spender, usd("1000000"), START)] * 1000)
        await fill(ledger, replace(MILLION, spender=replace(SPENDER, model="b")))
        [row] = (await ledger.spend(replace(WEEK, group_by="tag.team"))).items
        assert row.nano <= 2**62

    place.run(work)


def test_a_report_whose_sums_are_too_large_is_refused_or_exact(place: Place) -> None:
    async def work(ledger: SqlLedger) -> None:
        booked = 0
        for day in range(3):
            booked += await fill(ledger, replace(MILLION, at=START - day * DAY, spender=Spender("p")))
        assert booked * MAX_AMOUNT_NANO > MOST
        if place.url:
            [row] = (await ledger.spend(WEEK)).items
            assert row.nano == booked * MAX_AMOUNT_NANO
        else:
            with pytest.raises(InvalidQuery):
                await ledger.spend(WEEK)
        rows = (await ledger.spend(replace(WEEK, interval="day"))).items
        assert sum(row.nano for row in rows) == booked * MAX_AMOUNT_NANO

    place.run(work)


@pytest.mark.parametrize(("held", "tokens"), [(MOST - 10**9 + 1, 0), (0, MOST - 4)])
def test_what_a_budget_holds_is_refused_before_it_is_no_integer(place: Place, held: int, tokens: int) -> None:
    async def work(ledger: SqlLedger) -> None:
        await ledger.create_budget(budget(limit=None), by="me")
        first = await ledger.reserve(replace(asked("0.000000001"), tokens=0))
        await ledger.write(
            lambda c: c.execute(update(BUDGET_PERIODS).values(held_nano=held, held_tokens=tokens)) and None
        )
        with pytest.raises(InvalidAmount):
            await ledger.reserve(replace(asked("1"), tokens=5))
        await ledger.reserve(replace(asked("0.999999999" if held else "1"), tokens=0 if held else 4))
        assert max((await totals(ledger)).held_nano, (await totals(ledger)).held_tokens) == MOST
        await ledger.settle("p", first.id, cost("0.000000001"))

    place.run(work)


def test_what_is_held_can_be_booked(place: Place) -> None:
    async def work(ledger: SqlLedger) -> None:
        await ledger.create_budget(budget(limit=None), by="me")
        hold = await ledger.reserve(replace(asked("1"), tokens=10))
        spent = {"spent_nano": MOST - 10**9, "spent_tokens": MOST - 10}
        await ledger.write(lambda c: c.execute(update(BUDGET_PERIODS).values(spent)) and None)
        with pytest.raises(InvalidAmount):
            await ledger.reserve(replace(asked("0.000000001"), tokens=0))
        with pytest.raises(InvalidAmount):
            await ledger.settle("p", hold.id, cost("1.000000001"))
        await ledger.settle("p", hold.id, replace(cost("1"), metered=Metered(10)))
        assert (await totals(ledger)).spent_nano == MOST

    place.run(work)
