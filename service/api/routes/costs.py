"""Costs: ``/v1/estimate``, ``/v1/compare``, ``/v1/cost`` and ``/v1/prices``."""

from __future__ import annotations

from functools import partial

from fastapi import APIRouter, Request, Response

from service.api.openapi import Operation
from service.api.pricing import work
from service.api.pricing.schemas import (
    CompareAnswer,
    CompareRequest,
    CostAnswer,
    CostRequest,
    EstimateAnswer,
    EstimateBatchAnswer,
    EstimateRequest,
    PriceList,
    UsageIn,
)
from service.api.projects import project_of
from service.api.queries import parameters
from service.api.routes.weighing import answer
from service.api.services import Services

_ESTIMATE = Operation(
    "Estimate a call before it is made: tokens, context fit and a cost range.",
    request=EstimateRequest,
    answers=(EstimateAnswer, EstimateBatchAnswer),
    example="estimate",
)
_COMPARE = Operation(
    "Weigh texts for many models or tokenizers side by side.",
    request=CompareRequest,
    answers=(CompareAnswer,),
    example="compare",
)
_COST = Operation(
    "The cost of a usage, ours or a vendor's, or of a vendor's whole response; product by product.",
    request=CostRequest,
    answers=(CostAnswer,),
    example="cost",
    more=("cost_response",),
    others=(UsageIn,),
)
_PRICES = Operation(
    "The price list, of all models or of one (`provider`, `model`), with every row's dates.", answers=(PriceList,)
)

OPERATIONS = (_ESTIMATE, _COMPARE, _COST, _PRICES)


def router(services: Services) -> APIRouter:
    """The routes, over ``services``."""
    routes = APIRouter(tags=["costs"])

    @routes.post("/v1/estimate", **_ESTIMATE.options())
    async def estimate(request: Request) -> Response:
        return await answer(services, partial(work.estimate_work, project=project_of(request)), request, weight=1)

    @routes.post("/v1/compare", **_COMPARE.options())
    async def compare(request: Request) -> Response:
        return await answer(services, partial(work.compare_work, project=project_of(request)), request, weight=32)

    @routes.post("/v1/cost", **_COST.options())
    async def cost(request: Request) -> Response:
        return await answer(services, work.cost_work, request, weight=1)

    @routes.get("/v1/prices", **_PRICES.options())
    async def prices(request: Request, provider: str = "", model: str = "") -> Response:
        parameters(request, ("provider", "model"))
        return Response(work.price_list(services, provider, model), media_type="application/json")

    return routes
