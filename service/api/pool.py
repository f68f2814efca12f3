"""A bounded pool for large requests: so many at once, so many waiting, and none past its deadline."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from adapters.port import DeadlineExceeded, Stop
from service.api.errors import ApiError

T = TypeVar("T")


class CountPool:
    """Threads for work that would hold up the event loop.

    A request beyond ``workers + queue_limit`` is refused at once: 503 ``overloaded`` with Retry-After. Work that cannot
    be interrupted keeps its place until it ends, though its caller is answered at the deadline.
    """

    def __init__(self, *, workers: int, queue_limit: int, deadline_seconds: float) -> None:
        self._executor = ThreadPoolExecutor(workers, thread_name_prefix="count")
        self._places = workers + queue_limit
        self._deadline = deadline_seconds
        self._taken = 0
        self._lock = threading.Lock()

    @property
    def depth(self) -> int:
        """Requests in the pool, waiting and running."""
        return self._taken

    async def run(self, work: Callable[[Stop], T]) -> T:
        """Run ``work`` in a thread. Raises ``ApiError`` (full), ``DeadlineExceeded``, and whatever ``work`` raises."""
        with self._lock:
            if self._taken >= self._places:
                detail = f"{self._taken} large requests are being counted or wait. Try again in a second."
                raise ApiError(503, "overloaded", detail, headers={"retry-after": "1"})
            self._taken += 1
        stop = Stop(time.monotonic() + self._deadline)
        future = self._executor.submit(_unless_late, work, stop)
        future.add_done_callback(self._leave)
        try:
            return await asyncio.wait_for(asyncio.wrap_future(future), self._deadline)
        except TimeoutError:
            raise DeadlineExceeded(f"Counting took longer than {self._deadline:g} s. Send less text at once.") from None

    def close(self) -> bool:
        """Take no more work and drop what waits; whether work that cannot be interrupted still runs."""
        self._executor.shutdown(wait=False, cancel_futures=True)
        return self._taken > 0

    def _leave(self, _future: Future[T]) -> None:
        with self._lock:
            self._taken -= 1


def _unless_late(work: Callable[[Stop], T], stop: Stop) -> T:
    stop.check()
    return work(stop)
