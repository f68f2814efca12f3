"""Threads that work on the database for the event loop: writers commit in groups, readers answer one by one.

While one group is being committed the next gathers, so the time of a disk's sync is shared by all that wait for it.
Jobs that take long are done one at a time, when no others wait or a few groups of others were done since the last.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum, auto
from typing import Any, Protocol, TypeVar

from sqlalchemy import Connection

from service.domain.spending.errors import InFlight, LedgerUnavailable
from service.store.failures import is_collision, is_lock_timeout, unavailable
from service.store.groups import carry_out
from service.store.operations import Operation, Record

T = TypeVar("T")

WAIT_SECONDS = 2.0
"""Longest time until a request's work begins; what has not begun by then is refused."""

LONG_WAIT_SECONDS = 8.0
"""As ``WAIT_SECONDS``, of what takes long and lets others go before it."""

WORK_SECONDS = 3.0
"""Longest time for one transaction."""

_GROUP = 256
_FEW = 50  # records, which take about as long as one group of other operations
_BETWEEN = 4  # groups


class Use(Enum):
    """What a connection is for: it writes, looks up rows, or reads much for a report."""

    WRITE = auto()
    LOOK_UP = auto()
    REPORT = auto()


class Session(Protocol):
    """One thread's connection to the database."""

    def turn(self) -> AbstractContextManager[None]:
        """Waits for this process's turn."""
        ...

    def run(self, work: Callable[[Connection], T], seconds: float) -> T:
        """The result of ``work`` in a transaction that is committed when it returns."""
        ...

    def close(self) -> None:
        """Give back the connection."""
        ...


@dataclass(eq=False, slots=True)
class Job:
    """An operation, or any work in a transaction of its own, and the future that its outcome goes to."""

    future: asyncio.Future[Any]
    operation: Operation[Any] | None = None
    work: Callable[[Connection], Any] | None = None
    seconds: float = WORK_SECONDS
    wait_seconds: float = WAIT_SECONDS
    outcome: object = field(default=None)

    @property
    def alone(self) -> bool:
        return self.operation is None or self.operation.alone

    @property
    def long(self) -> bool:
        return isinstance(self.operation, Record) and len(self.operation.records) > _FEW


