"""The rules of budgets: what one applies to, its periods, and whether an amount still fits. Pure: no clock, no store.

Money is integer nano-dollars here; a cost becomes one by a single rounding, a hold upwards and a spend half to even.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from decimal import ROUND_CEILING, ROUND_HALF_EVEN, Context, Decimal
from enum import StrEnum
from functools import lru_cache
from types import MappingProxyType
from zoneinfo import ZoneInfo

from service.domain.spending.errors import InvalidAmount, InvalidBudget, Shortfall, TokensRequired

NANO = 1_000_000_000
MAX_LIMIT_NANO = 9_000_000_000 * NANO  # what a 64-bit integer holds, less room for the last call
MAX_AMOUNT_NANO = 1_000_000 * NANO
MAX_TOKENS = 1_000_000_000_000
MAX_LIMIT_TOKENS = 1_000_000 * MAX_TOKENS
MAX_TAGS = 10
DEFAULT_PROJECT = "default"

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_WIDE = Context(prec=80)  # a cost has every digit of its product: nothing may round it before we do
_MICROSECOND = timedelta(microseconds=1)
_SEPARATOR = "\x1f"  # in no name, key or tag


class ScopeKind(StrEnum):
    """What a budget looks at."""

    PROJECT = "project"
    ALL = "all"
    KEY = "key"
    MODEL = "model"
    TAG = "tag"


class PeriodKind(StrEnum):
    """How often a budget starts anew."""

    NONE = "none"
    DAY = "day"
    WEEK = "week"
    MONTH = "month"


@dataclass(frozen=True, slots=True)
class Scope:
    """The calls that a budget counts: ``value`` names the key, model or tag value, ``key`` the tag's name."""

    kind: ScopeKind = ScopeKind.PROJECT
    value: str | None = None
    key: str | None = None

    def __post_init__(self) -> None:
        if (self.value is not None) != (self.kind in (ScopeKind.KEY, ScopeKind.MODEL, ScopeKind.TAG)):
            raise InvalidBudget("scope.value", "A scope of kind key, model or tag has a value, and no other has one.")
        if (self.key is not None) != (self.kind is ScopeKind.TAG):
            raise InvalidBudget("scope.key", "A scope of kind tag has a key, the tag's name, and no other has one.")
        if any(text is not None and not is_label(text) for text in (self.value, self.key)):
            raise InvalidBudget("scope", "A scope's value and key have 1 to 256 characters, none a control character.")

    def selector(self, project: str) -> str:
        """The scope as one string, which is among ``selectors`` of every call that it counts."""
        if self.kind is ScopeKind.ALL:
            return _selector(self.kind)
        return _selector(self.kind, project, *(text for text in (self.key, self.value) if text is not None))


