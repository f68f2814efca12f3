"""Estimate against actual: how far off the input tokens of past calls were, and bounds that are made from that.

The signed relative error of a call is (actual - estimated) / estimated. Errors are counted in buckets that are 0.5 %
wide, of the ratio of actual to estimated tokens; an estimate that was right has a bucket of its own. Counts of buckets
are added up, over calls, processes and days, without any loss.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from service.domain.catalog import Accuracy
from service.domain.counting import Count
from service.domain.notices import Notice
from service.domain.spending.ledger import Entry, Flag

ENOUGH = 50
"""Settled calls from which on their errors make bounds."""

WIDTH = 0.005
"""Relative width of a bucket: a quantile is off by no more."""

_BASE = 1 + WIDTH
_LOG = math.log(_BASE)
_NOT_MEASURED = frozenset({Flag.PARTIAL, Flag.UNPRICED, Flag.INCONSISTENT_USAGE})


@dataclass(frozen=True, slots=True)
class Calibration:
    """The relative errors of the input tokens of ``settles`` calls.

    A twentieth of the errors is at ``p5`` or below, half at ``p50`` or below, and a twentieth is above ``p95``. ``p5``
    and ``p95`` are the outer edges of their buckets, so what lies between holds no less than 90 % of the calls.
    """

    settles: int
    p5: float
    p50: float
    p95: float


def is_measured(entry: Entry) -> bool:
    """Whether the entry says how many tokens its call really had: not cut short, and with a usage that was priced."""
    return not entry.flags & _NOT_MEASURED and entry.metered.total > 0


def error_bucket(entry: Entry) -> int | None:
    """The bucket of an entry's error; ``None`` where nothing was estimated or measured."""
    estimated, actual = entry.estimate.input_tokens, entry.metered.input_tokens
    if not estimated or not actual or not is_measured(entry):
        return None
    return bucket_of(estimated, actual)


def bucket_of(estimated: int, actual: int) -> int:
    """0 for no error; else the number of steps of 0.5 % from ``estimated`` to ``actual``, negative where it is less."""
    if estimated == actual:
        return 0
    steps = math.log(actual / estimated) / _LOG
    return math.ceil(steps) if steps > 0 else math.floor(steps)


def calibration_of(times: Mapping[int, int]) -> Calibration | None:
    """The quantiles of errors that were counted by bucket; ``None`` of none."""
    settles = sum(times.values())
    if settles <= 0:
        return None
    low, middle, high = (quantile(times, percent) for percent in (5, 50, 95))
    ratio = math.sqrt(_edges(middle)[0] * _edges(middle)[1])
    return Calibration(settles, _edges(low)[0] - 1, ratio - 1, _edges(high)[1] - 1)


def quantile(times: Mapping[int, int], percent: int) -> int:
    """The bucket of the item at ``percent`` of all, by the nearest rank: with 20 items, 5 % is the first of them."""
    rank = max(1, -(-sum(times.values()) * percent // 100))
    seen = 0
    for bucket, count in sorted(times.items()):
        seen += count
        if seen >= rank:
            return bucket
    raise ValueError("there is nothing to take a quantile of")


def _edges(bucket: int) -> tuple[float, float]:
    """The smallest and the largest ratio of actual to estimated tokens in a bucket."""
    if bucket == 0:
        return 1.0, 1.0
    return (_BASE ** (bucket - 1), _BASE**bucket) if bucket > 0 else (_BASE**bucket, _BASE ** (bucket + 1))


def calibrated(count: Count, calibration: Calibration | None) -> Count:
    """``count`` with bounds from the errors of past calls in place of its own; a warning says so, or why not.

    Nine of ten past calls lay within: one of twenty had more than the new ``high``. An exact count stays what it is,
    and so does one of no tokens.
    """
    if count.accuracy == Accuracy.EXACT.value or not count.tokens:  # a part of nothing says nothing
        return count
    if calibration is None or calibration.settles < ENOUGH:
        settles = calibration.settles if calibration else 0
        message = f"Bounds from past calls need {ENOUGH} of them that were settled with their usage; {settles} were."
        return _warned(count, Notice("calibration_not_enough", message, "bounds"))
    low = min(count.tokens, math.floor(count.tokens * (1 + calibration.p5)))
    high = max(count.tokens, math.ceil(count.tokens * (1 + calibration.p95)))
    message = (
        f"`low` and `high` hold 90 % of {calibration.settles} settled calls, whose input was "
        f"{calibration.p5:+.1%} to {calibration.p95:+.1%} off what was counted; 5 % had more."
    )
    return _warned(replace(count, low=low, high=high), Notice("bounds_calibrated", message, "bounds"))


def uncalibrated(count: Count) -> Count:
    """``count`` with its own bounds, and a warning that the errors of past calls could not be read."""
    if count.accuracy == Accuracy.EXACT.value:
        return count
    message = "Past calls cannot be read just now: the bounds are those of the count itself."
    return _warned(count, Notice("calibration_not_available", message, "bounds"))


def _warned(count: Count, notice: Notice) -> Count:
    return replace(count, warnings=[*count.warnings, notice])
