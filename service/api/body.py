"""Reading a request's body within its limits: while it arrives, and while it is decompressed."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Callable, Iterator, Mapping
from typing import NoReturn, Protocol

import zstandard

from adapters.port import Stop
from service.api.errors import ApiError
from service.api.exchange import App, Exchange, Receive, Scope, Send
from service.api.pool import CountPool

NAMING = frozenset({b"weighbridge-model", b"weighbridge-tokenizer"})
"""Headers of which a streamed body has one. No page of another site can send them without asking first."""

STREAMED = frozenset({"/v1/count"})
"""Routes that take plain text of any length too; they read it themselves."""

_WITH_BODY = frozenset({"POST", "PUT", "PATCH"})
CLOSE = {"connection": "close"}
_ZSTD_WINDOW = 8 * 1024 * 1024
_SLICE = 256  # of zstd four bytes can stand for a block of 128 KiB: 8 MiB come out before the limit is looked at
_MOST_PARTS = 4096
_DISCARD = 4
"""A body that is too large is read on and thrown away, up to so many times the limit: its sender sees the answer."""


class BodyLimit:
    """Reads the body of POST, PUT and PATCH, at most ``limit`` bytes, and leaves it in the exchange, decompressed.

    ``Content-Encoding: gzip`` and ``zstd`` are undone; memory stays within the limit. A body that is
    streamed is left to its route.
    """

    def __init__(self, app: App, *, limit: int, timeout: float, pool: CountPool) -> None:
        self._app = app
        self._limit = limit
        self._timeout = timeout
        self._pool = pool

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["method"] in _WITH_BODY:
            exchange = Exchange.of(scope)
            if is_streamed(exchange):
                await self._app(scope, receive, send)
                return
            exchange.body = await self._read(exchange, receive)
        await self._app(scope, receive, send)

    async def _read(self, exchange: Exchange, receive: Receive) -> bytes:
        body = await self._arrived(receive)
        encoding = encoding_of(exchange)
        if encoding is None:
            return body
        return await self._pool.run(lambda stop: _unpack(encoding, body, self._limit, stop))

    async def _arrived(self, receive: Receive) -> bytes:
        try:
            async with asyncio.timeout(self._timeout):
                message = await receive()
                body: bytes = message.get("body", b"")
                if message["type"] == "http.disconnect":
                    refuse_disconnect()
                if message.get("more_body") or len(body) > self._limit:
                    body = await self._read_on(receive, body, more=message.get("more_body", False))
                return body
        except TimeoutError:
            detail = f"The body took longer than {self._timeout:g} s to arrive."
            raise ApiError(408, "request_body_timeout", detail, headers=CLOSE) from None

    async def _read_on(self, receive: Receive, first: bytes, *, more: bool) -> bytes:
        chunks, size = [first], len(first)
        while more and size <= self._limit * _DISCARD:
            message = await receive()
            if message["type"] == "http.disconnect":
                refuse_disconnect()
            more = message.get("more_body", False)
            size += len(message.get("body", b""))
            if size <= self._limit:
                chunks.append(message.get("body", b""))
            else:
                chunks.clear()
        if size > self._limit:
            detail = f"At most {self._limit} bytes are taken at once. Send the text in parts, or raise the limit."
            raise ApiError(413, "request_body_too_large", detail, headers=CLOSE)
        return b"".join(chunks)


def is_streamed(exchange: Exchange) -> bool:
    """Whether the body is plain text, with a header that says what to count with, for a route that takes it so."""
    if exchange.route not in STREAMED or media_type(exchange) != b"text/plain":
        return False
    return not exchange.headers.keys().isdisjoint(NAMING)


def media_type(exchange: Exchange) -> bytes:
    """The Content-Type without its parameters, in lower case."""
    return exchange.headers.get(b"content-type", b"").split(b";", 1)[0].strip().lower()


def refuse_disconnect() -> NoReturn:
    """Raise ``ApiError`` (400) for a body that will never be complete."""
    raise ApiError(400, "invalid_json", "The connection was closed before the body was complete.")


def json_body(exchange: Exchange) -> bytes:
    """The body that was read, of a request that says it is JSON. Raises ``ApiError`` (415) for one that does not."""
    kind = media_type(exchange)
    if kind != b"application/json" and not (kind.startswith(b"application/") and kind.endswith(b"+json")):
        detail = "Send JSON with Content-Type: application/json."
        if exchange.route in STREAMED:
            detail += " Plain text (text/plain) goes with the header weighbridge-model or weighbridge-tokenizer."
        raise ApiError(415, "unsupported_media_type", detail)
    return exchange.body


class _Part(Protocol):
    """A gzip member or a zstd frame, decompressed piece by piece."""

    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, /) -> bytes: ...


def _zstd_frame() -> _Part:
    return zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW).decompressobj()


_BEGIN: Mapping[bytes, Callable[[], _Part]] = {b"gzip": lambda: zlib.decompressobj(wbits=31), b"zstd": _zstd_frame}


class Unpacker:
    """Decompresses a body of ``encoding`` (``gzip`` or ``zstd``), all its members or frames, as it arrives."""

    def __init__(self, encoding: bytes) -> None:
        self._name = encoding.decode()
        self._begin = _BEGIN[encoding]
        self._part = self._begin()
        self._parts = 1

    def feed(self, data: bytes) -> Iterator[bytes]:
        """What ``data`` decompresses to, in pieces of 8 MiB at most. Raises ``ApiError`` (400) for damaged data."""
        try:
            for start in range(0, len(data), _SLICE):
                rest = data[start : start + _SLICE]
                while rest:
                    if self._part.eof:
                        self._part, self._parts = self._begin(), self._parts + 1
                        if self._parts > _MOST_PARTS:
                            self._refuse()
                    yield self._part.decompress(rest)
                    rest = self._part.unused_data if self._part.eof else b""
        except (zlib.error, zstandard.ZstdError):
            self._refuse()

    def end(self) -> None:
        """Raise ``ApiError`` (400) unless the body is complete."""
        if not self._part.eof:
            self._refuse()

    def _refuse(self) -> NoReturn:
        detail = f"The body is not complete, valid {self._name}."
        raise ApiError(400, "request_body_encoding_invalid", detail) from None


def encoding_of(exchange: Exchange) -> bytes | None:
    """The body's Content-Encoding, ``None`` for a plain one. Raises ``ApiError`` (415) for one that is not taken."""
    encoding = exchange.headers.get(b"content-encoding", b"identity").strip().lower()
    if encoding == b"identity":
        return None
    if encoding not in _BEGIN:
        detail = "Send the body plain, or with Content-Encoding gzip or zstd."
        raise ApiError(415, "request_body_encoding_unsupported", detail, headers={"accept-encoding": "gzip, zstd"})
    return encoding


def _unpack(encoding: bytes, body: bytes, limit: int, stop: Stop) -> bytes:
    unpacker = Unpacker(encoding)
    unpacked: list[bytes] = []
    size = 0
    for piece in unpacker.feed(body):
        stop.check()
        unpacked.append(piece)
        size += len(piece)
        if size > limit:
            refuse_unpacked(limit)
    unpacker.end()
    return b"".join(unpacked)


def refuse_unpacked(limit: int) -> NoReturn:
    """Raise ``ApiError`` (413) for a body that is too large once decompressed."""
    detail = f"Decompressed, the body has more than the {limit} bytes that are taken at once."
    raise ApiError(413, "request_body_too_large_after_decoding", detail)
