"""What a call will cost before it is made: input bounds, context fit, and a cost range that holds.

``low`` is the low count, billed the cheapest way, without output. ``expected`` is the count with the output that the
caller expects, or that past calls had. ``high`` is the high count, billed the dearest way, with all the output that the
call allows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import ROUND_FLOOR, Decimal
from typing import Literal

from service.domain import money
from service.domain.catalog import ModelSpec
from service.domain.costing import Component, Cost, cost_of
from service.domain.counting import Count
from service.domain.errors import InconsistentUsage
from service.domain.notices import Notice
from service.domain.past.output import ENOUGH, OutputHistory
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
    """How the call will be made: its output, its price context, its use of the cache, and when.

    ``media`` names what the input holds beside text: ``audio``, ``image``, ``video``. Each of the ``answers`` may have
    all the output. ``output_history`` says what
    output to expect where ``expected_output_tokens`` does not; ``notices`` are what is to be said of the plan itself.
    """

    at: datetime
    context: PriceContext = STANDARD
    max_output_tokens: int | None = None
    expected_output_tokens: int | None = None
    cache: CacheUse = NO_CACHE
    max_cost_usd: Decimal | None = None
    media: tuple[str, ...] = ()
    answers: int = 1
    output_history: OutputHistory | None = None
    notices: tuple[Notice, ...] = ()


@dataclass(frozen=True, slots=True)
class ContextFit:
    """Whether input and output fit the context window; ``None`` where no source gives the window."""

    window: int | None
    fits: bool | None
    remaining: int | None


@dataclass(frozen=True, slots=True)
class Affordable:
    """The most output tokens that ``max_cost_usd`` pays for after the high input; ``None`` where that is not known.

    They are those of each answer, where several are asked for.
    """

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
    output_history: OutputHistory | None = None
    answers: int = 1


def estimate(
    count: Count, spec: ModelSpec, price: Price | Free | Unknown, plan: CallPlan, *, framing: int = 0
) -> Estimate:
    """Estimate a call of ``count`` input tokens. ``framing`` is what one message may add to a bare text.

    Raises ``InconsistentUsage`` where the plan contradicts the count.
    """
    if plan.cache.read_tokens > count.high:
        raise InconsistentUsage("cache.read_tokens is more than the input can have")
    expected, most = plan.expected_output_tokens, plan.max_output_tokens
    if expected is not None and most is not None and expected > most:
        raise InconsistentUsage("expected_output_tokens is more than max_output_tokens")
    notices = [*_framing_notices(framing), *plan.notices]
    most = _most_output(spec, plan, count.high + framing, notices)
    expected = _expected_output(spec, plan, most)
    all_output = (expected * plan.answers, None if most is None else most * plan.answers)
    cost, cost_notices = _range(count, price, plan, framing, all_output)
    notices += [*_answers_notices(plan.answers), *cost_notices]
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
        output_history=plan.output_history,
        answers=plan.answers,
    )


def expecting(plan: CallPlan, history: OutputHistory | None) -> CallPlan:
    """``plan`` with the output that past calls had; of too few of them, with a warning, as it is."""
    if history is None or history.settles < ENOUGH:
        settles = history.settles if history else 0
        message = f"Too few past calls say how long answers are: {settles} of {ENOUGH}. Nothing is foretold."
        return _saying(plan, "history_not_enough", message)
    return replace(plan, expected_output_tokens=None, output_history=history)


def expecting_nothing(plan: CallPlan) -> CallPlan:
    """``plan`` as it is, with a warning that past calls could not be read."""
    return _saying(plan, "history_not_available", "Past calls cannot be read just now: nothing is foretold.")


def _saying(plan: CallPlan, code: str, message: str) -> CallPlan:
    return replace(plan, notices=(*plan.notices, Notice(code, message, "expected_output_tokens")))


def _framing_notices(framing: int) -> Iterator[Notice]:
    if framing:
        message = f"The text is counted bare; as a message it may take {framing} tokens more, which `high` includes."
        yield Notice("framing_not_included", message, "text")


def _answers_notices(answers: int) -> Iterator[Notice]:
    if answers > 1:
        message = f"The request asks for {answers} answers: the cost is that of all of them."
        yield Notice("several_answers", message, "request")


def _most_output(spec: ModelSpec, plan: CallPlan, most_input: int, notices: list[Notice]) -> int | None:
    """The most output the call can bring, with a warning where the caller did not say."""
    if spec.kind == "embedding":
        return 0
    if plan.max_output_tokens is not None:
        if spec.max_output_tokens is not None and plan.max_output_tokens > spec.max_output_tokens:
            message = f"The model answers with at most {spec.max_output_tokens} tokens."
            notices.append(Notice("max_output_above_model", message, "max_output_tokens"))
        return plan.max_output_tokens
    own, window = spec.max_output_tokens, spec.context_window
    left = None if window is None else max(0, window - most_input)
    most = min((limit for limit in (own, left) if limit is not None), default=None)
    if most is None:
        message = "Without max_output_tokens there is no upper bound: no source gives this model's own limit."
        notices.append(Notice("max_output_unknown", message, "max_output_tokens"))
    else:
        what = "the model's own limit" if most == own else "what is left of the context window"
        message = f"Without max_output_tokens {what} is taken: {most} tokens."
        notices.append(Notice("max_output_assumed", message, "max_output_tokens"))
    return most


def _expected_output(spec: ModelSpec, plan: CallPlan, most: int | None) -> int:
    if spec.kind == "embedding":
        return 0
    if plan.expected_output_tokens is not None:
        return plan.expected_output_tokens
    if plan.output_history is not None:
        return plan.output_history.p50 if most is None else min(plan.output_history.p50, most)
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
    if isinstance(price, Free):
        return CostRange("free", Decimal(0), Decimal(0), Decimal(0)), ()
    expected_output, most_output = output
    reads = min(plan.cache.read_tokens, count.tokens)
    likely = cost_of(likely_usage(count, price, plan, expected_output, reads), price)
    low_reads = min(plan.cache.read_tokens, count.low)
    ways = [(0, None), (low_reads, None), (0, plan.cache.write), (low_reads, plan.cache.write)]
    cheapest = [cost_of(_usage(count.low, 0, read, write), price) for read, write in dict.fromkeys(ways)]
    cheapest += [cost_of(usage, price) for usage in _all_media(count.low, 0, 0, price, plan)]
    dearest = _dearest(count, price, framing, most_output, plan)
    for cost in (likely, *cheapest, *dearest):
        if cost.usd is None:
            return CostRange("unknown", None, None, None, missing=cost.missing), cost.notices
    low = min(_dollars((likely, *cheapest)))
    high = max(_dollars((likely, *dearest))) if dearest else None
    notices = [*likely.notices, *_media_notices(price, plan)]
    if high is not None and _is_short_write(price, plan):
        high = None
        message = "No rate of one-hour cache writes is known, so there is no upper bound of the cost."
        notices.append(Notice("cache_write_1h_unpriced", message, "cache.write"))
    return CostRange(likely.status, low, likely.usd, high, likely.components), notices


def _dearest(
    count: Count, price: Price | Free | Unknown, framing: int, output: int | None, plan: CallPlan
) -> list[Cost]:
    """The dear ways to bill: nothing read from the cache, all written where that was asked for, all output thought.

    Where media have a rate of their own, all input may be of the dearest kind.
    """
    if output is None:
        return []
    tokens = count.high + framing
    kinds: dict[CacheWrite | None, None] = dict.fromkeys((None, plan.cache.write))
    usages = [_usage(tokens, output, 0, kind, reasoning=reasoning) for kind in kinds for reasoning in (0, output)]
    usages += [usage for reasoning in (0, output) for usage in _all_media(tokens, output, reasoning, price, plan)]
    return [cost_of(usage, price) for usage in usages]


def _rated(price: Price | Free | Unknown, plan: CallPlan) -> list[str]:
    """The kinds of media that have a rate of their own, dearest first."""
    if not isinstance(price, Price):
        return []
    rates = price.row.rates
    kinds = [kind for kind in plan.media if f"input_{kind}_mtok" in rates]
    return sorted(kinds, key=lambda kind: rates[f"input_{kind}_mtok"].base, reverse=True)


def _all_media(
    tokens: int, output: int, reasoning: int, price: Price | Free | Unknown, plan: CallPlan
) -> Iterator[Usage]:
    """All input as one kind of media, for each that has a rate of its own."""
    for kind in _rated(price, plan):
        yield _with_media(_usage(tokens, output, 0, None, reasoning=reasoning), kind, tokens)


def likely_usage(count: Count, price: Price | Free | Unknown, plan: CallPlan, output: int, reads: int) -> Usage:
    """The count as it stands; its media by the dearest rate of their own, unless the cache has a part in it."""
    usage = _usage(count.tokens, output, reads, plan.cache.write)
    rated = _rated(price, plan)
    if not rated or reads or plan.cache.write:
        return usage
    return _with_media(usage, rated[0], count.breakdown.images)


def _with_media(usage: Usage, kind: str, tokens: int) -> Usage:
    """``usage`` with so many of its input tokens being media of one kind."""
    return replace(
        usage,
        input_audio_tokens=tokens if kind == "audio" else 0,
        input_image_tokens=tokens if kind == "image" else 0,
        input_video_tokens=tokens if kind == "video" else 0,
    )


def _media_notices(price: Price | Free | Unknown, plan: CallPlan) -> Iterator[Notice]:
    unrated = [kind for kind in plan.media if kind in ("audio", "video") and kind not in _rated(price, plan)]
    if unrated and isinstance(price, Price):
        message = f"No rate of its own is known for {' and '.join(unrated)}: the rate of text is taken."
        yield Notice("media_priced_as_text", message, "request")


def _dollars(costs: Sequence[Cost]) -> list[Decimal]:
    return [cost.usd for cost in costs if cost.usd is not None]


def _is_short_write(price: Price | Free | Unknown, plan: CallPlan) -> bool:
    """Whether one-hour writes were asked for and only the cheaper five-minute rate is known."""
    if plan.cache.write != "1h" or not isinstance(price, Price):
        return False
    return "cache_write_mtok" in price.row.rates and "cache_write_1h_mtok" not in price.row.rates


def _usage(tokens: int, output: int, reads: int, write: CacheWrite | None, *, reasoning: int = 0) -> Usage:
    written = tokens - reads if write else 0
    return Usage(
        input_tokens=tokens,
        output_tokens=output,
        cache_read_tokens=reads,
        cache_write_tokens=written,
        cache_write_1h_tokens=written if write == "1h" else 0,
        reasoning_tokens=reasoning,
    )


def _affordable(count: Count, price: Price | Free | Unknown, plan: CallPlan, framing: int) -> Affordable:
    """The tier is chosen by the input alone, so each output token costs the same."""
    limit = plan.max_cost_usd or Decimal(0)
    if isinstance(price, Free):
        return Affordable(limit, None, input_fits=True)
    base = _dearest(count, price, framing, 0, plan)
    one_more = _dearest(count, price, framing, 1, plan)
    if len(_dollars(base)) < len(base) or _is_short_write(price, plan):
        return Affordable(limit, None, input_fits=None)
    left = limit - max(_dollars(base))
    if left < 0:
        return Affordable(limit, 0, input_fits=False)
    if len(_dollars(one_more)) < len(one_more):
        return Affordable(limit, None, input_fits=True)
    each = (max(_dollars(one_more)) - max(_dollars(base))) * plan.answers
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
