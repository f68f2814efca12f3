"""Budgets between their wire form and the domain's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime

from msgspec import UNSET

from service.api.budgets.schemas import (
    BudgetAnswer,
    BudgetChange,
    BudgetChangeRow,
    BudgetChanges,
    BudgetList,
    BudgetRequest,
    BudgetScope,
)
from service.api.errors import ApiError
from service.api.holding.booked import booked_name
from service.api.services import Services
from service.domain.money import canonical
from service.domain.spending.budgets import (
    FOREVER,
    Balance,
    BudgetSpec,
    PeriodKind,
    Scope,
    ScopeKind,
    Terms,
    dollars,
    limit_nano,
)
from service.domain.spending.errors import InvalidBudget
from service.domain.spending.ledger import BudgetVersion, Page

CHANGEABLE = ("limit_usd", "limit_tokens", "warn_at", "export")


def spec_of(services: Services, project: str, given: BudgetRequest) -> BudgetSpec:
    """The budget that is asked for. Raises ``InvalidBudget``, and ``UnknownModel`` for a scope's model."""
    terms = Terms(
        None if given.limit_usd is None else limit_nano(given.limit_usd),
        given.limit_tokens,
        given.warn_at,
        given.export,
    )
    scope = Scope(ScopeKind(given.scope.kind), given.scope.value, given.scope.key)
    if scope.kind is ScopeKind.MODEL:
        scope = replace(scope, value=_model(services, scope.value or ""))
    return BudgetSpec(project, given.name, terms, scope, PeriodKind(given.period), given.timezone)


def change_of(given: BudgetChange) -> Callable[[Terms], Terms]:
    """What makes the new terms of the old ones. Raises ``ApiError`` where nothing is to be changed."""
    if all(getattr(given, name) is UNSET for name in CHANGEABLE):
        raise ApiError(422, "invalid_request", f"Give at least one of {', '.join(CHANGEABLE)}.")
    limit = given.limit_usd
    nano = limit if limit is None or limit is UNSET else limit_nano(limit)

    def change(terms: Terms) -> Terms:
        return Terms(
            terms.limit_nano if nano is UNSET else nano,
            terms.limit_tokens if given.limit_tokens is UNSET else given.limit_tokens,
            terms.warn_at if given.warn_at is UNSET else given.warn_at,
            terms.export if given.export is UNSET else given.export,
        )

    change(Terms())  # what cannot be is refused before the ledger is asked
    return change


def wire_budget(balance: Balance, now: datetime) -> BudgetAnswer:
    """A budget in its present period."""
    budget, totals, terms = balance.budget, balance.totals, balance.budget.spec.terms
    period = None if balance.period == FOREVER else balance.period
    scope = budget.spec.scope
    return BudgetAnswer(
        name=budget.spec.name,
        project=budget.spec.project,
        limit_usd=usd(terms.limit_nano),
        spent_usd=canonical(dollars(totals.spent_nano)),
        held_usd=canonical(dollars(totals.held_nano)),
        remaining_usd=usd(balance.remaining_nano),
        limit_tokens=terms.limit_tokens,
        spent_tokens=totals.spent_tokens,
        held_tokens=totals.held_tokens,
        remaining_tokens=balance.remaining_tokens,
        open_holds=totals.open_holds,
        period=budget.spec.period.value,
        period_start=period.start if period else None,
        period_end=period.end if period else None,
        timezone=budget.spec.timezone,
        scope=BudgetScope(scope.kind.value, scope.key, scope.value),
        warn_at=None if terms.warn_at is None else float(terms.warn_at),
        warned=balance.warned,
        export=terms.export,
        burn_rate_usd_per_day=canonical(dollars(balance.burn_nano_per_day(now))),
        forecast_usd=usd(balance.forecast_nano(now)),
        created_at=budget.created_at,
        changed_at=budget.changed_at,
        version=budget.version,
    )


def wire_budgets(page: Page[Balance], now: datetime) -> BudgetList:
    """A page of budgets."""
    return BudgetList([wire_budget(balance, now) for balance in page.items], page.cursor)


def wire_changes(versions: Sequence[BudgetVersion]) -> BudgetChanges:
    """How a budget came to its terms."""
    return BudgetChanges(
        [
            BudgetChangeRow(
                version=each.version,
                at=each.at,
                by=each.by,
                limit_usd=usd(each.terms.limit_nano),
                limit_tokens=each.terms.limit_tokens,
                warn_at=None if each.terms.warn_at is None else float(each.terms.warn_at),
                export=each.terms.export,
            )
            for each in versions
            if each.terms is not None
        ]
    )


def usd(nano: int | None) -> str | None:
    """Nano-dollars as exact dollars; ``None`` stays so."""
    return None if nano is None else canonical(dollars(nano))


def _model(services: Services, given: str) -> str:
    """The name that calls of a model are booked under: a budget of another name would count nothing, in silence."""
    found = services.find(given, None)
    booked = booked_name(found, given)
    if booked is None:
        detail = f"Calls of a fine-tune are booked as {found.model.id}, together with that model's: name it."
        raise InvalidBudget("scope.value", detail)
    return booked
