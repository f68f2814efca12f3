"""One count for all processes, in Redis; while it is down, each counts by itself."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import time
from collections.abc import Callable
from typing import Any

from limits.aio.storage import RedisStorage
from limits.aio.strategies import SlidingWindowCounterRateLimiter
from redis.asyncio import ConnectionPool
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from service.domain.keys.rates import Allowance, RateLimit, RateLimiter
from service.domain.keys.secret import Secret
from service.limiting.own import MemoryLimiter, taken

REDIS_SECONDS = 0.05
"""Longest time that a request waits for Redis."""

PAUSE_SECONDS = 5.0
"""How long Redis is left alone once it did not answer in time."""

_LABEL = "rate limits"
_PREFIX = "weighbridge"


class RedisLimiter(RateLimiter):
    """Counts the requests that come to all processes, under keyed hashes of the keys' ids, and nothing else, in Redis.

    Where Redis does not answer in time this process counts by itself for a while, and ``fell_back`` is called each
    time.
    """

    def __init__(self, url: str, secret: Secret, fell_back: Callable[[], None]) -> None:
        again = Retry(NoBackoff(), 1)  # a connection that was idle may have been closed
        self._pool = ConnectionPool.from_url(url, socket_connect_timeout=1.0, socket_timeout=1.0, retry=again)
        self._shared = SlidingWindowCounterRateLimiter(_storage(url, self._pool))
        self._own = MemoryLimiter()
        self._secret = secret
        self._fell_back = fell_back
        self._pause_until = 0.0

    async def take(self, key_id: str, limit: RateLimit) -> Allowance:
        if time.monotonic() >= self._pause_until:
            try:
                async with asyncio.timeout(REDIS_SECONDS):
                    return await taken(self._shared, limit, self._name(key_id))
            except Exception:  # whatever Redis or the way to it says, the request is counted here
                self._pause_until = time.monotonic() + PAUSE_SECONDS
        self._fell_back()
        return await self._own.take(key_id, limit)

    async def close(self) -> None:
        with contextlib.suppress(Exception):  # what is broken need not close in order
            async with asyncio.timeout(1):
                await self._pool.aclose()

    def _name(self, key_id: str) -> str:
        return hmac.digest(self._secret.key(_LABEL), key_id.encode(), "sha256").hex()[:32]


def _storage(url: str, pool: ConnectionPool) -> RedisStorage:
    options: dict[str, Any] = {"connection_pool": pool}
    return RedisStorage(f"async+{url}", implementation="redispy", key_prefix=_PREFIX, **options)
