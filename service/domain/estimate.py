"""What a call will cost before it is made: input bounds, context fit, and a cost range that holds.

``low`` is the low count, billed the cheapest way, without output. ``expected`` is the count with the output that the
caller expects. ``high`` is the high count, billed the dearest way, with all the output that the call allows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import ROUND_FLOOR, Decimal
from typing import Literal

from service.domain import money
from service.domain.catalog import ModelSpec
from service.domain.costing import Component, Cost, cost_of
from service.domain.counting import Count
from service.domain.errors import InconsistentUsage
from service.domain.notices import Notice
from service.domain.prices import Free, Price, PriceContext, Unknown
from service.domain.usage import Usage

CacheWrite = Literal["5m", "1h"]


@dataclass(frozen=True, slots=True)
class CacheUse:
    """``read_tokens`` of the input may be read from the vendor's cache; ``write`` asks for the rest to be written."""

    read_tokens: int = 0
    write: CacheWrite | None = None


NO_CACHE = CacheUse()
STANDARD = PriceContext()


@dataclass(frozen=True, slots=True)
class CallPlan:
    """How the call will be made: its output, its price context, its use of the cache, and when."""

    at: datetime
    context: PriceContext = STANDARD
    max_output_tokens: int | None = None
    expected_output_tokens: int | None = None
    cache: CacheUse = NO_CACHE
    max_cost_usd: Decimal | None = None


@dataclass(frozen=True, slots=True)
class ContextFit:
    """Whether input and output fit the context window; ``None`` where no source gives the window."""

    window: int | None
    fits: bool | None
    remaining: int | None


@dataclass(frozen=True, slots=True)
class Affordable:
    """The most output tokens that ``max_cost_usd`` pays for after the high input; ``None`` where that is not known."""

    max_cost_usd: Decimal
    output_tokens: int | None
    input_fits: bool | None


@dataclass(frozen=True, slots=True)
class CostRange:
    """Dollars, unrounded; all are ``None`` where the price is unknown. ``components`` are those of ``expected``."""

    status: str
    low: Decimal | None
    expected: Decimal | None
    high: Decimal | None
    components: Sequence[Component] = ()
    missing: str = ""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A count and what follows from it. ``counted`` and ``accepted`` are an embedding model's: it cuts off the rest."""

    count: Count
    max_output_tokens: int | None
    expected_output_tokens: int
    context: ContextFit
    cost: CostRange
    price: Price | Free | Unknown
    affordable: Affordable | None
    counted: int | None
    accepted: int | None
    notices: tuple[Notice, ...]


def estimate(
    count: Count, spec: ModelSpec, price: Price | Free | Unknown, plan: CallPlan, *, framing: int = 0
) -> Estimate:
    """Estimate a call of ``count`` input tokens. ``framing`` is what one message may add to a bare text.

    Raises ``InconsistentUsage`` where the plan contradicts the count.
    """
    if plan.cache.read_tokens > count.tokens:
        raise InconsistentUsage("cache.read_tokens is more than the input has")
    notices = list(_framing_notices(framing))
    most = _most_output(spec, plan, count.high + framing, notices)
    expected = _expected_output(spec, plan, most)
    cost, cost_notices = _range(count, price, plan, framing, (expected, most))
    notices += cost_notices
    accepted = _accepted(spec, count, notices)
    return Estimate(
        count=count,
        max_output_tokens=most,
        expected_output_tokens=expected,
        context=_context(spec, count, most or 0, framing),
        cost=cost,
        price=price,
        affordable=_affordable(count, price, plan, framing) if plan.max_cost_usd is not None else None,
        counted=count.tokens if spec.kind == "embedding" else None,
        accepted=accepted,
        notices=tuple(notices),
    )


def _framing_notices(framing: int) -> Iterator[Notice]:
    if framing:
        message = f"The text is counted bare; as a message it may take {framing} tokens more, which `high` includes."
        yield Notice("framing_not_included", message, "text")


def _most_output(spec: ModelSpec, plan: CallPlan, most_input: int, notices: list[Notice]) -> int | None:
    """The most output the call can bring, with a warning where the caller did not say."""
    if spec.kind == "embedding":
        return 0
    if plan.max_output_tokens is not None:
        if spec.max_output_tokens is not None and plan.max_output_tokens > spec.max_output_tokens:
            message = f"The model answers with at most {spec.max_output_tokens} tokens."
            notices.append(Notice("max_output_above_model", message, "max_output_tokens"))
        return plan.max_output_tokens
    most, code = spec.max_output_tokens, "max_output_assumed"
    message = f"Without max_output_tokens the model's own limit of {most} tokens is taken."
    if most is None and spec.context_window is not None:
        most = max(0, spec.context_window - most_input)
        message = f"No limit of the output is known: what is left of the context window, {most} tokens, is taken."
    elif most is None:
        code = "max_output_unknown"
        message = "Without max_output_tokens there is no upper bound: no source gives this model's own limit."
    notices.append(Notice(code, message, "max_output_tokens"))
    return most


