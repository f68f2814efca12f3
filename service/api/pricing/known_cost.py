"""The cost of a call that was made: what it used, who served it and how, and what that costs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal

from service.api.dialects.usages.forms import OWN, in_units, read_usage, recognise
from service.api.dialects.usages.reading import Reading
from service.api.dialects.usages.responses import Served, read_response
from service.api.dialects.usages.tiers import OTHER_TIER
from service.api.errors import ApiError
from service.api.pricing.schemas import CostAnswer, MadeCall
from service.api.pricing.wire import distinct, wire_cost, wire_price, wire_usage
from service.domain.catalog import Resolution
from service.domain.costing import Cost, cost_of
from service.domain.errors import UnknownModel
from service.domain.notices import Notice
from service.domain.prices import Free, Price, PriceContext, Unknown
from service.domain.pricing import Pricer
from service.domain.usage import Usage

Find = Callable[[str, str | None], Resolution]
"""The model that a name and a provider mean. Raises ``UnknownModel``."""


_SIDES = (
    ("input_tokens", "output_tokens"),
    ("prompt_tokens", "completion_tokens"),
    ("promptTokenCount", "candidatesTokenCount"),
    ("inputTokens", "outputTokens"),
)
_NO_PRICE = Unknown("model", "")


@dataclass(frozen=True, slots=True)
class KnownCost:
    """What a call cost. ``dialect`` is the form its usage was read as, ``service_tier`` the tier priced."""

    found: Resolution
    dialect: str
    service_tier: str
    usage: Usage
    price: Price | Free | Unknown
    cost: Cost
    notices: tuple[Notice, ...]

    def answer(self) -> CostAnswer:
        """The cost as ``POST /v1/cost`` answers it."""
        return CostAnswer(
            model=self.found.model.id,
            provider=self.found.provider,
            rule=self.found.rule,
            dialect=self.dialect,
            service_tier=self.service_tier,
            usage=wire_usage(self.usage),
            cost=wire_cost(self.cost),
            price=wire_price(self.price),
            warnings=self.notices,
        )


class ModelMissing(ApiError):
    """Nobody says which model was used."""

    def __init__(self) -> None:
        super().__init__(422, "invalid_request", "Give `model`: nothing else in the body names it.", path="model")


def model_notice(error: UnknownModel | ModelMissing, message: str) -> Notice:
    """What is said where a cost is booked although its model is not known."""
    code = error.code if isinstance(error, UnknownModel) else "model_missing"
    return Notice(code, message, "model")


@dataclass(frozen=True, slots=True)
class Expected:
    """What is known of a call beside its usage: the model unless another is named, and tokens that a usage may lack."""

    found: Resolution | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None


NOTHING_EXPECTED = Expected()


def known_cost(
    request: MadeCall, find: Find, pricer: Pricer, at: datetime, expected: Expected = NOTHING_EXPECTED
) -> KnownCost:
    """The cost of what ``request`` says was used at ``at``. Raises ``ApiError``, ``UnknownModel``."""
    served = _completed(_served(request), expected)
    notices = list(served.notices)
    found = _found(request, served, find, notices, expected.found)
    dialect = request.dialect or recognise(served.usage, served.path, served.likely)
    dialect, reading = read_usage(served.usage, served.path, dialect=dialect, seller=found.provider, notices=notices)
    context = _context(request, served, reading, notices)
    price = pricer.price(found, at, context)
    usage = in_units(_with_calls(reading, served.fees), price, served.path)
    cost = cost_of(usage, price)
    said = (*distinct(notices), *cost.notices)
    return KnownCost(found, dialect, context.service_tier, usage, price, cost, said)


def _served(request: MadeCall) -> Served:
    if (request.usage is None) == (request.response is None):
        raise ApiError(422, "invalid_request", "Give exactly one of `usage` and `response`.", path="usage")
    if request.response is not None:
        return read_response(request.response)
    return Served(request.usage or {}, "usage", OWN, "", None)


def tokens_used(request: MadeCall) -> Usage:
    """The tokens that ``request`` says were used, whatever the model. Raises ``ApiError``."""
    served = _served(request)
    dialect = request.dialect or recognise(served.usage, served.path, served.likely)
    _, reading = read_usage(served.usage, served.path, dialect=dialect, seller="", notices=[])
    return in_units(reading, _NO_PRICE, served.path)


def _completed(served: Served, expected: Expected) -> Served:
    """``served`` with the count of one side taken from ``expected`` where the usage has that of the other alone."""
    usage = served.usage
    for names in _SIDES:
        stated = [usage.get(name) is not None for name in names]
        for name, there, tokens in zip(names, stated, (expected.input_tokens, expected.output_tokens), strict=True):
            if tokens is not None and any(stated) and not there:
                return replace(served, usage={**usage, name: tokens})
    return served


def _found(
    request: MadeCall, served: Served, find: Find, notices: list[Notice], expected: Resolution | None
) -> Resolution:
    """The caller's model goes before the response's: it may name a seller or a deployment. Another model is said."""
    if request.model is not None:
        found = find(request.model, request.provider)
    elif expected is not None:
        found = expected
    elif served.model:
        return find(served.model, request.provider)
    else:
        raise ModelMissing
    if not served.model:
        return found
    try:
        named = find(served.model, found.provider)
    except UnknownModel:
        return found  # a deployment may answer with any name of its own
    if named.model == found.model:
        return found if request.model is not None else named  # its date or fine-tune may have a price of its own
    message = "The response names another model than the call was made to, which is priced."
    notices.append(Notice("model_differs", message, "response.model"))
    return found


def _context(request: MadeCall, served: Served, reading: Reading, notices: list[Notice]) -> PriceContext:
    """The tier and region that served the call go before those asked for; what only the caller says is marked."""
    asked, tier = request.service_tier, served.service_tier or reading.service_tier
    if tier == OTHER_TIER:
        message = "The service tier that served the call has no public price."
        notices.append(Notice("service_tier_unpriced", message, served.path))
    if asked == "batch" and tier == "standard":
        tier = None  # no form of response says batch, but for those that stand in a batch's results
    if asked is not None and tier is not None and tier != asked:
        message = "The call was served in another tier than `service_tier`, and is priced as it was served."
        notices.append(Notice("service_tier_differs", message, "service_tier"))
    if request.response is not None and tier is None and asked not in (None, "standard"):
        message = "The response does not say how the call was served; `service_tier` is priced."
        notices.append(Notice("service_tier_not_served", message, "service_tier"))
    if None not in (request.region, reading.region) and reading.region != (request.region or "").strip().lower():
        message = "The call was served in another region than `region`, and is priced as it was served."
        notices.append(Notice("region_differs", message, "region"))
    return PriceContext(tier or asked or "standard", reading.region or request.region)


def _with_calls(reading: Reading, calls: Mapping[str, Decimal]) -> Reading:
    """Calls that the output shows count where the usage itself has none of the kind."""
    fees = {**calls, **{name: quantity for name, quantity in reading.fees.items() if quantity}}
    return replace(reading, fees=fees)
