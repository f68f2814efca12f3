"""How long answers were: the output tokens of past calls, counted in buckets that are 2 % wide."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from service.domain.past.calibration import is_measured, quantile
from service.domain.spending.ledger import Entry

ENOUGH = 20
"""Settled calls from which on their output says what to expect."""

WIDTH = 0.02
"""Relative width of a bucket; up to 50 tokens each number has one of its own."""

_BASE = 1 + WIDTH
_LOG = math.log(_BASE)


@dataclass(frozen=True, slots=True)
class OutputHistory:
    """Output tokens of ``settles`` past calls: half had at most ``p50``, 90 % at most ``p90``, 95 % at most ``p95``."""

    settles: int
    p50: int
    p90: int
    p95: int


def output_bucket(entry: Entry) -> int | None:
    """The bucket of an entry's output; ``None`` where it was not measured."""
    return bucket_of(entry.metered.output_tokens) if is_measured(entry) else None


def bucket_of(tokens: int) -> int:
    """0 for no tokens, 1 for one, then a step more for each 2 %."""
    return 1 + math.ceil(math.log(tokens) / _LOG) if tokens else 0


def history_of(times: Mapping[int, int]) -> OutputHistory | None:
    """The quantiles of outputs that were counted by bucket, each no less than the true one; ``None`` of none."""
    settles = sum(times.values())
    if settles <= 0:
        return None
    return OutputHistory(settles, *(_most(quantile(times, percent)) for percent in (50, 90, 95)))


def _most(bucket: int) -> int:
    return math.floor(_BASE ** (bucket - 1)) if bucket else 0
