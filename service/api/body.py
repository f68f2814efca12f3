"""Reading a request's body within its limits: while it arrives, and while it is decompressed."""

from __future__ import annotations

import asyncio
import zlib
from typing import NoReturn

import zstandard

from service.api.errors import ApiError
from service.api.exchange import App, Exchange, Receive, Scope, Send
from service.api.pool import CountPool

_WITH_BODY = frozenset({"POST", "PUT", "PATCH"})
_CLOSE = {"connection": "close"}
_ZSTD_WINDOW = 8 * 1024 * 1024
_ZSTD_SLICE = 256  # four bytes can stand for a block of 128 KiB: at most 8 MiB come out before the limit is looked at
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
        message = await receive()
        body: bytes = message.get("body", b"")
        if message.get("more_body") or len(body) > self._limit:
            body = await self._read_on(receive, body, more=message.get("more_body", False))
        encoding = exchange.headers.get(b"content-encoding", b"identity").strip().lower()
        if encoding == b"identity":
            return body
        if encoding not in (b"gzip", b"zstd"):
            detail = "Send the body plain, or with Content-Encoding gzip or zstd."
            raise ApiError(415, "request_body_encoding_unsupported", detail, headers={"accept-encoding": "gzip, zstd"})
        unpack = _gunzip if encoding == b"gzip" else _unzstd
        return await self._pool.run(lambda _stop: unpack(body, self._limit))

    async def _read_on(self, receive: Receive, first: bytes, *, more: bool) -> bytes:
        chunks, size = [first], len(first)
        try:
            async with asyncio.timeout(self._timeout):
                while more and size <= self._limit * _DISCARD:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise ApiError(400, "invalid_json", "The connection was closed before the body was complete.")
                    more = message.get("more_body", False)
                    size += len(message.get("body", b""))
                    if size <= self._limit:
                        chunks.append(message.get("body", b""))
                    else:
                        chunks.clear()
        except TimeoutError:
            detail = f"The body took longer than {self._timeout:g} s to arrive."
            raise ApiError(408, "request_body_timeout", detail, headers=_CLOSE) from None
        if size > self._limit:
            detail = f"At most {self._limit} bytes are taken at once. Send the text in parts, or raise the limit."
            raise ApiError(413, "request_body_too_large", detail, headers=_CLOSE)
        return b"".join(chunks)


def json_body(exchange: Exchange) -> bytes:
    """The body that was read, of a request that says it is JSON. Raises ``ApiError`` (415) for one that does not."""
    kind = exchange.headers.get(b"content-type", b"").split(b";", 1)[0].strip().lower()
    if kind != b"application/json" and not (kind.startswith(b"application/") and kind.endswith(b"+json")):
        raise ApiError(415, "unsupported_media_type", "Send JSON with Content-Type: application/json.")
    return exchange.body


def _gunzip(body: bytes, limit: int) -> bytes:
    """Decompress all members of a gzip body, at most ``limit`` bytes."""
    parts: list[bytes] = []
    room = limit + 1
    rest = body
    try:
        while rest and room > 0:
            member = zlib.decompressobj(wbits=31)
            part = member.decompress(rest, room)
            room -= len(part)
            parts.append(part)
            if not member.eof and room > 0:
                _refuse_encoding("gzip")
            rest = member.unused_data
    except zlib.error:
        _refuse_encoding("gzip")
    return _within(b"".join(parts), limit)


def _unzstd(body: bytes, limit: int) -> bytes:
    """Decompress all frames of a zstd body, at most ``limit`` bytes."""
    decompressor = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW)
    frame = decompressor.decompressobj()
    parts: list[bytes] = []
    size = 0
    try:
        for start in range(0, len(body), _ZSTD_SLICE):
            rest = body[start : start + _ZSTD_SLICE]
            while rest and size <= limit:
                if frame.eof:
                    frame = decompressor.decompressobj()
                parts.append(frame.decompress(rest))
                size += len(parts[-1])
                rest = frame.unused_data if frame.eof else b""
    except zstandard.ZstdError:
        _refuse_encoding("zstd")
    if not frame.eof and size <= limit:
        _refuse_encoding("zstd")
    return _within(b"".join(parts), limit)


def _within(data: bytes, limit: int) -> bytes:
    if len(data) > limit:
        detail = f"Decompressed, the body has more than the {limit} bytes that are taken at once."
        raise ApiError(413, "request_body_too_large_after_decoding", detail)
    return data


def _refuse_encoding(name: str) -> NoReturn:
    raise ApiError(400, "request_body_encoding_invalid", f"The body is not complete, valid {name}.") from None
