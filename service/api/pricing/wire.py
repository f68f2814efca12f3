"""From domain costs to their wire form."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from decimal import Decimal

import msgspec

from service.api.errors import ApiError
from service.api.pricing.schemas import (
    CompareRowAnswer,
    EstimateAnswer,
    EstimateBatchAnswer,
    PriceListRow,
    WireAffordable,
    WireComponent,
    WireCost,
    WirePrice,
    WireRate,
    WireTier,
    WireWindow,
)
from service.domain.catalog import Accuracy
from service.domain.compare import CompareRow
from service.domain.costing import Component, Cost
from service.domain.estimate import Affordable, CostRange, Estimate, summed
from service.domain.money import canonical
from service.domain.notices import Notice
from service.domain.past.output import OutputHistory
from service.domain.prices import Free as FreePrice
from service.domain.prices import Price, PriceRow, Rate, Unknown
from service.domain.remote import RemoteCount
from service.domain.usage import MTOK, UNITS, Usage

_MOST = 10**15
_PLACES = 12


def wire_range(cost: CostRange) -> WireCost:
    """A cost range."""
    return WireCost(
        status=cost.status,  # type: ignore[arg-type]  # the domain's three words
        currency="USD",
        low=_dollars(cost.low),
        expected=_dollars(cost.expected),
        high=_dollars(cost.high),
        components=[wire_component(component) for component in cost.components],
        missing=cost.missing or None,
    )


def wire_cost(cost: Cost) -> WireCost:
    """A cost that is one number."""
    return wire_range(CostRange(cost.status, cost.usd, cost.usd, cost.usd, cost.components, cost.missing))


def wire_component(component: Component) -> WireComponent:
    """One product, with everything that it is made of."""
    unit = component.unit
    own = component.rate_of == unit.price_key
    of_tokens = unit.per == MTOK and unit.price_key.endswith("_mtok")
    return WireComponent(
        unit=unit.name,
        usd=canonical(component.usd),
        tokens=int(component.quantity) if of_tokens else None,
        usd_per_mtok=canonical(component.rate) if of_tokens else None,
        quantity=None if of_tokens else canonical(component.quantity),
        usd_per_unit=None if of_tokens else canonical(component.rate),
        per=None if of_tokens else unit.per,
        rate=None if own else component.rate_of,
        above_input_tokens=component.tier.above_input if component.tier else None,
        factors=tuple(canonical(factor) for factor in component.factors),
    )


def wire_price(price: Price | FreePrice | Unknown) -> WirePrice | None:
    """Where a price comes from; ``None`` where there is none."""
    if isinstance(price, Unknown):
        return None
    row = price.row
    return WirePrice(
        provider=row.provider,
        model=row.model,
        service_tier=row.service_tier,
        source=row.source,
        revision=row.revision,
        effective_from=instant(row.start),
        effective_to=instant(row.end),
        checked=row.checked,
    )


def wire_estimate(estimate: Estimate) -> EstimateAnswer:
    """An estimate: the count's own fields, then what follows from them."""
    count = estimate.count
    return EstimateAnswer(
        model=count.model,
        provider=count.provider,
        rule=count.rule,
        tokenizer=count.tokenizer,
        tokens=count.tokens,
        low=count.low,
        high=count.high,
        accuracy=count.accuracy,
        accuracy_reasons=count.accuracy_reasons,
        characters=count.characters,
        utf8_bytes=count.utf8_bytes,
        tokens_per_character=count.tokens_per_character,
        characters_per_token=count.characters_per_token,
        breakdown=count.breakdown,
        input_tokens=count.tokens,
        max_output_tokens=estimate.max_output_tokens,
        expected_output_tokens=estimate.expected_output_tokens,
        context=estimate.context,
        cost=wire_range(estimate.cost),
        price=wire_price(estimate.price),
        affordable=_affordable(estimate.affordable),
        counted=estimate.counted,
        accepted=estimate.accepted,
        warnings=[*count.warnings, *estimate.notices],
        remote=count.remote if isinstance(count, RemoteCount) else msgspec.UNSET,
        output_history=estimate.output_history or msgspec.UNSET,
    )


