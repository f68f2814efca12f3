"""What the ledger promises, over both databases."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

import pytest

from service.domain.spending.budgets import NANO, BudgetSpec, PeriodKind, Scope, ScopeKind, Spender, Terms, Totals
from service.domain.spending.errors import (
    AlreadySettled,
    BudgetExceeded,
    BudgetExists,
    BudgetHasHolds,
    InvalidAmount,
    KeyReused,
    Replayed,
    ReservationClosed,
    TokensRequired,
    UnknownBudget,
    UnknownReservation,
)
from service.domain.spending.ledger import Estimate, Flag, HoldState, Metered, Once, Settled, UsageRecord
from service.store.ledger import SqlLedger
from tests.service.store.places import SPENDER, START, Place, asked, audited, budget, cost, totals, usd


def test_a_hold_is_settled_at_what_it_cost(place: Place) -> None:
    async def work(ledger: SqlLedger) -> None:
        await ledger.create_budget(budget(), by="me")
        estimate = Estimate(100, 50, usd("0.9"))
        hold = await ledger.reserve(asked("1", 200, price_revision="r1", estimate=estimate))
        assert (hold.state, hold.nano, hold.at) == (HoldState.HELD, NANO, START)
        assert await totals(ledger) == Totals(0, NANO, 0, 200, 1)
        done = await ledger.settle("p", hold.id, cost("0.33", 120))
        assert await totals(ledger) == Totals(330_000_000, 0, 120, 0, 0)
        assert (done.entry.nano, done.entry.flags, done.entry.held_nano) == (330_000_000, frozenset(), NANO)
        assert (done.entry.estimate, done.entry.price_revision) == (estimate, "r1")
        assert done.entry.spender == SPENDER
        assert await ledger.hold("p", hold.id) == done.hold
        assert done.hold == replace(hold, state=HoldState.SETTLED, entry_id=done.entry.id)
        await audited(ledger)

    place.run(work)


def test_a_reservation_fits_every_budget_or_holds_nothing(place: Place) -> None:
    async def work(ledger: SqlLedger) -> None:
        await ledger.create_budget(budget("wide", "10"), by="me")
        await ledger.create_budget(budget("narrow", "1", scope=Scope(ScopeKind.TAG, "search", "team")), by="me")
        await ledger.create_budget(budget("other", "0", scope=Scope(ScopeKind.KEY, "k2")), by="me")
        with pytest.raises(BudgetExceeded) as caught:
            await ledger.reserve(asked("2"))
        assert [(item.budget, item.left) for item in caught.value.shortfalls] == [("narrow", NANO)]
        assert await totals(ledger, "wide") == Totals()
        hold = await ledger.reserve(asked("1"))
        assert hold.budgets == ("wide", "narrow") == (await ledger.hold("p", hold.id)).budgets
        assert await totals(ledger, "narrow") == await totals(ledger, "wide") == Totals(held_nano=NANO, open_holds=1)
        await ledger.reserve(asked("9", spender=Spender("p", "k1")))
        await audited(ledger)

    place.run(work)


def test_a_named_budget_alone_is_held_of(place: Place) -> None:
    async def work(ledger: SqlLedger) -> None:
        await ledger.create_budget(budget("a"), by="me")
        await ledger.create_budget(budget("b", "0"), by="me")
        await ledger.reserve(asked("1", budget="a"))
        assert (await totals(ledger, "a")).held_nano == NANO
        assert await totals(ledger, "b") == Totals()
        with pytest.raises(UnknownBudget):
            await ledger.reserve(asked("1", budget="c"))
        with pytest.raises(UnknownBudget):
            await ledger.reserve(asked("1", budget="a", spender=Spender("q")))

    place.run(work)


def test_a_budget_over_all_counts_every_project(place: Place) -> None:
    async def work(ledger: SqlLedger) -> None:
        await ledger.create_budget(budget("all", "1", scope=Scope(ScopeKind.ALL)), by="me")
        await ledger.reserve(asked("1", spender=Spender("q")))
        with pytest.raises(BudgetExceeded):
            await ledger.reserve(asked("0.000000001"))

    place.run(work)


def test_token_limits_hold_and_charge_tokens(place: Place) -> None:
    async def work(ledger: SqlLedger) -> None:
        await ledger.create_budget(budget(terms=Terms(limit_tokens=100)), by="me")
        with pytest.raises(TokensRequired):
            await ledger.reserve(asked("1"))
        hold = await ledger.reserve(asked("1", 100))
        with pytest.raises(BudgetExceeded):
            await ledger.reserve(asked("1", 1))
        done = await ledger.settle("p", hold.id, cost("1", 101))
        assert done.entry.flags == {Flag.OVERRUN}
        assert (await ledger.budget("p", "team-a")).remaining_tokens == -1

    place.run(work)


def test_the_same_settlement_again_gives_the_first_answer(place: Place) -> None:
    async def work(ledger: SqlLedger) -> None:
        await ledger.create_budget(budget(), by="me")
        hold = await ledger.reserve(asked("1"))
        first = await ledger.settle("p", hold.id, cost("0.5"))
        assert await ledger.settle("p", hold.id, cost("0.50")) == first
        with pytest.raises(AlreadySettled):
            await ledger.settle("p", hold.id, cost("0.6"))
        with pytest.raises(AlreadySettled):
            await ledger.release("p", hold.id)
        assert (await totals(ledger)).spent_nano == NANO // 2
        await audited(ledger)

    place.run(work)


def test_many_settlements_at_once_book_once(place: Place) -> None:
    async def work(ledger: SqlLedger) -> None:
        await ledger.create_budget(budget(), by="me")
        hold = await ledger.reserve(asked("1"))
        settle = [ledger.settle("p", hold.id, cost(f"0.{n % 2 + 1}")) for n in range(20)]
        done = await asyncio.gather(*settle, return_exceptions=True)
        booked = {one.entry.id for one in done if isinstance(one, Settled)}
        assert len(booked) == 1
        assert sum(isinstance(one, AlreadySettled) for one in done) == 10
        assert (await totals(ledger)).spent_nano == NANO // 10
        await audited(ledger)

    place.run(work)


def test_a_cost_above_the_hold_is_booked_in_full(place: Place) -> None:
    async def work(ledger: SqlLedger) -> None:
        await ledger.create_budget(budget(limit="1"), by="me")
        hold = await ledger.reserve(asked("1"))
        done = await ledger.settle("p", hold.id, cost("1.5"))
        assert (done.entry.flags, done.entry.nano) == ({Flag.OVERRUN}, 1_500_000_000)
        assert (await ledger.budget("p", "team-a")).remaining_nano == -NANO // 2

    place.run(work)


def test_what_cannot_be_priced_books_what_was_held(place: Place) -> None:
    async def work(ledger: SqlLedger) -> None:
        await ledger.create_budget(budget(), by="me")
        for flag, tokens in ((Flag.UNPRICED, 5), (Flag.INCONSISTENT_USAGE, 7)):
            hold = await ledger.reserve(asked("1", 7))
            done = await ledger.settle("p", hold.id, cost(None, 5, flags=frozenset({flag})))
            assert (done.entry.nano, done.entry.flags) == (NANO, {flag})
            assert (await totals(ledger)).spent_tokens == tokens if flag is Flag.UNPRICED else True
        assert await totals(ledger) == Totals(2 * NANO, 0, 12, 0, 0)

    place.run(work)


def test_usage_after_release_is_booked_late(place: Place) -> None:
    async def work(ledger: SqlLedger) -> None:
        await ledger.create_budget(budget(), by="me")
        hold = await ledger.reserve(asked("1"))
        released = await ledger.release("p", hold.id)
        assert released.state is HoldState.RELEASED
        assert await ledger.release("p", hold.id) == released
        assert await totals(ledger) == Totals()
        done = await ledger.settle("p", hold.id, cost("0.2"))
        assert (done.hold.state, done.entry.flags) == (HoldState.RELEASED, {Flag.LATE})
        assert await totals(ledger) == Totals(spent_nano=NANO // 5)
        await audited(ledger)

    place.run(work)


def test_a_hold_past_its_time_counts_until_it_is_swept(place: Place) -> None:
    async def work(ledger: SqlLedger) -> None:
        await ledger.create_budget(budget(limit="1"), by="me")
        hold = await ledger.reserve(asked("1", ttl_seconds=60))
        place.clock.pass_(seconds=59)
        assert await ledger.expire() == 0
        place.clock.pass_(seconds=1)
        with pytest.raises(BudgetExceeded):
            await ledger.reserve(asked("1"))
        with pytest.raises(ReservationClosed):
            await ledger.extend("p", hold.id, 60)
        assert (await ledger.status()).open_holds == 1
        place.clock.pass_(seconds=3)
        assert (await ledger.status()).overdue_seconds == 3
        assert (await ledger.expire(), await ledger.expire()) == (1, 0)
        assert await totals(ledger) == Totals()
        assert (await ledger.hold("p", hold.id)).state is HoldState.EXPIRED
        done = await ledger.settle("p", hold.id, cost("0.4"))
        assert done.entry.flags == {Flag.LATE}
        assert (await ledger.status()).open_holds == 0
        await audited(ledger)

    place.run(work)


def test_a_hold_that_is_extended_lives_on(place: Place) -> None:
    async def work(ledger: SqlLedger) -> None:
        await ledger.create_budget(budget(), by="me")
        hold = await ledger.reserve(asked("1", ttl_seconds=60))
        place.clock.pass_(seconds=50)
        longer = await ledger.extend("p", hold.id, 60)
        assert longer.expires_at == START + timedelta(seconds=110)
        place.clock.pass_(seconds=59)
        assert await ledger.expire() == 0
        await ledger.release("p", hold.id)
        with pytest.raises(ReservationClosed) as caught:
            await ledger.extend("p", hold.id, 60)
        assert caught.value.state == "released"

    place.run(work)


def test_a_settlement_books_into_the_period_of_its_hold(place: Place) -> None:
    async def work(ledger: SqlLedger) -> None:
        await ledger.create_budget(budget(limit="1", period=PeriodKind.DAY, timezone="America/New_York"), by="me")
        place.clock.now = START.replace(hour=4, minute=59) + timedelta(days=1)  # a minute before midnight there
        hold = await ledger.reserve(asked("1"))
        place.clock.pass_(minutes=2)
        fresh = await ledger.budget("p", "team-a")
        assert fresh.totals == Totals()
        assert fresh.period.start == START.replace(hour=5) + timedelta(days=1)
        await ledger.reserve(asked("1"))
        await ledger.settle("p", hold.id, cost("0.7"))
        assert await totals(ledger) == Totals(held_nano=NANO, open_holds=1)
        place.clock.pass_(minutes=-2)
        assert await totals(ledger) == Totals(spent_nano=700_000_000)

    place.run(work)


def test_a_limit_of_nothing_refuses_what_is_free(place: Place) -> None:
    async def work(ledger: SqlLedger) -> None:
        await ledger.create_budget(budget(limit="0"), by="me")
        with pytest.raises(BudgetExceeded):
            await ledger.reserve(asked("0"))
        await ledger.change_budget("p", "team-a", lambda terms: replace(terms, limit_nano=None), by="me")
        await ledger.reserve(asked("1000000"))

    place.run(work)


@pytest.mark.parametrize("amount", ["-1", "NaN", "1000001"])
def test_an_amount_that_cannot_be_is_refused(place: Place, amount: str) -> None:
    async def work(ledger: SqlLedger) -> None:
        await ledger.create_budget(budget(), by="me")
        with pytest.raises(InvalidAmount):
            await ledger.reserve(asked(amount))
        hold = await ledger.reserve(asked("1"))
        with pytest.raises(InvalidAmount):
            await ledger.settle("p", hold.id, cost(amount))
        assert (await ledger.hold("p", hold.id)).state is HoldState.HELD
        await audited(ledger)

    place.run(work)


def test_budgets_are_made_changed_and_deleted_on_record(place: Place) -> None:
    async def work(ledger: SqlLedger) -> None:
        spec = BudgetSpec("p", "team-a", Terms(NANO, 5, Decimal("0.8"), export=True), period=PeriodKind.WEEK)
        made = await ledger.create_budget(spec, by="ann")
        assert await ledger.budget("p", "team-a") == made
        assert made.budget.spec == spec
        with pytest.raises(BudgetExists):
            await ledger.create_budget(spec, by="ann")
        await ledger.create_budget(replace(spec, project="q"), by="ann")
        place.clock.pass_(seconds=1)
        changed = await ledger.change_budget("p", "team-a", lambda t: replace(t, limit_nano=0), by="bob")
        assert (changed.budget.version, changed.remaining_nano) == (2, 0)
        versions = await ledger.budget_versions("p", "team-a")
        assert [(v.version, v.by, v.terms and v.terms.limit_nano) for v in versions] == [
            (1, "ann", NANO),
            (2, "bob", 0),
        ]
        await ledger.delete_budget("p", "team-a", by="bob")
        for call in (ledger.budget, ledger.budget_versions):
            with pytest.raises(UnknownBudget):
                await call("p", "team-a")
        with pytest.raises(UnknownBudget):
            await ledger.delete_budget("p", "team-a", by="bob")
        again = await ledger.create_budget(spec, by="ann")
        assert again.budget.id > made.budget.id

    place.run(work)


def test_a_budget_with_open_holds_is_not_deleted(place: Place) -> None:
    async def work(ledger: SqlLedger) -> None:
        await ledger.create_budget(budget(period=PeriodKind.DAY), by="me")
        hold = await ledger.reserve(asked("0"))
        place.clock.pass_(days=1)
        with pytest.raises(BudgetHasHolds) as caught:
            await ledger.delete_budget("p", "team-a", by="me")
        assert caught.value.open_holds == 1
        await ledger.release("p", hold.id)
        await ledger.delete_budget("p", "team-a", by="me")
        done = await ledger.settle("p", hold.id, cost("1"))  # the money is spent all the same
        assert done.entry.flags == {Flag.OVERRUN, Flag.LATE}

    place.run(work)


def test_budgets_are_listed_by_page_and_project(place: Place) -> None:
    async def work(ledger: SqlLedger) -> None:
        for number in range(5):
            await ledger.create_budget(budget(f"b{number}"), by="me")
        await ledger.create_budget(BudgetSpec("q", "foreign"), by="me")
        first = await ledger.budgets("p", limit=3)
        rest = await ledger.budgets("p", cursor=first.cursor, limit=3)
        assert [b.budget.spec.name for b in (*first.items, *rest.items)] == ["b0", "b1", "b2", "b3", "b4"]
        assert rest.cursor is None
        assert len((await ledger.budgets(None)).items) == 6
        assert [b.budget.spec.name for b in await ledger.balances(Spender("q"))] == ["foreign"]
        both = await ledger.balances(Spender("q"), Spender("p"))
        assert len(both) == 6
        assert await ledger.balances() == []

    place.run(work)


def test_a_foreign_project_does_not_know_a_hold(place: Place) -> None:
    async def work(ledger: SqlLedger) -> None:
        hold = await ledger.reserve(asked("1"))
        for call in (
            ledger.hold("q", hold.id),
            ledger.settle("q", hold.id, cost("1")),
            ledger.release("q", hold.id),
            ledger.extend("q", hold.id, 5),
            ledger.release("p", "h_nothing"),
        ):
            with pytest.raises(UnknownReservation):
                await call

    place.run(work)


def test_usage_is_recorded_whatever_the_limit_from_the_budgets_creation_on(place: Place) -> None:
    async def work(ledger: SqlLedger) -> None:
        await ledger.create_budget(budget(limit="1"), by="me")
        late = UsageRecord(SPENDER, usd("3"), START, Metered(10, 5))
        early = UsageRecord(SPENDER, usd("4"), START - timedelta(seconds=1), Metered(1, 1))
        free = UsageRecord(SPENDER, None, START, Metered(2, 0))
        entries = await ledger.record([late, early, free])
        assert [entry.nano for entry in entries] == [3 * NANO, 4 * NANO, 0]
        assert [entry.flags for entry in entries] == [frozenset(), frozenset(), {Flag.UNPRICED}]
        assert await totals(ledger) == Totals(spent_nano=3 * NANO, spent_tokens=17)
        with pytest.raises(InvalidAmount):
            await ledger.record([late, replace(late, usd=usd("-1"))])
        with pytest.raises(InvalidAmount):
            await ledger.record([replace(late, at=START + timedelta(hours=1))])
        assert (await totals(ledger)).spent_nano == 3 * NANO
        await audited(ledger)

    place.run(work)


def once(key: str = "k", body: bytes = b"1", route: str = "reserve") -> Once:
    return Once("p", route, key, body, lambda result: f"answer {result!r}".encode())


def test_a_request_with_a_key_happens_once(place: Place) -> None:
    async def work(ledger: SqlLedger) -> None:
        await ledger.create_budget(budget(), by="me")
        hold = await ledger.reserve(asked("1"), once=once())
        with pytest.raises(Replayed) as caught:
            await ledger.reserve(asked("1"), once=once())
        assert caught.value.answer == f"answer {hold!r}".encode()
        with pytest.raises(KeyReused):
            await ledger.reserve(asked("2"), once=once(body=b"2"))
        await ledger.reserve(asked("1"), once=once(route="other"))
        assert (await totals(ledger)).open_holds == 2
        place.clock.pass_(hours=24)
        await ledger.reserve(asked("1"), once=once(body=b"2"))
        assert (await totals(ledger)).open_holds == 3

    place.run(work)


def test_requests_with_one_key_at_the_same_time_happen_once(place: Place) -> None:
    async def work(ledger: SqlLedger) -> None:
        await ledger.create_budget(budget(), by="me")
        async with place.opened() as other:
            reserve = [one.reserve(asked("1"), once=once()) for _ in range(10) for one in (ledger, other)]
            done = await asyncio.gather(*reserve, return_exceptions=True)
        assert sum(isinstance(one, Replayed) for one in done) == 19
        assert (await totals(ledger)).open_holds == 1

    place.run(work)


def test_a_refused_request_is_not_remembered(place: Place) -> None:
    async def work(ledger: SqlLedger) -> None:
        await ledger.create_budget(budget(limit="0"), by="me", once=once(route="budgets"))
        with pytest.raises(Replayed):
            await ledger.create_budget(budget(limit="0"), by="me", once=once(route="budgets"))
        with pytest.raises(BudgetExceeded):
            await ledger.reserve(asked("1"), once=once())
        await ledger.change_budget("p", "team-a", lambda t: replace(t, limit_nano=NANO), by="me")
        await ledger.reserve(asked("1"), once=once())

    place.run(work)


def test_an_operation_that_fails_spoils_no_other_of_its_group(place: Place) -> None:
    def fail(result: object) -> bytes:
        raise ZeroDivisionError

    async def work(ledger: SqlLedger) -> None:
        await ledger.create_budget(budget(), by="me")
        broken = replace(once(), answer=fail)
        calls = [ledger.reserve(asked("1"), once=broken if n == 3 else None) for n in range(8)]
        done = await asyncio.gather(*calls, return_exceptions=True)
        assert [type(one) for one in done].count(ZeroDivisionError) == 1
        assert (await totals(ledger)).open_holds == 7
        await audited(ledger)

    place.run(work)
