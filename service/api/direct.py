"""Routes of the framework whose endpoints are called past it: its routing costs as much as all of a hold's own work.

They stay the framework's for OpenAPI, and are found here by the same paths. What an endpoint raises goes to the
outermost layer, which answers it as the framework would.
"""

from __future__ import annotations

from collections.abc import Iterable
from re import Pattern

from fastapi.routing import APIRoute
from starlette.requests import Request
from starlette.routing import BaseRoute

from service.api.exchange import App, Receive, Scope, Send


class DirectRoutes:
    """Plain ASGI: calls the endpoints of ``routes``, and hands everything else on to ``app``.

    An endpoint takes the request and then the texts in its path, in their order, and gives a response.
    """

    def __init__(self, app: App, routes: Iterable[BaseRoute]) -> None:
        self._app = app
        self._fixed: dict[tuple[str, str], APIRoute] = {}
        self._open: list[tuple[str, Pattern[str], APIRoute]] = []
        for route in routes:
            if not isinstance(route, APIRoute):
                continue
            start, parameter, _ = route.path.partition("{")
            if parameter:
                self._open.append((start, route.path_regex, route))
            else:
                self._fixed |= {(method, route.path): route for method in route.methods or ()}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        found = self._find(scope) if scope["type"] == "http" else None
        if found is None:
            await self._app(scope, receive, send)
            return
        route, texts = found
        scope["route"] = route
        response = await route.endpoint(Request(scope, receive, send), *texts)
        await response(scope, receive, send)

    def _find(self, scope: Scope) -> tuple[APIRoute, tuple[str, ...]] | None:
        """The route of a request, and the texts in its path."""
        path, method = scope["path"], scope["method"]
        route = self._fixed.get((method, path))
        if route is not None:
            return route, ()
        for start, pattern, each in self._open:
            if path.startswith(start) and method in (each.methods or ()):
                match = pattern.match(path)
                if match is not None:
                    return each, match.groups()
        return None
