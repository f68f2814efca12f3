"""``/v1/usage``: calls that were made without a reservation."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from fastapi import APIRouter, Request, Response

from service.api.body import json_body
from service.api.exchange import Exchange
from service.api.holding.recording import record_usage
from service.api.holding.schemas import CallRecord, CallRecords, RecordedCalls
from service.api.holding.wire import wire_recorded
from service.api.once import written
from service.api.openapi import Operation
from service.api.queries import named_project
from service.api.services import Services
from service.domain.notices import Notice
from service.domain.spending.ledger import Entry

_USAGE = Operation(
    "Book one call that was made without a reservation, or up to 1,000 of them, all or none.",
    request=(CallRecord, CallRecords),
    answers=(RecordedCalls,),
    once=True,
    example="usage",
    status=201,
)

OPERATIONS = (_USAGE,)

_encode = msgspec.json.Encoder().encode


def router(services: Services) -> APIRouter:
    """The route, over ``services``."""
    routes = APIRouter(tags=["spend"])

    @routes.post("/v1/usage", **_USAGE.options())
    async def usage(request: Request) -> Response:
        exchange, project, told = Exchange.of(request.scope), named_project(request), list[Sequence[Notice]]()
        body = json_body(exchange)

        def write(entries: Sequence[Entry]) -> bytes:
            booked = [wire_recorded(entry, notices) for entry, notices in zip(entries, told, strict=True)]
            return _encode(RecordedCalls(booked))

        return await written(
            services,
            request,
            project,
            lambda once: record_usage(services, project, exchange.caller, body, once, told),
            write,
            status=201,
        )

    return routes
