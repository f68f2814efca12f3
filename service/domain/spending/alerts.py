"""Alerts: what is told to webhooks, when, and once for each crossing. Pure rules, and the port that keeps them.

A budget's spend alone counts, not what is held: a hold may be released. A model's price is told to be unknown at most
once a day (UTC). A drift is told once, until the estimates are right again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import ROUND_CEILING, Context, Decimal
from enum import StrEnum
from functools import lru_cache
from typing import Protocol

from service.domain.past.calibration import ENOUGH, Calibration
from service.domain.past.calls import CountedBy
from service.domain.spending.budgets import Terms, Totals


class AlertKind(StrEnum):
    """What an alert is about.

    ``budget.warning``: spend has reached the part ``warn_at`` of a limit. ``budget.exceeded``: it has reached the
    limit. ``price.unknown``: a call could not be priced, or a new price list lacks a model's price. ``estimate.drift``:
    half of a model's calls were more than 10 % off their estimates to one side, today and yesterday.
    """

    BUDGET_WARNING = "budget.warning"
    BUDGET_EXCEEDED = "budget.exceeded"
    PRICE_UNKNOWN = "price.unknown"
    ESTIMATE_DRIFT = "estimate.drift"


class Unit(StrEnum):
    """What a limit counts."""

    USD = "usd"
    TOKENS = "tokens"


DRIFT = 0.10
"""Median error from which on estimates drift."""

SETTLED = 0.08
"""Median error up to which they are right again; between the two nothing changes, so that it is not told often."""

DRIFT_DAYS = 1
"""Days before today whose calls count."""

GIVEN_UP_AFTER = timedelta(days=3)
"""What no receiver has taken by then is dropped."""

_UP = Context(prec=80, rounding=ROUND_CEILING)
_FIRST_WAIT = 5.0
_LONGEST_WAIT = 3600.0


@dataclass(frozen=True, slots=True)
class Target:
    """A webhook: where alerts of which ``events`` are sent, signed with ``secret``.

    ``allow_private`` also allows http, and addresses that are not public.
    """

    url: str = field(repr=False)
    secret: bytes = field(repr=False)
    events: frozenset[AlertKind] = frozenset(AlertKind)
    allow_private: bool = False

    @property
    def key(self) -> str:
        """What the target is known by in the ledger: its address may be a secret of its own."""
        return hashlib.sha256(self.url.encode()).hexdigest()[:32]


@dataclass(frozen=True, slots=True)
class Delivery:
    """An alert on its way to one target: the same ``id`` and ``body`` with each attempt, counted from 1."""

    id: str
    target: str
    kind: AlertKind
    body: bytes
    attempt: int
    created_at: datetime


def reached(terms: Terms, totals: Totals) -> frozenset[tuple[AlertKind, Unit]]:
    """The thresholds that a budget's spend has reached; exactly reaching one counts. Without spend there are none."""
    found = set()
    for unit, spent, limit in (
        (Unit.USD, totals.spent_nano, terms.limit_nano),
        (Unit.TOKENS, totals.spent_tokens, terms.limit_tokens),
    ):
        if limit is None or not spent:
            continue
        if spent >= limit:
            found.add((AlertKind.BUDGET_EXCEEDED, unit))
        if terms.warn_at is not None and spent >= _warned_from(terms.warn_at, limit):
            found.add((AlertKind.BUDGET_WARNING, unit))
    return frozenset(found)


@lru_cache(maxsize=4096)
def _warned_from(warn_at: Decimal, limit: int) -> int:
    """The least whole number that is the part ``warn_at`` of ``limit`` or more."""
    return int(_UP.multiply(warn_at, Decimal(limit)).to_integral_value(ROUND_CEILING))


def drifts(calibration: Calibration) -> bool | None:
    """Whether estimates drift; ``None`` where there are too few calls to tell, or it lies between."""
    if calibration.settles < ENOUGH or SETTLED < abs(calibration.p50) <= DRIFT:
        return None
    return abs(calibration.p50) > DRIFT


def wait_after(attempt: int, chance: float) -> timedelta:
    """How long to wait after a failed attempt: 5 seconds, then twice as long each time, an hour at most.

    ``chance`` (0 to 1) takes up to half of it off, so that not all come back at once.
    """
    longest = min(_FIRST_WAIT * 2.0 ** min(attempt - 1, 20), _LONGEST_WAIT)
    return timedelta(seconds=longest * (1 - chance / 2))


class Alerts(Protocol):
    """Which alerts were raised, and what is still to be delivered; kept over restarts and shared by replicas.

    Every call raises ``LedgerUnavailable`` where the ledger is down; nothing is lost then.
    """

    async def raise_alerts(self, targets: Sequence[Target], known: Callable[[str, str], bool]) -> int:
        """Raise what budgets and prices have come to since; how many alerts there were.

        ``known`` tells whether a provider and model are of the catalog; no other is named to anybody.
        """
        ...

    async def raise_drifts(self, targets: Sequence[Target], known: Callable[[CountedBy], bool]) -> int:
        """Raise what estimates have come to; how many alerts there were."""
        ...

    async def lost_prices(self, models: Collection[tuple[str, str]]) -> None:
        """Note providers and models of which a new price list has no price."""
        ...

    async def claim(self, target: Target, limit: int) -> Sequence[Delivery]:
        """Some deliveries that are due; for a minute nobody else gets them."""
        ...

    async def delivered(self, delivery: Delivery) -> None:
        """The target has taken it."""
        ...

    async def failed(self, delivery: Delivery, wait: timedelta) -> bool:
        """It has not, and is tried again after ``wait``. False: it is too old for that, and was dropped."""
        ...
