"""What saves tokens: ``/v1/trim``."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from service.api.openapi import Operation
from service.api.routes.weighing import answer
from service.api.saving_schemas import TrimAnswer, TrimRequest
from service.api.services import Services
from service.api.trim_work import trim_work

_TRIM = Operation(
    "Drop a chat's oldest turns until it fits a limit or the context window; tool calls keep their results.",
    request=TrimRequest,
    answers=(TrimAnswer,),
    example="trim",
)

OPERATIONS = (_TRIM,)


def router(services: Services) -> APIRouter:
    """The routes, over ``services``."""
    routes = APIRouter(tags=["savings"])

    @routes.post("/v1/trim", **_TRIM.options())
    async def trim(request: Request) -> Response:
        return await answer(services, trim_work, request, weight=8)

    return routes
