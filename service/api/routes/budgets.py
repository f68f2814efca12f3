"""Budgets: ``/v1/budgets``."""

from __future__ import annotations

import msgspec
from fastapi import APIRouter, Request, Response

from service.api.body import json_body
from service.api.budgets.schemas import BudgetAnswer, BudgetChange, BudgetChanges, BudgetList, BudgetRequest
from service.api.budgets.wire import change_of, spec_of, wire_budget, wire_budgets, wire_changes
from service.api.decoding import decode
from service.api.errors import ApiError
from service.api.exchange import Exchange
from service.api.once import written
from service.api.openapi import Operation
from service.api.projects import project_of
from service.api.queries import page_cursor, parameters, whole_number
from service.api.services import Services
from service.domain.keys.access import KeyScope
from service.domain.spending.budgets import is_budget_name
from service.domain.spending.errors import UnknownBudget

_encode = msgspec.json.Encoder().encode
_LARGEST_PAGE = 1000
_CREATE = Operation(
    "Make a budget; it counts from now on. An Idempotency-Key makes it once, however often it is sent.",
    request=BudgetRequest,
    answers=(BudgetAnswer,),
    example="budgets",
    status=201,
    once=True,
)
_LIST = Operation(
    "The project's budgets as they stand, in the order they were made.",
    answers=(BudgetList,),
    query={"cursor": "What the page before gave.", "limit": "Most budgets of a page: 100, at most 1000."},
)
_READ = Operation("A budget as it stands in its present period.", answers=(BudgetAnswer,))
_CHANGE = Operation(
    "Change a budget's limits, warning or export. A limit may be lowered below what is spent.",
    request=BudgetChange,
    answers=(BudgetAnswer,),
)
_DELETE = Operation("Delete a budget of which nothing is held; what was spent stays.", answers=(), status=204)
_CHANGES = Operation("Who changed a budget, when, and to what.", answers=(BudgetChanges,))

OPERATIONS = (_CREATE, _LIST, _READ, _CHANGE, _DELETE, _CHANGES)


def router(services: Services) -> APIRouter:
    """The routes, over ``services``."""
    routes = APIRouter(tags=["budgets"])
    ledger = services.ledger

    @routes.post("/v1/budgets", **_CREATE.options())
    async def create_budget(request: Request) -> Response:
        parameters(request, ())
        return await create(services, request)

    @routes.get("/v1/budgets", **_LIST.options())
    async def list_budgets(request: Request) -> Response:
        query = parameters(request, ("cursor", "limit"))
        limit = whole_number(query, "limit", 100, _LARGEST_PAGE)
        page = await ledger.budgets(project_of(request), cursor=page_cursor(query), limit=limit)
        return _json(wire_budgets(page, services.now()))

    @routes.get("/v1/budgets/{name}", **_READ.options())
    async def read_budget(request: Request, name: str) -> Response:
        parameters(request, ())
        return _json(wire_budget(await ledger.budget(project_of(request), _known(name)), services.now()))

    @routes.patch("/v1/budgets/{name}", **_CHANGE.options())
    async def change_budget(request: Request, name: str) -> Response:
        parameters(request, ())
        return await change(services, request, _known(name))

    @routes.delete("/v1/budgets/{name}", **_DELETE.options())
    async def delete_budget(request: Request, name: str) -> Response:
        parameters(request, ())
        caller = Exchange.of(request.scope).caller
        await ledger.delete_budget(project_of(request), _known(name), by=caller.name)
        return Response(status_code=204)

    @routes.get("/v1/budgets/{name}/changes", **_CHANGES.options())
    async def list_changes(request: Request, name: str) -> Response:
        parameters(request, ())
        return _json(wire_changes(await ledger.budget_versions(project_of(request), _known(name))))

    return routes


async def create(services: Services, request: Request) -> Response:
    """``POST /v1/budgets``."""
    exchange = Exchange.of(request.scope)
    given = decode(json_body(exchange), BudgetRequest)
    project, caller = project_of(request), exchange.caller
    if given.scope.kind == "all" and not caller.may(KeyScope.ADMIN):
        detail = "A budget over all projects is an admin's: it needs a key with the scope admin."
        raise ApiError(403, "scope_missing", detail, path="scope.kind")
    spec = spec_of(services, project, given)
    return await written(
        services,
        request,
        project,
        lambda once: services.ledger.create_budget(spec, by=caller.name, once=once),
        lambda balance: _encode(wire_budget(balance, services.now())),
        status=201,
    )


async def change(services: Services, request: Request, name: str) -> Response:
    """``PATCH /v1/budgets/{name}``."""
    exchange = Exchange.of(request.scope)
    terms = change_of(decode(json_body(exchange), BudgetChange))
    project, by = project_of(request), exchange.caller.name
    return await written(
        services,
        request,
        project,
        lambda once: services.ledger.change_budget(project, name, terms, by=by, once=once),
        lambda balance: _encode(wire_budget(balance, services.now())),
    )


def _known(name: str) -> str:
    """``name`` if a budget can have it. Raises ``UnknownBudget``."""
    if not is_budget_name(name):
        raise UnknownBudget
    return name


def _json(answer: msgspec.Struct) -> Response:
    return Response(_encode(answer), media_type="application/json")
