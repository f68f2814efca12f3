"""Asks a vendor to count, within strict limits: of time, of calls at once, of attempts, of what is read.

No body, key or answer is ever logged, kept or put into an error; a failure is told by one of a few words.
"""

from __future__ import annotations

import asyncio
import random
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import httpx

from service.domain.remote import RemoteAsk, RemoteFailed, RemoteTokens
from service.providers.breaker import Breaker
from service.providers.endpoints import Endpoint
from service.providers.memory import Memory

_MOST_BYTES = 64 * 1024
_PAUSE = 0.1
# The endpoint works, or was not asked: these say nothing against it.
_HARMLESS = frozenset({"rejected", "not_translatable"})


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds for a whole call with all its attempts, attempts, and calls at once over all vendors."""

    seconds: float = 5.0
    attempts: int = 2
    at_once: int = 8


Listen = Callable[[str, str, float], None]
"""Told of each call: the provider, ``counted``, ``remembered`` or the failure's word, and the seconds it took."""


class VendorCounter:
    """The ``RemoteCounter`` over the ``endpoints`` that have a key, by provider."""

    def __init__(
        self,
        endpoints: Mapping[str, Endpoint],
        limits: Limits | None = None,
        *,
        listen: Listen = lambda _provider, _outcome, _seconds: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._endpoints = dict(endpoints)
        self._limits = limits or Limits()
        self._listen = listen
        self._clock = clock
        self._memory = Memory(secrets.token_bytes(32), clock)
        self._breakers = {provider: Breaker(clock) for provider in endpoints}
        self._running = 0
        self._client: httpx.AsyncClient | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def serves(self, provider: str, /) -> bool:
        """Whether there is a key for the vendor."""
        return provider in self._endpoints

    async def tokens(self, ask: RemoteAsk, /) -> RemoteTokens:
        """The vendor's count. Raises ``RemoteFailed``."""
        endpoint = self._endpoints.get(ask.provider)
        if endpoint is None:
            raise RemoteFailed("unconfigured")
        began = self._clock()
        try:
            answer = await self._tokens(endpoint, ask)
        except RemoteFailed as failure:
            self._listen(ask.provider, failure.reason, self._clock() - began)
            raise
        self._listen(ask.provider, "remembered" if answer.remembered else "counted", self._clock() - began)
        return answer

    async def close(self) -> None:
        """Close the connections."""
        if self._client is not None and self._loop is asyncio.get_running_loop():
            await self._client.aclose()
        self._client = None

    async def _tokens(self, endpoint: Endpoint, ask: RemoteAsk) -> RemoteTokens:
        address, body = endpoint.address(ask), endpoint.body(ask)
        key = self._memory.key(address.encode(), body)
        known = self._memory.recall(key)
        if known is not None:
            return RemoteTokens(known, remembered=True)
        if self._running >= self._limits.at_once:
            raise RemoteFailed("busy")
        breaker = self._breakers[ask.provider]
        if not breaker.admit():
            raise RemoteFailed("circuit_open")
        self._running += 1
        try:
            tokens = await self._watched(breaker, endpoint, address, body)
        finally:
            self._running -= 1
        self._memory.keep(key, tokens)
        return RemoteTokens(tokens)

    async def _watched(self, breaker: Breaker, endpoint: Endpoint, address: str, body: bytes) -> int:
        """One call, whose outcome the breaker is told."""
        try:
            tokens = await self._asked(endpoint, address, body)
        except _Refused as refused:
            if refused.reason in _HARMLESS:
                breaker.succeeded()
            else:
                breaker.failed(refused.wait if refused.reason == "rate_limited" else None)
            raise RemoteFailed(refused.reason) from None
        except BaseException:
            breaker.gave_up()
            raise
        breaker.succeeded()
        return tokens

    async def _asked(self, endpoint: Endpoint, address: str, body: bytes) -> int:
        """The count, after as many attempts as there are and there is time for. Raises ``_Refused``."""
        deadline = self._clock() + self._limits.seconds
        failure = _Refused("timeout")
        for attempt in range(1, self._limits.attempts + 1):
            try:
                async with asyncio.timeout(max(0.0, deadline - self._clock())):
                    return endpoint.tokens(await self._answer(endpoint, address, body))
            except TimeoutError:
                raise _Refused("timeout") from None
            except RemoteFailed as malformed:
                raise _Refused(malformed.reason) from None
            except httpx.TimeoutException:
                failure = _Refused("timeout", again=True)
            except (httpx.TransportError, httpx.InvalidURL):
                failure = _Refused("transport", again=True)
            except _Refused as refused:
                failure = refused
            pause = _PAUSE * (0.5 + random.random()) if failure.wait is None else failure.wait  # noqa: S311 - jitter
            if not failure.again or attempt == self._limits.attempts or self._clock() + pause >= deadline:
                break
            await asyncio.sleep(pause)
        raise failure

    async def _answer(self, endpoint: Endpoint, address: str, body: bytes) -> bytes:
        """The body of one attempt's answer. Raises ``_Refused`` and what httpx raises."""
        headers = {**endpoint.headers(), "accept": "application/json", "accept-encoding": "identity"}
        async with self._connections().stream("POST", address, content=body, headers=headers) as response:
            _require_success(response)
            answer = bytearray()
            async for chunk in response.aiter_raw():
                answer += chunk
                if len(answer) > _MOST_BYTES:
                    raise _Refused("too_large")
            return bytes(answer)

    def _connections(self) -> httpx.AsyncClient:
        """The client of the running loop: connections that are kept open belong to the loop that opened them."""
        loop = asyncio.get_running_loop()
        if self._client is None or self._loop is not loop:
            limits = httpx.Limits(max_connections=self._limits.at_once)
            timeout = httpx.Timeout(self._limits.seconds)
            self._client = httpx.AsyncClient(limits=limits, timeout=timeout, follow_redirects=False)
            self._loop = loop
        return self._client


class _Refused(Exception):
    """An attempt failed. ``again``: another one may help, after ``wait`` seconds where the endpoint says so."""

    def __init__(self, reason: str, *, again: bool = False, wait: float | None = None) -> None:
        self.reason = reason
        self.again = again
        self.wait = wait
        super().__init__(reason)


def _require_success(response: httpx.Response) -> None:
    """Raise ``_Refused`` for any status but 200. The body of an error is not read: it may repeat what was sent."""
    status = response.status_code
    if status == 200:
        if response.headers.get("content-encoding", "identity").strip().lower() != "identity":
            raise _Refused("malformed")
        return
    wait = response.headers.get("retry-after", "")
    seconds = float(wait) if wait.isascii() and wait.isdigit() else None
    if status == 429:
        raise _Refused("rate_limited", again=True, wait=seconds)
    if status in (401, 403):
        raise _Refused("unauthorized")
    if status == 408 or status >= 500:
        raise _Refused("http_status", again=True, wait=seconds)
    if status >= 400:
        raise _Refused("rejected")
    raise _Refused("http_status")
