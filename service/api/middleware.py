"""The outer layers of every route: request log and metrics, then Host and Origin. Plain ASGI."""

from __future__ import annotations

import re
import time
import traceback
from collections.abc import Awaitable, Callable, Collection

from service.api.access import given_keys
from service.api.errors import ApiError
from service.api.exchange import App, Exchange, Message, Receive, Scope, Send, send_refusal
from service.api.lines import RequestLines
from service.api.vendors.paths import shape_of, template_of
from service.domain.keys.access import Caller
from service.domain.keys.keyring import KeyRing
from service.metrics import Metrics

PROBES = frozenset({"/livez", "/readyz"})
"""Routes that answer whatever Host they are asked under."""

_LOOPBACK = re.compile(r"(localhost|127\.0\.0\.1|\[::1\])(:\d{1,5})?")


class RequestLog:
    """Outermost: gives each request its id, answers errors, and records one log line and the metrics.

    The line holds the time, method, route template, status, milliseconds, request id and project; never a body, a
    query, a raw path or a key. An unforeseen error is logged by its class and places in the code, without its message.
    """

    def __init__(self, app: App, metrics: Metrics, lines: RequestLines, *, routes: Collection[str] = ()) -> None:
        self._app = app
        self._routes = frozenset(routes)
        self._metrics = metrics
        self._lines = lines

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        await self._serve(scope, send, lambda marked: self._app(scope, receive, marked))

    async def refuse(self, scope: Scope, error: Exception, send: Send, caller: Caller) -> None:
        """Answer a request of ``caller`` with ``error`` and record it, as though a layer had raised it."""

        async def fail(_marked: Send) -> None:
            Exchange.of(scope).caller = caller
            raise error

        await self._serve(scope, send, fail)

    async def _serve(self, scope: Scope, send: Send, answer: Callable[[Send], Awaitable[None]]) -> None:
        exchange = Exchange(scope)
        path = scope["path"]
        exchange.route = path if path in self._routes else template_of(path) or exchange.route
        request_id = (b"x-request-id", exchange.request_id.encode())

        async def send_marked(message: Message) -> None:
            if message["type"] == "http.response.start":
                exchange.status = message["status"]
                message["headers"] = [*message["headers"], request_id, *exchange.marks]
            await send(message)

        try:
            await answer(send_marked)
        except Exception as error:  # noqa: BLE001, RUF100 - the last line of defence
            await self._answer(exchange, error, send_marked, path)
        finally:
            self._finish(scope, exchange)

    async def _answer(self, exchange: Exchange, error: Exception, send: Send, path: str) -> None:
        if not exchange.status:
            code = await send_refusal(send, error, exchange.request_id, shape_of(path, exchange.body))
            self._metrics.error(code)
            if code != "internal_error":
                return
        self._lines.error(
            {
                "request_id": exchange.request_id,
                "error": type(error).__name__,
                "places": places(error),
            }
        )

    def _finish(self, scope: Scope, exchange: Exchange) -> None:
        seconds = time.perf_counter() - exchange.started
        method = scope["method"]
        if exchange.route == "unmatched":
            exchange.route = getattr(scope.get("route"), "path", exchange.route)
        self.record(exchange.route, method, exchange.status, seconds, exchange.request_id, exchange.caller.project)

    def record(self, route: str, method: str, status: int, seconds: float, request_id: str, project: str) -> None:
        """Record an answered request: its metrics and its line. ``route`` is a template."""
        self._metrics.request(route, method, status, seconds)
        self._lines.request(method, route, status, seconds, request_id, project)

    def flush(self) -> None:
        """Write the lines that wait."""
        self._lines.flush()


class HostGuard:
    """Without keys only this machine may ask: the Host must be a loopback name, and a foreign Origin is refused.

    This keeps a web page in a browser on this machine from using the service (DNS rebinding, cross-site requests).
    With keys any Host will do, and a page of another site that sends a key itself: a browser adds none by itself.
    """

    def __init__(self, app: App, ring: KeyRing) -> None:
        self._app = app
        self._ring = ring

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"] not in PROBES:
            headers = Exchange.of(scope).headers
            host = headers.get(b"host", b"")
            if sum(name == b"host" for name, _ in scope["headers"]) > 1:
                raise ApiError(400, "bad_host", "Send one Host header.")
            keyed = self._ring.any_host
            if not keyed and not is_loopback(host):
                detail = "Without keys the service answers to localhost, 127.0.0.1 and [::1] only."
                raise ApiError(403, "bad_host", detail)
            origin = headers.get(b"origin")
            foreign = origin is not None and not _same_site(origin, host)
            if foreign and not (keyed and given_keys(headers)):
                raise ApiError(403, "bad_origin", "Requests from pages of another site are refused.")
        await self._app(scope, receive, send)


def is_loopback(host: bytes) -> bool:
    """Whether a Host header names this machine."""
    return _LOOPBACK.fullmatch(host.decode("latin-1").lower()) is not None


def _same_site(origin: bytes, host: bytes) -> bool:
    return origin.lower() in (b"http://" + host.lower(), b"https://" + host.lower())


def places(error: BaseException) -> list[str]:
    """Where ``error`` was raised, innermost last: file, line and function, but no text that a caller sent."""
    frames = traceback.extract_tb(error.__traceback__)
    return [f"{frame.filename.rsplit('/', 1)[-1]}:{frame.lineno} {frame.name}" for frame in frames[-12:]]
