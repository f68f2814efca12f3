"""Usage of calls that were made without a reservation: read, priced at their time, and booked, all of it or none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from adapters.port import Stop
from service.api.decoding import decode, json_value
from service.api.errors import ApiError
from service.api.holding.schemas import CallRecord, CallRecords
from service.api.holding.settling import metered
from service.api.holding.wire import checked_tags
from service.api.pricing.known_cost import ModelMissing, known_cost, model_notice, tokens_used
from service.api.pricing.wire import bounded, moment
from service.api.services import Services, worked
from service.domain.catalog import Resolution
from service.domain.errors import UnknownModel
from service.domain.keys.access import Caller
from service.domain.notices import Notice
from service.domain.prices import Unknown
from service.domain.spending.budgets import Spender
from service.domain.spending.ledger import Entry, Flag, Once, UsageRecord

_EARLIEST = datetime(2000, 1, 1, tzinfo=UTC)  # reports begin later


@dataclass(frozen=True, slots=True)
class Read:
    """A record as it is booked, and what its sender should know."""

    record: UsageRecord
    notices: Sequence[Notice]


async def record_usage(
    services: Services, project: str, caller: Caller, body: bytes, once: Once | None, told: list[Sequence[Notice]]
) -> Sequence[Entry]:
    """Book what ``POST /v1/usage`` says; ``told`` takes up what the sender of each record should know.

    Raises ``ApiError`` and ``UnknownModel`` where a record cannot be read, and as ``Ledger.record``.
    """
    read = await worked(services, lambda stop: _read(services, project, caller, body, stop), body)
    told += [each.notices for each in read]
    return await services.ledger.record([each.record for each in read], once=once)


def _read(services: Services, project: str, caller: Caller, body: bytes, stop: Stop | None) -> list[Read]:
    many = b'"records"' in body and isinstance(value := json_value(body), dict) and "records" in value
    if not many:
        return [_one(services, project, caller, decode(body, CallRecord), "")]
    read = []
    for index, given in enumerate(decode(body, CallRecords).records):
        if stop is not None:
            stop.check()
        read.append(_one(services, project, caller, given, f"records[{index}]."))
    return read


def _one(services: Services, project: str, caller: Caller, given: CallRecord, at: str) -> Read:
    """One record; ``at`` is where it stands in the body."""
    try:
        return _record(services, Spender(project, caller.key_id, tags=checked_tags(given.tags)), given)
    except UnknownModel as error:
        raise ApiError(422, "unknown_model", str(error), path=f"{at}model", cause=error) from None
    except ApiError as error:
        raise ApiError(error.status, error.code, error.detail, path=f"{at}{error.path}") from None


def _record(services: Services, spender: Spender, given: CallRecord) -> Read:
    made = moment(given.at, services.now())
    if made < _EARLIEST:
        raise ApiError(422, "invalid_request", "Give the time of the call: it is older than any model.", path="at")
    if given.cost_usd is not None:
        bounded(given.cost_usd, "cost_usd")
    elif given.usage is None and given.response is None:
        detail = "Give `usage` or `response`, or `cost_usd`."
        raise ApiError(422, "invalid_request", detail, path="usage")
    if given.usage is None and given.response is None:
        return _cost_alone(services, spender, given, made)
    try:
        known = known_cost(given, services.find, services.pricer, made)
    except (UnknownModel, ModelMissing) as error:
        if given.cost_usd is None:
            raise
        tokens = metered(tokens_used(given))
        record = UsageRecord(spender, given.cost_usd, made, tokens, _flags(given))
        return Read(record, (_unknown(error),))
    usd = known.cost.usd if given.cost_usd is None else given.cost_usd
    if usd is None:
        services.metrics.unknown_prices.inc()
    record = UsageRecord(
        spender=_on(spender, known.found),
        usd=usd,
        at=made,
        metered=metered(known.usage),
        flags=_flags(given, known.notices),
        price_revision="" if isinstance(known.price, Unknown) else known.price.row.revision,
    )
    return Read(record, known.notices)


def _cost_alone(services: Services, spender: Spender, given: CallRecord, made: datetime) -> Read:
    """A cost without a usage: its tokens are not known, and its model need not be."""
    if given.model is None:
        if given.provider is not None:
            raise ApiError(422, "invalid_request", "`provider` goes with `model` only.", path="provider")
        return Read(UsageRecord(spender, given.cost_usd, made, flags=_flags(given)), ())
    try:
        spender = _on(spender, services.find(given.model, given.provider))
    except UnknownModel as error:
        return Read(UsageRecord(spender, given.cost_usd, made, flags=_flags(given)), (_unknown(error),))
    return Read(UsageRecord(spender, given.cost_usd, made, flags=_flags(given)), ())


def _on(spender: Spender, found: Resolution) -> Spender:
    """``spender`` with the model that was called."""
    model = found.model
    return replace(spender, provider=found.provider, model=model.id, tokenizer=model.tokenizer)


def _flags(given: CallRecord, notices: Sequence[Notice] = ()) -> frozenset[Flag]:
    cut = given.partial or any(notice.code == "usage_partial" for notice in notices)
    return frozenset({Flag.PARTIAL}) if cut else frozenset()


def _unknown(error: UnknownModel | ModelMissing) -> Notice:
    """That a cost is booked under no model: names of a caller's own are not kept."""
    return model_notice(error, f"The cost is booked under no model. {error}")
