"""The distinct words of a corpus and how often each occurs: all that training needs to know of it."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from adapters.bpe.merging import Check
from adapters.bpe.patterns import Splitter
from adapters.native import AVAILABLE, FAMILIES
from adapters.port import well_formed

_BATCH = 4096  # pieces counted at once


@dataclass(frozen=True, slots=True)
class Words:
    """Words in the order in which the corpus first shows them.

    ``symbols`` are those of all words in one row, ``width`` bytes each: 1 where they are bytes, 4 where they are ids in
    the machine's byte order. ``lengths`` (symbols of each word, 4 bytes) and ``weights`` (how often it occurs, 8 bytes)
    are in that byte order too.
    """

    symbols: bytes
    width: int
    lengths: bytes
    weights: bytes

    def __iter__(self) -> Iterator[tuple[Sequence[int], int]]:
        symbols = memoryview(self.symbols).cast("B" if self.width == 1 else "I")
        start = 0
        for length, weight in zip(self.all_lengths(), self.all_weights(), strict=True):
            yield symbols[start : start + length].tolist(), weight
            start += length

    def made_of(self, alphabet: int) -> bool:
        """Whether lengths and weights are those of the symbols, these less than ``alphabet``, and each word occurs."""
        lengths, weights = self.all_lengths(), self.all_weights()
        if len(lengths) != len(weights) or sum(lengths) * self.width != len(self.symbols) or 0 in weights:
            return False
        return alphabet >= 256 if self.width == 1 else max(memoryview(self.symbols).cast("I"), default=-1) < alphabet

    def all_lengths(self) -> memoryview:
        """Symbols of each word."""
        return memoryview(self.lengths).cast("I")

    def all_weights(self) -> memoryview:
        """How often each word occurs."""
        return memoryview(self.weights).cast("Q")


def words_of_pieces(counts: Mapping[bytes, int]) -> Words:
    """Words whose symbols are bytes."""
    return Words(b"".join(counts), 1, array("I", map(len, counts)).tobytes(), array("Q", counts.values()).tobytes())


def words_of_ids(words: Sequence[Sequence[int]], weights: Iterable[int]) -> Words:
    """Words whose symbols are ids."""
    symbols = array("I", chain.from_iterable(words))
    return Words(symbols.tobytes(), 4, array("I", map(len, words)).tobytes(), array("Q", weights).tobytes())


def count_pieces(corpus: Iterable[str], pattern: str, *, native: bool, check: Check | None = None) -> Words:
    """The pieces that the split pattern ``pattern`` cuts the texts of ``corpus`` into.

    The extension cuts by the patterns that it knows, plain Python by all others. ``check`` is asked now and then, and
    raises to end the work. Raises ``UnsupportedPattern``.
    """
    if native and AVAILABLE and pattern in FAMILIES:
        return _count_native(corpus, pattern, check)
    splitter = Splitter(pattern)
    counts: Counter[str] = Counter()
    for text in corpus:
        for pieces in splitter.batches(well_formed(text), _BATCH):
            counts.update(pieces)
            if check is not None:
                check()
    counts.pop("", None)  # a pattern may match nothing at a place
    return words_of_pieces({piece.encode(): count for piece, count in counts.items()})


def _count_native(corpus: Iterable[str], pattern: str, check: Check | None) -> Words:
    from adapters.native.training import word_counts  # noqa: PLC0415 - only where the extension was built

    counts = word_counts(pattern)
    for text in corpus:
        counts.add(well_formed(text), check)
    symbols, lengths, weights = counts.words()
    return Words(symbols, 1, lengths, weights)
