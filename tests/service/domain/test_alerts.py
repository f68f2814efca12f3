"""When something has to be told: thresholds to the nano-dollar and the token, drift, and the waits between attempts."""

from __future__ import annotations

from decimal import Decimal

import pytest

from service.domain.past.calibration import Calibration
from service.domain.spending.alerts import AlertKind, Unit, drifts, reached, wait_after
from service.domain.spending.budgets import MAX_LIMIT_NANO, Terms, Totals

WARNING, EXCEEDED = AlertKind.BUDGET_WARNING, AlertKind.BUDGET_EXCEEDED


@pytest.mark.parametrize(
    ("spent", "kinds"),
    [(799, []), (800, [WARNING]), (999, [WARNING]), (1000, [WARNING, EXCEEDED]), (1001, [WARNING, EXCEEDED])],
)
@pytest.mark.parametrize("unit", list(Unit))
def test_reaching_a_threshold_exactly_counts_and_one_less_does_not(unit, spent, kinds):
    usd = unit is Unit.USD
    terms = Terms(1000 if usd else None, None if usd else 1000, Decimal("0.8"))
    totals = Totals(spent_nano=spent) if usd else Totals(spent_tokens=spent)
    assert reached(terms, totals) == {(kind, unit) for kind in kinds}


@pytest.mark.parametrize(("spent", "warned"), [(2, False), (3, True)])
def test_a_threshold_between_two_nano_dollars_is_reached_with_the_upper_one(spent, warned):
    terms = Terms(7, warn_at=Decimal("0.333333"))  # 2.333331
    assert ((WARNING, Unit.USD) in reached(terms, Totals(spent_nano=spent))) == warned


@pytest.mark.parametrize("part", ["0.000001", "0.333333", "0.999999"])
def test_parts_of_the_largest_limit_are_exact(part):
    terms = Terms(MAX_LIMIT_NANO, warn_at=Decimal(part))
    threshold = MAX_LIMIT_NANO * int(Decimal(part) * 10**6) // 10**6
    assert reached(terms, Totals(spent_nano=threshold)) == {(WARNING, Unit.USD)}
    assert reached(terms, Totals(spent_nano=threshold - 1)) == set()


def test_what_is_held_does_not_count_nor_does_a_limit_of_nothing_before_any_spend():
    assert reached(Terms(1000, 1000, Decimal("0.5")), Totals(held_nano=1000, held_tokens=1000)) == set()
    assert reached(Terms(0, 0, Decimal("0.5")), Totals()) == set()
    assert reached(Terms(None, None, Decimal("0.5")), Totals(spent_nano=10**12)) == set()
    assert reached(Terms(0), Totals(spent_nano=1)) == {(EXCEEDED, Unit.USD)}


@pytest.mark.parametrize(
    ("settles", "p50", "state"),
    [
        *((50, 0.11, True), (50, -0.11, True), (49, 0.5, None)),
        *((50, 0.10, None), (50, 0.081, None), (50, 0.08, False), (50, -0.02, False), (50, 0.0, False)),
    ],
)
def test_estimates_drift_beyond_ten_percent_and_are_right_again_at_eight(settles, p50, state):
    assert drifts(Calibration(settles, -0.9, p50, 0.9)) is state


def test_waits_double_up_to_an_hour_and_chance_takes_up_to_half():
    assert [wait_after(attempt, 0.0).total_seconds() for attempt in (1, 2, 3, 10, 11, 12, 10_000)] == [
        *(5, 10, 20, 2560, 3600, 3600, 3600)
    ]
    assert wait_after(1, 1.0).total_seconds() == 2.5
