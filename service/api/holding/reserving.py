"""Reservations: from what is about to be sent to what is held for it, and what is said where nothing can be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal

from adapters.port import Stop
from service.api.decoding import decode
from service.api.errors import ApiError, refused
from service.api.holding.schemas import HeldInput, ReservationRequest
from service.api.holding.wire import checked_tags
from service.api.pricing.planning import Planned, context_of, estimated, plan_of, planned
from service.api.pricing.schemas import PlannedInput
from service.api.pricing.wire import bounded
from service.api.services import Services, worked
from service.api.weighing.requests import model_of, record
from service.api.weighing.weighed import weighed_of
from service.domain.catalog import Resolution
from service.domain.errors import NoTokenizer, PriceUnknown, UnknownModel
from service.domain.keys.access import Caller
from service.domain.notices import Notice
from service.domain.pricemark import price_mark
from service.domain.prices import Free
from service.domain.spending.admission import Calls, demand, expectation, most_tokens
from service.domain.spending.budgets import Spender
from service.domain.spending.errors import BudgetExceeded, InvalidAmount, OutputUnknown, TokensRequired
from service.domain.spending.ledger import Hold, Once, Refusal, ReserveRequest

REASONS = (UnknownModel, NoTokenizer, PriceUnknown, OutputUnknown, BudgetExceeded)
"""Why a well-formed request may be refused: 402, never a status that a vendor's SDK tries again."""

_SENT = ("text", "texts", "messages", "request")


@dataclass(slots=True)
class Attempt:
    """One request to spend: whose it is, and what was found out about it on the way, refused or not."""

    project: str
    caller: Caller
    model: str | None = None
    notices: list[Notice] = field(default_factory=list)

    def spender(self, found: Resolution | None, tokenizer: str | None, tags: Mapping[str, str]) -> Spender:
        """Who spends, on what."""
        if found is None:
            return Spender(self.project, self.caller.key_id, tags=tags)
        model = found.model
        return Spender(self.project, self.caller.key_id, found.provider, model.id, tokenizer, tags)

    def warn(self, calls: Calls) -> None:
        """Take up what the estimates say beside their numbers."""
        for item in calls.estimates:
            self.notices += (*item.count.warnings, *item.notices)


async def reserve(services: Services, attempt: Attempt, body: bytes, once: Once | None) -> Hold:
    """Hold what ``POST /v1/reservations`` asks for. Every refusal is noted.

    Raises ``ApiError`` (402 for a refusal), and as ``Ledger.reserve``.
    """
    try:
        given, call = await worked(services, lambda stop: _weighed(services, attempt, body, stop), body)
        if call is None:
            asked = _amount_alone(services, attempt, given)
        else:
            calls = await estimated(services, attempt.project, given, call)
            attempt.warn(calls)
            asked = reserve_request(attempt, given, call, calls, usd=given.amount_usd, tokens=given.tokens)
        return services.recent_holds.note(await services.ledger.reserve(asked, once=once))
    except (*REASONS, TokensRequired) as error:
        missing = error.shortfalls if isinstance(error, BudgetExceeded) else ()
        note_refusal(services, attempt, error.code, missing[0].budget if missing else None)
        if isinstance(error, REASONS):
            raise refused(error) from None
        raise


def note_refusal(services: Services, attempt: Attempt, code: str, budget: str | None) -> None:
    """Keep that a call was refused: the reason, the first budget that it does not fit, the model's id."""
    services.ledger.refused(Refusal(attempt.project, code, budget, attempt.model))


def refuse_time(given: PlannedInput) -> None:
    """Raise ``ApiError`` for a time of the call: a reservation is made now."""
    if given.at is not None:
        detail = "What is held is priced at the time it is made: leave `at` out."
        raise ApiError(422, "invalid_request", detail, path="at")


def refuse_limit(given: PlannedInput) -> None:
    """Raise ``ApiError`` for a ``limit``, which only a count has."""
    if given.limit is not None:
        detail = "`limit` is of /v1/count. /v1/preflight takes `limits.max_input_tokens`."
        raise ApiError(422, "invalid_request", detail, path="limit")


def _weighed(
    services: Services, attempt: Attempt, body: bytes, stop: Stop | None
) -> tuple[ReservationRequest, Planned | None]:
    """What was asked for, and what was sent, counted; ``None`` for an amount alone."""
    given = decode(body, ReservationRequest)
    refuse_time(given)
    refuse_limit(given)
    checked_tags(given.tags)
    if given.amount_usd is not None:
        bounded(given.amount_usd, "amount_usd")
    if all(getattr(given, name) is None for name in _SENT):
        return given, None
    weighed = weighed_of(services, given)
    found = services.find(model_of(given.model, weighed.requests), given.provider)
    attempt.model = found.model.id
    call = planned(services, weighed, found, plan_of(services, given), stop)
    record(services, call.counts)
    return given, call


def reserve_request(
    attempt: Attempt,
    given: HeldInput,
    call: Planned,
    calls: Calls,
    *,
    usd: Decimal | None = None,
    tokens: int | None = None,
) -> ReserveRequest:
    """What is to be held for ``calls``: the most that they can take, unless ``usd`` or ``tokens`` say it.

    Raises ``PriceUnknown``, ``OutputUnknown``, ``InvalidAmount``.
    """
    return ReserveRequest(
        spender=attempt.spender(call.found, tokenizer_of(call), given.tags),
        usd=_amount(demand(calls).usd if usd is None else usd, free=isinstance(call.price, Free)),
        tokens=_tokens(calls) if tokens is None else tokens,
        ttl_seconds=given.ttl_seconds,
        budget=given.budget,
        price_revision=str(price_mark(call.found, call.price, call.context)),
        estimate=expectation(calls),
    )


def tokenizer_of(plan: Planned) -> str | None:
    """The tokenizer that counted, by which reports may group."""
    return plan.counts[0].tokenizer.name if plan.counts else plan.found.model.tokenizer


def _amount_alone(services: Services, attempt: Attempt, given: ReservationRequest) -> ReserveRequest:
    """An amount without anything that is sent; for a model, or for whatever."""
    if given.amount_usd is None:
        detail = "Give `amount_usd`, or what is sent: one of `text`, `texts`, `messages` and `request`."
        raise ApiError(422, "invalid_request", detail, path="amount_usd")
    if given.model is None:
        if given.provider is not None:
            raise ApiError(422, "invalid_request", "`provider` goes with `model` only.", path="provider")
        spender, mark, free = attempt.spender(None, None, given.tags), "", False
    else:
        found = services.find(given.model, given.provider)
        attempt.model = found.model.id
        price = services.pricer.price(found, services.now(), context_of(given))
        mark, free = str(price_mark(found, price, context_of(given))), isinstance(price, Free)
        spender = attempt.spender(found, found.model.tokenizer, given.tags)
    return ReserveRequest(
        spender=spender,
        usd=_amount(given.amount_usd, free=free),
        tokens=given.tokens,
        ttl_seconds=given.ttl_seconds,
        budget=given.budget,
        price_revision=mark,
    )


def _amount(usd: Decimal, *, free: bool) -> Decimal:
    """An amount that can be held. Raises ``InvalidAmount`` for nothing, unless the model is free."""
    if not usd and not free:
        raise InvalidAmount("An amount is above 0; only a free model's reservation is of 0 dollars.")
    return usd


def _tokens(calls: Calls) -> int | None:
    try:
        return most_tokens(calls)
    except OutputUnknown:
        return None
