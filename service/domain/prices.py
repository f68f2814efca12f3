"""Prices: rows of rates with the dates, tiers and hours they are in force, and the book that finds the one row.

A lookup never guesses: it returns a price, says that the model is free, or says what is missing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, time
from decimal import Decimal
from functools import cache
from types import MappingProxyType

SERVICE_TIERS = ("standard", "batch", "flex", "priority", "fast")

_HIGHEST = (("_mtok", 1000), ("_mchars", 1000), ("_hours", 1000), ("_seconds", 100), ("_images", 100))
_HIGHEST_OTHER = 10_000  # per thousand calls or pages, per billion pixels


def within_reason(price_key: str, dollars: Decimal) -> bool:
    """Whether a rate can be right: finite, not negative, at most 1,000 dollars per million tokens or characters.

    For other units the bound is 1,000 dollars an hour, 100 a second or image, and 10,000 a thousand calls or pages.
    """
    return dollars.is_finite() and 0 <= dollars <= _highest(price_key)


@cache
def _highest(price_key: str) -> int:
    return next((bound for suffix, bound in _HIGHEST if price_key.endswith(suffix)), _HIGHEST_OTHER)


@dataclass(frozen=True, slots=True)
class Tier:
    """A dearer rate for long input: above ``above_input`` tokens (``inclusive``: from it on) it prices the request."""

    above_input: int
    rate: Decimal
    inclusive: bool = False

    def applies(self, input_tokens: int) -> bool:
        """Whether a request of so many input tokens, cached and written ones included, is billed at this tier."""
        return input_tokens >= self.above_input if self.inclusive else input_tokens > self.above_input


@dataclass(frozen=True, slots=True)
class Rate:
    """Dollars per so many of one unit, and the tiers that replace ``base``, lowest threshold first."""

    base: Decimal
    tiers: tuple[Tier, ...] = ()

    def at(self, input_tokens: int) -> tuple[Decimal, Tier | None]:
        """The rate for a request of so many input tokens, and the tier it comes from."""
        for tier in reversed(self.tiers):
            if tier.applies(input_tokens):
                return tier.rate, tier
        return self.base, None

    @property
    def amounts(self) -> tuple[Decimal, ...]:
        """The base rate and those of the tiers."""
        return (self.base, *(tier.rate for tier in self.tiers)) if self.tiers else (self.base,)


@dataclass(frozen=True, slots=True)
class Window:
    """Hours of the week, UTC: from ``start`` (inclusive) to ``end`` (exclusive) on ``days`` (0 is Monday).

    Where ``end`` is not after ``start`` the window runs past midnight and belongs to the day on which it starts.
    """

    days: frozenset[int]
    start: time
    end: time

    def holds(self, at: datetime) -> bool:
        """Whether the instant ``at`` lies in the window."""
        at = at.astimezone(UTC)
        clock, day = at.time(), at.weekday()
        if self.start < self.end:
            return day in self.days and self.start <= clock < self.end
        return (day in self.days and clock >= self.start) or ((day - 1) % 7 in self.days and clock < self.end)


@dataclass(frozen=True, slots=True)
class PriceRow:
    """What one seller asks for one model, in one service tier, while it is in force.

    ``model`` is in lower case; with a ``*`` it is a pattern. ``start`` is inclusive and ``end`` exclusive, ``None``
    where open. A row with ``windows`` is in force in those hours only, and there it goes before a row without.
    ``rates`` are by price key. A row without rates says that the price is ``free``, or else that it is not known.
    """

    provider: str
    model: str
    rates: Mapping[str, Rate]
    service_tier: str = "standard"
    start: datetime | None = None
    end: datetime | None = None
    windows: tuple[Window, ...] = ()
    free: bool = False
    source: str = ""
    revision: str = ""
    checked: str = ""

    def in_force(self, at: datetime) -> bool:
        """Whether the row holds at ``at``: its dates and, where it has some, its hours."""
        if (self.start and at < self.start) or (self.end and at >= self.end):
            return False
        return not self.windows or any(window.holds(at) for window in self.windows)


@dataclass(frozen=True, slots=True)
class Multiplier:
    """A factor on every token rate of a provider's models where the request's context matches ``match``.

    ``match`` names a ``region``, a ``service_tier`` or both. ``models`` are names, empty for all.
    """

    provider: str
    match: Mapping[str, str]
    factor: Decimal
    models: frozenset[str] = frozenset()
    start: datetime | None = None
    source: str = ""
    checked: str = ""


@dataclass(frozen=True, slots=True)
class PriceContext:
    """What else decides a price: how the call is served, and where."""

    service_tier: str = "standard"
    region: str | None = None


@dataclass(frozen=True, slots=True)
class Price:
    """Rates in force, with the row they come from and the multipliers on them."""

    row: PriceRow
    multipliers: tuple[Multiplier, ...] = ()


@dataclass(frozen=True, slots=True)
class Free:
    """The seller asks nothing, as the row says with its source and date."""

    row: PriceRow


@dataclass(frozen=True, slots=True)
class Unknown:
    """No price. ``missing`` is what lacks: ``model``, ``rates``, ``service_tier``, ``date``, ``region`` or a unit."""

    missing: str
    message: str


@dataclass(frozen=True, slots=True)
class PriceNames:
    """Other names that a price list gives its models, by provider: whole names, and patterns that match whole names.

    A name that two models claim means neither.
    """

    exact: Mapping[tuple[str, str], str] = field(default_factory=lambda: MappingProxyType({}))
    patterns: Mapping[str, Sequence[tuple[re.Pattern[str], str]]] = field(default_factory=lambda: MappingProxyType({}))

    def find(self, provider: str, name: str) -> str | None:
        """The id under which the list prices ``name`` (in lower case)."""
        found = self.exact.get((provider, name))
        if found is None:
            claims = {model for pattern, model in self.patterns.get(provider, ()) if pattern.fullmatch(name)}
            found = claims.pop() if len(claims) == 1 else None
        return found


@dataclass(frozen=True, slots=True)
class _Placed:
    """A row with its place in the book: the number of its layer, whether it names its model, its place in the layer."""

    depth: int
    exact: bool
    position: int
    row: PriceRow

    def precedence(self, provider: str) -> tuple[int, bool, bool, bool, float, int]:
        """What of two rows in force decides: layer, exact id, own seller, hours, the later start, the later place."""
        start = self.row.start.timestamp() if self.row.start else float("-inf")
        own = self.row.provider == provider
        return self.depth, self.exact, own, bool(self.row.windows), start, self.position


class PriceBook:
    """All prices, by seller, model and date. Layers come in order, and a later one goes before an earlier one.

    The first layer is the price list: ``names`` are other names of its models, and ``sellers`` gives the id that it
    has for a provider, where that is another one. Later layers and multipliers go by the provider's own id alone.
    Within a layer an id goes before a pattern, a row with hours before one without, then the one that started last, and
    of two patterns the one that stands later.
    """

    def __init__(
        self,
        layers: Iterable[Iterable[PriceRow]],
        multipliers: Iterable[Multiplier] = (),
        *,
        names: PriceNames | None = None,
        sellers: Mapping[str, str] | None = None,
    ) -> None:
        self._names = names or PriceNames()
        self._sellers = dict(sellers or {})
        self._multipliers = tuple(multipliers)
        self._rows: dict[tuple[str, str], list[_Placed]] = {}
        self._patterns: dict[str, list[tuple[re.Pattern[str], _Placed]]] = {}
        for depth, layer in enumerate(layers):
            for position, row in enumerate(layer):
                self._add(_Placed(depth, "*" not in row.model, position, row))

    def _add(self, placed: _Placed) -> None:
        row = placed.row
        if placed.exact:
            self._rows.setdefault((row.provider, row.model), []).append(placed)
        else:
            pattern = re.compile(".*".join(map(re.escape, row.model.split("*"))), re.DOTALL)
            self._patterns.setdefault(row.provider, []).append((pattern, placed))

    def find(self, provider: str, names: Sequence[str]) -> str | None:
        """The name under which ``provider``'s price of a model is kept, for ``price``; None where there is none.

        ``names`` are what the model is called, the caller's own spelling first: a price under exactly that name
        decides, then one under the next. Which layer has it never matters: another name may be another model's.
        """
        return next((name for name in map(str.lower, names) if any(self._placed(provider, name))), None)

    def price(self, provider: str, model: str, at: datetime, context: PriceContext) -> Price | Free | Unknown:
        """The price of ``model``, a name that ``find`` gave for ``provider``, in force at ``at``."""
        rows = self.rows(provider, model)
        if not rows:
            return Unknown("model", "No price is known for this model at this provider.")
        tier_rows = [row for row in rows if row.service_tier == context.service_tier]
        if not tier_rows:
            return Unknown("service_tier", f"No price is known for the service tier {context.service_tier}.")
        row = next((row for row in tier_rows if row.in_force(at)), None)
        if row is None:
            return Unknown("date", f"No price of the service tier {context.service_tier} is known for that time.")
        if row.free:
            return Free(row)
        if not row.rates:
            return Unknown("rates", "The price list names this model without a price for that time.")
        return self._multiplied(provider, {model.lower(), row.model}, row, at, context)

    def rows(self, provider: str, model: str) -> list[PriceRow]:
        """Every row of a model, first the one that goes before the others."""
        placed = self._placed(provider, model.lower())
        return [item.row for item in sorted(placed, key=lambda item: item.precedence(provider), reverse=True)]

    def _placed(self, provider: str, model: str) -> Iterator[_Placed]:
        """The rows under ``model`` (in lower case): of the price list also under the list's ids of seller and model."""
        yield from self._rows.get((provider, model), ())
        yield from (item for pattern, item in self._patterns.get(provider, ()) if pattern.fullmatch(model))
        for seller in dict.fromkeys((provider, self._sellers.get(provider) or provider)):
            listed = self._names.find(seller, model) or model
            for key in dict.fromkeys(((seller, model), (seller, listed))):
                if key != (provider, model):
                    yield from (item for item in self._rows.get(key, ()) if item.depth == 0)

    @property
    def models(self) -> Mapping[tuple[str, str], list[tuple[int, PriceRow]]]:
        """All rows, with the number of their layer, by the provider and the model or pattern they are kept under."""
        found = {key: list(items) for key, items in self._rows.items()}
        for patterns in self._patterns.values():
            for _, item in patterns:
                found.setdefault((item.row.provider, item.row.model), []).append(item)
        for (provider, _), items in found.items():
            items.sort(key=lambda item: item.precedence(provider), reverse=True)
        return {key: [(item.depth, item.row) for item in items] for key, items in found.items()}

    def _multiplied(
        self, provider: str, names: set[str], row: PriceRow, at: datetime, context: PriceContext
    ) -> Price | Unknown:
        """Of the multipliers that match, the last for each kind of match counts; a region without one has no price."""
        region = context.region and context.region.strip().lower()
        said = {"service_tier": context.service_tier} | ({"region": region} if region else {})
        found: dict[tuple[str, ...], Multiplier] = {}
        for multiplier in self._multipliers:
            if (
                multiplier.provider == provider
                and multiplier.match.items() <= said.items()
                and (not multiplier.models or multiplier.models & names)
                and (multiplier.start is None or at >= multiplier.start)
            ):
                found[tuple(sorted(multiplier.match))] = multiplier
        if context.region is not None and not any("region" in keys for keys in found):
            return Unknown("region", "No price is known for this region.")
        return Price(row, tuple(found.values()))
