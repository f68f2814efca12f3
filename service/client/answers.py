"""What the service answers to counts and costs. Money is ``Decimal``; fields of later versions are passed over."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal


@dataclass(frozen=True, slots=True)
class Notice:
    """Something to know of an answer; ``path`` names the part of the request that it is about."""

    code: str
    message: str
    path: str = ""


@dataclass(frozen=True, slots=True)
class Tokenizer:
    """Which vocabulary counted, and by what engine."""

    name: str
    family: str
    engine: str


@dataclass(frozen=True, slots=True)
class Count:
    """Tokens of a text or a whole request; ``low`` and ``high`` bound what the vendor counts.

    ``accuracy`` is ``exact``, ``close`` or ``approximate``. ``breakdown`` tells ``text``, ``framing``, ``tools`` and
    ``images`` apart.
    """

    tokens: int
    low: int
    high: int
    accuracy: str
    characters: int
    utf8_bytes: int
    tokenizer: Tokenizer
    breakdown: Mapping[str, int]
    model: str | None = None
    provider: str | None = None
    accuracy_reasons: tuple[str, ...] = ()
    tokens_per_character: float | None = None
    characters_per_token: float | None = None
    warnings: tuple[Notice, ...] = ()


@dataclass(frozen=True, slots=True)
class Counts:
    """Several texts, counted apart, and their sums."""

    items: tuple[Count, ...]
    tokens: int
    low: int
    high: int
    accuracy: str


@dataclass(frozen=True, slots=True)
class Component:
    """One product of a cost. ``usd`` is exact, not rounded."""

    unit: str
    usd: Decimal
    tokens: int | None = None
    usd_per_mtok: Decimal | None = None


@dataclass(frozen=True, slots=True)
class Cost:
    """Dollars. ``status`` is ``priced``, ``free`` or ``unknown``; only of ``unknown`` the three are ``None``."""

    status: str
    low: Decimal | None
    expected: Decimal | None
    high: Decimal | None
    components: tuple[Component, ...] = ()
    missing: str | None = None


@dataclass(frozen=True, slots=True)
class Price:
    """The row of the price list that a cost comes from, and the day on which it was last checked."""

    provider: str
    model: str
    source: str
    revision: str
    checked: str


@dataclass(frozen=True, slots=True)
class Context:
    """Whether input and output fit the model's context window; ``None`` where nobody knows how large that is."""

    window: int | None
    fits: bool | None
    remaining: int | None


@dataclass(frozen=True, slots=True)
class Affordable:
    """The most output tokens that ``max_cost_usd`` pays for."""

    max_cost_usd: Decimal
    output_tokens: int | None
    input_fits: bool | None


@dataclass(frozen=True, slots=True)
class Estimate:
    """A count, and what the call will cost: at least ``cost.low``, at most ``cost.high``."""

    input_tokens: int
    low: int
    high: int
    accuracy: str
    max_output_tokens: int | None
    expected_output_tokens: int
    context: Context
    cost: Cost
    model: str | None = None
    provider: str | None = None
    price: Price | None = None
    affordable: Affordable | None = None
    accuracy_reasons: tuple[str, ...] = ()
    warnings: tuple[Notice, ...] = ()


@dataclass(frozen=True, slots=True)
class KnownCost:
    """What a call that was made cost: ``cost.low``, ``cost.expected`` and ``cost.high`` are one number."""

    model: str
    provider: str
    service_tier: str
    usage: Mapping[str, int | str]
    cost: Cost
    price: Price | None = None
    warnings: tuple[Notice, ...] = ()


@dataclass(frozen=True, slots=True)
class ComparedRow:
    """One model, or one tokenizer, whose ``cost`` is ``None``."""

    tokens: int
    low: int
    high: int
    accuracy: str
    tokenizer: Tokenizer
    installed: bool
    model: str | None = None
    provider: str | None = None
    cost: Cost | None = None


@dataclass(frozen=True, slots=True)
class Comparison:
    """Rows by cost, unknown prices last; ``cheapest`` is the model with the lowest cost that is known."""

    rows: tuple[ComparedRow, ...]
    cheapest: str | None = None
    warnings: tuple[Notice, ...] = ()
