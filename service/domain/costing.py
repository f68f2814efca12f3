"""Cost: usage times price, each product shown and the sum exact; what has no rate is named, never priced at nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal

from service.domain import money
from service.domain.notices import Notice
from service.domain.prices import Free, Multiplier, Price, Rate, Tier, Unknown
from service.domain.usage import MTOK, PARENTS, UNITS, Unit, Usage


@dataclass(frozen=True, slots=True)
class Component:
    """One product of a cost: ``quantity`` of a unit at ``rate`` dollars per ``per``, times the factors."""

    unit: Unit
    quantity: Decimal
    rate: Decimal
    tier: Tier | None
    factors: tuple[Decimal, ...]
    usd: Decimal
    rate_of: str


@dataclass(frozen=True, slots=True)
class Cost:
    """What a usage costs. ``usd`` is ``None`` where the price, or the rate of one unit used, is unknown: never zero."""

    status: str
    usd: Decimal | None
    components: tuple[Component, ...] = ()
    notices: tuple[Notice, ...] = ()
    missing: str = ""


def cost_of(usage: Usage, price: Price | Free | Unknown) -> Cost:
    """The cost of ``usage`` at ``price``.

    A unit without a rate of its own makes the cost unknown and is named; only cache reads, cache writes and reasoning
    fall back to the rate of what they are part of, with the warning ``rate_fallback``.
    """
    if isinstance(price, Unknown):
        return Cost("unknown", None, notices=(Notice("price_unknown", price.message, "model"),), missing=price.missing)
    if isinstance(price, Free):
        return Cost("free", Decimal(0))
    components: list[Component] = []
    notices: list[Notice] = []
    for unit, quantity in _quantities(usage, price.row.rates):
        found = _rate(unit, price.row.rates)
        if found is None:
            message = f"No rate is known for {unit.name}; the cost is unknown."
            return Cost("unknown", None, tuple(components), (Notice("unit_unpriced", message, "usage"),), unit.name)
        rate, rate_of = found
        if rate_of != unit.price_key:
            message = f"{unit.name} has no rate of its own and is priced at {rate_of}."
            notices.append(Notice("rate_fallback", message, "usage"))
        components.append(_component(unit, quantity, rate, rate_of, usage.input_tokens, price.multipliers))
    return Cost("priced", money.total([c.usd for c in components]), tuple(components), tuple(notices))


def _quantities(usage: Usage, rates: Mapping[str, Rate]) -> Iterator[tuple[Unit, Decimal]]:
    for name, count in usage.leaves():
        if count:
            yield UNITS[name], Decimal(count)
    for name, quantity in usage.fees():
        yield UNITS[name], quantity
    if UNITS["requests"].price_key in rates and "requests" not in usage.other:
        yield UNITS["requests"], Decimal(1)


def _rate(unit: Unit, rates: Mapping[str, Rate]) -> tuple[Rate, str] | None:
    key: str | None = unit.price_key
    while key is not None:
        if key in rates:
            return rates[key], key
        key = PARENTS.get(key)
    return None


def _component(
    unit: Unit, quantity: Decimal, rate: Rate, rate_of: str, input_tokens: int, multipliers: tuple[Multiplier, ...]
) -> Component:
    dollars, tier = rate.at(input_tokens)
    factors = tuple(m.factor for m in multipliers) if unit.per == MTOK else ()
    factor = Decimal(1)
    for value in factors:
        factor *= value
    usd = money.product(dollars, quantity, unit.per, factor)
    return Component(unit, quantity, dollars, tier, factors, usd, rate_of)
