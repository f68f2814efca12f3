"""Requests that write: carried out once for an Idempotency-Key, however often they are sent."""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable
from typing import TypeVar

from fastapi import Request, Response

from service.api.errors import ApiError
from service.api.exchange import Exchange
from service.api.services import Services
from service.domain.spending.errors import Replayed
from service.domain.spending.ledger import Once

T = TypeVar("T")

HEADER = "idempotency-key"
_NAME = HEADER.encode()
REPLAYED = {"idempotency-replayed": "true"}
_LABEL = "idempotency"
_LONGEST = 255


async def written(
    services: Services,
    request: Request,
    project: str,
    act: Callable[[Once | None], Awaitable[T]],
    write: Callable[[T], bytes],
    *,
    status: int = 200,
) -> Response:
    """Carry out ``act`` and answer with what ``write`` makes of its result, or with what was answered before.

    Raises ``ApiError`` (400) for a key that is none, and what ``act`` raises: ``KeyReused``, ``InFlight``.
    """
    once = once_of(services, request, project, write)
    try:
        answer, headers = write(await act(once)), {}
    except Replayed as before:
        answer, headers = before.answer, REPLAYED
    return Response(answer, status, headers, "application/json")


def once_of(services: Services, request: Request, project: str, write: Callable[[T], bytes]) -> Once | None:
    """The Idempotency-Key of a request, if it has one. Raises ``ApiError`` (400) for a key that is none."""
    exchange = Exchange.of(request.scope)
    given = [value for name, value in request.scope["headers"] if name == _NAME]
    if not given:
        return None
    if len(given) > 1:  # which of them another program on the way goes by nobody knows
        raise ApiError(400, "invalid_idempotency_key", "Send one Idempotency-Key.")
    key = given[0].decode("latin-1").strip()
    if not 1 <= len(key) <= _LONGEST or not key.isascii() or not key.isprintable():
        detail = f"An Idempotency-Key has 1 to {_LONGEST} printable ASCII characters."
        raise ApiError(400, "invalid_idempotency_key", detail)
    what = request.scope["path"].encode() + b"\0" + exchange.body  # the same key for another object is another request
    fingerprint = hmac.digest(services.secret.key(_LABEL), what, "sha256")
    route = f"{request.method} {request.scope['route'].path}"
    return Once(project, route, key, fingerprint, write)  # type: ignore[arg-type]  # it is given what ``act`` returns