class Workers:
    """``threads`` threads over sessions of ``make``, and one queue before them. They begin with the first job."""

    def __init__(self, make: Callable[[], Session], threads: int, clock: Callable[[], datetime], name: str) -> None:
        self._make = make
        self._clock = clock
        self._jobs: deque[Job] = deque()
        self._long: deque[Job] = deque()
        self._since_long = 0
        self._ready = threading.Condition()
        self._closing = False
        self._started = False
        self._threads = [threading.Thread(target=self._work, name=f"{name}-{n}", daemon=True) for n in range(threads)]

    async def carry_out(self, operation: Operation[T]) -> T:
        """The operation's result, committed. Raises what it raised, or ``LedgerUnavailable``."""
        loop = asyncio.get_running_loop()
        job = Job(loop.create_future(), operation=operation)
        if job.long:
            job.wait_seconds = LONG_WAIT_SECONDS
        result: T = await self._put(job)
        return result

    async def run(
        self, work: Callable[[Connection], T], seconds: float = WORK_SECONDS, wait_seconds: float = WAIT_SECONDS
    ) -> T:
        """The result of ``work`` in a transaction of its own. Raises as ``carry_out``."""
        loop = asyncio.get_running_loop()
        job = Job(loop.create_future(), work=work, seconds=seconds, wait_seconds=wait_seconds)
        result: T = await self._put(job)
        return result

    async def _put(self, job: Job) -> Any:
        with self._ready:
            if self._closing:
                raise LedgerUnavailable("the service is ending")
            self._queue_of(job).append(job)
            self._ready.notify()
            if not self._started:
                self._started = True
                for thread in self._threads:
                    thread.start()
        timer = job.future.get_loop().call_later(job.wait_seconds, self._give_up, job)
        try:
            return await job.future
        finally:
            timer.cancel()

    def _give_up(self, job: Job) -> None:
        with self._ready:
            queue = self._queue_of(job)
            if job not in queue:
                return  # it has begun, and ends in its own time
            queue.remove(job)
        if not job.future.done():
            job.future.set_exception(LedgerUnavailable("the database is busy"))

    def _queue_of(self, job: Job) -> deque[Job]:
        return self._long if job.long else self._jobs

    def close(self) -> None:
        """Let the threads finish what is queued, and end."""
        with self._ready:
            self._closing = True
            self._ready.notify_all()
        for thread in self._threads if self._started else ():
            thread.join(WAIT_SECONDS + WORK_SECONDS)

    # In the threads

    def _work(self) -> None:
        session = self._make()
        try:
            while self._wait():
                self._serve(session)
        finally:
            session.close()

    def _wait(self) -> bool:
        with self._ready:
            while not self._jobs and not self._long and not self._closing:
                self._ready.wait()
            return bool(self._jobs or self._long)

    def _serve(self, session: Session) -> None:
        """Take what is queued once it is our turn, and work on it."""
        jobs: list[Job] = []
        try:
            with session.turn():
                jobs = self._take()
                if jobs:
                    self._attempt(session, jobs)
        except OSError as error:  # the lock file cannot be made
            jobs = jobs or self._take()
            problem = f"the data directory cannot be written ({error.strerror})"
            for job in jobs:
                job.outcome = LedgerUnavailable(problem)
        _answer(jobs)

    def _take(self) -> list[Job]:
        """The next job that stands alone, or all up to the next such one; now and then one that takes long."""
        taken: list[Job] = []
        with self._ready:
            self._since_long += 1
            if self._long and (not self._jobs or self._since_long > _BETWEEN):
                taken.append(self._long.popleft())
                self._since_long = 0
            while (
                self._jobs
                and not (taken and taken[0].long)
                and len(taken) < _GROUP
                and not (taken and (taken[0].alone or self._jobs[0].alone))
            ):
                taken.append(self._jobs.popleft())
        return [job for job in taken if not job.future.cancelled()]

    def _attempt(self, session: Session, jobs: list[Job]) -> None:
        """Carry out ``jobs``; where one of them spoils the transaction, each by itself."""
        try:
            self._transaction(session, jobs)
        except Exception as error:
            down = unavailable(error)
            if is_lock_timeout(error):
                for job in jobs:  # those with a key most likely wait for the first request with that key
                    keyed = job.operation is not None and job.operation.once is not None
                    job.outcome = InFlight() if keyed else down
            elif down is not None:
                self._refuse_all(jobs, down)
            elif len(jobs) > 1:
                for job in jobs:
                    self._attempt(session, [job])
            else:
                jobs[0].outcome = error

    def _transaction(self, session: Session, jobs: Sequence[Job]) -> None:
        try:
            self._once(session, jobs)
        except Exception as error:
            if not is_collision(error):
                raise
            self._once(session, jobs)

    def _once(self, session: Session, jobs: Sequence[Job]) -> None:
        first = jobs[0]
        if first.work is not None:
            first.outcome = session.run(first.work, first.seconds)
            return
        operations = [job.operation for job in jobs if job.operation is not None]
        outcomes = session.run(lambda c: carry_out(c, operations, self._clock()), first.seconds)
        for job, outcome in zip(jobs, outcomes, strict=True):
            job.outcome = outcome

    def _refuse_all(self, jobs: Sequence[Job], down: LedgerUnavailable) -> None:
        """The database is down: those that wait would find it so too, so they need not wait for it."""
        with self._ready:
            waiting = [*self._jobs, *self._long]
            self._jobs.clear()
            self._long.clear()
        for job in (*jobs, *waiting):
            job.outcome = LedgerUnavailable(down.problem)
        _answer(waiting)


def _answer(jobs: Sequence[Job]) -> None:
    """Hand each outcome to its event loop: one call a loop."""
    for loop in {job.future.get_loop() for job in jobs}:
        mine = [job for job in jobs if job.future.get_loop() is loop]
        try:
            loop.call_soon_threadsafe(_settle, mine)
        except RuntimeError:  # the loop has ended, and nobody waits any more
            continue


def _settle(jobs: Sequence[Job]) -> None:
    for job in jobs:
        if job.future.done():
            continue
        if isinstance(job.outcome, BaseException):
            job.future.set_exception(job.outcome)
        else:
            job.future.set_result(job.outcome)
