"""Budgets made, changed and deleted; every change is kept with who made it and when."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from sqlalchemy import Connection, func, insert, select, update

from service.domain.spending.budgets import Balance, Budget, BudgetSpec, Terms, Totals
from service.domain.spending.errors import BudgetExists, BudgetHasHolds, InvalidBudget, UnknownBudget
from service.domain.spending.ledger import Once
from service.store.crossings import mark_budget
from service.store.rows import Charge, micros, moment, terms_values
from service.store.tables import BUDGET_PERIODS, BUDGET_VERSIONS, BUDGETS
from service.store.working import Needs, Working

MOST_ALIKE = 1_000
"""Budgets with the same scope: a reservation of so many takes a tenth of a second of the thread that writes for all."""


@dataclass(frozen=True, slots=True)
class CreateBudget:
    """A new budget, which counts from now."""

    alone: ClassVar[bool] = True
    spec: BudgetSpec
    by: str
    once: Once | None = None

    def needs(self) -> Needs:
        return Needs(names=frozenset({(self.spec.project, self.spec.name)}))

    def charges(self, working: Working) -> Iterable[Charge]:
        del working
        return ()

    def apply(self, working: Working) -> Balance:
        if working.knows(self.spec.project, self.spec.name):
            raise BudgetExists
        self._require_few(working.connection)
        spec, now = self.spec, micros(working.now)
        values = {
            "project": spec.project,
            "name": spec.name,
            "scope_kind": spec.scope.kind.value,
            "scope_value": spec.scope.value,
            "scope_key": spec.scope.key,
            "selector": spec.scope.selector(spec.project),
            "period": spec.period.value,
            "timezone": spec.timezone,
            "version": 1,
            "created_at": now,
            "changed_at": now,
            **terms_values(spec.terms),
        }
        number = working.connection.execute(insert(BUDGETS).values(values).returning(BUDGETS.c.id)).scalar_one()
        budget = Budget(number, spec, 1, moment(now), moment(now))
        _keep_version(working, budget, self.by)
        return Balance(budget, budget.period_at(working.now), Totals())

    def _require_few(self, connection: Connection) -> None:
        """Raise ``InvalidBudget`` where enough budgets count the same calls: each call reads and writes all of them."""
        mine = BUDGETS.c.selector == self.spec.scope.selector(self.spec.project)
        alike = select(func.count()).select_from(BUDGETS).where(mine, BUDGETS.c.deleted_at.is_(None))
        if connection.execute(alike).scalar_one() >= MOST_ALIKE:
            problem = f"{MOST_ALIKE:,} budgets count these calls already: delete some, or give this one another scope."
            raise InvalidBudget("scope", problem)


@dataclass(frozen=True, slots=True)
class ChangeBudget:
    """New terms for a budget, made of those it has."""

    alone: ClassVar[bool] = True
    project: str
    name: str
    change: Callable[[Terms], Terms]
    by: str
    once: Once | None = None

    def needs(self) -> Needs:
        return Needs(names=frozenset({(self.project, self.name)}))

    def charges(self, working: Working) -> Iterable[Charge]:
        if not working.knows(self.project, self.name):
            return ()
        budget = working.named(self.project, self.name)
        return ((budget.id, micros(budget.period_at(working.now).start)),)

    def apply(self, working: Working) -> Balance:
        budget = working.named(self.project, self.name)
        terms = self.change(budget.spec.terms)
        changed = replace(
            budget, spec=replace(budget.spec, terms=terms), version=budget.version + 1, changed_at=working.now
        )
        _write(working, changed, terms_values(terms))
        _keep_version(working, changed, self.by)
        period = changed.period_at(working.now)
        mark_budget(working.connection, (budget.id, micros(period.start)), working.now)
        return working.balance(changed, period)


@dataclass(frozen=True, slots=True)
class DeleteBudget:
    """Delete a budget of which nothing is held. Its row and its changes stay, under a name that is free again."""

    alone: ClassVar[bool] = True
    project: str
    name: str
    by: str
    once: Once | None = None

    def needs(self) -> Needs:
        return Needs(names=frozenset({(self.project, self.name)}))

    def charges(self, working: Working) -> Iterable[Charge]:
        del working
        return ()

    def apply(self, working: Working) -> None:
        budget = working.named(self.project, self.name)
        query = select(func.coalesce(func.sum(BUDGET_PERIODS.c.open_holds), 0))
        open_holds = working.connection.execute(query.where(BUDGET_PERIODS.c.budget_id == budget.id)).scalar_one()
        if open_holds:
            raise BudgetHasHolds(int(open_holds))
        deleted = replace(budget, version=budget.version + 1, changed_at=working.now)
        _write(working, deleted, {"deleted_at": micros(working.now)})
        _keep_version(working, deleted, self.by, deleted=True)


def require_known(connection: Connection, project: str, name: str) -> int:
    """The id of a budget. Raises ``UnknownBudget``."""
    mine = (BUDGETS.c.project == project, BUDGETS.c.name == name, BUDGETS.c.deleted_at.is_(None))
    number: int | None = connection.execute(select(BUDGETS.c.id).where(*mine)).scalar_one_or_none()
    if number is None:
        raise UnknownBudget
    return number


def _write(working: Working, budget: Budget, values: dict[str, Any]) -> None:
    values = {**values, "version": budget.version, "changed_at": micros(working.now)}
    working.connection.execute(update(BUDGETS).where(BUDGETS.c.id == budget.id).values(values))


def _keep_version(working: Working, budget: Budget, by: str, *, deleted: bool = False) -> None:
    values = {
        "budget_id": budget.id,
        "version": budget.version,
        "deleted": deleted,
        "at": micros(working.now),
        "by": by,
        **terms_values(budget.spec.terms),
    }
    working.connection.execute(insert(BUDGET_VERSIONS).values(values))
