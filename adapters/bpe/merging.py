"""Merges the most frequent pair of neighbours, again and again, in plain Python; the extension gives the same merges.

Ties between equally frequent pairs: ``lowest`` takes the pair whose ids are the smallest (the left id decides, then the
right); ``first_seen`` takes the pair that comes first in the words, taken in the order in which the corpus first shows
them, as they stand after the merges so far. Merging ends when no pair occurs twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from heapq import heapify, heappop, heappush
from typing import Protocol

from adapters.bpe.pairs import Pair, PairTable

Row = tuple[int, int, int]
"""A merge: the ids of the two symbols, and how often they were neighbours at that moment."""

Check = Callable[[], object]
"""Asked between merges, now and then; raises to end the work."""


class Merges(Protocol):
    """The merges made so far, in order, and those that may follow. The id of what a merge makes is the next one."""

    def run(self, most: int, check: Check | None = None, /) -> int:
        """Make at most ``most`` further merges; how many were made is less when no pair occurs twice.

        What ``check`` raises comes out between two merges, and another ``run`` goes on from there.
        """
        ...

    def repeat(self, left: int, right: int, frequency: int, /) -> bool:
        """Make a merge that was chosen before; false, and nothing done, if the pair does not have that frequency."""
        ...

    def made(self, start: int, /) -> list[Row]:
        """The merges from number ``start`` on."""
        ...


class PlainMerges:
    """A heap of the pairs that may come next.

    A heap entry is at least as good as its pair is now: a pair gains occurrences in one merge alone, and is entered
    after it; from then on its count only falls and its first place only moves back. So the best entry is corrected when
    it comes up, and is right once it needs no correction.
    """

    def __init__(self, words: Iterable[tuple[Sequence[int], int]], alphabet: int, *, first_seen: bool) -> None:
        self._rows: list[Row] = []
        self._alphabet = alphabet
        self._first_seen = first_seen
        self._pairs = PairTable(words)
        self._heap = [self._entry(pair) for pair, count in self._pairs.counts.items() if count > 1]
        heapify(self._heap)

    def run(self, most: int, check: Check | None = None, /) -> int:
        """As ``Merges`` says."""
        for done in range(most):
            if check is not None:
                check()
            best = self._best()
            if best is None:
                return done
            self._merge(best)
        return most

    def repeat(self, left: int, right: int, frequency: int, /) -> bool:
        """As ``Merges`` says."""
        if frequency < 2 or self._pairs.counts.get((left, right)) != frequency:
            return False
        self._merge((left, right))
        return True

    def made(self, start: int, /) -> list[Row]:
        """As ``Merges`` says."""
        return self._rows[start:]

    def _entry(self, pair: Pair) -> tuple[int, int, Pair]:
        place = self._pairs.first_place(pair) if self._first_seen else 0
        return -self._pairs.counts[pair], place, pair

    def _best(self) -> Pair | None:
        """The most frequent pair, if it occurs twice."""
        while self._heap:
            entry = heappop(self._heap)
            pair = entry[2]
            if self._pairs.counts.get(pair, 0) > 1:
                current = self._entry(pair)
                if current == entry:
                    return pair
                heappush(self._heap, current)
        return None

    def _merge(self, pair: Pair) -> None:
        frequency = self._pairs.counts[pair]
        gained = self._pairs.merge(pair, self._alphabet + len(self._rows))
        for grown in gained:
            if self._pairs.counts[grown] > 1:
                heappush(self._heap, self._entry(grown))
        self._rows.append((*pair, frequency))