def wire_batch(estimates: Sequence[Estimate]) -> EstimateBatchAnswer:
    """Several calls: each by itself, and their sums; the accuracy is the worst of them."""
    tokens = sum(item.count.tokens for item in estimates)
    return EstimateBatchAnswer(
        items=[wire_estimate(item) for item in estimates],
        tokens=tokens,
        low=sum(item.count.low for item in estimates),
        high=sum(item.count.high for item in estimates),
        input_tokens=tokens,
        accuracy=Accuracy.worst(Accuracy(item.count.accuracy) for item in estimates).value,
        cost=wire_range(summed([item.cost for item in estimates])),
    )


def wire_row(
    row: CompareRow, price: Price | FreePrice | Unknown | None, history: OutputHistory | None = None
) -> CompareRowAnswer:
    """One row of a comparison; ``history`` is what the output was foretold from."""
    scale = row.scale
    return CompareRowAnswer(
        model=scale.model,
        provider=scale.provider,
        tokenizer=scale.info,
        vocab_size=scale.tokenizer.vocab_size,
        installed=row.installed,
        accuracy=row.accuracy,
        accuracy_reasons=row.reasons,
        tokens=row.tokens,
        low=row.low,
        high=row.high,
        characters=row.characters,
        tokens_per_character=row.tokens_per_character,
        by_script=row.by_script,
        items=row.items,
        cost=wire_range(row.cost) if row.cost else None,
        price=wire_price(price) if price else None,
        output_history=history or msgspec.UNSET,
    )


def wire_price_row(row: PriceRow) -> PriceListRow:
    """A row of the price list."""
    return PriceListRow(
        provider=row.provider,
        model=row.model,
        service_tier=row.service_tier,
        effective_from=instant(row.start),
        effective_to=instant(row.end),
        windows=[
            WireWindow([day + 1 for day in sorted(w.days)], f"{w.start:%H:%M}-{w.end:%H:%M}") for w in row.windows
        ],
        free=row.free,
        rates=[_wire_rate(key, rate) for key, rate in row.rates.items()],
        source=row.source,
        revision=row.revision,
        checked=row.checked,
    )


def _wire_rate(key: str, rate: Rate) -> WireRate:
    unit = next((unit for unit in UNITS.values() if unit.price_key == key), None)
    tiers = [WireTier(tier.above_input, tier.inclusive, canonical(tier.rate)) for tier in rate.tiers]
    return WireRate(unit.name if unit else key, unit.per if unit else MTOK, canonical(rate.base), tiers)


def bounded(amount: Decimal, path: str) -> Decimal:
    """``amount`` if it is a quantity that exact arithmetic can hold. Raises ``ApiError``."""
    exponent = amount.as_tuple().exponent
    if not isinstance(exponent, int) or not exponent >= -_PLACES or not 0 <= amount <= _MOST:
        detail = f"Give a number from 0 to {_MOST:,}, with at most {_PLACES} decimal places."
        raise ApiError(422, "invalid_request", detail, path=path)
    return amount


def wire_usage(usage: Usage) -> dict[str, int | str]:
    """Usage as it was priced: the six counts that every call has, and the others that it used."""
    always = (
        *("input_tokens", "output_tokens", "cache_read_tokens"),
        *("cache_write_tokens", "cache_write_1h_tokens", "reasoning_tokens"),
    )
    counts = {name: getattr(usage, name) for name in usage.__slots__ if name != "other"}
    shown: dict[str, int | str] = {name: n for name, n in counts.items() if n or name in always}
    return shown | {name: canonical(quantity) for name, quantity in usage.other.items()}


def moment(at: datetime | None, now: datetime) -> datetime:
    """When a call is made. Raises ``ApiError`` for a time without an offset from UTC."""
    if at is None:
        return now
    if at.tzinfo is None:
        detail = "Give `at` with its offset from UTC, as in 2026-11-29T12:00:00Z."
        raise ApiError(422, "invalid_request", detail, path="at")
    try:
        return at.astimezone(UTC)
    except OverflowError:
        raise ApiError(422, "invalid_request", "That time lies outside the calendar in UTC.", path="at") from None


def distinct(notices: Sequence[Notice]) -> list[Notice]:
    """Each notice once, in order."""
    return list(dict.fromkeys(notices))


def _affordable(affordable: Affordable | None) -> WireAffordable | None:
    if affordable is None:
        return None
    return WireAffordable(canonical(affordable.max_cost_usd), affordable.output_tokens, affordable.input_fits)


def _dollars(amount: Decimal | None) -> str | None:
    return None if amount is None else canonical(amount)


def instant(at: datetime | None) -> str | None:
    """A time as clients read it, RFC 3339."""
    return None if at is None else at.isoformat().replace("+00:00", "Z")
