"""The fast lane: small JSON requests to the hot routes, answered in one step in front of all layers.

Under load most of a small count's time goes into the layers around it: a coroutine, a look at the headers, a message
each. Here a request is looked at once. One in which there is anything for a layer to decide (a Host to refuse, an
Origin, an encoding, a body that is large or has no length, a key that is not valid or has a rate limit) goes the long
way, through the layers, as if this were not here; every answer of the lane is the one that they would give, and it is
recorded as they record it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Generator, Mapping
from functools import partial
from time import perf_counter
from typing import Any

from service.api.access import given_keys
from service.api.body import CLOSE, refuse_disconnect
from service.api.errors import ApiError
from service.api.exchange import JSON, Message, Receive, Scope, Send, request_id
from service.api.middleware import RequestLog, is_loopback
from service.api.services import Services, Work
from service.domain.keys.access import ANYONE, Caller, KeyScope
from service.domain.keys.keyring import Gate

_MOST_HOSTS = 64  # spellings of this machine that are remembered


class FastLane:
    """Plain ASGI. ``layers`` is the stack that answers all else; ``current`` gives the parts in force."""

    def __init__(
        self,
        layers: RequestLog,
        table: Mapping[str, Work],
        current: Callable[[], Services],
        *,
        any_host: bool = False,
    ) -> None:
        self._layers = layers
        self._table = table
        self._current = current
        self._any_host = any_host
        self._hosts: set[bytes] = set()
        self._ring = current().keyring
        settings = current().settings
        self._largest = min(settings.inline_bytes, settings.max_body_bytes)
        self._seconds = settings.body_timeout_seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = perf_counter()
        work = self._table.get(scope["path"]) if scope["type"] == "http" and scope["method"] == "POST" else None
        given = None if work is None else self._admitted(scope["headers"])
        caller = ANYONE if self._ring.gate is Gate.OPEN or given is None else self._caller(scope["headers"])
        if work is None or given is None or caller is None:
            await self._layers(scope, receive, send)
            return
        try:
            body = await self._body(receive)
            done = work(self._current(), body, None)
            answer = done if isinstance(done, bytes) else await done()
        except Exception as error:  # noqa: BLE001, RUF100 - the layers answer all errors
            await self._layers.refuse(scope, error, send, caller)
            return
        own_id = request_id(given)
        length = b"%d" % len(answer)
        headers = [(b"content-type", JSON), (b"content-length", length), (b"x-request-id", own_id.encode())]
        try:
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            await send({"type": "http.response.body", "body": answer})
        finally:
            self._layers.record(scope["path"], "POST", 200, perf_counter() - started, own_id, caller.project)

    def flush(self) -> None:
        """Write the log lines that wait."""
        self._layers.flush()

    def _admitted(self, headers: list[tuple[bytes, bytes]]) -> bytes | None:
        """The request id that was given, empty without one; ``None`` where the layers have something to decide."""
        host = kind = None
        size, given = -1, b""
        for name, value in headers:
            if name == b"host":
                if host is not None:
                    return None
                host = value
            elif name == b"content-type":
                kind = value
            elif name == b"content-length" and value.isdigit():
                size = int(value)
            elif name == b"x-request-id":
                given = value
            elif name in (b"origin", b"content-encoding"):
                return None
        if kind != JSON or not 0 <= size <= self._largest or (host not in self._hosts and not self._knows(host)):
            return None
        return given

    def _caller(self, headers: list[tuple[bytes, bytes]]) -> Caller | None:
        """Who asks with a key that may count as often as it likes; ``None`` where the layers have to decide."""
        texts = given_keys(dict(headers))
        found = self._ring.find(texts[0]) if texts else None
        if found is None or found.rate_limit is not None or not found.caller.may(KeyScope.COUNT):
            return None
        return found.caller

    def _knows(self, host: bytes | None) -> bool:
        if self._ring.gate is not Gate.OPEN:
            return host is not None
        if host is None or not (self._any_host or is_loopback(host)):
            return False
        if len(self._hosts) < _MOST_HOSTS:
            self._hosts.add(host)
        return True

    async def _body(self, receive: Receive) -> bytes:
        """The body. Raises ``ApiError`` where it does not arrive in time or at all.

        Nearly always it is there already: then no timer is set, which costs as much as a count.
        """
        waiting: Any = receive().__await__()
        try:
            pause = next(waiting)
        except StopIteration as done:
            if not done.value.get("more_body"):
                return _part_of(done.value)
            first: Awaitable[Message] = _ready(done.value)
        else:
            first = _Begun(waiting, pause)
        try:
            async with asyncio.timeout(self._seconds):
                message = await first
                body = _part_of(message)
                while message.get("more_body"):
                    message = await receive()
                    body += _part_of(message)
                return body
        except TimeoutError:
            detail = f"The body took longer than {self._seconds:g} s to arrive."
            raise ApiError(408, "request_body_timeout", detail, headers=CLOSE) from None


def _part_of(message: Message) -> bytes:
    if message["type"] == "http.disconnect":
        refuse_disconnect()
    part: bytes = message.get("body", b"")
    return part


async def _ready(message: Message) -> Message:
    return message


class _Begun:
    """An awaitable that has run to its first pause: to await it is to go on from there."""

    def __init__(self, waiting: Generator[Any, Any, Any], pause: Any) -> None:
        self._waiting = waiting
        self._pause = pause

    def __await__(self) -> Generator[Any, Any, Any]:
        pause = self._pause
        while True:
            try:
                value = yield pause
            except BaseException as error:  # a cancellation: it is for what waits
                go_on = partial(self._waiting.throw, error)
            else:
                go_on = partial(self._waiting.send, value)
            try:
                pause = go_on()
            except StopIteration as done:
                return done.value
