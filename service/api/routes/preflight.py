"""``/v1/preflight``: asked before each call."""

from __future__ import annotations

import msgspec
from fastapi import APIRouter, Request, Response

from service.api.body import json_body
from service.api.exchange import Exchange
from service.api.holding.reserving import Attempt
from service.api.once import written
from service.api.openapi import Operation
from service.api.preflight.schemas import PreflightAnswer, PreflightRequest
from service.api.preflight.wire import wire_preflight
from service.api.preflight.work import decide, look
from service.api.pricing.schemas import EstimateAnswer, EstimateBatchAnswer
from service.api.queries import named_project
from service.api.services import Services

_PREFLIGHT = Operation(
    "Whether a call may be made: estimate, limits, budgets, and what else could be called; with `reserve` it is held.",
    request=PreflightRequest,
    answers=(PreflightAnswer,),
    once=True,
    example="preflight",
    others=(EstimateAnswer, EstimateBatchAnswer),
)

OPERATIONS = (_PREFLIGHT,)

_encode = msgspec.json.Encoder().encode


def router(services: Services) -> APIRouter:
    """The route, over ``services``."""
    routes = APIRouter(tags=["spend"])

    @routes.post("/v1/preflight", **_PREFLIGHT.options())
    async def preflight(request: Request) -> Response:
        exchange = Exchange.of(request.scope)
        body, attempt = json_body(exchange), Attempt(named_project(request), exchange.caller)
        seen = await look(services, attempt, body)
        if not seen.given.reserve:
            await decide(services, seen, body, None)
            return Response(_encode(wire_preflight(seen, None)), media_type="application/json")
        return await written(
            services,
            request,
            attempt.project,
            lambda once: decide(services, seen, body, once),
            lambda hold: _encode(wire_preflight(seen, hold)),
        )

    return routes
