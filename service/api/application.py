"""The FastAPI application: every route, errors in one shape, and an OpenAPI document made from the wire types."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.openapi.utils import get_openapi
from starlette.exceptions import HTTPException
from starlette.routing import BaseRoute

from adapters.port import TokenizerError
from service.api import openapi
from service.api.alerts import ALERTS, webhooks
from service.api.errors import ApiError
from service.api.exchange import Exchange
from service.api.routes import (
    budgets,
    catalog,
    costs,
    documentation,
    keys,
    operations,
    preflight,
    reservations,
    savings,
    spend,
    usage,
    vendors,
    weighing,
)
from service.api.scopes import secured
from service.api.services import Services
from service.api.vendors.paths import STATIC, shape_of
from service.api.vendors.shape import refusal
from service.domain.errors import DomainError

STATIC_ROUTES = frozenset(
    {
        *("/v1/count", "/v1/tokenize", "/v1/detokenize", "/v1/estimate", "/v1/compare", "/v1/cost"),
        *STATIC,
        *("/v1/advise", "/v1/trim", "/v1/keys"),
        *("/v1/preflight", "/v1/reservations", "/v1/usage"),
        *("/v1/budgets", "/v1/spend", "/v1/spend/entries", "/v1/refusals"),
        *("/v1/models", "/v1/tokenizers", "/v1/prices", "/livez", "/readyz", "/metrics", "/openapi.json"),
    }
)
"""Routes without parameters: their path is their template, whoever answers."""


_GROUPS = (
    *(weighing, costs, savings),
    *(preflight, reservations, usage),
    *(budgets, spend, keys),
    *(catalog, operations, vendors),
)


_DIRECT = (preflight, reservations, usage)
"""Groups on the path of every call of a model."""


def direct_routes(services: Services) -> list[BaseRoute]:
    """The routes over ``services`` whose endpoints are called without the framework."""
    return [route for group in _DIRECT for route in group.router(services).routes]


def build_api(services: Services) -> FastAPI:
    """All routes over ``services``."""
    app = FastAPI(
        title="Weighbridge",
        version=services.version,
        summary="Weighs prompts: how many tokens, how sure that is, what it costs, and what budgets have left for it.",
        redirect_slashes=False,
        docs_url=None,
        redoc_url=None,
    )
    for group in _GROUPS:
        app.include_router(group.router(services))
    app.include_router(documentation.router())
    _answer_errors(app, services)
    app.openapi = lambda: _openapi(app)  # type: ignore[method-assign]  # FastAPI's documented way to replace it
    return app


def _answer_errors(app: FastAPI, services: Services) -> None:
    def answer(request: Request, error: Exception) -> Response:
        exchange = Exchange.of(request.scope)
        if isinstance(error, HTTPException):
            error = _framework_error(error)
        found = refusal(error, exchange.request_id, shape_of(request.scope["path"], exchange.body))
        services.metrics.error(found.code)
        return Response(found.body, found.status, dict(found.headers), found.content_type.decode())

    for kind in (ApiError, DomainError, TokenizerError, HTTPException, Exception):
        app.add_exception_handler(kind, answer)


def _framework_error(error: HTTPException) -> ApiError:
    if error.status_code == 405:
        detail = "See /openapi.json for what this route takes."
        return ApiError(405, "method_not_allowed", detail, headers=error.headers)
    return ApiError(404, "not_found", "See /docs or /openapi.json for all routes.")


def _openapi(app: FastAPI) -> dict[str, Any]:
    if not app.openapi_schema:
        document = get_openapi(title=app.title, version=app.version, summary=app.summary, routes=app.routes)
        document["webhooks"] = webhooks()
        types = openapi.wire_types(op for group in _GROUPS for op in group.OPERATIONS)
        app.openapi_schema = secured(openapi.complete(document, [*types, *ALERTS]))
    return app.openapi_schema
