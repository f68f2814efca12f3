"""``POST /v1/count`` of plain text: counted while it arrives, in memory that does not grow with it."""

from __future__ import annotations

import asyncio
import codecs
import time
from collections.abc import Callable
from functools import partial
from typing import TypeVar

import msgspec

from adapters.port import Stop
from adapters.streaming import count_stream
from service.api.body import CLOSE, Unpacker, encoding_of, refuse_disconnect, refuse_unpacked
from service.api.errors import ApiError
from service.api.exchange import Exchange, Receive
from service.api.services import Services
from service.domain.counting import Count, require_exact
from service.domain.streaming import TextStream

MODEL, PROVIDER, TOKENIZER = b"weighbridge-model", b"weighbridge-provider", b"weighbridge-tokenizer"
SPECIAL, STRICT = b"weighbridge-special-tokens", b"weighbridge-strict"
HEADERS = {
    "weighbridge-model": "With a text/plain body: the model to count for.",
    "weighbridge-provider": "With a text/plain body: who sells the model.",
    "weighbridge-tokenizer": "With a text/plain body: the vocabulary, in place of a model.",
    "weighbridge-special-tokens": "With a text/plain body: `text` (the default) or `parse`.",
    "weighbridge-strict": "With a text/plain body: `true` refuses a count that is not exact.",
}

_BLOCK = 1 << 20
"""Bytes that are gathered, then counted. Each block has the body's time to arrive, and the deadline to be counted."""

_DISCARD = 64 << 20
"""Bytes of a refused body that are read on and thrown away, so that its sender sees the answer."""

_PAUSE = 0.02  # seconds until a full pool is asked again
T = TypeVar("T")

_encode = msgspec.json.Encoder().encode


async def count_streamed(services: Services, exchange: Exchange, receive: Receive) -> bytes:
    """The answer for the text that ``receive`` brings. Raises ``ApiError`` and what counting raises."""
    body = _Arriving(receive, services.settings.body_timeout_seconds)
    try:
        text = _Text(services, exchange)
        block = await body.block()
        if body.ended and len(block) <= services.settings.inline_bytes:
            count = text.whole(block)
        else:
            await services.pool.run(partial(text.take, block))
            while not body.ended:
                await _patiently(services, partial(text.take, await body.block()))
            count = await _patiently(services, text.finish)
    except Exception:
        await body.discard()
        raise
    services.metrics.counted(count.tokenizer.name, count.model or "", count.tokens, count.characters)
    return _encode(count)


async def _patiently(services: Services, work: Callable[[Stop], T]) -> T:
    """Run ``work`` in the pool. A text that is under way waits for a place, and its sender with it, to the deadline."""
    last = time.monotonic() + services.settings.deadline_seconds
    while True:
        try:
            return await services.pool.run(work)
        except ApiError as error:
            if error.code != "overloaded" or time.monotonic() >= last:
                raise
        await asyncio.sleep(_PAUSE)


