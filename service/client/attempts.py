"""When a call is tried again: only where that is safe, a few times, with growing random pauses, until its deadline.

What only reads may always be tried again. What writes carries the same Idempotency-Key each time, so it happens once.
A refusal and a request that is wrong are never tried again.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import httpx

from service.client.call import Call
from service.client.errors import error_of, retry_after, unreached

T = TypeVar("T")

_AGAIN = (429, 502, 503, 504)
_IN_FLIGHT = "idempotency_in_flight"


@dataclass(frozen=True, slots=True)
class Patience:
    """How long one attempt may take, all attempts together, and how many there are; pauses grow from ``pause``.

    ``clock`` and ``chance`` (a number between two) are there for tests.
    """

    timeout: float = 10.0
    deadline: float = 30.0
    attempts: int = 4
    pause: float = 0.1
    longest_pause: float = 5.0
    clock: Callable[[], float] = time.monotonic
    chance: Callable[[float, float], float] = random.uniform


PATIENT = Patience()


class Attempts:
    """The attempts of one call."""

    def __init__(self, call: Call[Any], patience: Patience) -> None:
        self._call = call
        self._patience = patience
        self._end = patience.clock() + patience.deadline
        self._made = 0
        self._unanswered = False

    @property
    def timeout(self) -> float:
        """How long the next attempt may take, in seconds."""
        return max(min(self._patience.timeout, self._end - self._patience.clock()), 0.001)

    def pause_after(self, outcome: httpx.Response | httpx.RequestError) -> float | None:
        """Seconds to wait before the next attempt; ``None``: this outcome stands."""
        patience = self._patience
        self._made += 1
        self._unanswered = self._unanswered or isinstance(outcome, httpx.RequestError)
        if self._made >= patience.attempts or not _passing(outcome):
            return None
        least = retry_after(outcome) if isinstance(outcome, httpx.Response) else 0.0
        growing = min(patience.pause * 2 ** (self._made - 1), patience.longest_pause)
        pause = least + patience.chance(0.0, growing)
        return pause if patience.clock() + pause < self._end else None

    def result(self, outcome: httpx.Response | httpx.RequestError, url: str) -> Any:
        """What the call answers. Raises ``WeighbridgeError``."""
        if isinstance(outcome, httpx.RequestError):
            raise unreached(outcome, url) from outcome
        if outcome.is_success:
            return self._call.answer(outcome)
        if outcome.status_code == 404 and self._call.ends and self._unanswered:
            return None
        raise error_of(outcome)


def _passing(outcome: httpx.Response | httpx.RequestError) -> bool:
    """Whether another attempt may end otherwise. Every call may be tried again: it reads, or has a key, or ends."""
    if isinstance(outcome, httpx.RequestError):
        return not isinstance(outcome, httpx.UnsupportedProtocol | httpx.ProxyError)
    if outcome.status_code == 409:
        return _code_of(outcome) == _IN_FLIGHT
    return outcome.status_code in _AGAIN


def _code_of(outcome: httpx.Response) -> str:
    return error_of(outcome).code
