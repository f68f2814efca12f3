"""Fetches one document with care: where it may come from, how large it may be, how often it is asked for.

https only, plain http on loopback; at most one redirect, to the same origin or to a host that was named; what arrives
is counted as it streams in, before and after decompression. A failure is told by a stable word, never by its text.
"""

from __future__ import annotations

import asyncio
import ipaddress
import zlib
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import httpx

from service.pricebook.reading import TableRefused

Clock = Callable[[], datetime]
"""The time now, with a zone."""
Sleep = Callable[[float], Awaitable[None]]
Random = Callable[[], float]
"""A number from 0 up to, but not including, 1."""

MAX_BYTES = 8 * 1024 * 1024
MAX_RETRY_AFTER = 30.0
_MAX_ETAG = 256
_REDIRECTS = (301, 302, 303, 307, 308)


class FetchFailed(Exception):
    """Nothing usable arrived. ``reason`` is a stable word; ``detail`` is the HTTP status, where that is the matter."""

    def __init__(self, reason: str, detail: str = "") -> None:
        self.reason = reason
        self.detail = detail
        super().__init__(f"The price list could not be fetched: {reason}{' ' + detail if detail else ''}")


@dataclass(frozen=True, slots=True)
class FetchLimits:
    """Seconds for a connection, for each wait on the peer and for one whole attempt; attempts; bytes of the body.

    ``redirect_hosts`` are the other hosts, by https, that a redirect may lead to.
    """

    connect_seconds: float = 5.0
    wait_seconds: float = 10.0
    attempt_seconds: float = 60.0
    attempts: int = 3
    max_bytes: int = MAX_BYTES
    redirect_hosts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Fetched:
    """The decompressed body, and the sender's tag for it where it gave one that can be sent back."""

    body: bytes
    etag: str | None


def allowed_url(text: str) -> bool:
    """Whether a list may be fetched from there: by https, or by http from this machine."""
    try:
        url = httpx.URL(text)
    except (httpx.InvalidURL, ValueError):
        return False
    return bool(url.host) and (url.scheme == "https" or (url.scheme == "http" and _is_loopback(url.host)))


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class Fetcher:
    """Asks for one url, again where that may help: after a lost connection, a status of 429 or one from 500 on."""

    def __init__(
        self,
        client: httpx.AsyncClient,
        url: str,
        limits: FetchLimits,
        *,
        clock: Clock,
        sleep: Sleep,
        random: Random,
    ) -> None:
        self._client = client
        self._url = url
        self._limits = limits
        self._clock = clock
        self._sleep = sleep
        self._random = random

    async def fetch(self, etag: str | None) -> Fetched | None:
        """The document, or ``None`` where the one with ``etag`` is still current.

        Raises ``FetchFailed`` (``url_refused``, ``redirect_refused``, ``timeout``, ``transport``, ``http_status``) and
        ``TableRefused`` (``too_large``, ``encoding``).
        """
        if not allowed_url(self._url):
            raise FetchFailed("url_refused")
        etag = _clean_etag(etag)
        failure = FetchFailed("transport")
        for attempt in range(1, self._limits.attempts + 1):
            pause = 2.0 ** (attempt - 1) * (0.5 + self._random())
            try:
                async with asyncio.timeout(self._limits.attempt_seconds):
                    return await self._follow(etag)
            except _Busy as busy:
                failure = FetchFailed("http_status", str(busy.status))
                pause = pause if busy.retry_after is None else min(busy.retry_after, MAX_RETRY_AFTER)
            except (TimeoutError, httpx.TimeoutException):
                failure = FetchFailed("timeout")
            except httpx.TransportError:
                failure = FetchFailed("transport")
            if attempt < self._limits.attempts:
                await self._sleep(pause)
        raise failure

    async def _follow(self, etag: str | None) -> Fetched | None:
        """One attempt: the answer, or the answer of the one place it may send us on to."""
        url = httpx.URL(self._url)
        for _ in range(2):
            async with self._ask(url, etag) as response:
                if response.status_code not in _REDIRECTS:
                    return await self._answer(response, etag)
                url = self._target(url, response)
        raise FetchFailed("redirect_refused")

    def _ask(self, url: httpx.URL, etag: str | None) -> AbstractAsyncContextManager[httpx.Response]:
        headers = {"accept": "application/json, text/plain", "accept-encoding": "gzip"}
        if etag is not None:
            headers["if-none-match"] = etag
        timeout = httpx.Timeout(self._limits.wait_seconds, connect=self._limits.connect_seconds)
        return self._client.stream("GET", url, headers=headers, timeout=timeout, follow_redirects=False)

    def _target(self, url: httpx.URL, response: httpx.Response) -> httpx.URL:
        try:
            target = url.join(response.headers["location"])
        except (KeyError, ValueError, httpx.InvalidURL):
            raise FetchFailed("redirect_refused") from None
        same = (target.scheme, target.host, target.port) == (url.scheme, url.host, url.port)
        named = target.scheme == "https" and target.host in self._limits.redirect_hosts
        if not (same or named) or not allowed_url(str(target)):
            raise FetchFailed("redirect_refused")
        return target

    async def _answer(self, response: httpx.Response, etag: str | None) -> Fetched | None:
        status = response.status_code
        if status == 304 and etag is not None:
            return None
        if status == 429 or status >= 500:
            raise _Busy(status, _retry_after(response.headers.get("retry-after"), self._clock()))
        if status != 200:
            raise FetchFailed("http_status", str(status))
        return Fetched(await _read(response, self._limits.max_bytes), _clean_etag(response.headers.get("etag")))


