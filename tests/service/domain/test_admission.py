"""What calls can take of a budget, what stands against them, and which other models pass."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal

import pytest

from service.domain.counting import Breakdown, Count, TokenizerInfo
from service.domain.errors import PriceUnknown
from service.domain.estimate import ContextFit, CostRange, Estimate
from service.domain.prices import Unknown
from service.domain.spending.admission import (
    Calls,
    Demand,
    Limits,
    Offer,
    alternatives,
    budget_objections,
    counting,
    demand,
    expectation,
    objections,
)
from service.domain.spending.budgets import (
    FOREVER,
    Balance,
    Budget,
    BudgetSpec,
    Scope,
    ScopeKind,
    Spender,
    Terms,
    Totals,
)
from service.domain.spending.errors import OutputUnknown

NOW = datetime(2026, 11, 20, tzinfo=UTC)


def _call(high: str | None = "1", *, tokens: int = 10, output: int | None = 5, fits: bool | None = True) -> Estimate:
    info = TokenizerInfo("words", "tiktoken", "native", "")
    count = Count(
        "m", "maker", "exact", info, tokens, tokens, tokens + 2, "close", (), 1, 1, 1.0, 1.0, Breakdown(tokens), ()
    )
    cost = CostRange("unknown", None, None, None, missing="rates")
    if high is not None:
        cost = CostRange("priced", Decimal(0), Decimal("0.5"), Decimal(high))
    return Estimate(count, output, output or 0, ContextFit(100, fits, 1), cost, Unknown("", ""), None, None, None, ())


def _balance(left: str | None, tokens: int | None = None, scope: Scope | None = None, name: str = "b") -> Balance:
    terms = Terms(None if left is None else int(Decimal(left) * 10**9), tokens)
    return Balance(Budget(1, BudgetSpec("p", name, terms, scope or Scope()), 1, NOW, NOW), FOREVER, Totals())


def test_what_is_held_is_the_high_cost_and_all_tokens() -> None:
    calls = Calls((_call("1"), _call("0.25", tokens=3, output=0)), framing=4)
    assert demand(calls) == Demand(Decimal("1.25"), (12 + 4 + 5) + (5 + 4 + 0))
    assert calls.most_input == 16
    expected = expectation(calls)
    assert (expected.input_tokens, expected.output_tokens, expected.usd) == (13, 5, Decimal("1.0"))


def test_without_a_price_or_a_bound_there_is_nothing_to_hold() -> None:
    with pytest.raises(PriceUnknown) as caught:
        demand(Calls((_call(), _call(None))))
    assert caught.value.missing == "rates"
    with pytest.raises(OutputUnknown):
        demand(Calls((_call(output=None),)))
    unbounded = replace(_call(), cost=CostRange("priced", Decimal(0), Decimal(1), None))
    with pytest.raises(PriceUnknown):
        demand(Calls((unbounded,)))


@pytest.mark.parametrize(
    ("limits", "codes"),
    [
        (Limits(), []),
        (Limits(Decimal(1), 12), []),
        (Limits(Decimal("0.999999999999")), ["cost_above_limit"]),
        (Limits(None, 11), ["input_above_limit"]),
    ],
)
def test_reaching_a_limit_fits(limits: Limits, codes: list[str]) -> None:
    assert [item.code for item in objections(Calls((_call("1"),)), limits)] == codes


def test_each_call_has_to_fit_the_context_window() -> None:
    assert [item.code for item in objections(Calls((_call(), _call(fits=False))), Limits())] == ["context_exceeded"]
    assert objections(Calls((_call(fits=None),)), Limits()) == []


def test_what_a_budget_lacks_is_said_for_each_limit() -> None:
    found = budget_objections([_balance("1", 20, name="both"), _balance(None)], Demand(Decimal("1.000000001"), 21))
    assert [(item.code, item.budget) for item in found] == [("budget_exceeded", "both")] * 2
    assert budget_objections([_balance("1", 20)], Demand(Decimal(1), 20)) == []
    assert [item.code for item in budget_objections([], Demand(Decimal("1e7"), 1))] == ["invalid_amount"]


def test_budgets_count_calls_by_their_scope() -> None:
    scoped = [_balance("1", scope=Scope(ScopeKind.MODEL, "m")), _balance("2", scope=Scope(ScopeKind.KEY, "k"))]
    assert counting(scoped, Spender("p", None, "maker", "m")) == scoped[:1]
    assert counting(scoped, Spender("q", "k", "maker", "m")) == []


def test_the_cheapest_five_that_pass_are_named() -> None:
    offers = [Offer(Calls((_call(str(usd)),)), [_balance("6")]) for usd in (8, 7, 6, 5, 4, 3, 2, 1)]
    offers += [Offer(Calls((_call(None),)), []), Offer(Calls((_call("0.1", fits=False),)), [])]
    assert [demand(offer.calls).usd for offer in alternatives(offers, Limits(), below=None)] == [1, 2, 3, 4, 5]
    assert [demand(offer.calls).usd for offer in alternatives(offers, Limits(), below=Decimal(3))] == [1, 2]
    assert alternatives(offers, Limits(max_input_tokens=11), below=None) == []
