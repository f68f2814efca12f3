"""Preflight: whether a call may be made, what stands against it, and what could be called in its place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal

from adapters.port import DeadlineExceeded, Stop, TokenizerError
from service.api.decoding import decode
from service.api.errors import ApiError
from service.api.holding.reserving import (
    Attempt,
    note_refusal,
    refuse_limit,
    refuse_time,
    reserve_request,
    tokenizer_of,
)
from service.api.holding.wire import checked_tags
from service.api.preflight.schemas import PreflightRequest
from service.api.pricing.planning import Planned, estimated, plan_of, planned
from service.api.pricing.wire import bounded
from service.api.services import Services, worked
from service.api.weighing.requests import model_of, record
from service.api.weighing.weighed import Weighed, weighed_of
from service.domain.errors import InconsistentUsage, InexactCount, NoTokenizer, UnknownModel
from service.domain.estimate import CallPlan
from service.domain.keys.access import KeyScope
from service.domain.notices import Notice
from service.domain.spending.admission import (
    Calls,
    Limits,
    Objection,
    Offer,
    alternatives,
    budget_objections,
    counting,
    demand,
    exceeded,
    objection,
    objections,
)
from service.domain.spending.budgets import Balance, Spender
from service.domain.spending.errors import BudgetExceeded, InvalidAmount, TokensRequired
from service.domain.spending.ledger import Hold, Once

_DEARER = 16  # a byte that is counted for a dozen models more
_NOT_COUNTED = (NoTokenizer, InexactCount, InconsistentUsage, TokenizerError, ApiError)


@dataclass(slots=True)
class Preflight:
    """What was asked, and all that was found out about it."""

    attempt: Attempt
    given: PreflightRequest
    weighed: Weighed
    call: Planned | None = None
    calls: Calls | None = None
    reasons: list[Objection] = field(default_factory=list)
    balances: Sequence[Balance] = ()
    alternatives: Sequence[Offer] = ()
    notices: list[Notice] = field(default_factory=list)

    @property
    def limits(self) -> Limits:
        """The limits of the request."""
        limits = self.given.limits
        dollars = [each for each in (limits.max_cost_usd, self.given.max_cost_usd) if each is not None]
        return Limits(min(dollars, default=None), limits.max_input_tokens)

    def plan(self, services: Services) -> CallPlan:
        """How the call will be made. Raises ``ApiError`` for a time without an offset."""
        return replace(plan_of(services, self.given), max_cost_usd=self.given.max_cost_usd)

    @property
    def spender(self) -> Spender:
        """Who would spend, as far as the model is known."""
        call = self.call
        found, tokenizer = (None, None) if call is None else (call.found, tokenizer_of(call))
        return self.attempt.spender(found, tokenizer, self.given.tags)


async def look(services: Services, attempt: Attempt, body: bytes) -> Preflight:
    """What ``POST /v1/preflight`` asks, with what stands against it but the budgets. Raises ``ApiError``."""
    seen = await worked(services, lambda stop: _look(services, attempt, body, stop), body)
    if seen.call is not None:
        seen.calls = await estimated(services, attempt.project, seen.given, seen.call)
        seen.reasons += objections(seen.calls, seen.limits)
    seen.balances = await _balances(services, seen)
    return seen


async def decide(services: Services, seen: Preflight, body: bytes, once: Once | None) -> Hold | None:
    """Judge the call by its budgets, look for alternatives, and hold what it takes where that is asked for.

    Raises ``ApiError``, and as ``Ledger.reserve`` but for refusals, which are reasons.
    """
    given, listed = seen.given, seen.given.alternatives is not None
    wanted = None if seen.calls is None or seen.reasons else demand(seen.calls)
    if wanted is not None and not given.reserve:
        seen.reasons += budget_objections(seen.balances, wanted)
    if wanted is not None and given.reserve:
        if listed:
            seen.alternatives = await _alternatives(services, seen, body, wanted.usd)
        hold = await _hold(services, seen, once)
        if hold is not None:
            return hold
    if seen.reasons:
        if given.reserve:
            note_refusal(services, seen.attempt, seen.reasons[0].code, seen.reasons[0].budget)
        seen.alternatives = await _alternatives(services, seen, body, None)
    elif listed and wanted is not None:
        seen.alternatives = await _alternatives(services, seen, body, wanted.usd)
    return None


def _look(services: Services, attempt: Attempt, body: bytes, stop: Stop | None) -> Preflight:
    given = decode(body, PreflightRequest)
    refuse_limit(given)
    if given.reserve:
        refuse_time(given)
        if not attempt.caller.may(KeyScope.SPEND_WRITE):
            detail = "To hold what a call takes the key needs the scope `spend:write`; without `reserve` it does not."
            raise ApiError(403, "scope_missing", detail)
    checked_tags(given.tags)
    if given.limits.max_cost_usd is not None:
        bounded(given.limits.max_cost_usd, "limits.max_cost_usd")
    if given.max_cost_usd is not None:
        bounded(given.max_cost_usd, "max_cost_usd")
    seen = Preflight(attempt, given, weighed_of(services, given))
    name, plan = model_of(given.model, seen.weighed.requests), seen.plan(services)
    try:
        found = services.find(name, given.provider)
        attempt.model = found.model.id
        seen.call = planned(services, seen.weighed, found, plan, stop)
    except (UnknownModel, NoTokenizer) as error:
        seen.reasons.append(objection(error))
    else:
        record(services, seen.call.counts)
    return seen


async def _balances(services: Services, seen: Preflight) -> Sequence[Balance]:
    """The budgets that count the call; with ``budget`` that one. Raises ``UnknownBudget``."""
    if seen.given.budget is not None:
        return [await services.ledger.budget(seen.attempt.project, seen.given.budget)]
    return await services.ledger.balances(seen.spender)


async def _hold(services: Services, seen: Preflight, once: Once | None) -> Hold | None:
    """The reservation, or ``None`` and the reasons against it. The ledger decides, whatever the balances were."""
    call, calls = seen.call, seen.calls
    if call is None or calls is None:
        return None
    try:
        asked = reserve_request(seen.attempt, seen.given, call, calls)
        return services.recent_holds.note(await services.ledger.reserve(asked, once=once))
    except BudgetExceeded as error:
        seen.reasons += exceeded(error.shortfalls)
    except (TokensRequired, InvalidAmount) as error:
        seen.reasons.append(objection(error))
    return None


async def _alternatives(services: Services, seen: Preflight, body: bytes, below: Decimal | None) -> Sequence[Offer]:
    """Other models that the call could be made to. Where there is no time to count for them, a warning says so."""
    try:
        counted = await worked(services, lambda stop: _counted(services, seen, stop), body, weight=_DEARER)
    except (DeadlineExceeded, ApiError):
        message = "There was no time to count for other models."
        seen.notices.append(Notice("alternatives_omitted", message, "alternatives"))
        return ()
    if not counted:
        return ()
    spenders = [seen.attempt.spender(call.found, tokenizer_of(call), seen.given.tags) for call, _ in counted]
    named = seen.given.budget is not None
    balances = seen.balances if named else await services.ledger.balances(*spenders)
    offers = [
        Offer(calls, balances if named else counting(balances, spender))
        for (_, calls), spender in zip(counted, spenders, strict=True)
    ]
    return alternatives(offers, seen.limits, below=below)


def _counted(services: Services, seen: Preflight, stop: Stop | None) -> list[tuple[Planned, Calls]]:
    """The call as each of the other models would take it; those that cannot take it are left out."""
    plan = seen.plan(services)
    asked = None if seen.call is None else (seen.call.found.provider, seen.call.found.model)
    names = seen.given.alternatives
    counted: dict[tuple[str, str], tuple[Planned, Calls]] = {}
    for index, name in enumerate(services.compared if names is None else names):
        try:
            found = services.weigher.catalog.find(name)
            if (found.provider, found.model) == asked:
                continue
            call = planned(services, seen.weighed, found, plan, stop)
            if call.counts:
                counted.setdefault((found.provider, found.model.id), (call, call.calls()))
        except UnknownModel as error:
            if names is not None:
                seen.notices.append(Notice(error.code, str(error), f"alternatives[{index}]"))
        except DeadlineExceeded:
            raise
        except _NOT_COUNTED:
            continue
    return list(counted.values())