class _Busy(Exception):
    """The peer asks to come back later: its status, and after how many seconds where it says so."""

    def __init__(self, status: int, retry_after: float | None) -> None:
        self.status = status
        self.retry_after = retry_after
        super().__init__(f"busy: {status}")


def _retry_after(header: str | None, now: datetime) -> float | None:
    """Seconds of a ``Retry-After``, which is a whole number or a date (RFC 9110, 10.2.3); ``None`` if it is neither."""
    if header is None:
        return None
    if header.isascii() and header.isdigit():
        return float(header)
    try:
        at = parsedate_to_datetime(header)
    except ValueError:
        return None
    return max(0.0, (at.replace(tzinfo=at.tzinfo or UTC) - now).total_seconds())


def _clean_etag(header: str | None) -> str | None:
    if header and len(header) <= _MAX_ETAG and header.isascii() and header.isprintable():
        return header
    return None


async def _read(response: httpx.Response, limit: int) -> bytes:
    """The body, decompressed here so that not even one chunk can unfold past the limit."""
    encoding = response.headers.get("content-encoding", "identity").strip().lower()
    if encoding not in ("identity", "gzip"):
        raise TableRefused("encoding")
    length = response.headers.get("content-length", "")
    if length.isascii() and length.isdigit() and float(length) > limit:
        raise TableRefused("too_large")
    body = _Body(limit, unzip=encoding == "gzip")
    async for chunk in response.aiter_raw():
        body.feed(chunk)
    return body.finish()


class _Body:
    """Takes chunks up to ``limit`` bytes in all, as sent and as decompressed."""

    def __init__(self, limit: int, *, unzip: bool) -> None:
        self._limit = limit
        self._zip = zlib.decompressobj(zlib.MAX_WBITS | 16) if unzip else None
        self._sent = 0
        self._content = bytearray()

    def feed(self, chunk: bytes) -> None:
        """Add a chunk. Raises ``TableRefused``: ``too_large``, or ``encoding`` where it is no gzip."""
        self._sent += len(chunk)
        if self._zip is not None:
            try:
                chunk = self._zip.decompress(chunk, self._limit - len(self._content) + 1)
            except zlib.error:
                raise TableRefused("encoding") from None
        self._content += chunk
        if max(self._sent, len(self._content)) > self._limit:
            raise TableRefused("too_large")

    def finish(self) -> bytes:
        """All of it. Raises ``TableRefused`` ``encoding`` where the compressed stream stops early or goes on after."""
        if self._zip is not None and (not self._zip.eof or self._zip.unused_data):
            raise TableRefused("encoding")
        return bytes(self._content)