class _Text:
    """The text as it is decompressed, decoded and counted."""

    def __init__(self, services: Services, exchange: Exchange) -> None:
        names = (_header(exchange, name) for name in (MODEL, PROVIDER, TOKENIZER))
        scale = services.scale(*names)
        if _choice(exchange, STRICT, "false", "true") == "true":
            require_exact(scale)
        _require_utf8(exchange)
        encoding = encoding_of(exchange)
        self._unpacker = Unpacker(encoding) if encoding else None
        self._limit = services.settings.max_stream_bytes
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._decoded = 0
        begin = partial(count_stream, longest=services.settings.max_body_bytes)
        self._stream = TextStream(scale, begin, parse_special=_choice(exchange, SPECIAL, "text", "parse") == "parse")

    def whole(self, block: bytes) -> Count:
        """The count of a text that is a single, small block."""
        self.take(block, None)
        return self.finish(None)

    def take(self, block: bytes, stop: Stop | None) -> None:
        """Count a block, as far as it goes."""
        if self._unpacker is None:
            self._count(block, stop)
            return
        gathered: list[bytes] = []
        size = 0
        for piece in self._unpacker.feed(block):
            gathered.append(piece)
            size += len(piece)
            if size >= _BLOCK:
                self._count(b"".join(gathered), stop)
                gathered.clear()
                size = 0
        self._count(b"".join(gathered), stop)

    def finish(self, stop: Stop | None) -> Count:
        """The count of all that was taken."""
        if self._unpacker is not None:
            self._unpacker.end()
        self._decode(b"", last=True)
        return self._stream.finish(stop=stop)

    def _count(self, data: bytes, stop: Stop | None) -> None:
        if self._decoded + len(data) > self._limit:
            if self._unpacker is not None:
                refuse_unpacked(self._limit)
            detail = f"At most {self._limit} bytes of plain text are taken at once. Raise WEIGHBRIDGE_MAX_STREAM_BYTES."
            raise ApiError(413, "request_body_too_large", detail, headers=CLOSE)
        self._stream.feed(self._decode(data), stop=stop)

    def _decode(self, data: bytes, *, last: bool = False) -> str:
        waiting = len(self._decoder.getstate()[0])
        try:
            text = self._decoder.decode(data, last)
        except UnicodeDecodeError as error:
            place = self._decoded - waiting + error.start
            detail = f"The text is not UTF-8: see byte {place}."
            raise ApiError(400, "text_not_utf8", detail, headers=CLOSE) from None
        self._decoded += len(data)
        return text


class _Arriving:
    """A body that arrives, in blocks."""

    def __init__(self, receive: Receive, seconds: float) -> None:
        self._receive = receive
        self._seconds = seconds
        self.ended = False

    async def block(self) -> bytes:
        """The next block. Raises ``ApiError`` where it takes too long or its sender is gone."""
        parts: list[bytes] = []
        size = 0
        try:
            async with asyncio.timeout(self._seconds):
                while size < _BLOCK and not self.ended:
                    parts.append(await self._next())
                    size += len(parts[-1])
        except TimeoutError:
            detail = f"{_BLOCK} bytes of the body took longer than {self._seconds:g} s to arrive."
            raise ApiError(408, "request_body_timeout", detail, headers=CLOSE) from None
        return b"".join(parts)

    async def discard(self) -> None:
        """Read on after a refusal, for as long as a block may take, and throw away what comes."""
        left = _DISCARD
        try:
            async with asyncio.timeout(self._seconds):
                while not self.ended and left > 0:
                    left -= len(await self._next())
        except (TimeoutError, ApiError):
            pass

    async def _next(self) -> bytes:
        message = await self._receive()
        if message["type"] == "http.disconnect":
            self.ended = True
            refuse_disconnect()
        self.ended = not message.get("more_body", False)
        data: bytes = message.get("body", b"")
        return data


def _header(exchange: Exchange, name: bytes) -> str | None:
    """A header's text, ``None`` where it was not sent. A name in it may be any UTF-8."""
    value = exchange.headers.get(name)
    if value is None:
        return None
    text = value.decode("utf-8", "replace").strip()
    if not 1 <= len(text) <= 512:
        raise _refused(name, "must have 1 to 512 characters")
    return text


def _choice(exchange: Exchange, name: bytes, usual: str, other: str) -> str:
    value = exchange.headers.get(name, usual.encode()).strip().lower()
    if value not in (usual.encode(), other.encode()):
        raise _refused(name, f"must be {usual} or {other}")
    return value.decode()


def _refused(name: bytes, rule: str) -> ApiError:
    return ApiError(422, "invalid_request", f"The header {name.decode()} {rule}.", path=name.decode(), headers=CLOSE)


def _require_utf8(exchange: Exchange) -> None:
    """Raise ``ApiError`` (415) for a charset that is not UTF-8, or a part of it."""
    for parameter in exchange.headers[b"content-type"].split(b";")[1:]:
        name, _, value = parameter.partition(b"=")
        if name.strip().lower() == b"charset" and value.strip(b' "').lower() not in (b"utf-8", b"utf8", b"us-ascii"):
            detail = "Send plain text as UTF-8: Content-Type: text/plain; charset=utf-8."
            raise ApiError(415, "unsupported_media_type", detail)
