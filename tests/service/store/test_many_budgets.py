"""How many budgets may count the same calls."""

from __future__ import annotations

from dataclasses import replace

import pytest

from service.domain.spending.budgets import Scope, ScopeKind
from service.domain.spending.errors import BudgetExists, InvalidBudget
from service.store.ledger import SqlLedger
from tests.service.store.places import Place, budget


def test_not_ever_more_budgets_count_the_same_calls(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("service.store.changes.MOST_ALIKE", 3)
    tag = {"scope": Scope(ScopeKind.TAG, "x", "team")}

    async def work(ledger: SqlLedger) -> None:
        for more in ({}, tag):
            for number in range(3):
                await ledger.create_budget(budget(f"b{number}-{len(more)}", **more), by="me")
            with pytest.raises(InvalidBudget) as refused:
                await ledger.create_budget(budget("another", **more), by="me")
            assert refused.value.field == "scope"
        with pytest.raises(BudgetExists):
            await ledger.create_budget(budget("b0-0"), by="me")
        await ledger.delete_budget("p", "b0-0", by="me")
        await ledger.create_budget(budget("another"), by="me")
        await ledger.create_budget(replace(budget("another"), project="q"), by="me")

    place.run(work)
