"""What the service answers about budgets, reservations and spend. Money is ``Decimal``; times know their zone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from types import MappingProxyType

from service.client.answers import Estimate, Notice

_NONE: Mapping[str, str] = MappingProxyType({})


def _no_tags() -> Mapping[str, str]:
    return _NONE


@dataclass(frozen=True, slots=True)
class Expected:
    """What a reservation's call was expected to be; ``None`` where nobody said."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    usd: Decimal | None = None


@dataclass(frozen=True, slots=True)
class Reservation:
    """What is held for a call: ``amount_usd`` and ``tokens`` of each of ``budgets``, until ``expires_at``.

    ``state`` is ``held``, ``settled``, ``released`` or ``expired``.
    """

    id: str
    amount_usd: Decimal
    state: str
    expires_at: datetime
    tokens: int | None = None
    created_at: datetime | None = None
    model: str | None = None
    provider: str | None = None
    budgets: tuple[str, ...] = ()
    tags: Mapping[str, str] = field(default_factory=_no_tags)
    estimate: Expected | None = None
    entry_id: str | None = None
    warnings: tuple[Notice, ...] = ()


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of a call as it was billed, inclusive: input holds the cache's, output holds reasoning."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    reasoning_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Settled:
    """A reservation once its call was booked: at ``cost_usd``, as the entry ``entry_id``.

    ``cost_status`` is ``unknown`` where the held amount stands for a cost that nobody could tell. ``flags`` say what is
    unusual: ``overrun``, ``late``, ``unpriced``, ``inconsistent_usage``, ``partial``.
    """

    id: str
    state: str
    amount_usd: Decimal
    cost_usd: Decimal | None
    cost_status: str = ""
    entry_id: str | None = None
    flags: tuple[str, ...] = ()
    usage: Usage | None = None
    warnings: tuple[Notice, ...] = ()


@dataclass(frozen=True, slots=True)
class Entry:
    """What was booked for one call, and what had been expected. ``cost_usd`` is ``None`` where no price was known.

    ``held_usd`` is what ``reservation_id`` held, where there was one.
    """

    id: str
    cost_usd: Decimal | None
    reservation_id: str | None = None
    held_usd: Decimal | None = None
    estimate: Expected | None = None
    project: str = ""
    at: datetime | None = None
    model: str | None = None
    provider: str | None = None
    cost_status: str = ""
    flags: tuple[str, ...] = ()
    usage: Usage | None = None
    tags: Mapping[str, str] = field(default_factory=_no_tags)


@dataclass(frozen=True, slots=True)
class Entries:
    """Entries; ``cursor`` asks for the next ones, ``None`` at the end."""

    entries: tuple[Entry, ...]
    cursor: str | None = None


@dataclass(frozen=True, slots=True)
class Budget:
    """A budget in its present period. ``remaining`` is what is left of a limit beside what is spent and held."""

    name: str
    limit_usd: Decimal | None
    spent_usd: Decimal
    held_usd: Decimal
    remaining_usd: Decimal | None
    project: str = ""
    limit_tokens: int | None = None
    spent_tokens: int = 0
    held_tokens: int = 0
    remaining_tokens: int | None = None
    open_holds: int = 0
    period: str = "none"
    period_start: datetime | None = None
    period_end: datetime | None = None
    timezone: str = "UTC"
    warn_at: Decimal | None = None
    warned: bool = False
    export: bool = False
    burn_rate_usd_per_day: Decimal | None = None
    forecast_usd: Decimal | None = None
    version: int = 0


@dataclass(frozen=True, slots=True)
class Budgets:
    """Budgets in the order they were made; ``cursor`` asks for the next ones, ``None`` at the end."""

    budgets: tuple[Budget, ...]
    cursor: str | None = None


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a call may not be made: a stable ``code``, and the budget that it does not fit."""

    code: str
    message: str = ""
    budget: str | None = None


@dataclass(frozen=True, slots=True)
class BudgetLeft:
    """What is left of a budget that applies to a call."""

    name: str
    limit_usd: Decimal | None = None
    remaining_usd: Decimal | None = None
    limit_tokens: int | None = None
    remaining_tokens: int | None = None
    fits: bool | None = None


@dataclass(frozen=True, slots=True)
class Alternative:
    """Another model that keeps all limits and budgets, at most at ``cost_usd``."""

    model: str
    provider: str
    cost_usd: Decimal
    input_tokens: int = 0
    accuracy: str = ""


@dataclass(frozen=True, slots=True)
class Preflight:
    """Whether a call may be made. ``reservation`` is what was held for it, where that was asked for."""

    allowed: bool
    reasons: tuple[Reason, ...] = ()
    estimate: Estimate | None = None
    budgets: tuple[BudgetLeft, ...] = ()
    reservation: Reservation | None = None
    alternatives: tuple[Alternative, ...] = ()
    warnings: tuple[Notice, ...] = ()


@dataclass(frozen=True, slots=True)
class SpendRow:
    """Spend of one group in one interval. ``group`` is ``None`` for calls that have none."""

    start: datetime
    spend_usd: Decimal
    group: str | None = None
    entries: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    reasoning_tokens: int = 0
    flagged: int = 0


@dataclass(frozen=True, slots=True)
class Spend:
    """Spend from ``start`` to ``end``; ``cursor`` asks for the next rows, ``None`` at the end."""

    rows: tuple[SpendRow, ...]
    start: datetime | None = None
    end: datetime | None = None
    cursor: str | None = None


@dataclass(frozen=True, slots=True)
class RefusalRow:
    """How often calls were refused for one reason within one minute."""

    reason: str
    count: int
    minute: datetime | None = None
    budget: str | None = None
    model: str | None = None


@dataclass(frozen=True, slots=True)
class Refusals:
    """Refusals, the last first; with ``more`` there are earlier ones."""

    refusals: tuple[RefusalRow, ...]
    more: bool = False
