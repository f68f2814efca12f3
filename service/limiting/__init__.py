"""Rate limits: shared in Redis where there is one; else, or while it is down, each process's own."""

from __future__ import annotations

from collections.abc import Callable

from service.domain.keys.rates import RateLimiter
from service.domain.keys.secret import Secret
from service.limiting.own import MemoryLimiter

__all__ = ["MemoryLimiter", "rate_limiter"]


def rate_limiter(redis_url: str, secret: Secret, fell_back: Callable[[], None]) -> RateLimiter:
    """The limiter over Redis where a URL is given, else the one of this process.

    ``fell_back`` is called for each request that is counted here alone as Redis does not answer.
    """
    if not redis_url:
        return MemoryLimiter()
    from service.limiting.shared import RedisLimiter  # noqa: PLC0415 - takes a tenth of a second that few need

    return RedisLimiter(redis_url, secret, fell_back)
