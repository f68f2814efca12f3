"""Whether a price list may replace the one in service: enough of it is there, it is no older, and nothing leaps.

A list that is wrong is worse than one that is a week old, so every gate must let it pass.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from statistics import median
from typing import TypeAlias

from genai_prices.types import (
    ConditionalPrice,
    ModelInfo,
    ModelPrice,
    PriceVariant,
    Provider,
    StartDateConstraint,
    TieredPrices,
)

from service.pricebook.reading import TableRefused

Canary: TypeAlias = tuple[str, str]
"""A model that must be in every list, as (provider, id), and whose price may not leap."""

CORE_PROVIDERS = ("openai", "anthropic", "google", "mistral", "deepseek", "x-ai")
MAX_MOVE = 5
MAX_MEDIAN_MOVE = 2
LARGE_PROVIDER = 20
_FEWEST_MOVES = 20  # of fewer rates the median says nothing

_Entry: TypeAlias = ConditionalPrice | PriceVariant
_Level: TypeAlias = tuple[str, str]
"""What a rate is for: the variant it belongs to (empty for none) and its price key."""

_Rate: TypeAlias = Decimal | TieredPrices


@dataclass(frozen=True, slots=True)
class Facts:
    """What a list is measured by.

    ``priced`` counts the models with a rate above zero, by provider; ``varied`` those with a price for another way of
    being served; ``starts`` are the dates on which a price begins, in order.
    """

    priced: Mapping[str, int]
    varied: int
    starts: tuple[date, ...]
    canaries: Mapping[Canary, ModelInfo]
    models: Mapping[Canary, ModelInfo] = field(default_factory=dict, repr=False)

    def newest(self, today: date) -> date:
        """The last start that has come. Announced ones do not count: a vendor may call them off."""
        return max((start for start in self.starts if start <= today), default=date.min)


def facts_of(providers: Sequence[Provider], canaries: Sequence[Canary]) -> Facts:
    """Measure a list."""
    models = {(provider.id, model.id): model for provider in providers for model in provider.models}
    starts = {
        entry.constraint.start_date
        for model in models.values()
        for entry in (*_entries(model), *(model.price_variants or ()))
        if isinstance(entry.constraint, StartDateConstraint)
    }
    return Facts(
        priced={provider.id: sum(map(_is_priced, provider.models)) for provider in providers},
        varied=sum(bool(model.price_variants) for model in models.values()),
        starts=tuple(sorted(starts)),
        canaries={canary: models[canary] for canary in canaries if canary in models},
        models=models,
    )


def require_canaries(facts: Facts, canaries: Sequence[Canary]) -> None:
    """Every canary is there and has a rate. Raises ``TableRefused`` ``canary_missing``."""
    for canary in canaries:
        if canary not in facts.canaries or not _is_priced(facts.canaries[canary]):
            raise TableRefused("canary_missing", "/".join(canary))


def require_no_older(new: Facts, current: Facts, today: date) -> None:
    """The newest price that has begun began no earlier than the current list's. Raises ``TableRefused`` ``older``."""
    if new.newest(today) < current.newest(today):
        raise TableRefused("older")


def require_complete(new: Facts, current: Facts) -> None:
    """At least 80 % of the priced models, of each core provider 90 %, of those with variants 80 %; no large one gone.

    Raises ``TableRefused``: ``too_few_models``, ``too_few_core_models``, ``provider_missing``, ``too_few_variants``.
    """
    if sum(new.priced.values()) * 10 < sum(current.priced.values()) * 8:
        raise TableRefused("too_few_models")
    for provider in CORE_PROVIDERS:
        if new.priced.get(provider, 0) * 10 < current.priced.get(provider, 0) * 9:
            raise TableRefused("too_few_core_models", provider)
    for provider, count in current.priced.items():
        if count >= LARGE_PROVIDER and not new.priced.get(provider):
            raise TableRefused("provider_missing", provider)
    if new.varied * 10 < current.varied * 8:
        raise TableRefused("too_few_variants")


def require_no_leap(new: Facts, current: Facts, today: date) -> None:
    """No rate of a canary, in force today, is more than five times the current one or less than a fifth of it.

    A rate that begins on a date which the current list does not have is explained by that date; one that begins later
    than today is not in force yet. Every tier counts. No canary and no model of a core provider is suddenly charged for
    something else, and half of all prices are within twice what they were. Raises ``TableRefused``: ``canary_moved``,
    ``unit_added`` (with the model), ``prices_moved``.
    """
    for canary, model in current.canaries.items():
        after = new.canaries.get(canary)
        if after is not None and any(_leaps(model, after, hour) for hour in _hours(today)):
            raise TableRefused("canary_moved", "/".join(canary))
    midnight = datetime.combine(today, time(), UTC)
    moves: list[Decimal] = []
    for key, model in current.models.items():
        after = new.models.get(key)
        if after is None:
            continue
        if (key[0] in CORE_PROVIDERS or key in current.canaries) and _adds_unit(model, after, midnight):
            raise TableRefused("unit_added", "/".join(key))
        moves += _moves(model, after, midnight)
    if len(moves) >= _FEWEST_MOVES and median(moves) > MAX_MEDIAN_MOVE:
        raise TableRefused("prices_moved")


