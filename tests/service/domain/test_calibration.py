"""Errors of estimates and lengths of answers, against plain sorted lists of what they were counted from."""

from __future__ import annotations

import math
import random
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from service.domain.counting import Breakdown, Count, TokenizerInfo
from service.domain.past import calibration
from service.domain.past import output as output_history
from service.domain.past.calibration import Calibration, bucket_of, calibrated, calibration_of, error_bucket, quantile
from service.domain.past.output import OutputHistory, history_of
from service.domain.spending.budgets import Spender
from service.domain.spending.ledger import Entry, Estimate, Flag, Metered

AT = datetime(2026, 11, 20, tzinfo=UTC)
ENTRY = Entry(
    "e", Spender("p"), AT, AT, 1, Metered(110, 5), frozenset(), "", Estimate(100, 10), hold_id=None, held_nano=None
)
COUNT = Count(
    "m",
    "maker",
    "exact",
    TokenizerInfo("words", "bpe", "native", "00"),
    tokens=1000,
    low=900,
    high=1200,
    accuracy="close",
    accuracy_reasons=(),
    characters=3000,
    utf8_bytes=3000,
    tokens_per_character=0.3,
    characters_per_token=3.0,
    breakdown=Breakdown(1000),
    warnings=(),
)


def _nearest_rank(values: list[float], percent: int) -> float:
    return sorted(values)[max(1, math.ceil(len(values) * percent / 100)) - 1]


@pytest.mark.parametrize("seed", range(40))
def test_quantiles_of_errors_are_those_of_the_sorted_list_within_half_a_percent(seed):
    chance = random.Random(seed)
    spread = chance.choice([0.001, 0.02, 0.3, 2.0])
    calls = []
    for _ in range(chance.choice([1, 2, 19, 20, 21, 50, 999])):
        estimated = chance.randint(1, chance.choice([5, 1000, 10**9]))
        calls.append((estimated, max(1, round(estimated * chance.lognormvariate(0.05, spread)))))
    found = calibration_of(Counter(bucket_of(*call) for call in calls))
    ratios = [actual / estimated for estimated, actual in calls]
    assert found is not None
    assert found.settles == len(calls)
    low, middle, high = (_nearest_rank(ratios, percent) for percent in (5, 50, 95))
    assert low / 1.005 <= (1 + found.p5) * (1 + 1e-12)
    assert 1 + found.p5 <= low * (1 + 1e-12), "the lower bound lies above what was measured"
    assert middle / 1.0026 <= 1 + found.p50 <= middle * 1.0026
    assert high <= (1 + found.p95) * (1 + 1e-12), "the upper bound lies below what was measured"
    assert 1 + found.p95 <= high * 1.005 * (1 + 1e-12)


def test_nine_of_ten_calls_lie_within_calibrated_bounds():
    chance = random.Random(7)
    calls = [(1000, round(1000 * chance.gauss(1.03, 0.04))) for _ in range(2000)]
    bounds = calibrated(COUNT, calibration_of(Counter(bucket_of(*call) for call in calls)))
    within = sum(bounds.low <= actual <= bounds.high for _, actual in calls)
    assert within >= 0.9 * len(calls)
    assert (bounds.low, bounds.high) == pytest.approx(
        (1000 * (1.03 - 1.645 * 0.04), 1000 * (1.03 + 1.645 * 0.04)), 0.01
    )


def test_a_right_estimate_has_no_error_at_all():
    assert calibration_of({bucket_of(123, 123): 50}) == Calibration(50, 0.0, 0.0, 0.0)
    bounds = calibrated(COUNT, Calibration(50, 0.0, 0.0, 0.0))
    assert (bounds.low, bounds.tokens, bounds.high) == (1000, 1000, 1000)
    assert [notice.code for notice in bounds.warnings] == ["bounds_calibrated"]


def test_the_most_and_the_least_that_a_call_can_have_are_numbers():
    for calls in ((1, 10**12), (10**12, 1)):
        found = calibration_of({bucket_of(*calls): 1})
        assert found is not None
        assert all(math.isfinite(error) and error > -1 for error in (found.p5, found.p50, found.p95))
    assert calibration_of({}) is None
    with pytest.raises(ValueError, match="nothing"):
        quantile({}, 50)


def test_buckets_of_many_processes_add_up():
    chance = random.Random(3)
    calls = [(chance.randint(1, 500), chance.randint(1, 500)) for _ in range(300)]
    parts = [Counter(bucket_of(*call) for call in calls[start::3]) for start in range(3)]
    assert calibration_of(sum(parts, Counter())) == calibration_of(Counter(bucket_of(*call) for call in calls))


def test_bounds_hold_the_count_itself_though_every_call_had_more():
    bounds = calibrated(COUNT, Calibration(50, 0.1, 0.2, 0.3))
    assert (bounds.low, bounds.tokens, bounds.high) == (1000, 1000, 1300)


def test_an_exact_count_stays_exact():
    exact = replace(COUNT, accuracy="exact", low=1000, high=1000)
    assert calibrated(exact, Calibration(99, -0.5, 0.0, 0.5)) is exact
    assert calibration.uncalibrated(exact) is exact


def test_a_count_of_nothing_keeps_its_bounds():
    nothing = replace(COUNT, tokens=0, low=0, high=3)
    assert calibrated(nothing, Calibration(99, -0.5, 0.0, 0.5)) is nothing


@pytest.mark.parametrize(("settles", "code"), [(49, "calibration_not_enough"), (50, "bounds_calibrated")])
def test_fifty_calls_are_enough(settles, code):
    bounds = calibrated(COUNT, Calibration(settles, -0.01, 0.0, 0.01))
    assert [notice.code for notice in bounds.warnings] == [code]
    assert ((bounds.low, bounds.high) == (900, 1200)) == (settles < 50)


def test_without_any_call_the_bounds_stay():
    bounds = calibrated(COUNT, None)
    assert (bounds.low, bounds.high, bounds.warnings[0].code) == (900, 1200, "calibration_not_enough")


@pytest.mark.parametrize(
    "entry",
    [
        replace(ENTRY, flags=frozenset({Flag.PARTIAL})),
        replace(ENTRY, flags=frozenset({Flag.UNPRICED})),
        replace(ENTRY, flags=frozenset({Flag.INCONSISTENT_USAGE, Flag.OVERRUN})),
        replace(ENTRY, metered=Metered()),
        replace(ENTRY, estimate=Estimate()),
        replace(ENTRY, estimate=Estimate(0)),
    ],
)
def test_what_was_not_measured_or_not_estimated_does_not_count(entry):
    assert error_bucket(entry) is None


def test_a_late_overrun_counts_like_any_call():
    assert error_bucket(replace(ENTRY, flags=frozenset({Flag.OVERRUN, Flag.LATE}))) == bucket_of(100, 110)


@pytest.mark.parametrize("seed", range(20))
def test_quantiles_of_output_are_those_of_the_sorted_list_within_two_percent(seed):
    chance = random.Random(seed)
    outputs = [round(chance.lognormvariate(5, chance.choice([0.1, 1, 2]))) for _ in range(chance.choice([1, 20, 333]))]
    found = history_of(Counter(output_history.bucket_of(tokens) for tokens in outputs))
    assert found is not None
    for percent, shown in ((50, found.p50), (90, found.p90), (95, found.p95)):
        true = _nearest_rank(outputs, percent)
        assert true <= shown <= true * 1.02


def test_small_outputs_have_a_bucket_each():
    for tokens in range(51):
        assert history_of({output_history.bucket_of(tokens): 3}) == OutputHistory(3, tokens, tokens, tokens)
    assert history_of({}) is None
