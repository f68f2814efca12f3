"""The price list of the genai-prices package: its data classes as rows. Its own arithmetic is never called.

What the list says is kept as it says it, with these rules:

- A date is UTC midnight, inclusive; the row before it ends there.
- Hours without a date hold from the last date that stands before them in the list (the list tries its entries last to
  first), and on every day of the week: what is finer has to come from a patch.
- A variant (``processing: batch``, ``service_tier: flex``, ``speed: fast`` …) is a row of that service tier, in force
  from its own date. Its rates are its own: what it lacks is not taken from the standard tier. Only fees per call
  (searches, code runs, requests) are, since a variant names what it changes and those it never does.
- ``service_tier: default`` is what a standard call reports; it repeats the standard rates. ``route`` and
  ``search_type`` have no place in a ``PriceContext``: the rates of the route and search that are used without asking
  stay, the others are left out and counted.
- A threshold such as 199999 means "from 200000 on"; any other has to be exceeded.
- A row without rates, or with nothing but zeros, has no price: it is kept without rates, and a lookup says so. So is
  one with a rate that is negative, not finite or beyond all reason.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time
from decimal import Decimal
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from service.domain.prices import PriceRow, Rate, Tier, Window, within_reason
from service.domain.usage import PRICE_KEYS

if TYPE_CHECKING:
    from genai_prices.types import ModelInfo, ModelPrice, Provider

Rates = Mapping[str, Rate]
_NOTHING: Rates = MappingProxyType({})
_EVERY_DAY = frozenset(range(7))
_TIER_OF: Mapping[tuple[tuple[str, str], ...], str] = {
    (("processing", "batch"),): "batch",
    (("service_tier", "flex"),): "flex",
    (("service_tier", "priority"),): "priority",
    (("service_tier", "fast"),): "fast",
    (("speed", "fast"),): "fast",
}
_STANDARD = (("service_tier", "default"),)
_FEES = frozenset(
    f"{name}_kcount" for name in ("web_searches", "social_searches", "storage_searches", "code_executions", "requests")
)


@dataclass(frozen=True, slots=True)
class _Entry:
    """One price of a list: its rates, the date from which it holds, and its hours of the day."""

    rates: Rates
    start: datetime | None
    hours: tuple[time, time] | None = None


@dataclass(frozen=True, slots=True)
class _Span:
    """``rates`` hold from ``start`` (inclusive, None: always) to ``end`` (exclusive, None: for ever) in ``windows``."""

    start: datetime | None
    end: datetime | None
    rates: Rates
    windows: tuple[Window, ...] = ()


def rows_of(
    providers: Iterable[Provider], *, source: str, revision: str, checked: str, left_out: Counter[str] | None = None
) -> list[PriceRow]:
    """The rows of every model of ``providers``, under the list's own provider ids and the models' ids in lower case.

    ``source``, ``revision`` and ``checked`` go into each row. ``left_out`` counts what was not taken as a price, by
    reason: ``rate_out_of_bounds``, ``only_zeros``, ``unknown_unit`` (kept, but no usage has it), ``unknown_variant``
    and ``unknown_constraint``.
    """
    counts: Counter[str] = Counter() if left_out is None else left_out
    return [
        PriceRow(
            provider=provider.id,
            model=model.id.lower(),
            rates=span.rates,
            service_tier=tier,
            start=span.start,
            end=span.end,
            windows=span.windows,
            source=source,
            revision=revision,
            checked=checked,
        )
        for provider in providers
        for model in provider.models
        for tier, span in _spans_of(model, counts)
    ]


def _spans_of(model: ModelInfo, counts: Counter[str]) -> Iterator[tuple[str, _Span]]:
    if not isinstance(model.prices, list):
        standard = [_Span(None, None, _rates(model.prices, counts))]
    else:
        standard = list(_spans(list(_entries(((p.prices, p.constraint) for p in model.prices), counts))))
    for span in standard:
        yield "standard", span
    for tier, entries in _variants(model, counts).items():
        for span in _variant_spans(entries, [span for span in standard if not span.windows]):
            yield tier, span


def _entries(items: Iterable[tuple[ModelPrice, Any]], counts: Counter[str]) -> Iterator[_Entry]:
    """Prices with their constraints, in the order of the list."""
    last: datetime | None = None
    for prices, constraint in items:
        hours = None
        if constraint is None:
            last = None
        elif hasattr(constraint, "start_date"):
            last = datetime.combine(constraint.start_date, time(), UTC)
        elif hasattr(constraint, "start_time"):
            hours = (_utc(constraint.start_time), _utc(constraint.end_time))
        else:
            counts["unknown_constraint"] += 1
            continue
        yield _Entry(_rates(prices, counts), last, hours)


def _utc(clock: time) -> time:
    """A time of day in UTC; one without a zone is UTC already."""
    if clock.tzinfo is None:
        return clock
    return datetime.combine(datetime(1970, 1, 1, tzinfo=UTC), clock).astimezone(UTC).time()


def _spans(entries: Sequence[_Entry]) -> Iterator[_Span]:
    """The entries laid out in time: where two hold at once, the one later in the list does."""
    plain = [entry for entry in entries if entry.hours is None]
    yield from _laid_out(
        {entry.start for entry in plain},
        lambda at: next((entry.rates for entry in reversed(plain) if _since(entry.start, at)), None),
    )
    for index, entry in enumerate(entries):
        if entry.hours is not None and entry.hours[0] != entry.hours[1]:  # hours from a time to itself never come
            following = [later.start for later in entries[index:] if later.hours is None and later.start is not None]
            yield _Span(entry.start, min(following, default=None), entry.rates, (Window(_EVERY_DAY, *entry.hours),))


def _since(start: datetime | None, at: datetime | None) -> bool:
    return start is None or (at is not None and at >= start)


def _laid_out(marks: set[datetime | None], rates_at: Callable[[datetime | None], Rates | None]) -> Iterator[_Span]:
    """A span from each of ``marks`` to the next with the rates in force there; neighbours with the same are one."""
    dates: list[datetime | None] = [*sorted(mark for mark in marks if mark is not None)]
    starts = [None, *dates] if None in marks else dates
    held = [(start, rates_at(start)) for start in starts]
    kept = [item for i, item in enumerate(held) if i == 0 or item[1] is not held[i - 1][1]]
    for (start, rates), end in zip(kept, [*(start for start, _ in kept[1:]), None], strict=True):
        if rates is not None:
            yield _Span(start, end, rates)


def _variants(model: ModelInfo, counts: Counter[str]) -> dict[str, list[_Entry]]:
    """The variants of ``model`` by service tier; a tier that also depends on the hour is left out."""
    found: dict[str, list[tuple[ModelPrice, Any]]] = {}
    for variant in model.price_variants or ():
        key = tuple(sorted(variant.when.items()))
        tier = _TIER_OF.get(key)
        if tier is not None:
            found.setdefault(tier, []).append((variant.prices, variant.constraint))
        elif key != _STANDARD or any(value is not None for value in vars(variant.prices).values()):
            counts["unknown_variant"] += 1
    tiers = {tier: list(_entries(items, counts)) for tier, items in found.items()}
    for tier in [tier for tier, entries in tiers.items() if any(entry.hours for entry in entries)]:
        counts["unknown_variant"] += len(tiers.pop(tier))
    return tiers


def _variant_spans(entries: Sequence[_Entry], standard: Sequence[_Span]) -> Iterator[_Span]:
    """The spans of one tier. Of several variants in force the first of the list decides, key by key."""
    combined: dict[tuple[int, ...], Rates] = {}

    def rates_at(at: datetime | None) -> Rates | None:
        active = [entry for entry in entries if _since(entry.start, at)]
        if not active:
            return None
        base = next((span for span in standard if _since(span.start, at) and not _past(span.end, at)), None)
        parts = [entry.rates for entry in active]
        key = (*map(id, parts), id(base))
        if key not in combined:
            combined[key] = _combined(parts, base.rates if base else _NOTHING)
        return combined[key]

    marks = {entry.start for entry in entries}
    marks |= {mark for span in standard for mark in (span.start, span.end)}
    yield from _laid_out(marks, rates_at)


def _past(end: datetime | None, at: datetime | None) -> bool:
    return end is not None and at is not None and at >= end


def _combined(parts: Sequence[Rates], standard: Rates) -> Rates:
    if not all(parts):
        return _NOTHING
    rates = {key: rate for key, rate in standard.items() if key in _FEES}
    for part in reversed(parts):
        rates.update(part)
    return MappingProxyType(rates)


def _rates(prices: ModelPrice, counts: Counter[str]) -> Rates:
    """The rates of one price; none at all where one of them cannot be right, or all are zero."""
    rates: dict[str, Rate] = {}
    for key, value in vars(prices).items():
        if value is None or key.startswith("_"):
            continue
        rate = _rate(value)
        if rate is None or not all(within_reason(key, dollars) for dollars in rate.amounts):
            counts["rate_out_of_bounds"] += 1
            return _NOTHING
        if key not in PRICE_KEYS and key != "cache_write_5m_mtok":
            counts["unknown_unit"] += 1
        rates[key] = rate
    if "cache_write_5m_mtok" in rates:  # our cache writes are the five-minute ones
        rates["cache_write_mtok"] = rates.pop("cache_write_5m_mtok")
    if rates and not any(any(rate.amounts) for rate in rates.values()):
        counts["only_zeros"] += 1
        return _NOTHING
    return MappingProxyType(rates)


def _rate(value: object) -> Rate | None:
    if isinstance(value, Decimal):
        return Rate(value)
    base, tiers = getattr(value, "base", None), getattr(value, "tiers", None)
    if not isinstance(base, Decimal) or not isinstance(tiers, list):
        return None
    if not all(isinstance(tier.price, Decimal) and type(tier.start) is int and tier.start >= 0 for tier in tiers):
        return None
    return Rate(base, tuple(_tier(tier.start, tier.price) for tier in sorted(tiers, key=lambda tier: tier.start)))


def _tier(start: int, price: Decimal) -> Tier:
    """The list compares with "more than": 199999 is how it writes a vendor's "from 200000 on"."""
    return Tier(start + 1, price, inclusive=True) if start % 1000 == 999 else Tier(start, price)