def _expected_output(spec: ModelSpec, plan: CallPlan, most: int | None) -> int:
    if spec.kind == "embedding":
        return 0
    if plan.expected_output_tokens is not None:
        return plan.expected_output_tokens
    return plan.max_output_tokens if plan.max_output_tokens is not None else most or 0


def _accepted(spec: ModelSpec, count: Count, notices: list[Notice]) -> int | None:
    if spec.kind != "embedding":
        return None
    accepted = count.tokens if spec.context_window is None else min(count.tokens, spec.context_window)
    if accepted < count.tokens:
        message = f"The model embeds the first {accepted} tokens; some sellers bill all that were sent."
        notices.append(Notice("input_truncated", message, "text"))
    return accepted


def _context(spec: ModelSpec, count: Count, output: int, framing: int) -> ContextFit:
    window = spec.context_window
    if window is None:
        return ContextFit(None, None, None)
    return ContextFit(window, count.high + framing + output <= window, window - count.tokens - output)


def _range(
    count: Count, price: Price | Free | Unknown, plan: CallPlan, framing: int, output: tuple[int, int | None]
) -> tuple[CostRange, Sequence[Notice]]:
    expected_output, most_output = output
    reads, write = plan.cache.read_tokens, plan.cache.write
    cheapest = min(
        (cost_of(usage, price) for usage in _cheapest(count.low, reads)), key=lambda cost: cost.usd or Decimal(0)
    )
    likely = cost_of(_usage(count.tokens, expected_output, reads, write), price)
    if cheapest.status == "unknown" or likely.status == "unknown":
        unknown = likely if likely.status == "unknown" else cheapest
        return CostRange("unknown", None, None, None, missing=unknown.missing), unknown.notices
    dearest = _dearest(count, price, framing, most_output, write)
    if dearest is not None and dearest.status == "unknown":
        return CostRange("unknown", None, None, None, missing=dearest.missing), dearest.notices
    high = None if dearest is None else max(dearest.usd or Decimal(0), likely.usd or Decimal(0))
    low = min(cheapest.usd or Decimal(0), likely.usd or Decimal(0))
    return CostRange(likely.status, low, likely.usd, high, likely.components), likely.notices


def _cheapest(tokens: int, reads: int) -> Iterator[Usage]:
    yield _usage(tokens, 0, 0, None)
    if reads:
        yield _usage(tokens, 0, min(reads, tokens), None)


def _dearest(
    count: Count, price: Price | Free | Unknown, framing: int, output: int | None, write: CacheWrite | None
) -> Cost | None:
    """The dearest bill: nothing read from the cache, everything written where that was asked for."""
    if output is None:
        return None
    tokens = count.high + framing
    costs = [cost_of(_usage(tokens, output, 0, kind), price) for kind in dict.fromkeys((None, write))]
    unknown = next((cost for cost in costs if cost.status == "unknown"), None)
    return unknown or max(costs, key=lambda cost: cost.usd or Decimal(0))


def _usage(tokens: int, output: int, reads: int, write: CacheWrite | None) -> Usage:
    written = tokens - reads if write else 0
    return Usage(
        input_tokens=tokens,
        output_tokens=output,
        cache_read_tokens=reads,
        cache_write_tokens=written,
        cache_write_1h_tokens=written if write == "1h" else 0,
    )


def _affordable(count: Count, price: Price | Free | Unknown, plan: CallPlan, framing: int) -> Affordable:
    """The tier is chosen by the input alone, so each output token costs the same."""
    limit = plan.max_cost_usd or Decimal(0)
    if isinstance(price, Free):
        return Affordable(limit, None, input_fits=True)
    base = _dearest(count, price, framing, 0, plan.cache.write)
    one_more = _dearest(count, price, framing, 1, plan.cache.write)
    if base is None or base.usd is None:
        return Affordable(limit, None, input_fits=None)
    left = limit - base.usd
    if left < 0:
        return Affordable(limit, 0, input_fits=False)
    if one_more is None or one_more.usd is None:
        return Affordable(limit, None, input_fits=True)
    each = one_more.usd - base.usd
    return Affordable(limit, int((left / each).to_integral_value(ROUND_FLOOR)) if each else None, input_fits=True)


def summed(parts: Sequence[CostRange]) -> CostRange:
    """The cost of several calls: unknown where one is unknown, without an upper bound where one has none."""
    if any(part.status == "unknown" for part in parts):
        missing = next(part.missing for part in parts if part.status == "unknown")
        return CostRange("unknown", None, None, None, missing=missing)
    highs = [part.high for part in parts]
    return CostRange(
        "priced" if any(part.status == "priced" for part in parts) or not parts else "free",
        money.total([part.low or Decimal(0) for part in parts]),
        money.total([part.expected or Decimal(0) for part in parts]),
        None if None in highs else money.total([high or Decimal(0) for high in highs]),
    )
