"""Any sequence of operations, beside a plain model of the rules: a dict a budget and a dict a hold."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    initialize,
    invariant,
    multiple,
    rule,
    run_state_machine_as_test,
)

from service.domain.errors import DomainError
from service.domain.spending.budgets import BudgetSpec, Scope, ScopeKind, Spender, Terms, Totals, dollars
from service.domain.spending.ledger import Flag, Metered, ReserveRequest, Settlement, UsageRecord
from service.store.ledger import SqlLedger
from tests.service.store.places import START, Place, TestClock, audited

SCOPES = {
    "whole": Scope(),
    "keyed": Scope(ScopeKind.KEY, "k1"),
    "team": Scope(ScopeKind.TAG, "x", "team"),
    "tokens": Scope(ScopeKind.MODEL, "m"),
}
SPENDERS = {
    ("whole",): Spender("p", "k2"),
    ("whole", "keyed"): Spender("p", "k1"),
    ("whole", "keyed", "team"): Spender("p", "k1", tags={"team": "x"}),
    ("whole", "team", "tokens"): Spender("p", None, "v", "m", tags={"team": "x", "unit": "y"}),
}
AMOUNTS = st.integers(0, 6)
TOKENS = st.integers(0, 4)


@dataclass
class Expected:
    """A hold as the model has it."""

    counted: tuple[str, ...]
    nano: int
    tokens: int
    expires: int
    state: str = "held"
    settled: tuple[int, int] | None = None


class Machine(RuleBasedStateMachine):
    """Amounts are nano-dollars; time is seconds since the start."""

    url = ""
    holds = Bundle("holds")

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.folder = tempfile.TemporaryDirectory()
        self.clock = TestClock()
        self.ledger = self.opened()
        self.limits: dict[str, int | None] = {}
        self.spent = dict.fromkeys(SCOPES, 0)
        self.spent_tokens = dict.fromkeys(SCOPES, 0)
        self.expected: dict[str, Expected] = {}
        self.now = 0
        self.booked = 0

    def opened(self) -> SqlLedger:
        ledger = Place(self.url, Path(self.folder.name), self.clock).ledger()
        self.runner.run(ledger.open())
        return ledger

    def do(self, call: Any) -> Any:
        """What the call returned, or the code of the error it raised."""
        try:
            return self.runner.run(_await(call))
        except DomainError as error:
            return error.code

    @initialize(limits=st.lists(st.none() | st.integers(0, 12), min_size=4, max_size=4))
    def make(self, limits: list[int | None]) -> None:
        for (name, scope), limit in zip(SCOPES.items(), limits, strict=True):
            self.limits[name] = limit
            terms = Terms(limit_tokens=limit) if name == "tokens" else Terms(limit_nano=limit)
            self.do(self.ledger.create_budget(BudgetSpec("p", name, terms, scope), by="me"))

    def used(self, name: str) -> int:
        tokens = name == "tokens"
        held = sum(
            one.tokens if tokens else one.nano
            for one in self.expected.values()
            if one.state == "held" and name in one.counted
        )
        return held + (self.spent_tokens if tokens else self.spent)[name]

    def fits(self, name: str, nano: int, tokens: int) -> bool:
        limit = self.limits[name]
        return limit is None or (limit > 0 and self.used(name) + (tokens if name == "tokens" else nano) <= limit)

    @rule(target=holds, counted=st.sampled_from(sorted(SPENDERS)), nano=AMOUNTS, tokens=TOKENS, ttl=st.integers(1, 9))
    def reserve(self, counted: tuple[str, ...], nano: int, tokens: int, ttl: int) -> Any:
        request = ReserveRequest(SPENDERS[counted], dollars(nano), tokens, float(ttl))
        result = self.do(self.ledger.reserve(request))
        if not all(self.fits(name, nano, tokens) for name in counted):
            assert result == "budget_exceeded"
            return multiple()
        self.expected[result.id] = Expected(counted, nano, tokens, self.now + ttl)
        return result.id

    @rule(hold=holds, nano=AMOUNTS, tokens=TOKENS)
    def settle(self, hold: str, nano: int, tokens: int) -> None:
        one = self.expected[hold]
        result = self.do(self.ledger.settle("p", hold, Settlement(dollars(nano), Metered(tokens))))
        if one.settled not in (None, (nano, tokens)):
            assert result == "already_settled"
            return
        if one.settled is None:
            late = one.state != "held" or self.now >= one.expires
            overrun = nano > one.nano or tokens > one.tokens
            assert result.entry.flags == ({Flag.LATE} if late else set()) | ({Flag.OVERRUN} if overrun else set())
            one.settled = (nano, tokens)
            one.state = "settled" if one.state == "held" else one.state
            self.book(one.counted, nano, tokens)
        assert (result.entry.nano, result.hold.state) == (nano, one.state)

    def book(self, counted: tuple[str, ...], nano: int, tokens: int) -> None:
        self.booked += nano
        for name in counted:
            self.spent[name] += nano
            self.spent_tokens[name] += tokens

    @rule(hold=holds)
    def release(self, hold: str) -> None:
        one = self.expected[hold]
        result = self.do(self.ledger.release("p", hold))
        if one.settled is not None:
            assert result == "already_settled"
            return
        one.state = "released" if one.state == "held" else one.state
        assert result.state == one.state

    @rule(hold=holds, ttl=st.integers(1, 9))
    def extend(self, hold: str, ttl: int) -> None:
        one = self.expected[hold]
        result = self.do(self.ledger.extend("p", hold, float(ttl)))
        if one.state != "held" or self.now >= one.expires:
            assert result == "reservation_closed"
            return
        one.expires = self.now + ttl
        assert result.expires_at == START + timedelta(seconds=one.expires)

    @rule(counted=st.sampled_from(sorted(SPENDERS)), nano=AMOUNTS, tokens=TOKENS)
    def record(self, counted: tuple[str, ...], nano: int, tokens: int) -> None:
        record = UsageRecord(SPENDERS[counted], dollars(nano), self.clock(), Metered(tokens))
        self.do(self.ledger.record([record]))
        self.book(counted, nano, tokens)

    @rule(name=st.sampled_from(sorted(SCOPES)), limit=st.none() | st.integers(0, 12))
    def change(self, name: str, limit: int | None) -> None:
        terms = Terms(limit_tokens=limit) if name == "tokens" else Terms(limit_nano=limit)
        self.do(self.ledger.change_budget("p", name, lambda _terms: terms, by="me"))
        self.limits[name] = limit

    @rule(seconds=st.integers(1, 5))
    def pass_time(self, seconds: int) -> None:
        self.now += seconds
        self.clock.pass_(seconds=seconds)

    @rule()
    def expire(self) -> None:
        due = [one for one in self.expected.values() if one.state == "held" and one.expires <= self.now]
        assert self.do(self.ledger.expire()) == len(due)
        for one in due:
            one.state = "expired"

    @rule()
    def restart(self) -> None:
        self.runner.run(self.ledger.close())
        self.ledger = self.opened()

    @invariant()
    def agrees(self) -> None:
        if not self.limits:
            return
        for balance in self.do(self.ledger.budgets("p")).items:
            name = balance.budget.spec.name
            open_holds = [one for one in self.expected.values() if one.state == "held" and name in one.counted]
            held, tokens = sum(one.nano for one in open_holds), sum(one.tokens for one in open_holds)
            assert balance.totals == Totals(self.spent[name], held, self.spent_tokens[name], tokens, len(open_holds))

    def teardown(self) -> None:
        self.runner.run(audited(self.ledger))
        self.runner.run(self.ledger.close())
        self.runner.close()
        self.folder.cleanup()


async def _await(call: Any) -> Any:
    return await call


def run(url: Callable[[], str], examples: int) -> None:
    class OnPlace(Machine):
        def __init__(self) -> None:
            self.url = url()
            super().__init__()

    run_state_machine_as_test(
        OnPlace,
        settings=settings(
            max_examples=examples, stateful_step_count=25, deadline=None, suppress_health_check=list(HealthCheck)
        ),
    )


def test_any_sequence_agrees_with_the_model(place: Place, request: pytest.FixtureRequest) -> None:
    new = request.getfixturevalue("postgres").new_database if place.url else str
    run(new, 8)


@pytest.mark.slow
def test_many_sequences_agree_with_the_model(place: Place, request: pytest.FixtureRequest) -> None:
    new = request.getfixturevalue("postgres").new_database if place.url else str
    run(new, 200)
