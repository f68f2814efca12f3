"""What the costed routes do: decode the body, call the domain, encode the answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

import msgspec

from adapters.port import Stop
from service.api.decoding import decode
from service.api.errors import ApiError
from service.api.holding.wire import checked_tags
from service.api.pricing.foreseeing import asks_past_calls, foreseen
from service.api.pricing.known_cost import known_cost
from service.api.pricing.planning import FEW, plan_of, planned
from service.api.pricing.schemas import (
    CompareAnswer,
    CompareRequest,
    CostRequest,
    EstimateRequest,
    PriceList,
)
from service.api.pricing.wire import (
    bounded,
    distinct,
    moment,
    wire_batch,
    wire_estimate,
    wire_price_row,
    wire_row,
)
from service.api.services import Later, Services
from service.api.weighing.remote import counted_by_vendor, refuse_remote
from service.api.weighing.requests import model_of, record
from service.api.weighing.weighed import Weighed, weighed_of
from service.domain.catalog import Resolution
from service.domain.compare import MOST_CHARACTERS, CompareRow, by_script, cheapest, compare_row, in_order, scripts_of
from service.domain.counting import Count, Scale
from service.domain.estimate import CallPlan, estimate, summed
from service.domain.framing import message_framing
from service.domain.notices import Notice
from service.domain.past.output import OutputHistory
from service.domain.prices import Free, Price, Unknown
from service.domain.spending.budgets import DEFAULT_PROJECT

_encode = msgspec.json.Encoder().encode
_MOST_COMPARED = 1000
_OF_A_MODEL = ("special_token_literal", "vocabulary_not_installed")  # what the rows themselves show
_NANO = Decimal(10**9)


def estimate_work(
    services: Services, body: bytes, stop: Stop | None, *, project: str = DEFAULT_PROJECT
) -> bytes | Later:
    """``POST /v1/estimate``, for a caller of ``project``."""
    given = decode(body, EstimateRequest)
    checked_tags(given.tags)
    if given.max_cost_usd is not None:
        bounded(given.max_cost_usd, "max_cost_usd")
    weighed = weighed_of(services, given)
    found = services.resolve(model_of(given.model, weighed.requests), given.provider)
    call = planned(services, weighed, found, plan_of(services, given), stop)
    counts = call.counts
    record(services, counts)
    whole = weighed.single and bool(weighed.requests)
    if not whole:
        refuse_remote(given.remote)

    def answer(counts: Sequence[Count], plans: Sequence[CallPlan]) -> bytes:
        estimates = call.calls(counts, plans).estimates
        _record(services, found, [item.cost.expected for item in estimates])
        return _encode(wire_estimate(estimates[0]) if weighed.single else wire_batch(estimates))

    def finish(counts: Sequence[Count], plans: Sequence[CallPlan]) -> bytes | Later:
        if not whole:
            return answer(counts, plans)
        request = weighed.requests[0]
        return counted_by_vendor(
            services, given, given.remote, found, request, counts[0], lambda count: answer([count], plans)
        )

    async def later() -> bytes:
        known = await foreseen(services, project, given, found, (counts, call.plans))
        if len(counts) > FEW:
            done = await services.pool.run(lambda _: finish(*known))
        else:
            done = finish(*known)
        return done if isinstance(done, bytes) else await done()

    return later if asks_past_calls(given) else finish(counts, call.plans)


def cost_work(services: Services, body: bytes, _stop: Stop | None) -> bytes:
    """``POST /v1/cost``."""
    request = decode(body, CostRequest)
    known = known_cost(request, services.find, services.pricer, moment(request.at, services.now()))
    _record(services, known.found, [known.cost.usd])
    return _encode(known.answer())


def compare_work(
    services: Services, body: bytes, stop: Stop | None, *, project: str = DEFAULT_PROJECT
) -> bytes | Later:
    """``POST /v1/compare``, for a caller of ``project``."""
    request = decode(body, CompareRequest)
    checked_tags(request.tags)
    weighed = weighed_of(services, request)
    _check_compared(request, weighed)
    if request.tokenizers is not None:
        scales = [services.weigher.scale_of_tokenizer(name) for name in request.tokenizers]
        columns = [_Column(scale, weighed.bare(scale, stop)) for scale in scales]
        return _compared(services, weighed, columns, stop)
    plan = plan_of(services, request)
    columns = [_column(services, weighed, name, plan, stop) for name in request.models or services.compared]
    if not asks_past_calls(request):
        return _compared(services, weighed, columns, stop)

    async def later() -> bytes:
        known = [
            replace(column, counts=counts, plans=plans)
            for column in columns
            if column.found is not None
            for counts, plans in [
                await foreseen(services, project, request, column.found, (column.counts, column.plans))
            ]
        ]
        return await services.pool.run(lambda stop: _compared(services, weighed, known, stop))

    return later


@dataclass(frozen=True, slots=True)
class _Column:
    """What is compared: the counts on one scale, and of a model its price, and how it is called for each."""

    scale: Scale
    counts: Sequence[Count]
    found: Resolution | None = None
    price: Price | Free | Unknown | None = None
    plans: Sequence[CallPlan] = ()
    framing: int = 0

    @property
    def history(self) -> OutputHistory | None:
        """What the output is foretold from, the same for every call."""
        return self.plans[0].output_history if self.plans else None


def _check_compared(request: CompareRequest, weighed: Weighed) -> None:
    """Raise ``ApiError`` for what cannot be compared."""
    if request.models is not None and request.tokenizers is not None:
        raise ApiError(422, "invalid_request", "Give `models` or `tokenizers`, not both.", path="models")
    if len(weighed.texts) > _MOST_COMPARED and not weighed.requests:
        raise ApiError(422, "invalid_request", f"At most {_MOST_COMPARED} texts are compared at once.", path="texts")
    if weighed.requests and request.tokenizers is not None:
        detail = "A chat is framed as its model frames it: compare `models`."
        raise ApiError(422, "invalid_request", detail, path="tokenizers")
    if request.tokenizers is not None and asks_past_calls(request):
        detail = "Past calls say something of models, not of tokenizers: compare `models`."
        raise ApiError(422, "invalid_request", detail, path="tokenizers")


def _column(services: Services, weighed: Weighed, name: str, plan: CallPlan, stop: Stop | None) -> _Column:
    found = services.resolve(name, None)
    return _Column(
        scale=services.weigher.scale_of(found),
        counts=weighed.counts(services, found, plan.at, stop),
        found=found,
        price=services.pricer.price(found, plan.at, plan.context),
        plans=weighed.plans(plan),
        framing=0 if weighed.requests else message_framing(services.framings, found.model),
    )


def _compared(services: Services, weighed: Weighed, columns: Sequence[_Column], stop: Stop | None) -> bytes:
    scripts = scripts_of(weighed.texts, services.script_of)
    notices: list[Notice] = []
    rows = [(_row(services, column, weighed.texts, scripts, stop, notices), column) for column in columns]
    ordered = in_order([row for row, _ in rows])
    column_of = {id(row): column for row, column in rows}
    best = cheapest(ordered)
    if sum(map(len, weighed.texts)) > MOST_CHARACTERS:
        message = f"Scripts are told apart up to {MOST_CHARACTERS} characters."
        notices.append(Notice("by_script_omitted", message, "text"))
    answer = [wire_row(row, column_of[id(row)].price, column_of[id(row)].history) for row in ordered]
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
    column: _Column,
    texts: Sequence[str],
    scripts: Sequence[Sequence[str]],
    stop: Stop | None,
    notices: list[Notice],
) -> CompareRow:
    """One row: the counts side by side, and for a model each estimated as a call of its own."""
    counts, scale, price = column.counts, column.scale, column.price
    cost = None
    if column.found is not None and price is not None:
        estimates = [
            estimate(count, column.found.model, price, plan, framing=column.framing)
            for count, plan in zip(counts, column.plans, strict=True)
        ]
        cost = summed([item.cost for item in estimates])
        if cost.status == "unknown":
            services.metrics.unknown_prices.inc()
    notices += [notice for count in counts for notice in count.warnings if notice.code not in _OF_A_MODEL]
    notices += [notice for plan in column.plans for notice in plan.notices]
    spoken = sum(count.breakdown.text for count in counts)
    return compare_row(scale, counts, by_script(scale, texts, scripts, spoken, stop), cost)


def _record(services: Services, found: Resolution, dollars: Sequence[Decimal | None]) -> None:
    """Metrics of money are integers: whole nano-dollars, rounded half-even, once for each request."""
    known = [amount for amount in dollars if amount is not None]
    if len(known) < len(dollars):
        services.metrics.unknown_prices.inc()
    nano = int((sum(known, Decimal(0)) * _NANO).to_integral_value())
    services.metrics.estimated(found.model.id, nano)
