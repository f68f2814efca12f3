"""For operators: ``/livez``, ``/readyz`` and ``/metrics``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from fastapi import APIRouter, Response

from service.api.openapi import Operation
from service.api.services import Services
from service.api.weighing.schemas import Health
from service.domain.spending.health import Word
from service.metrics import CONTENT_TYPE

_LIVE = Operation("Whether the process runs.", answers=(Health,))
_READY = Operation(
    "Whether every vocabulary is loaded and proven; 503 once the service is shutting down. `ledger` is told beside.",
    answers=(Health,),
)
_DRAINING: Mapping[int | str, dict[str, Any]] = {503: {"description": "Shutting down."}}
_METRICS = Operation("Prometheus metrics.", answers=(), media_type="text/plain")

OPERATIONS = (_LIVE, _READY, _METRICS)


def router(services: Services) -> APIRouter:
    """The routes, over ``services``."""
    routes = APIRouter(tags=["operations"])
    engines = {name: tokenizer.engine for name, tokenizer in services.weigher.tokenizers.items()}
    live = msgspec.json.encode(Health("ok", services.version))
    words: tuple[Word, ...] = ("starting", "up", "down")
    ready = {
        word: msgspec.json.encode(Health("ok", services.version, engines, services.replaced, word)) for word in words
    }
    draining = msgspec.json.encode(Health("shutting_down", services.version))

    @routes.head("/livez", include_in_schema=False)
    @routes.get("/livez", **_LIVE.options())
    async def livez() -> Response:
        return Response(live, media_type="application/json")

    @routes.head("/readyz", include_in_schema=False)
    @routes.get("/readyz", **_READY.options(_DRAINING))
    async def readyz() -> Response:
        if services.lifecycle.draining:
            return Response(draining, status_code=503, media_type="application/json")
        return Response(ready[services.ledger_health.word], media_type="application/json")

    @routes.head("/metrics", include_in_schema=False)
    @routes.get("/metrics", **_METRICS.options())
    async def metrics() -> Response:
        return Response(services.metrics.render(), headers={"content-type": CONTENT_TYPE})

    return routes
