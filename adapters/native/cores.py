"""Counting one large text on several cores: its parts, cut where no piece changes, counted at once and added up."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from adapters.native._core import Vocabulary

Check = Callable[[], object] | None

WORTH_SHARING = 1 << 18
"""Code points from which on a text is worth sharing: less than this takes a few milliseconds at most."""

_PART = 1 << 17  # bytes


class Cores:
    """The cores that the large texts of one process are counted on, ``number`` of them.

    A text is counted by the thread that asks. Others help only while fewer large texts than cores are counted, and a
    helper that finds more of them than cores goes after its part: a busy service is as if there were no helpers.
    """

    def __init__(self, number: int) -> None:
        self._number = number
        self._busy = 0
        self._lock = threading.Lock()
        self._helpers = ThreadPoolExecutor(max(1, number - 1), thread_name_prefix="count-part")

    @property
    def busy(self) -> int:
        """Threads that count parts of large texts now."""
        return self._busy

    def count(self, vocabulary: Vocabulary, text: str, check: Check) -> int:
        """Tokens of ``text``, which must be well formed. Raises what ``check`` raises, in whatever thread it does."""
        helping: list[Future[int]] = []
        with self._lock:
            self._busy += 1
            helpers = max(0, self._number - self._busy)
            self._busy += helpers
        try:
            if not helpers:
                return vocabulary.count(text, check)
            parts = deque(pairwise((0, *vocabulary.borders(text, _PART))))
            while helpers and len(helping) + 1 < len(parts):
                helping.append(self._helpers.submit(self._help, vocabulary, text, check, parts))
                helpers -= 1
            return self._finish(vocabulary, text, check, parts, helping)
        finally:
            with self._lock:
                self._busy -= 1 + helpers

    def _finish(
        self, vocabulary: Vocabulary, text: str, check: Check, parts: deque[tuple[int, int]], helping: list[Future[int]]
    ) -> int:
        """Count what parts are left beside the helpers, and add theirs."""
        try:
            total = _count_parts(vocabulary, text, check, parts, lambda: False)
        except BaseException:
            parts.clear()
            raise
        finally:
            for helper in helping:
                if helper.cancel():
                    self._leave()
        return total + sum(helper.result() for helper in helping if not helper.cancelled())

    def _help(self, vocabulary: Vocabulary, text: str, check: Check, parts: deque[tuple[int, int]]) -> int:
        try:
            return _count_parts(vocabulary, text, check, parts, lambda: self._busy > self._number)
        except BaseException:
            parts.clear()
            raise
        finally:
            self._leave()

    def _leave(self) -> None:
        with self._lock:
            self._busy -= 1


def _count_parts(
    vocabulary: Vocabulary, text: str, check: Check, parts: deque[tuple[int, int]], crowded: Callable[[], bool]
) -> int:
    """Tokens of the parts taken from ``parts``, until none is left or, after one, there are others to make room for."""
    total = 0
    while parts:
        try:
            start, end = parts.popleft()
        except IndexError:  # another thread took the last one
            break
        total += vocabulary.count(text, check, start, end)
        if crowded():
            break
    return total
