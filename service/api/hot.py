"""The hot routes, in front of the framework: one look-up, one decode, one count, one encode.

FastAPI's routing costs ten times the count of a kilobyte. These routes are listed in FastAPI too, for OpenAPI, and do
the same work either way.
"""

from __future__ import annotations

from collections.abc import Mapping

from service.api.body import is_streamed, json_body
from service.api.errors import ApiError
from service.api.exchange import App, Exchange, Receive, Scope, Send, send_bytes
from service.api.services import Services, Work, run
from service.api.vendors.paths import find_route
from service.api.vendors.serving import serve_call
from service.api.weighing.streaming import count_streamed


class HotRoutes:
    """Plain ASGI: answers POST on the paths of ``table`` and on vendors' paths, hands everything else on."""

    def __init__(self, app: App, services: Services, table: Mapping[str, Work]) -> None:
        self._app = app
        self._services = services
        self._table = table

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        work = self._table.get(scope["path"])
        found = find_route(scope["path"]) if work is None else None
        if work is None and found is None:
            await self._app(scope, receive, send)
            return
        exchange = Exchange.of(scope)
        if scope["method"] != "POST":
            detail = "This route takes POST."
            raise ApiError(405, "method_not_allowed", detail, headers={"allow": "POST"})
        if found is not None:
            body, headers = await serve_call(self._services, found, scope)
            await send_bytes(send, body, headers=headers)
        elif is_streamed(exchange):
            await send_bytes(send, await count_streamed(self._services, exchange, receive))
        elif work is not None:
            await send_bytes(send, await run(self._services, work, json_body(exchange)))
