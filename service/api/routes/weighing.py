"""Counting and tokenizing: ``/v1/count``, ``/v1/tokenize``, ``/v1/detokenize``."""

from __future__ import annotations

from collections.abc import Mapping

from fastapi import APIRouter, Request, Response

from service.api.body import json_body
from service.api.exchange import Exchange
from service.api.openapi import Operation
from service.api.services import Services, Work, run
from service.api.weighing import counting as work
from service.api.weighing.schemas import (
    CountRequest,
    DetokenizeAnswer,
    DetokenizeRequest,
    TokenizeAnswer,
    TokenizeRequest,
)
from service.api.weighing.streaming import HEADERS
from service.domain.counting import Count, CountBatch
from service.domain.limits import LimitedCount
from service.domain.remote import RemoteCount

HOT: Mapping[str, Work] = {"/v1/count": work.count}
"""Routes that are answered in front of the framework."""

_COUNT = Operation(
    "Count the tokens of a text, of several, or of a whole request; a text/plain body is counted as it arrives.",
    request=CountRequest,
    answers=(Count, RemoteCount, CountBatch, LimitedCount),
    example="count",
    more=("count_chat", "count_limit"),
    text_headers=HEADERS,
)
_TOKENIZE = Operation(
    "Cut a text into tokens: ids, pieces and their places.",
    request=TokenizeRequest,
    answers=(TokenizeAnswer,),
    example="tokenize",
)
_DETOKENIZE = Operation(
    "Turn ids back into text.", request=DetokenizeRequest, answers=(DetokenizeAnswer,), example="detokenize"
)

OPERATIONS = (_COUNT, _TOKENIZE, _DETOKENIZE)


def router(services: Services) -> APIRouter:
    """The routes, over ``services``."""
    routes = APIRouter(tags=["weighing"])

    @routes.post("/v1/count", **_COUNT.options())
    async def count(request: Request) -> Response:
        return await answer(services, work.count, request, weight=1)

    @routes.post("/v1/tokenize", **_TOKENIZE.options())
    async def tokenize(request: Request) -> Response:
        return await answer(services, work.tokenize, request, weight=8)

    @routes.post("/v1/detokenize", **_DETOKENIZE.options())
    async def detokenize(request: Request) -> Response:
        return await answer(services, work.detokenize, request, weight=2)

    return routes


async def answer(services: Services, todo: Work, request: Request, *, weight: int) -> Response:
    """Do a route's work and answer with it."""
    body = json_body(Exchange.of(request.scope))
    return Response(await run(services, todo, body, weight=weight), media_type="application/json")
