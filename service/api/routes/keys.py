"""Keys: ``/v1/keys``, for admins."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from fastapi import APIRouter, Request, Response

from service.api.body import json_body
from service.api.decoding import decode
from service.api.exchange import Exchange
from service.api.key_schemas import (
    IssuedKeyAnswer,
    KeyAnswer,
    KeyChangesAnswer,
    KeyListAnswer,
    KeyRequest,
    RotateRequest,
    changes_answer,
    issued_answer,
    key_answer,
)
from service.api.once import once_of
from service.api.openapi import Operation
from service.api.projects import PROJECT, project_of
from service.api.queries import parameters, whole_number
from service.api.services import Services
from service.domain.keys.errors import AlreadyCreated, InvalidKey, UnknownKey
from service.domain.keys.keyring import Issued
from service.domain.keys.keys import MAX_OVERLAP_SECONDS, Key, KeySpec, is_key_id, scopes_of
from service.domain.keys.rates import RateLimit
from service.domain.spending.errors import InvalidQuery, Replayed

_MOST = 1000

_CREATE = Operation(
    "Make a key; its text is shown once. Its project is `project`, else the caller's. The first key needs the scope "
    "`admin`: from then on every request needs a key.",
    request=KeyRequest,
    answers=(IssuedKeyAnswer,),
    status=201,
    once=True,
)
_LIST = Operation(
    "The keys of all projects, or of one, in the order they were made.",
    answers=(KeyListAnswer,),
    query={
        "revoked": "`true`: revoked ones too.",
        "cursor": "What the page before gave.",
        "limit": "Most keys of a page: 100, at most 1000.",
    },
)
_ONE = Operation("One key, without its text.", answers=(KeyAnswer,), parameters={"id": ()})
_CHANGES = Operation("What was done to a key, when and by whom.", answers=(KeyChangesAnswer,), parameters={"id": ()})
_ROTATE = Operation(
    "Give a key a new text, shown once; the one before stays valid for `overlap_seconds`, by default not at all. The "
    "body may be left out.",
    request=RotateRequest,
    answers=(IssuedKeyAnswer,),
    parameters={"id": ()},
    once=True,
)
_REVOKE = Operation(
    "Revoke a key, for good: at once in this process, within 5 seconds in others.",
    answers=(KeyAnswer,),
    parameters={"id": ()},
    query={"force": "`true`: the last admin key too."},
)

OPERATIONS = (_CREATE, _LIST, _ONE, _CHANGES, _ROTATE, _REVOKE)

_encode = msgspec.json.Encoder().encode


def router(services: Services) -> APIRouter:
    """The routes, over ``services``."""
    routes = APIRouter(tags=["keys"])
    ring = services.keyring

    @routes.post("/v1/keys", **_CREATE.options())
    async def create(request: Request) -> Response:
        exchange = Exchange.of(request.scope)
        parameters(request, ())
        project = project_of(request)
        spec = _spec(decode(json_body(exchange), KeyRequest), project)
        once = once_of(services, request, project, _id_alone)
        issued = await _first(lambda: ring.create(spec, by=exchange.caller.name, once=once))
        return _issued(services, issued, 201)

    @routes.get("/v1/keys", **_LIST.options())
    async def list_keys(request: Request) -> Response:
        query = parameters(request, ("revoked", "cursor", "limit"))
        project = project_of(request) if PROJECT in query else None
        limit = whole_number(query, "limit", 100, _MOST)
        page = await ring.store.keys(project, revoked=_switch(query, "revoked"), cursor=_cursor(query), limit=limit)
        now = services.now()
        return _json(KeyListAnswer([key_answer(key, now) for key in page.items], page.cursor))

    @routes.get("/v1/keys/{id}", **_ONE.options())
    async def one(request: Request) -> Response:
        parameters(request, ())
        return _json(key_answer(await _named(services, request), services.now()))

    @routes.get("/v1/keys/{id}/changes", **_CHANGES.options())
    async def changes(request: Request) -> Response:
        parameters(request, ())
        key = await _named(services, request)
        return _json(changes_answer(await ring.store.changes(key.id)))

    @routes.post("/v1/keys/{id}/rotate", **_ROTATE.options())
    async def rotate(request: Request) -> Response:
        exchange = Exchange.of(request.scope)
        parameters(request, ())
        given = decode(json_body(exchange), RotateRequest) if exchange.body else RotateRequest()
        if not 0 <= given.overlap_seconds <= MAX_OVERLAP_SECONDS:
            raise InvalidKey("overlap_seconds", f"An overlap is from 0 to {MAX_OVERLAP_SECONDS} seconds.")
        once = once_of(services, request, exchange.caller.project, _id_alone)
        key, by = await _named(services, request), exchange.caller.name
        issued = await _first(lambda: ring.rotate(key.id, overlap_seconds=given.overlap_seconds, by=by, once=once))
        return _issued(services, issued, 200)

    @routes.delete("/v1/keys/{id}", **_REVOKE.options())
    async def revoke(request: Request) -> Response:
        force = _switch(parameters(request, ("force",)), "force")
        key, by = await _named(services, request), Exchange.of(request.scope).caller.name
        return _json(key_answer(await ring.revoke(key.id, force=force, by=by), services.now()))

    return routes


async def _named(services: Services, request: Request) -> Key:
    """The key that the path names, of the project that an admin names, if any. Raises ``UnknownKey``."""
    key_id = request.path_params["id"]
    key = await services.keyring.store.key(key_id) if is_key_id(key_id) else None
    if key is None or (PROJECT in request.query_params and key.spec.project != project_of(request)):
        raise UnknownKey
    return key


async def _first(act: Callable[[], Any]) -> Issued:
    """What ``act`` gives. Raises ``AlreadyCreated`` where it was carried out before: a text is never kept."""
    try:
        issued: Issued = await act()
    except Replayed as before:
        raise AlreadyCreated(before.answer.decode()) from None
    return issued


def _id_alone(key: Key) -> bytes:
    return key.id.encode()


def _spec(given: KeyRequest, project: str) -> KeySpec:
    limit = None
    if given.rate_limit is not None:
        try:
            limit = RateLimit.parse(given.rate_limit)
        except ValueError as error:
            raise InvalidKey("rate_limit", f"A rate limit is {error}.") from None
    return KeySpec(
        project if given.project is None else given.project,
        given.name,
        scopes_of(given.scopes),
        given.expires_at,
        limit,
    )


def _cursor(query: Mapping[str, str]) -> str | None:
    cursor = query.get("cursor")
    at, _, key_id = (cursor or "0-").partition("-")
    if cursor is not None and not (at.isascii() and at.isdecimal() and len(at) <= 18 and is_key_id(key_id)):
        raise InvalidQuery("cursor", "The cursor is not one that an answer gave.")
    return cursor


def _switch(query: Mapping[str, str], name: str) -> bool:
    text = query.get(name, "false")
    if text not in ("true", "false"):
        raise InvalidQuery(name, f"`{name}` is true or false.")
    return text == "true"


def _json(value: msgspec.Struct) -> Response:
    return Response(_encode(value), media_type="application/json")


def _issued(services: Services, issued: Issued, status: int) -> Response:
    body = _encode(issued_answer(issued, services.now()))
    return Response(body, status, {"cache-control": "no-store"}, "application/json")
