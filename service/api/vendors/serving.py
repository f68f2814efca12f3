"""From a request on a vendor's path to the answer and its headers."""

from __future__ import annotations

from service.api.body import json_body
from service.api.exchange import Exchange, Scope
from service.api.services import Services
from service.api.vendors.call import Call, answer
from service.api.vendors.paths import Found


async def serve_call(services: Services, found: Found, scope: Scope) -> tuple[bytes, list[tuple[bytes, bytes]]]:
    """The body and the headers of the answer. Raises what the route's work raises."""
    exchange = Exchange.of(scope)
    call = Call(json_body(exchange), found.model, scope["query_string"])
    body = await answer(services, found.route, call)
    headers = call.marks | found.route.shape.headers(exchange.request_id)
    return body, [(name.encode(), value.encode()) for name, value in headers.items()]