@dataclass(frozen=True, slots=True)
class Spender:
    """Who spends, and on what: all that a scope can look at and a report can group by."""

    project: str = DEFAULT_PROJECT
    key_id: str | None = None
    provider: str | None = None
    model: str | None = None
    tokenizer: str | None = None
    tags: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    _selectors: frozenset[str] | None = field(default=None, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if len(self.tags) > MAX_TAGS or not all(is_label(text) for pair in self.tags.items() for text in pair):
            raise InvalidBudget("tags", f"At most {MAX_TAGS} tags, each name and value of 1 to 256 characters.")
        both = f"{self.provider}/{self.model}"
        if not all(text is None or is_label(text) for text in (self.project, self.key_id, self.tokenizer, both)):
            raise InvalidBudget("model", "Names of project, key, model and tokenizer have 1 to 256 characters.")

    def selectors(self) -> frozenset[str]:
        """The selectors of every scope that counts this call."""
        if self._selectors is None:
            found = [_selector(ScopeKind.ALL), _selector(ScopeKind.PROJECT, self.project)]
            if self.key_id:
                found.append(_selector(ScopeKind.KEY, self.project, self.key_id))
            if self.model:
                found.append(_selector(ScopeKind.MODEL, self.project, self.model))
                found.append(_selector(ScopeKind.MODEL, self.project, f"{self.provider}/{self.model}"))
            found += [_selector(ScopeKind.TAG, self.project, key, value) for key, value in self.tags.items()]
            object.__setattr__(self, "_selectors", frozenset(found))  # found once: a reserve asks several times
        return self._selectors or frozenset()


@dataclass(frozen=True, slots=True)
class Terms:
    """What of a budget may be changed. A limit of ``None`` is none, one of 0 refuses everything.

    ``warn_at`` is the part of a limit (0 to 1) from which on a warning is due; ``export`` names it in the metrics.
    """

    limit_nano: int | None = None
    limit_tokens: int | None = None
    warn_at: Decimal | None = None
    export: bool = False

    def __post_init__(self) -> None:
        if self.limit_nano is not None and not 0 <= self.limit_nano <= MAX_LIMIT_NANO:
            raise InvalidBudget("limit_usd", "A limit is from 0 to 9,000,000,000 dollars.")
        if self.limit_tokens is not None and not 0 <= self.limit_tokens <= MAX_LIMIT_TOKENS:
            raise InvalidBudget("limit_tokens", f"A limit is from 0 to {MAX_LIMIT_TOKENS:,} tokens.")
        part = self.warn_at
        if part is not None and not (part.is_finite() and 0 < part <= 1 and _scaled(part, 6)):
            detail = "A warning threshold is a part of the limit: from 0.000001 to 1, with at most 6 decimal places."
            raise InvalidBudget("warn_at", detail)


@dataclass(frozen=True, slots=True)
class BudgetSpec:
    """A budget as it is asked for. Project, name, scope, period and zone never change. Raises ``InvalidBudget``."""

    project: str
    name: str
    terms: Terms = field(default_factory=Terms)
    scope: Scope = field(default_factory=Scope)
    period: PeriodKind = PeriodKind.NONE
    timezone: str = "UTC"

    def __post_init__(self) -> None:
        if not is_budget_name(self.name):
            raise InvalidBudget("name", "A name has 1 to 64 of A-Z a-z 0-9 . _ -, and starts with a letter or digit.")
        _zone(self.timezone)


@dataclass(frozen=True, slots=True)
class Budget:
    """A budget in the ledger. ``version`` counts its changes from 1."""

    id: int
    spec: BudgetSpec
    version: int
    created_at: datetime
    changed_at: datetime

    def period_at(self, at: datetime) -> Period:
        """The period that ``at`` lies in."""
        return period_at(self.spec.period, self.spec.timezone, at)


@dataclass(frozen=True, slots=True)
class Period:
    """From ``start`` (inclusive) to ``end`` (exclusive), both UTC; open where the budget never starts anew."""

    start: datetime
    end: datetime | None


FOREVER = Period(datetime.fromtimestamp(0, UTC), None)


@dataclass(frozen=True, slots=True)
class Totals:
    """What is booked and held of one budget in one period."""

    spent_nano: int = 0
    held_nano: int = 0
    spent_tokens: int = 0
    held_tokens: int = 0
    open_holds: int = 0


@dataclass(frozen=True, slots=True)
class Balance:
    """A budget in one of its periods."""

    budget: Budget
    period: Period
    totals: Totals

    @property
    def remaining_nano(self) -> int | None:
        """What is left of the limit, negative where it was lowered or overrun; ``None`` without a limit."""
        limit = self.budget.spec.terms.limit_nano
        return None if limit is None else limit - self.totals.spent_nano - self.totals.held_nano

    @property
    def remaining_tokens(self) -> int | None:
        """As ``remaining_nano``, in tokens."""
        limit = self.budget.spec.terms.limit_tokens
        return None if limit is None else limit - self.totals.spent_tokens - self.totals.held_tokens

    @property
    def warned(self) -> bool:
        """Whether what is spent has reached the part of a limit from which on a warning is due."""
        terms = self.budget.spec.terms
        if terms.warn_at is None:
            return False
        pairs = ((terms.limit_nano, self.totals.spent_nano), (terms.limit_tokens, self.totals.spent_tokens))
        return any(limit is not None and spent >= _WIDE.multiply(terms.warn_at, limit) for limit, spent in pairs)

    def burn_nano_per_day(self, now: datetime) -> int:
        """What is spent a day, over the time that the budget has counted in this period: a minute at least."""
        return self._going_on(timedelta(days=1), now)

    def forecast_nano(self, now: datetime) -> int | None:
        """What will be spent by the end of the period if it goes on like this; ``None`` where it has no end."""
        if self.period.end is None:
            return None
        return self.totals.spent_nano + self._going_on(max(self.period.end - now, timedelta()), now)

    def _going_on(self, time: timedelta, now: datetime) -> int:
        since = max(self.period.start, self.budget.created_at)
        counted = max(now - since, timedelta(minutes=1)) // _MICROSECOND
        return (2 * self.totals.spent_nano * (time // _MICROSECOND) + counted) // (2 * counted)  # to the nearest


def period_at(kind: PeriodKind, timezone: str, at: datetime) -> Period:
    """The day, week (from Monday) or month that ``at`` lies in, as the clocks of ``timezone`` show it.

    A day on which the clocks change has 23 or 25 hours.
    """
    if kind is PeriodKind.NONE:
        return FOREVER
    zone = _zone(timezone)
    today = at.astimezone(zone).date()
    match kind:
        case PeriodKind.DAY:
            first, after = today, today + timedelta(days=1)
        case PeriodKind.WEEK:
            first = today - timedelta(days=today.weekday())
            after = first + timedelta(days=7)
        case PeriodKind.MONTH:
            first = today.replace(day=1)
            after = (first + timedelta(days=32)).replace(day=1)
    return Period(midnight(first, zone), midnight(after, zone))


def midnight(day: date, zone: ZoneInfo) -> datetime:
    """The first instant of ``day`` in ``zone``, as UTC: later than 0:00 where the clocks skip that."""
    return datetime.combine(day, time(), zone).astimezone(UTC)


def shortfalls(balances: Iterable[Balance], nano: int, tokens: int | None) -> list[Shortfall]:
    """The limits that a hold of so much does not fit. None: it may be admitted. Raises ``TokensRequired``.

    Reaching a limit exactly fits; a limit of 0 refuses even a hold of nothing.
    """
    found = []
    for balance in balances:
        spec = balance.budget.spec
        left, left_tokens = balance.remaining_nano, balance.remaining_tokens
        if left_tokens is not None and tokens is None:
            raise TokensRequired
        if left is not None and (nano > left or spec.terms.limit_nano == 0):
            found.append(Shortfall(spec.name, spec.project, "nano_usd", left))
        if left_tokens is not None and ((tokens or 0) > left_tokens or spec.terms.limit_tokens == 0):
            found.append(Shortfall(spec.name, spec.project, "tokens", left_tokens))
    return found


def held_nano(usd: Decimal) -> int:
    """Dollars as a hold keeps them: nano-dollars, rounded up. Raises ``InvalidAmount``."""
    return _nano(usd, ROUND_CEILING)


def spent_nano(usd: Decimal) -> int:
    """Dollars as an entry books them: nano-dollars, half to even. Raises ``InvalidAmount``."""
    return _nano(usd, ROUND_HALF_EVEN)


def limit_nano(usd: Decimal) -> int:
    """Dollars as a limit keeps them: exact. Raises ``InvalidBudget`` for a part of a nano-dollar."""
    nano = _scaled(usd, 9) if usd.is_finite() and 0 <= usd <= MAX_LIMIT_NANO // NANO else None
    if nano is None:
        largest = MAX_LIMIT_NANO // NANO
        raise InvalidBudget("limit_usd", f"A limit is from 0 to {largest:,} dollars, with at most 9 decimal places.")
    return nano


def dollars(nano: int) -> Decimal:
    """Nano-dollars as exact dollars."""
    return Decimal(nano).scaleb(-9)


def checked_tokens(tokens: int) -> int:
    """``tokens`` where it is a number that one call can have. Raises ``InvalidAmount``."""
    if not 0 <= tokens <= MAX_TOKENS:
        raise InvalidAmount(f"A number of tokens is from 0 to {MAX_TOKENS:,}.")
    return tokens


def _selector(kind: ScopeKind, *parts: str) -> str:
    return _SEPARATOR.join((kind.value, *parts))


def is_budget_name(text: str) -> bool:
    """Whether a budget can have this name."""
    return _NAME.fullmatch(text) is not None


def is_label(text: str) -> bool:
    """Whether ``text`` can be a tag or the value of a scope: 1 to 256 characters, none of them a control character."""
    return 1 <= len(text) <= 256 and text.isprintable()


def _scaled(number: Decimal, places: int) -> int | None:
    """``number`` in units of so many decimal places, ``None`` where it has more of them."""
    units = int(_WIDE.scaleb(number, places))
    return units if Decimal(units).scaleb(-places, _WIDE) == number else None


def _nano(usd: Decimal, rounding: str) -> int:
    if not usd.is_finite() or not 0 <= usd <= MAX_AMOUNT_NANO // NANO:
        raise InvalidAmount(f"An amount is from 0 to {MAX_AMOUNT_NANO // NANO:,} dollars.")
    return int(_WIDE.scaleb(usd, 9).to_integral_value(rounding, _WIDE))


@lru_cache(maxsize=1024)
def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise InvalidBudget(
            "timezone", "The time zone is not known: give an IANA name such as Europe/Berlin."
        ) from None
