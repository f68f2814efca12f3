"""What the costed routes do: decode the body, call the domain, encode the answer."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

import msgspec

from adapters.port import Stop
from service.api.decoding import decode
from service.api.errors import ApiError
from service.api.known_cost import known_cost
from service.api.pricing_schemas import (
    CompareAnswer,
    CompareRequest,
    Costed,
    CostedInput,
    CostRequest,
    EstimateRequest,
    PriceList,
)
from service.api.pricing_wire import (
    bounded,
    distinct,
    moment,
    wire_batch,
    wire_estimate,
    wire_price_row,
    wire_row,
)
from service.api.remote_work import counted_by_vendor, refuse_remote
from service.api.request_work import model_of, record
from service.api.services import Later, Services
from service.api.weighed import weighed_of
from service.domain.catalog import Resolution
from service.domain.compare import MOST_CHARACTERS, CompareRow, by_script, cheapest, compare_row, in_order, scripts_of
from service.domain.counting import Count, Scale
from service.domain.estimate import CacheUse, CallPlan, estimate, summed
from service.domain.framing import message_framing
from service.domain.notices import Notice
from service.domain.prices import Free, Price, PriceContext, Unknown

_encode = msgspec.json.Encoder().encode
_MOST_COMPARED = 1000
_OF_A_MODEL = ("special_token_literal", "vocabulary_not_installed")  # what the rows themselves show
_NANO = Decimal(10**9)


def estimate_work(services: Services, body: bytes, stop: Stop | None) -> bytes | Later:
    """``POST /v1/estimate``."""
    given = decode(body, EstimateRequest)
    if given.max_cost_usd is not None:
        bounded(given.max_cost_usd, "max_cost_usd")
    weighed = weighed_of(services, given)
    found = services.resolve(model_of(given.model, weighed.requests), given.provider)
    plan = _plan(services, given)
    price = services.pricer.price(found, plan.at, plan.context)
    counts = weighed.counts(services, found, plan.at, stop)
    record(services, counts)
    framing = 0 if weighed.requests else message_framing(services.framings, found.model)
    plans = weighed.plans(plan)

    def answer(counts: Sequence[Count]) -> bytes:
        estimates = [
            estimate(count, found.model, price, each, framing=framing)
            for count, each in zip(counts, plans, strict=True)
        ]
        _record(services, found, [item.cost.expected for item in estimates])
        return _encode(wire_estimate(estimates[0]) if weighed.single else wire_batch(estimates))

    if weighed.single and weighed.requests:
        return counted_by_vendor(
            services, given, given.remote, found, weighed.requests[0], counts[0], lambda count: answer([count])
        )
    refuse_remote(given.remote)
    return answer(counts)


def cost_work(services: Services, body: bytes, _stop: Stop | None) -> bytes:
    """``POST /v1/cost``."""
    request = decode(body, CostRequest)
    known = known_cost(request, services.find, services.pricer, moment(request.at, services.now()))
    _record(services, known.found, [known.cost.usd])
    return _encode(known.answer())


def compare_work(services: Services, body: bytes, stop: Stop | None) -> bytes:
    """``POST /v1/compare``."""
    request = decode(body, CompareRequest)
    if request.models is not None and request.tokenizers is not None:
        raise ApiError(422, "invalid_request", "Give `models` or `tokenizers`, not both.", path="models")
    weighed = weighed_of(services, request)
    if len(weighed.texts) > _MOST_COMPARED and not weighed.requests:
        raise ApiError(422, "invalid_request", f"At most {_MOST_COMPARED} texts are compared at once.", path="texts")
    if weighed.requests and request.tokenizers is not None:
        detail = "A chat is framed as its model frames it: compare `models`."
        raise ApiError(422, "invalid_request", detail, path="tokenizers")
    scripts = scripts_of(weighed.texts, services.script_of)
    notices: list[Notice] = []
    rows: list[tuple[CompareRow, Price | Free | Unknown | None]] = []
    if request.tokenizers is not None:
        for name in request.tokenizers:
            scale = services.weigher.scale_of_tokenizer(name)
            counts = weighed.bare(scale, stop)
            rows.append((_row(services, scale, (weighed.texts, scripts, counts), None, stop, notices), None))
    else:
        for name in request.models or services.compared:
            found = services.resolve(name, None)
            scale = services.weigher.scale_of(found)
            plan = _plan(services, request)
            price = services.pricer.price(found, plan.at, plan.context)
            counts = weighed.counts(services, found, plan.at, stop)
            told = (weighed.texts, scripts, counts)
            framing = 0 if weighed.requests else message_framing(services.framings, found.model)
            rows.append(
                (_row(services, scale, told, (found, price, weighed.plans(plan), framing), stop, notices), price)
            )
    ordered = in_order([row for row, _ in rows])
    prices = {id(row): price for row, price in rows}
    best = cheapest(ordered)
    if sum(map(len, weighed.texts)) > MOST_CHARACTERS:
        message = f"Scripts are told apart up to {MOST_CHARACTERS} characters."
        notices.append(Notice("by_script_omitted", message, "text"))
    answer = [wire_row(row, prices[id(row)]) for row in ordered]
    return _encode(CompareAnswer(answer, best.scale.label if best else None, distinct(notices)))


def price_list(services: Services, provider: str, model: str) -> bytes:
    """``GET /v1/prices``: every row, or those of a provider, a model or both; a provider goes by any of its names."""
    sellers = services.weigher.catalog.price_providers(provider.strip().lower())
    model = model.strip().lower()
    rows = [
        wire_price_row(row)
        for (seller, name), found in services.pricer.book.models.items()
        if (not provider or seller in sellers) and model in ("", name.lower())
        for _, row in found
    ]
    return _encode(PriceList(rows))


def _row(
    services: Services,
    scale: Scale,
    weighed: tuple[Sequence[str], Sequence[Sequence[str]], Sequence[Count]],
    priced: tuple[Resolution, Price | Free | Unknown, Sequence[CallPlan], int] | None,
    stop: Stop | None,
    notices: list[Notice],
) -> CompareRow:
    """One row: the counts side by side, and for a model each estimated as a call of its own."""
    texts, scripts, counts = weighed
    cost = None
    if priced is not None:
        found, price, plans, framing = priced
        estimates = [
            estimate(count, found.model, price, plan, framing=framing)
            for count, plan in zip(counts, plans, strict=True)
        ]
        cost = summed([item.cost for item in estimates])
        if cost.status == "unknown":
            services.metrics.unknown_prices.inc()
    notices += [notice for count in counts for notice in count.warnings if notice.code not in _OF_A_MODEL]
    spoken = sum(count.breakdown.text for count in counts)
    return compare_row(scale, counts, by_script(scale, texts, scripts, spoken, stop), cost)


def _plan(services: Services, request: EstimateRequest | CompareRequest) -> CallPlan:
    expected = request.expected_output_tokens
    if isinstance(request, CompareRequest) and expected is None and request.max_output_tokens is None:
        expected = 0  # what models may answer at most says nothing about the text
    cache = request.cache if isinstance(request, EstimateRequest) else None
    return CallPlan(
        at=moment(request.at, services.now()),
        context=_context(request),
        max_output_tokens=request.max_output_tokens,
        expected_output_tokens=expected,
        cache=CacheUse(cache.read_tokens, cache.write) if cache else CacheUse(),
        max_cost_usd=request.max_cost_usd if isinstance(request, EstimateRequest) else None,
    )


def _context(request: Costed | CostedInput) -> PriceContext:
    return PriceContext(request.service_tier, request.region)


def _record(services: Services, found: Resolution, dollars: Sequence[Decimal | None]) -> None:
    """Metrics of money are integers: whole nano-dollars, rounded half-even, once for each request."""
    known = [amount for amount in dollars if amount is not None]
    if len(known) < len(dollars):
        services.metrics.unknown_prices.inc()
    nano = int((sum(known, Decimal(0)) * _NANO).to_integral_value())
    services.metrics.estimated(found.model.id, nano)
