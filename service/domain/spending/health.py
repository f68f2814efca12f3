"""Whether the ledger can be used, as far as one process has seen; and what its operator is told of it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Literal

Word = Literal["starting", "up", "down"]

WRITES_REMEMBERED = 10.0
"""Seconds for which a write that failed counts, unless a later one works: a full disk can still be read."""


class LedgerHealth:
    """Fed by a look at the ledger now and again (``looked``) and by the process's own writes (``wrote``).

    ``tell`` is called with a line for the operator when something changes. ``clock`` gives seconds that only grow.
    """

    def __init__(self, tell: Callable[[str], None], clock: Callable[[], float] = time.monotonic) -> None:
        self._tell = tell
        self._clock = clock
        self._looked = False
        self._problem: str | None = None
        self._write_problem: str | None = None
        self._failed_at = 0.0
        self._told: str | None = None

    def looked(self, problem: str | None) -> None:
        """Note that the ledger answered, or what was wrong."""
        self._looked = True
        if problem is None and self._problem is not None:
            self._write_problem = None  # what could not be read could not be written either, and that is over
        self._problem = problem
        self._say()

    def wrote(self, problem: str | None) -> None:
        """Note that a write was committed, or what was wrong."""
        self._write_problem = problem
        self._failed_at = self._clock()
        if problem != self._told:
            self._say()

    @property
    def word(self) -> Word:
        """``starting`` until the first look."""
        if self._wrong() is not None:
            return "down"
        return "up" if self._looked else "starting"

    def _wrong(self) -> str | None:
        if self._problem is None and self._clock() - self._failed_at < WRITES_REMEMBERED:
            return self._write_problem
        return self._problem

    def _say(self) -> None:
        wrong = self._wrong()
        if wrong == self._told:
            return
        can = "can be used again" if wrong is None else f"cannot be used: {wrong}"
        self._tell(f"budgets and spend {can}")
        self._told = wrong
