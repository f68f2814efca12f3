"""The distinct words of a corpus and how often each occurs: all that training needs to know of it."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Protocol

from adapters.bpe.merging import Check
from adapters.bpe.patterns import Splitter
from adapters.native import AVAILABLE, FAMILIES
from adapters.port import well_formed

if TYPE_CHECKING:
    from adapters.native._core import WordCounts

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


class PieceCounter(Protocol):
    """How often each distinct piece of the texts occurs."""

    def add(self, text: str, check: Check | None = None) -> None:
        """Count the pieces of a text. ``check`` is asked now and then, and raises to end the work, half done."""
        ...

    def add_words(self, words: Words) -> None:
        """Add what another counter found, as if its texts had come here."""
        ...

    def words(self) -> Words:
        """The pieces so far."""
        ...


def piece_counter(pattern: str, *, native: bool) -> PieceCounter:
    """Counts the pieces that the split pattern ``pattern`` cuts texts into.

    The extension cuts by the patterns that it knows, plain Python by all others. Raises ``UnsupportedPattern``.
    """
    if native and AVAILABLE and pattern in FAMILIES:
        from adapters.native.training import word_counts  # noqa: PLC0415 - only where the extension was built

        return _NativeCounter(word_counts(pattern))
    splitter = Splitter(pattern)
    return _PlainCounter(lambda text: splitter.batches(text, _BATCH))


def word_counter() -> PieceCounter:
    """Counts words between white space."""
    return _PlainCounter(lambda text: [text.split()])


class _PlainCounter:
    def __init__(self, split: Callable[[str], Iterable[list[str]]]) -> None:
        self._split = split
        self._counts: Counter[str] = Counter()

    def add(self, text: str, check: Check | None = None) -> None:
        for pieces in self._split(well_formed(text)):
            self._counts.update(pieces)
            if check is not None:
                check()

    def add_words(self, words: Words) -> None:
        self._counts.update({bytes(word).decode(): weight for word, weight in words})

    def words(self) -> Words:
        # A pattern may match nothing at a place.
        return words_of_pieces({piece.encode(): count for piece, count in self._counts.items() if piece})


class _NativeCounter:
    def __init__(self, counts: WordCounts) -> None:
        self._counts = counts

    def add(self, text: str, check: Check | None = None) -> None:
        self._counts.add(well_formed(text), check)

    def add_words(self, words: Words) -> None:
        self._counts.add_words(words.symbols, words.lengths, words.weights)

    def words(self) -> Words:
        symbols, lengths, weights = self._counts.words()
        return Words(symbols, 1, lengths, weights)


def count_pieces(corpus: Iterable[str], pattern: str, *, native: bool, check: Check | None = None) -> Words:
    """The pieces of the texts of ``corpus``; see ``piece_counter``."""
    counter = piece_counter(pattern, native=native)
    for text in corpus:
        counter.add(text, check)
    return counter.words()
