"""Whether a call may be made: what it can take of its budgets, and what stands against it. Pure: no clock, no store."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal

from service.domain.errors import DomainError, PriceUnknown
from service.domain.estimate import CostRange, Estimate, summed
from service.domain.spending import ledger
from service.domain.spending.budgets import Balance, Spender, held_nano, shortfalls
from service.domain.spending.errors import InvalidAmount, OutputUnknown, Shortfall, TokensRequired

MOST_ALTERNATIVES = 5


@dataclass(frozen=True, slots=True)
class Limits:
    """What a caller allows a request: dollars for all its calls, input tokens for each. ``None`` is no limit."""

    max_cost_usd: Decimal | None = None
    max_input_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Calls:
    """The calls of one request to one model, estimated. ``framing`` is what one message may add to each."""

    estimates: tuple[Estimate, ...]
    framing: int = 0

    @property
    def cost(self) -> CostRange:
        """The cost of all calls."""
        return self.estimates[0].cost if len(self.estimates) == 1 else summed([item.cost for item in self.estimates])

    @property
    def most_input(self) -> int:
        """The input tokens that the largest call can have."""
        return max((item.count.high for item in self.estimates), default=0) + self.framing


@dataclass(frozen=True, slots=True)
class Demand:
    """What the calls can take at most: ``usd`` dollars, and input and output ``tokens`` together."""

    usd: Decimal
    tokens: int


@dataclass(frozen=True, slots=True)
class Objection:
    """Why a call may not be made: a stable ``code``, a message, and the budget that it does not fit."""

    code: str
    message: str
    budget: str | None = None


@dataclass(frozen=True, slots=True)
class Offer:
    """Another model that could take the calls, and the budgets that would count them."""

    calls: Calls
    balances: Sequence[Balance]


def demand(calls: Calls) -> Demand:
    """What to hold for ``calls``: the high cost, the high input and all the output that they allow.

    Raises ``PriceUnknown``, and ``OutputUnknown`` where nothing bounds the output.
    """
    cost = calls.cost
    if cost.status == "unknown":
        raise PriceUnknown(cost.missing)
    tokens = most_tokens(calls)
    if cost.high is None:
        raise PriceUnknown("cache_write_1h")
    return Demand(cost.high, tokens)


def most_tokens(calls: Calls) -> int:
    """The high input and all the output that ``calls`` allow. Raises ``OutputUnknown``."""
    tokens = 0
    for item in calls.estimates:
        if item.max_output_tokens is None:
            raise OutputUnknown
        output = max(item.max_output_tokens, item.expected_output_tokens) * item.answers
        tokens += item.count.high + calls.framing + output
    return tokens


def expectation(calls: Calls) -> ledger.Estimate:
    """What is expected of ``calls``, as it is kept with what is held for them."""
    inward = sum(item.count.tokens for item in calls.estimates)
    outward = sum(item.expected_output_tokens * item.answers for item in calls.estimates)
    return ledger.Estimate(inward, outward, calls.cost.expected)


def objection(error: DomainError) -> Objection:
    """The objection that ``error`` is."""
    return Objection(error.code, str(error))


def objections(calls: Calls, limits: Limits) -> list[Objection]:
    """What stands against ``calls`` whatever the budgets say. Reaching a limit exactly fits."""
    found = []
    window = next((item.context.window for item in calls.estimates if item.context.fits is False), None)
    if window is not None:
        message = f"Input and output can take more than the model's context window of {window} tokens."
        found.append(Objection("context_exceeded", message))
    most = limits.max_input_tokens
    if most is not None and calls.most_input > most:
        message = f"The input can have {calls.most_input} tokens, which is more than is allowed for it."
        found.append(Objection("input_above_limit", message))
    try:
        wanted = demand(calls)
    except (PriceUnknown, OutputUnknown) as error:
        return [*found, objection(error)]
    if limits.max_cost_usd is not None and wanted.usd > limits.max_cost_usd:
        message = "The call can cost more than is allowed for it: see the estimate's `high`."
        found.append(Objection("cost_above_limit", message))
    return found


def budget_objections(balances: Iterable[Balance], wanted: Demand) -> list[Objection]:
    """The budgets that ``wanted`` does not fit."""
    try:
        return exceeded(shortfalls(balances, held_nano(wanted.usd), wanted.tokens))
    except (TokensRequired, InvalidAmount) as error:
        return [objection(error)]


def exceeded(missing: Sequence[Shortfall]) -> list[Objection]:
    """An objection for each limit that is not kept."""
    units = {"nano_usd": "dollars", "tokens": "tokens"}
    return [
        Objection("budget_exceeded", f"The budget {item.budget} has not enough {units[item.unit]} left.", item.budget)
        for item in missing
    ]


def counting(balances: Iterable[Balance], spender: Spender) -> list[Balance]:
    """Those of ``balances`` whose budgets count calls of ``spender``."""
    selectors = spender.selectors()
    return [each for each in balances if each.budget.spec.scope.selector(each.budget.spec.project) in selectors]


def alternatives(offers: Iterable[Offer], limits: Limits, *, below: Decimal | None) -> list[Offer]:
    """The offers that keep all limits and budgets, cheapest first; with ``below`` those that cost less than that."""
    passing: list[tuple[Decimal, Offer]] = []
    for offer in offers:
        if objections(offer.calls, limits):
            continue
        wanted = demand(offer.calls)
        if (below is None or wanted.usd < below) and not budget_objections(offer.balances, wanted):
            passing.append((wanted.usd, offer))
    return [offer for _, offer in sorted(passing, key=lambda pair: pair[0])][:MOST_ALTERNATIVES]
