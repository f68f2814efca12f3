"""The requests that come to one process, counted over a sliding window."""

from __future__ import annotations

import math
import time
from functools import lru_cache

from limits import RateLimitItemPerSecond
from limits.aio.storage import MemoryStorage
from limits.aio.strategies import SlidingWindowCounterRateLimiter

from service.domain.keys.rates import Allowance, RateLimit, RateLimiter


class MemoryLimiter(RateLimiter):
    """Counts the requests that come to this process."""

    def __init__(self) -> None:
        self._strategy = SlidingWindowCounterRateLimiter(MemoryStorage())

    async def take(self, key_id: str, limit: RateLimit) -> Allowance:
        return await taken(self._strategy, limit, key_id)

    async def close(self) -> None:
        """Nothing: there is no connection."""


async def taken(strategy: SlidingWindowCounterRateLimiter, limit: RateLimit, name: str) -> Allowance:
    """Count a request under ``name`` where it fits, in the storage of ``strategy``."""
    item = _item(limit)
    passes = await strategy.hit(item, name)
    stats = await strategy.get_window_stats(item, name)
    wait = max(1, math.ceil(stats.reset_time - time.time()))
    return Allowance(passes, stats.remaining if passes else 0, min(wait, limit.seconds))


@lru_cache(maxsize=1024)
def _item(limit: RateLimit) -> RateLimitItemPerSecond:
    return RateLimitItemPerSecond(limit.requests, limit.seconds)
