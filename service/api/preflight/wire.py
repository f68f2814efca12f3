"""What a preflight found, in its wire form."""

from __future__ import annotations

from service.api.holding.wire import wire_hold
from service.api.preflight.schemas import Alternative, BudgetLeft, PreflightAnswer, Reason
from service.api.preflight.work import Preflight
from service.api.pricing.schemas import EstimateAnswer, EstimateBatchAnswer
from service.api.pricing.wire import instant, wire_batch, wire_estimate
from service.domain.catalog import Accuracy
from service.domain.errors import PriceUnknown
from service.domain.money import canonical
from service.domain.spending.admission import Demand, Offer, budget_objections, demand
from service.domain.spending.budgets import Balance, dollars
from service.domain.spending.errors import OutputUnknown
from service.domain.spending.ledger import Hold


def wire_preflight(seen: Preflight, hold: Hold | None) -> PreflightAnswer:
    """Whether the call may be made, why not, and the reservation that was made for it."""
    wanted = _demand(seen)
    return PreflightAnswer(
        allowed=not seen.reasons,
        reasons=[Reason(item.code, item.message, item.budget) for item in seen.reasons],
        estimate=_estimate(seen),
        budgets=[_budget(balance, wanted) for balance in seen.balances],
        reservation=None if hold is None else wire_hold(hold),
        alternatives=[_alternative(offer) for offer in seen.alternatives],
        warnings=seen.notices,
    )


def _demand(seen: Preflight) -> Demand | None:
    try:
        return None if seen.calls is None else demand(seen.calls)
    except (PriceUnknown, OutputUnknown):
        return None


def _estimate(seen: Preflight) -> EstimateAnswer | EstimateBatchAnswer | None:
    if seen.calls is None:
        return None
    estimates = seen.calls.estimates
    return wire_estimate(estimates[0]) if seen.weighed.single else wire_batch(estimates)


def _budget(balance: Balance, wanted: Demand | None) -> BudgetLeft:
    spec = balance.budget.spec
    return BudgetLeft(
        name=spec.name,
        limit_usd=_dollars(spec.terms.limit_nano),
        remaining_usd=_dollars(balance.remaining_nano),
        limit_tokens=spec.terms.limit_tokens,
        remaining_tokens=balance.remaining_tokens,
        period_end=instant(balance.period.end),
        fits=None if wanted is None else not budget_objections([balance], wanted),
    )


def _alternative(offer: Offer) -> Alternative:
    counts = [item.count for item in offer.calls.estimates]
    cost = offer.calls.cost
    return Alternative(
        model=counts[0].model or "",
        provider=counts[0].provider or "",
        accuracy=Accuracy.worst(Accuracy(count.accuracy) for count in counts).value,
        input_tokens=sum(count.tokens for count in counts),
        cost_usd=canonical(demand(offer.calls).usd),
        expected_usd=None if cost.expected is None else canonical(cost.expected),
    )


def _dollars(nano: int | None) -> str | None:
    return None if nano is None else canonical(dollars(nano))
