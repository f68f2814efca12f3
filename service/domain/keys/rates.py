"""How often a key may ask: so many requests in so long, over a window that slides."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Protocol

_SECONDS = {"second": 1, "minute": 60, "hour": 3600, "day": 86_400}
_FORM = re.compile(r"([1-9][0-9]{0,8})/(second|minute|hour|day)")

FORM = "a number from 1 to 999999999 and second, minute, hour or day, as 600/minute"
"""What a rate limit is written like."""


@dataclass(frozen=True, slots=True)
class RateLimit:
    """``requests`` in any ``seconds``, which are a second, a minute, an hour or a day."""

    requests: int
    seconds: int

    @classmethod
    def parse(cls, text: str) -> RateLimit:
        """The limit that ``600/minute`` says. Raises ``ValueError``, which says what the form is."""
        match = _FORM.fullmatch(text)
        if match is None:
            raise ValueError(FORM)
        return cls(int(match[1]), _SECONDS[match[2]])

    def __str__(self) -> str:
        unit = next(unit for unit, seconds in _SECONDS.items() if seconds == self.seconds)
        return f"{self.requests}/{unit}"


@dataclass(frozen=True, slots=True)
class Allowance:
    """Whether a request may pass, how many more may, and in how many whole seconds (1 at least) there is room again."""

    passes: bool
    remaining: int
    reset_seconds: int


class RateLimiter(Protocol):
    """Counts the requests of keys."""

    async def take(self, key_id: str, limit: RateLimit) -> Allowance:
        """Count one request, where it fits. Never raises."""
        ...

    async def close(self) -> None:
        """Give back connections."""
        ...
