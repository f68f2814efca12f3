"""Counts the pairs of neighbouring symbols in words, and keeps the counts up to date while pairs are merged.

Counting rule: every two neighbours are an occurrence, overlapping ones too, times the number of times the word occurs.
In ``aaab`` the pair a a occurs twice although only one of the two can be merged, so ``aaabdaaabac`` has it four times.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from itertools import pairwise

Pair = tuple[int, int]


class PairTable:
    """All words in one row of symbols, and where each pair occurs in it.

    ``words`` are symbols (ids) and how often the word occurs. A merge costs as much as the pair has occurrences,
    however long a word is. Memory grows with the length of the distinct words.
    """

    def __init__(self, words: Iterable[tuple[Sequence[int], int]]) -> None:
        self.counts: dict[Pair, int] = {}
        self._symbols = array("i")  # by place; -1 where a merge left nothing
        self._following = array("i")  # place of the next symbol of the word, or -1
        self._preceding = array("i")
        self._weights = array("q")
        self._places: dict[Pair, list[int]] = {}  # ascending; some no longer hold the pair
        self._passed: dict[Pair, int] = {}  # how many places at the front are known to hold it no longer
        for symbols, weight in words:
            self._append(symbols, weight)

    def _append(self, symbols: Sequence[int], weight: int) -> None:
        start = len(self._symbols)
        end = start + len(symbols)
        self._symbols.extend(symbols)
        self._preceding.extend([-1, *range(start, end - 1)][: len(symbols)])
        self._following.extend([*range(start + 1, end), -1][: len(symbols)])
        self._weights.extend([weight] * len(symbols))
        for place, pair in enumerate(pairwise(symbols), start=start):
            self._gain(pair, place, weight)

    def first_place(self, pair: Pair) -> int:
        """Where ``pair``, which occurs, comes first in the words. Merges only move that place back in the row."""
        places = self._places[pair]
        passed = self._passed.get(pair, 0)
        while not self._holds(places[passed], pair):
            passed += 1
        self._passed[pair] = passed
        return places[passed]

    def merge(self, pair: Pair, symbol: int) -> set[Pair]:
        """Put ``symbol``, a new one, in the place of every ``pair``, left to right. Returns the pairs that it is in."""
        left_symbol, right_symbol = pair
        symbols, following, preceding = self._symbols, self._following, self._preceding
        gained: set[Pair] = set()
        for left in self._places.pop(pair):
            if not self._holds(left, pair):
                continue
            weight = self._weights[left]
            right = following[left]
            before, after = preceding[left], following[right]
            symbols[left], symbols[right] = symbol, -1
            following[left] = after
            if before >= 0:
                self._lose((symbols[before], left_symbol), weight)
                self._gain((symbols[before], symbol), before, weight)
                gained.add((symbols[before], symbol))
            if after >= 0:
                preceding[after] = left
                self._lose((right_symbol, symbols[after]), weight)
                self._gain((symbol, symbols[after]), left, weight)
                gained.add((symbol, symbols[after]))
        self.counts.pop(pair, None)
        self._places.pop(pair, None)
        self._passed.pop(pair, None)
        return gained & self.counts.keys()

    def _holds(self, place: int, pair: Pair) -> bool:
        if self._symbols[place] != pair[0]:
            return False
        following = self._following[place]
        return following >= 0 and self._symbols[following] == pair[1]

    def _gain(self, pair: Pair, place: int, weight: int) -> None:
        self.counts[pair] = self.counts.get(pair, 0) + weight
        self._places.setdefault(pair, []).append(place)

    def _lose(self, pair: Pair, weight: int) -> None:
        left = self.counts.get(pair, 0) - weight
        if left > 0:
            self.counts[pair] = left
        else:
            self.counts.pop(pair, None)
            self._places.pop(pair, None)
            self._passed.pop(pair, None)
