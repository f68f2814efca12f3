"""Rate limits over a sliding window: shared in Redis where there is one; else, or while it is down, in this process."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import math
import time
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from limits import RateLimitItemPerSecond
from limits.aio.storage import MemoryStorage, RedisStorage
from limits.aio.strategies import SlidingWindowCounterRateLimiter
from redis.asyncio import ConnectionPool
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from service.domain.rates import Allowance, RateLimit, RateLimiter
from service.domain.secret import Secret

REDIS_SECONDS = 0.05
"""Longest time that a request waits for Redis."""

PAUSE_SECONDS = 5.0
"""How long Redis is left alone once it did not answer in time."""

_LABEL = "rate limits"
_PREFIX = "weighbridge"


class MemoryLimiter(RateLimiter):
    """Counts the requests that come to this process."""

    def __init__(self) -> None:
        self._strategy = SlidingWindowCounterRateLimiter(MemoryStorage())

    async def take(self, key_id: str, limit: RateLimit) -> Allowance:
        return await _take(self._strategy, limit, key_id)

    async def close(self) -> None:
        """Nothing: there is no connection."""


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
                    return await _take(self._shared, limit, self._name(key_id))
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


def rate_limiter(redis_url: str, secret: Secret, fell_back: Callable[[], None]) -> RateLimiter:
    """The limiter over Redis where a URL is given, else the one of this process."""
    return RedisLimiter(redis_url, secret, fell_back) if redis_url else MemoryLimiter()


def _storage(url: str, pool: ConnectionPool) -> RedisStorage:
    options: dict[str, Any] = {"connection_pool": pool}
    return RedisStorage(f"async+{url}", implementation="redispy", key_prefix=_PREFIX, **options)


async def _take(strategy: SlidingWindowCounterRateLimiter, limit: RateLimit, name: str) -> Allowance:
    item = _item(limit)
    passes = await strategy.hit(item, name)
    stats = await strategy.get_window_stats(item, name)
    wait = max(1, math.ceil(stats.reset_time - time.time()))
    return Allowance(passes, stats.remaining if passes else 0, min(wait, limit.seconds))


@lru_cache(maxsize=1024)
def _item(limit: RateLimit) -> RateLimitItemPerSecond:
    return RateLimitItemPerSecond(limit.requests, limit.seconds)
