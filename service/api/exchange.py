"""One request and its answer, as the layers of the stack share it; and the plain ASGI way to send."""

from __future__ import annotations

import itertools
import re
import secrets
import time
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any

from service.api.vendors.shape import Shape, refusal
from service.domain.keys.access import ANYONE

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

JSON = b"application/json"
_KEY = "weighbridge.exchange"
_PROCESS = secrets.token_hex(8)  # tells this process's ids from those of all others; they need not be secret
_numbers = itertools.count(1)
_REQUEST_ID = re.compile(rb"[A-Za-z0-9._:-]{1,128}")


class Exchange:
    """The facts of one request, gathered once: headers, its id, its route template, its body once read, who asks.

    ``marks`` are headers that the answer bears, whatever it is.
    """

    __slots__ = ("body", "caller", "headers", "marks", "request_id", "route", "started", "status")

    def __init__(self, scope: Scope) -> None:
        self.headers: dict[bytes, bytes] = dict(scope["headers"])
        self.request_id = request_id(self.headers.get(b"x-request-id", b""))
        self.route = "unmatched"
        self.body = b""
        self.caller = ANYONE
        self.marks: list[tuple[bytes, bytes]] = []
        self.status = 0
        self.started = time.perf_counter()
        scope[_KEY] = self

    @staticmethod
    def of(scope: Scope) -> Exchange:
        """The exchange that ``scope`` belongs to."""
        exchange = scope[_KEY]
        assert isinstance(exchange, Exchange)  # noqa: S101 - set by the outermost layer; narrows the type
        return exchange


def request_id(given: bytes) -> str:
    """The id that a caller gave, or one of our own in the place of none and of one that is no id."""
    return given.decode() if given and _REQUEST_ID.fullmatch(given) else f"{_PROCESS}{next(_numbers):016x}"


async def send_bytes(
    send: Send,
    body: bytes,
    *,
    status: int = 200,
    content_type: bytes = JSON,
    headers: Iterable[tuple[bytes, bytes]] = (),
) -> None:
    """Send a whole answer."""
    length = str(len(body)).encode()
    start = [(b"content-type", content_type), (b"content-length", length), *headers]
    await send({"type": "http.response.start", "status": status, "headers": start})
    await send({"type": "http.response.body", "body": body})


async def send_refusal(send: Send, error: Exception, request_id: str, shape: Shape | None) -> str:
    """Answer ``error`` in a vendor's ``shape``, or as a problem, and return its code."""
    found = refusal(error, request_id, shape)
    extra = [(name.encode(), value.encode()) for name, value in found.headers.items()]
    await send_bytes(send, found.body, status=found.status, content_type=found.content_type, headers=extra)
    return found.code
