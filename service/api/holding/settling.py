"""Settling: from what a caller says of a call that was made to what is booked for it.

The money is spent by then. So only a body that cannot be read is refused; what cannot be priced is booked at the amount
that was held, and flagged.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from decimal import Decimal

import msgspec

from service.api.decoding import decode, json_value
from service.api.errors import ApiError
from service.api.holding.schemas import SettleRequest
from service.api.pricing.known_cost import Expected, ModelMissing, known_cost, model_notice, tokens_used
from service.api.pricing.wire import bounded
from service.api.services import Services, worked
from service.domain.catalog import Resolution
from service.domain.errors import UnknownModel
from service.domain.notices import Notice
from service.domain.pricemark import PriceMark
from service.domain.spending.budgets import dollars
from service.domain.spending.ledger import Flag, Hold, Metered, Once, Settled, Settlement
from service.domain.usage import Usage

_BOOKED_ANYHOW = {"inconsistent_usage": Flag.INCONSISTENT_USAGE, "usage_missing": Flag.UNPRICED}


@dataclass(frozen=True, slots=True)
class Told:
    """A settlement as it was sent. ``digest`` tells its content from any other's."""

    given: SettleRequest
    digest: str


@dataclass(frozen=True, slots=True)
class Spent:
    """What a call cost as far as that is known."""

    usd: Decimal | None
    metered: Metered | None
    flags: frozenset[Flag] = frozenset()


async def settle(
    services: Services, project: str, hold_id: str, body: bytes, once: Once | None, notices: list[Notice]
) -> Settled:
    """Book what ``POST /v1/reservations/{id}/settle`` says; ``notices`` takes up what its sender should know.

    Raises ``ApiError`` for a body that cannot be read, and as ``Ledger.settle``.
    """
    told = await worked(services, lambda _stop: _told(body), body)
    given = told.given
    if given.cost_usd is not None and given.usage is None and given.response is None:
        spent = Spent(given.cost_usd, None)
    else:
        hold = services.recent_holds.find(project, hold_id) or await services.ledger.hold(project, hold_id)
        spent = await worked(services, lambda _stop: _spent(services, hold, given, notices), body)
    flags = spent.flags | ({Flag.PARTIAL} if given.partial else set())
    settlement = Settlement(spent.usd, spent.metered, flags, told.digest)
    return await services.ledger.settle(project, hold_id, settlement, once=once)


def metered(usage: Usage) -> Metered:
    """The tokens that the ledger keeps of a usage."""
    return Metered(
        usage.input_tokens,
        usage.output_tokens,
        usage.cache_read_tokens,
        usage.cache_write_tokens,
        usage.reasoning_tokens,
    )


def _told(body: bytes) -> Told:
    given = decode(body, SettleRequest)
    if given.usage is not None and given.response is not None:
        raise ApiError(422, "invalid_request", "Give `usage` or `response`, not both.", path="usage")
    nothing = given.cost_usd is None and given.usage is None and given.response is None
    if nothing and not given.partial:
        detail = "Give `cost_usd`, `usage` or `response`; or `partial: true` to book what was estimated."
        raise ApiError(422, "invalid_request", detail, path="cost_usd")
    if given.cost_usd is not None:
        bounded(given.cost_usd, "cost_usd")
    content = json.dumps(json_value(body), sort_keys=True, separators=(",", ":"))
    return Told(given, hashlib.sha256(content.encode()).hexdigest())


def _estimated(hold: Hold) -> Spent:
    """What was expected of the call; of a hold without an estimate, what was held."""
    estimate = hold.estimate
    usd = dollars(hold.nano) if estimate.usd is None else estimate.usd
    told = estimate.input_tokens is not None or estimate.output_tokens is not None
    return Spent(usd, Metered(estimate.input_tokens or 0, estimate.output_tokens or 0) if told else None)


def _spent(services: Services, hold: Hold, given: SettleRequest, notices: list[Notice]) -> Spent:
    """What the usage comes to, at the prices of the time of the request; without one, what was expected."""
    if given.usage is None and given.response is None:
        return _estimated(hold)
    try:
        known = known_cost(
            _as_held(hold, given), services.find, services.pricer, hold.at, _expected(services, hold, given)
        )
    except (UnknownModel, ModelMissing) as error:
        notices.append(model_notice(error, str(error)))
        return _unpriced(given)
    except ApiError as error:
        if error.code not in _BOOKED_ANYHOW:
            raise
        notices.append(Notice(error.code, error.detail, error.path))
        if given.cost_usd is not None:
            return Spent(given.cost_usd, None)
        if given.partial and error.code == "usage_missing":
            return _estimated(hold)
        return Spent(None, None, frozenset({_BOOKED_ANYHOW[error.code]}))
    notices += known.notices
    cut = {Flag.PARTIAL} if any(notice.code == "usage_partial" for notice in known.notices) else set()
    usd = known.cost.usd if given.cost_usd is None else given.cost_usd
    if usd is None:
        services.metrics.unknown_prices.inc()
    return Spent(usd, metered(known.usage), frozenset(cut))


def _unpriced(given: SettleRequest) -> Spent:
    """The tokens of a model that nobody knows."""
    try:
        tokens = metered(tokens_used(given))
    except ApiError as error:
        if error.code not in _BOOKED_ANYHOW:
            raise
        tokens = None
    return Spent(given.cost_usd, tokens)


def _as_held(hold: Hold, given: SettleRequest) -> SettleRequest:
    """The call as it was made, sold as the reservation was unless the body says otherwise."""
    context = PriceMark.read(hold.price_revision).context
    tier = None if context.service_tier == "standard" else context.service_tier
    return msgspec.structs.replace(
        given, service_tier=given.service_tier or tier, region=given.region or context.region
    )


def _expected(services: Services, hold: Hold, given: SettleRequest) -> Expected:
    """The reservation's model, and its estimate for what the usage of a call that was cut short lacks."""
    estimate = hold.estimate
    counts = (estimate.input_tokens, estimate.output_tokens) if given.partial else (None, None)
    return Expected(_model(services, hold, given.provider) if given.model is None else None, *counts)


def _model(services: Services, hold: Hold, provider: str | None) -> Resolution | None:
    """The reservation's model, under the name that it was priced by or at another provider. Raises ``UnknownModel``."""
    spender = hold.spender
    if spender.model is None:
        return None
    found = services.find(spender.model, provider or spender.provider)
    name = PriceMark.read(hold.price_revision).model
    return found if name is None or found.provider != spender.provider else replace(found, requested=name)
