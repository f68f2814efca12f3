"""What saves tokens: ``/v1/advise`` and ``/v1/trim``."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from service.api.openapi import Operation
from service.api.routes.weighing import answer
from service.api.saving.advise import advise_work
from service.api.saving.schemas import AdviseAnswer, AdviseRequest, TrimAnswer, TrimRequest
from service.api.saving.trim import trim_work
from service.api.services import Services

_ADVISE = Operation(
    "Measure on one call what would save tokens or money, each way alone and all together.",
    request=AdviseRequest,
    answers=(AdviseAnswer,),
    example="advise",
)
_TRIM = Operation(
    "Drop a chat's oldest turns until it fits a limit or the context window; tool calls keep their results.",
    request=TrimRequest,
    answers=(TrimAnswer,),
    example="trim",
)

OPERATIONS = (_ADVISE, _TRIM)


def router(services: Services) -> APIRouter:
    """The routes, over ``services``."""
    routes = APIRouter(tags=["savings"])

    @routes.post("/v1/advise", **_ADVISE.options())
    async def advise(request: Request) -> Response:
        return await answer(services, advise_work, request, weight=32)

    @routes.post("/v1/trim", **_TRIM.options())
    async def trim(request: Request) -> Response:
        return await answer(services, trim_work, request, weight=8)

    return routes
