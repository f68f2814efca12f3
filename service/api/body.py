"""Reading a request's body within its limits: while it arrives, and while it is decompressed."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Callable, Mapping
from typing import NoReturn, Protocol

import zstandard

from adapters.port import Stop
from service.api.errors import ApiError
from service.api.exchange import App, Exchange, Receive, Scope, Send
from service.api.pool import CountPool

_WITH_BODY = frozenset({"POST", "PUT", "PATCH"})
_CLOSE = {"connection": "close"}
_ZSTD_WINDOW = 8 * 1024 * 1024
_SLICE = 256  # of zstd four bytes can stand for a block of 128 KiB: 8 MiB come out before the limit is looked at
_MOST_PARTS = 4096
_DISCARD = 4
"""A body that is too large is read on and thrown away, up to so many times the limit: its sender sees the answer."""


class BodyLimit:
    """Reads the body of POST, PUT and PATCH, at most ``limit`` bytes, and leaves it in the exchange, decompressed.

    ``Content-Encoding: gzip`` and ``zstd`` are undone; memory stays within the limit.
    """

    def __init__(self, app: App, *, limit: int, timeout: float, pool: CountPool) -> None:
        self._app = app
        self._limit = limit
        self._timeout = timeout
        self._pool = pool

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["method"] in _WITH_BODY:
            exchange = Exchange.of(scope)
            exchange.body = await self._read(exchange, receive)
        await self._app(scope, receive, send)

    async def _read(self, exchange: Exchange, receive: Receive) -> bytes:
        body = await self._arrived(receive)
        encoding = exchange.headers.get(b"content-encoding", b"identity").strip().lower()
        if encoding == b"identity":
            return body
        if encoding not in _UNPACKERS:
            detail = "Send the body plain, or with Content-Encoding gzip or zstd."
            raise ApiError(415, "request_body_encoding_unsupported", detail, headers={"accept-encoding": "gzip, zstd"})
        return await self._pool.run(lambda stop: _UNPACKERS[encoding](body, self._limit, stop))

    async def _arrived(self, receive: Receive) -> bytes:
        try:
            async with asyncio.timeout(self._timeout):
                message = await receive()
                body: bytes = message.get("body", b"")
                if message["type"] == "http.disconnect":
                    _refuse_disconnect()
                if message.get("more_body") or len(body) > self._limit:
                    body = await self._read_on(receive, body, more=message.get("more_body", False))
                return body
        except TimeoutError:
            detail = f"The body took longer than {self._timeout:g} s to arrive."
            raise ApiError(408, "request_body_timeout", detail, headers=_CLOSE) from None

    async def _read_on(self, receive: Receive, first: bytes, *, more: bool) -> bytes:
        chunks, size = [first], len(first)
        while more and size <= self._limit * _DISCARD:
            message = await receive()
            if message["type"] == "http.disconnect":
                _refuse_disconnect()
            more = message.get("more_body", False)
            size += len(message.get("body", b""))
            if size <= self._limit:
                chunks.append(message.get("body", b""))
            else:
                chunks.clear()
        if size > self._limit:
            detail = f"At most {self._limit} bytes are taken at once. Send the text in parts, or raise the limit."
            raise ApiError(413, "request_body_too_large", detail, headers=_CLOSE)
        return b"".join(chunks)


def _refuse_disconnect() -> NoReturn:
    raise ApiError(400, "invalid_json", "The connection was closed before the body was complete.")


def json_body(exchange: Exchange) -> bytes:
    """The body that was read, of a request that says it is JSON. Raises ``ApiError`` (415) for one that does not."""
    kind = exchange.headers.get(b"content-type", b"").split(b";", 1)[0].strip().lower()
    if kind != b"application/json" and not (kind.startswith(b"application/") and kind.endswith(b"+json")):
        raise ApiError(415, "unsupported_media_type", "Send JSON with Content-Type: application/json.")
    return exchange.body


def _gunzip(body: bytes, limit: int, stop: Stop) -> bytes:
    """Decompress all members of a gzip body, at most ``limit`` bytes."""
    return _unpack(body, limit, stop, "gzip", lambda: zlib.decompressobj(wbits=31))


def _unzstd(body: bytes, limit: int, stop: Stop) -> bytes:
    """Decompress all frames of a zstd body, at most ``limit`` bytes."""
    return _unpack(body, limit, stop, "zstd", zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW).decompressobj)


class _Part(Protocol):
    """A gzip member or a zstd frame, decompressed piece by piece."""

    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, /) -> bytes: ...


def _unpack(body: bytes, limit: int, stop: Stop, name: str, begin: Callable[[], _Part]) -> bytes:
    part, parts = begin(), 1
    unpacked: list[bytes] = []
    size = 0
    try:
        for start in range(0, len(body), _SLICE):
            stop.check()
            rest = body[start : start + _SLICE]
            while rest and size <= limit:
                if part.eof:
                    part, parts = begin(), parts + 1
                    if parts > _MOST_PARTS:
                        _refuse_encoding(name)
                unpacked.append(part.decompress(rest))
                size += len(unpacked[-1])
                rest = part.unused_data if part.eof else b""
    except (zlib.error, zstandard.ZstdError):
        _refuse_encoding(name)
    if not part.eof and size <= limit:
        _refuse_encoding(name)
    return _within(b"".join(unpacked), limit)


_UNPACKERS: Mapping[bytes, Callable[[bytes, int, Stop], bytes]] = {b"gzip": _gunzip, b"zstd": _unzstd}


def _within(data: bytes, limit: int) -> bytes:
    if len(data) > limit:
        detail = f"Decompressed, the body has more than the {limit} bytes that are taken at once."
        raise ApiError(413, "request_body_too_large_after_decoding", detail)
    return data


def _refuse_encoding(name: str) -> NoReturn:
    raise ApiError(400, "request_body_encoding_invalid", f"The body is not complete, valid {name}.") from None