def _adds_unit(before: ModelInfo, after: ModelInfo, at: datetime) -> bool:
    """Whether a standard call costs something per a unit it did not, without a date that says since when."""
    old = {key for entry in _entries(before) for (_, key), _ in _rates("", entry)}
    return bool(old) and any(
        not variant and key not in old and start is None and any(_amounts(rate))
        for (variant, key), (rate, start) in _in_force(after, at).items()
    )


def _moves(before: ModelInfo, after: ModelInfo, at: datetime) -> Iterator[Decimal]:
    """By what factor, up or down, each base rate of standard calls that both have has changed."""
    rates = _in_force(after, at)
    for level, (old, _) in _in_force(before, at).items():
        if not level[0] and level in rates:
            one, other = next(_amounts(old)), next(_amounts(rates[level][0]))
            if one and other:
                yield max(one / other, other / one)


def _hours(today: date) -> Iterator[datetime]:
    midnight = datetime.combine(today, time(), UTC)
    return (midnight + timedelta(hours=hour) for hour in range(24))


def _leaps(before: ModelInfo, after: ModelInfo, at: datetime) -> bool:
    known = {start for _, start in _all_rates(before)}
    rates = _in_force(after, at)
    for level, (old, _) in _in_force(before, at).items():
        if level not in rates:
            if level[1] in ("input_mtok", "output_mtok"):
                return True
            continue
        new, start = rates[level]
        explained = start is not None and start not in known
        if not explained and any(
            _at(new, tokens) > _at(old, tokens) * MAX_MOVE or _at(new, tokens) * MAX_MOVE < _at(old, tokens)
            for tokens in _steps(old) | _steps(new)
        ):
            return True
    return False


def _steps(rate: _Rate) -> set[int]:
    """Lengths of input that reach every tier of ``rate``."""
    return {0} | ({tier.start + 1 for tier in rate.tiers} if isinstance(rate, TieredPrices) else set())


def _at(rate: _Rate, tokens: int) -> Decimal:
    if not isinstance(rate, TieredPrices):
        return rate
    reached = [tier for tier in rate.tiers if tier.start < tokens]
    return max(reached, key=lambda tier: tier.start).price if reached else rate.base


def _amounts(rate: _Rate) -> Iterator[Decimal]:
    """The base rate, then those of the tiers."""
    yield _at(rate, 0)
    if isinstance(rate, TieredPrices):
        yield from (tier.price for tier in rate.tiers)


def _in_force(model: ModelInfo, at: datetime) -> dict[_Level, tuple[_Rate, date | None]]:
    """Every rate at one instant, with the date on which it began; which entry goes first is the data's own rule."""
    entries = _entries(model)
    active = [entry for entry in entries if entry.constraint is None or entry.constraint.active(at)]
    rates = {level: rate for entry in active[-1:] or entries[:1] for level, rate in _rates("", entry)}
    for variant in model.price_variants or ():
        if variant.constraint is None or variant.constraint.active(at):
            for level, rate in _rates(repr(sorted(variant.when.items())), variant):
                rates.setdefault(level, rate)
    return rates


def _all_rates(model: ModelInfo) -> Iterator[tuple[_Rate, date | None]]:
    for entry in (*_entries(model), *(model.price_variants or ())):
        for _, rate in _rates("", entry):
            yield rate


def _rates(variant: str, entry: _Entry) -> Iterator[tuple[_Level, tuple[_Rate, date | None]]]:
    start = entry.constraint.start_date if isinstance(entry.constraint, StartDateConstraint) else None
    for key, rate in vars(entry.prices).items():
        if rate is not None:
            yield (variant, key), (rate, start)


def _entries(model: ModelInfo) -> list[ConditionalPrice]:
    return [ConditionalPrice(prices=model.prices)] if isinstance(model.prices, ModelPrice) else model.prices


def _is_priced(model: ModelInfo) -> bool:
    """Whether any rate is above nothing: a list of zeros is no price list."""
    return any(any(_amounts(rate)) for entry in _entries(model) for _, (rate, _) in _rates("", entry))
