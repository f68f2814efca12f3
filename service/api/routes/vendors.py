"""Vendors' own counting endpoints, listed for OpenAPI; they are answered in front of the framework."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from service.api.errors import ApiError
from service.api.services import Services
from service.api.vendors.paths import ROUTES, find_route
from service.api.vendors.serving import serve_call

OPERATIONS = tuple(route.operation for route in ROUTES)


def router(services: Services) -> APIRouter:
    """The routes, over ``services``."""
    routes = APIRouter(tags=["vendors"])

    async def endpoint(request: Request) -> Response:
        found = find_route(request.scope["path"])
        if found is None:
            raise ApiError(404, "not_found", "See /docs or /openapi.json for all routes.")
        body, headers = await serve_call(services, found, request.scope)
        told = {name.decode(): value.decode() for name, value in headers}
        return Response(body, headers=told, media_type="application/json")

    for route in ROUTES:
        routes.add_api_route(route.template, endpoint, methods=["POST"], **route.operation.options())
    return routes
