"""Calls as the costed routes plan them: what was sent, counted for one model, its price, and how it will be made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from adapters.port import Stop
from service.api.pricing.foreseeing import asks_past_calls, foreseen
from service.api.pricing.schemas import (
    CompareRequest,
    Costed,
    CostedInput,
    EstimateRequest,
    ForeseenInput,
    PlannedInput,
)
from service.api.pricing.wire import moment
from service.api.services import Services
from service.api.weighing.weighed import Weighed
from service.domain.catalog import Resolution
from service.domain.counting import Count
from service.domain.estimate import CacheUse, CallPlan, estimate
from service.domain.framing import message_framing
from service.domain.prices import Free, Price, PriceContext, Unknown
from service.domain.spending.admission import Calls

FEW = 100
"""Estimates that take no time to speak of."""


@dataclass(frozen=True, slots=True)
class Planned:
    """Counted calls to one model, and all that an estimate of them needs."""

    found: Resolution
    price: Price | Free | Unknown
    context: PriceContext
    counts: Sequence[Count]
    plans: Sequence[CallPlan]
    framing: int

    def calls(self, counts: Sequence[Count] | None = None, plans: Sequence[CallPlan] | None = None) -> Calls:
        """The calls, estimated; from other ``counts`` and ``plans`` where past calls, or a vendor, know better.

        Raises ``InconsistentUsage``.
        """
        pairs = zip(self.counts if counts is None else counts, self.plans if plans is None else plans, strict=True)
        estimates = (estimate(count, self.found.model, self.price, plan, framing=self.framing) for count, plan in pairs)
        return Calls(tuple(estimates), self.framing)


def planned(services: Services, weighed: Weighed, found: Resolution, plan: CallPlan, stop: Stop | None) -> Planned:
    """Count ``weighed`` for the model ``found``, priced as ``plan`` says. Raises ``NoTokenizer``, ``ApiError``."""
    price = services.pricer.price(found, plan.at, plan.context)
    counts = weighed.counts(services, found, plan.at, stop)
    framing = 0 if weighed.requests else message_framing(services.framings, found.model)
    return Planned(found, price, plan.context, counts, weighed.plans(plan), framing)


async def estimated(services: Services, project: str, given: ForeseenInput, call: Planned) -> Calls:
    """The calls, estimated with what past calls of ``project`` say where that is asked for. Raises as ``calls``."""
    counts, plans = call.counts, call.plans
    if asks_past_calls(given):
        counts, plans = await foreseen(services, project, given, call.found, (counts, plans))
    if len(counts) > FEW:
        calls = await services.pool.run(lambda _stop: call.calls(counts, plans))
    else:
        calls = call.calls(counts, plans)
    if calls.cost.status == "unknown":
        services.metrics.unknown_prices.inc()
    return calls


def plan_of(services: Services, request: PlannedInput | CompareRequest) -> CallPlan:
    """How the calls of ``request`` will be made. Raises ``ApiError`` for a time without an offset."""
    expected = request.expected_output_tokens if isinstance(request.expected_output_tokens, int) else None
    if isinstance(request, CompareRequest) and expected is None and request.max_output_tokens is None:
        expected = 0  # what models may answer at most says nothing about the text
    cache = request.cache if isinstance(request, PlannedInput) else None
    return CallPlan(
        at=moment(request.at, services.now()),
        context=context_of(request),
        max_output_tokens=request.max_output_tokens,
        expected_output_tokens=expected,
        cache=CacheUse(cache.read_tokens, cache.write) if cache else CacheUse(),
        max_cost_usd=request.max_cost_usd if isinstance(request, EstimateRequest) else None,
    )


def context_of(request: Costed | CostedInput) -> PriceContext:
    """What of a request a price depends on."""
    return PriceContext(request.service_tier, request.region)
