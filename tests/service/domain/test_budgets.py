"""The rules of budgets: scopes, periods, rounding, and what still fits."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.domain.spending.budgets import (
    FOREVER,
    MAX_AMOUNT_NANO,
    MAX_LIMIT_NANO,
    NANO,
    Balance,
    Budget,
    BudgetSpec,
    PeriodKind,
    Scope,
    ScopeKind,
    Spender,
    Terms,
    Totals,
    dollars,
    held_nano,
    limit_nano,
    period_at,
    shortfalls,
    spent_nano,
)
from service.domain.spending.errors import InvalidAmount, InvalidBudget, TokensRequired

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
NOTHING = Totals()


def balance(terms: Terms, totals: Totals = NOTHING, **spec: object) -> Balance:
    budget = Budget(1, BudgetSpec("p", "team-a", terms, **spec), 1, NOW, NOW)  # type: ignore[arg-type]
    return Balance(budget, budget.period_at(NOW), totals)


@pytest.mark.parametrize(
    ("usd", "held", "spent"),
    [
        ("0", 0, 0),
        ("0.0000000001", 1, 0),
        ("0.0000000005", 1, 0),
        ("0.0000000015", 2, 2),
        ("0.00000000050000000000000000000000000000000000000001", 1, 1),
        ("0.33", 330_000_000, 330_000_000),
        ("1000000", MAX_AMOUNT_NANO, MAX_AMOUNT_NANO),
    ],
)
def test_a_hold_rounds_up_and_a_spend_half_to_even(usd: str, held: int, spent: int) -> None:
    assert (held_nano(Decimal(usd)), spent_nano(Decimal(usd))) == (held, spent)


@pytest.mark.parametrize("usd", ["-0.01", "NaN", "Infinity", "1000000.000000001"])
def test_an_amount_that_no_call_can_cost_is_refused(usd: str) -> None:
    for rounding in (held_nano, spent_nano):
        with pytest.raises(InvalidAmount):
            rounding(Decimal(usd))


def test_ten_dimes_are_a_dollar() -> None:
    assert sum(spent_nano(Decimal("0.1")) for _ in range(10)) == NANO
    assert dollars(NANO // 3) == Decimal("0.333333333")


@pytest.mark.parametrize(
    ("kind", "zone", "at", "start", "end"),
    [
        ("day", "UTC", "2026-11-20T12:00", "2026-11-20T00:00", "2026-11-21T00:00"),
        ("day", "Europe/Berlin", "2026-03-29T12:00", "2026-03-28T23:00", "2026-03-29T22:00"),  # 23 hours
        ("day", "Europe/Berlin", "2026-10-25T12:00", "2026-10-24T22:00", "2026-10-25T23:00"),  # 25 hours
        ("day", "Asia/Kolkata", "2026-11-20T18:30", "2026-11-20T18:30", "2026-11-21T18:30"),
        ("day", "Africa/Cairo", "2026-04-24T12:00", "2026-04-23T22:00", "2026-04-24T21:00"),  # 0:00 is skipped
        ("day", "America/Havana", "2026-11-01T12:00", "2026-11-01T04:00", "2026-11-02T05:00"),  # 0:00 comes twice
        ("week", "UTC", "2026-11-22T23:59", "2026-11-16T00:00", "2026-11-23T00:00"),
        ("month", "America/New_York", "2026-12-01T04:59", "2026-11-01T04:00", "2026-12-01T05:00"),
        ("month", "UTC", "2026-12-31T12:00", "2026-12-01T00:00", "2027-01-01T00:00"),
    ],
)
def test_periods_follow_the_clocks_of_their_zone(kind: str, zone: str, at: str, start: str, end: str) -> None:
    moments = [datetime.fromisoformat(text).replace(tzinfo=UTC) for text in (at, start, end)]
    period = period_at(PeriodKind(kind), zone, moments[0])
    assert (period.start, period.end) == (moments[1], moments[2])


@given(
    st.datetimes(datetime(2000, 1, 1), datetime(2040, 1, 1), timezones=st.just(UTC)),  # noqa: DTZ001 - hypothesis asks
    st.sampled_from([PeriodKind.DAY, PeriodKind.WEEK, PeriodKind.MONTH]),
    st.sampled_from(["UTC", "Europe/Berlin", "America/Sao_Paulo", "Australia/Lord_Howe", "Asia/Kathmandu"]),
)
def test_a_period_holds_its_instant_and_the_next_begins_at_its_end(at: datetime, kind: PeriodKind, zone: str) -> None:
    period = period_at(kind, zone, at)
    assert period.end is not None
    assert period.start <= at < period.end
    assert period_at(kind, zone, period.start) == period
    assert period_at(kind, zone, period.end).start == period.end
    assert period_at(kind, zone, period.start - timedelta(microseconds=1)).end == period.start


def test_a_budget_without_a_period_never_starts_anew() -> None:
    assert period_at(PeriodKind.NONE, "UTC", NOW) == FOREVER


def test_exactly_reaching_the_limit_fits() -> None:
    full = balance(Terms(limit_nano=10), Totals(spent_nano=3, held_nano=5))
    assert shortfalls([full], 2, None) == []
    assert [(item.budget, item.unit, item.left) for item in shortfalls([full], 3, None)] == [("team-a", "nano_usd", 2)]


def test_no_limit_admits_everything_and_a_limit_of_zero_nothing() -> None:
    assert shortfalls([balance(Terms())], MAX_AMOUNT_NANO, None) == []
    assert [item.unit for item in shortfalls([balance(Terms(limit_nano=0))], 0, None)] == ["nano_usd"]
    assert [item.unit for item in shortfalls([balance(Terms(limit_tokens=0))], 0, 0)] == ["tokens"]


def test_a_free_call_fits_a_budget_that_is_used_up() -> None:
    assert shortfalls([balance(Terms(limit_nano=10), Totals(spent_nano=10))], 0, None) == []


def test_a_token_limit_needs_tokens() -> None:
    with pytest.raises(TokensRequired):
        shortfalls([balance(Terms(limit_tokens=5))], 1, None)
    assert shortfalls([balance(Terms(limit_tokens=5), Totals(held_tokens=2))], 1, 3) == []
    assert [item.left for item in shortfalls([balance(Terms(limit_tokens=5), Totals(spent_tokens=3))], 1, 3)] == [2]


def test_what_remains_may_be_negative() -> None:
    lowered = balance(Terms(limit_nano=5, limit_tokens=1), Totals(spent_nano=7, held_tokens=2))
    assert (lowered.remaining_nano, lowered.remaining_tokens) == (-2, -1)


@pytest.mark.parametrize(
    ("scope", "counted"),
    [
        (Scope(), True),
        (Scope(ScopeKind.ALL), True),
        (Scope(ScopeKind.KEY, "k1"), True),
        (Scope(ScopeKind.KEY, "k2"), False),
        (Scope(ScopeKind.MODEL, "some-model"), True),
        (Scope(ScopeKind.MODEL, "maker/some-model"), True),
        (Scope(ScopeKind.MODEL, "other/some-model"), False),
        (Scope(ScopeKind.TAG, "search", "team"), True),
        (Scope(ScopeKind.TAG, "search", "unit"), False),
        (Scope(ScopeKind.TAG, "team", "search"), False),
    ],
)
def test_a_scope_counts_the_calls_it_names(scope: Scope, counted: bool) -> None:
    spender = Spender("p", "k1", "maker", "some-model", tags={"team": "search"})
    assert (scope.selector("p") in spender.selectors()) is counted
    if scope.kind is not ScopeKind.ALL:
        assert scope.selector("q") not in spender.selectors()


@pytest.mark.parametrize(
    ("make", "field"),
    [
        (lambda: Terms(limit_nano=-1), "limit_usd"),
        (lambda: Terms(limit_tokens=-1), "limit_tokens"),
        (lambda: Terms(warn_at=Decimal("1.1")), "warn_at"),
        (lambda: Terms(warn_at=Decimal("NaN")), "warn_at"),
        (lambda: Scope(ScopeKind.KEY), "scope.value"),
        (lambda: Scope(ScopeKind.PROJECT, "x"), "scope.value"),
        (lambda: Scope(ScopeKind.TAG, "x"), "scope.key"),
        (lambda: Scope(ScopeKind.MODEL, "a\x1fb"), "scope"),
        (lambda: BudgetSpec("p", "no spaces"), "name"),
        (lambda: BudgetSpec("p", "a", timezone="Mars/Olympus"), "timezone"),
        (lambda: BudgetSpec("p", "a", timezone="../etc/passwd"), "timezone"),
        (lambda: Spender(tags={str(n): "x" for n in range(11)}), "tags"),
        (lambda: Spender(tags={"a": ""}), "tags"),
    ],
)
def test_what_cannot_be_is_refused_by_name(make: object, field: str) -> None:
    with pytest.raises(InvalidBudget) as caught:
        make()  # type: ignore[operator]
    assert caught.value.field == field


def test_the_forecast_goes_on_as_it_went() -> None:
    month = balance(Terms(limit_nano=100), Totals(spent_nano=6_000), period=PeriodKind.MONTH)  # counts from NOW
    later = NOW + timedelta(days=2)
    assert month.burn_nano_per_day(later) == 3_000
    assert month.forecast_nano(later) == 6_000 + 3_000 * 17 // 2  # 8.5 days are left of November
    assert balance(Terms()).forecast_nano(later) is None
    large = balance(Terms(), Totals(spent_nano=MAX_AMOUNT_NANO + 1))
    assert large.burn_nano_per_day(NOW + timedelta(days=1)) == MAX_AMOUNT_NANO + 1  # no float has so many digits


@pytest.mark.parametrize(
    ("terms", "totals", "warned"),
    [
        (Terms(limit_nano=10, warn_at=Decimal("0.8")), Totals(spent_nano=7), False),
        (Terms(limit_nano=10, warn_at=Decimal("0.8")), Totals(spent_nano=8), True),
        (Terms(limit_nano=10, warn_at=Decimal("0.8")), Totals(spent_nano=7, held_nano=3), False),
        (Terms(limit_nano=10, limit_tokens=4, warn_at=Decimal("0.75")), Totals(spent_tokens=3), True),
        (Terms(limit_nano=10), Totals(spent_nano=10), False),
        (Terms(warn_at=Decimal(1)), Totals(spent_nano=10), False),
    ],
)
def test_a_warning_is_due_once_its_part_of_a_limit_is_spent(terms: Terms, totals: Totals, warned: bool) -> None:
    assert balance(terms, totals).warned is warned


@pytest.mark.parametrize("usd", ["-0.000000001", "NaN", "9000000000.000000001", "0.0000000001", f"1.{'0' * 99}1"])
def test_a_limit_that_cannot_be_kept_exactly_is_refused(usd: str) -> None:
    with pytest.raises(InvalidBudget):
        limit_nano(Decimal(usd))
    assert limit_nano(Decimal("9e9")) == MAX_LIMIT_NANO
    assert limit_nano(Decimal("1.50")) == 3 * NANO // 2
