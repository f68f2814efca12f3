"""Trains a vocabulary: merge the most frequent pair of neighbours, again and again.

``train`` works on bytes, so that what it learns encodes any text; ``train_words`` works on the characters of words with
a mark at their end, as Sennrich, Haddow and Birch (2016) do. Both stop when no pair occurs twice. Pairs are counted as
``adapters.bpe.pairs`` says. Only the distinct pieces and their counts are kept in memory, never the corpus.

Ties between equally frequent pairs: ``lowest`` takes the pair whose ids are the smallest (the left id decides, then the
right); ``first_seen`` takes the pair that comes first in the words, taken in the order in which the corpus first shows
them, as they stand after the merges so far.

No two merges make the same token. What happens between the ends of a token's bytes is the same wherever it comes to be,
since a merge across an end would leave another token; so all places that spell it are merged by one merge.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from heapq import heapify, heappop, heappush

from adapters.bpe.pairs import Pair, PairTable
from adapters.bpe.patterns import Splitter
from adapters.bpe.trained import Merge, TrainedVocabulary
from adapters.manifest import read_manifest
from adapters.port import TokenizerError, well_formed

_BYTES = tuple(bytes([byte]) for byte in range(256))
_BATCH = 4096  # pieces counted at once
END_OF_WORD = "</w>"


class TrainingError(TokenizerError):
    """A vocabulary cannot be trained as asked."""


class Ties(StrEnum):
    """Which of several equally frequent pairs is merged first."""

    LOWEST = "lowest"
    FIRST_SEEN = "first_seen"


OnMerge = Callable[[Merge], None]


def train(
    corpus: Iterable[str],
    *,
    size: int,
    pattern: str,
    special: Sequence[str] = (),
    ties: str = Ties.LOWEST,
    on_merge: OnMerge | None = None,
) -> TrainedVocabulary:
    """A byte-level vocabulary of at most ``size`` ids, the 256 bytes and the special tokens among them.

    ``corpus`` gives texts; no piece reaches from one into the next. ``pattern`` is the name of a split pattern in the
    manifest, or the pattern itself. ``special`` are literals that get the last ids; in the corpus they are ordinary
    text. ``on_merge`` is called with each merge as it is made. Raises ``TrainingError`` and ``UnsupportedPattern``.
    """
    rule = _ties(ties)
    if size < len(_BYTES) + len(special):
        raise TrainingError(
            f"The size must be at least {len(_BYTES) + len(special)}: 256 bytes and the special tokens."
        )
    if len(set(special)) < len(special) or not all(special) or any(text != well_formed(text) for text in special):
        raise TrainingError("A special token is empty, given twice, or not valid Unicode.")
    regex = read_manifest().patterns.get(pattern, pattern)
    counts = _piece_counts(corpus, Splitter(regex))
    trainer = _Trainer(_BYTES, ((piece.encode(), count) for piece, count in counts.items()), rule, on_merge)
    trainer.run(tokens=size - len(special))
    return TrainedVocabulary(
        alphabet=_BYTES, merges=tuple(trainer.merges), pattern=regex, special=tuple(special), ties=rule
    )


def train_words(
    counts: Mapping[str, int], *, merges: int, ties: str = Ties.FIRST_SEEN, on_merge: OnMerge | None = None
) -> TrainedVocabulary:
    """A word-level vocabulary: characters of words and ``</w>``, and at most ``merges`` merges.

    ``counts`` are the words, in the order in which the corpus first shows them, and how often each occurs; words of
    white-space separated text are ``Counter(text.split())``. Raises ``TrainingError``.

    Worked example: low 5, lower 2, newest 6, widest 3. e s occurs 9 times, as do s t and t </w>, and is seen first; the
    merges are e s (9), es t (9), est </w> (9), l o (7), lo w (7).
    """
    rule = _ties(ties)
    if any(count < 1 or not word or END_OF_WORD in word or word != well_formed(word) for word, count in counts.items()):
        raise TrainingError(f"A word is empty, holds {END_OF_WORD!r}, is not valid Unicode, or occurs less than once.")
    alphabet = (*sorted({character for word in counts for character in word}), END_OF_WORD)
    number = {symbol: index for index, symbol in enumerate(alphabet)}
    words = (([*map(number.__getitem__, word), number[END_OF_WORD]], count) for word, count in counts.items())
    tokens = tuple(symbol.encode() for symbol in alphabet)
    trainer = _Trainer(tokens, words, rule, on_merge)
    trainer.run(merges=merges)
    return TrainedVocabulary(
        alphabet=tokens, merges=tuple(trainer.merges), pattern="", special=(), ties=rule, end_of_word=END_OF_WORD
    )


def _ties(name: str) -> Ties:
    if name not in list(Ties):
        raise TrainingError(f"No rule for ties has that name. Known: {', '.join(Ties)}.")
    return Ties(name)


def _piece_counts(corpus: Iterable[str], splitter: Splitter) -> Counter[str]:
    counts: Counter[str] = Counter()
    for text in corpus:
        for pieces in splitter.batches(well_formed(text), _BATCH):
            counts.update(pieces)
    return counts


class _Trainer:
    """The merges so far, and a heap of the pairs that may come next.

    A heap entry is at least as good as its pair is now: a pair gains occurrences in one merge alone, and is entered
    after it; from then on its count only falls and its first place only moves back. So the best entry is corrected when
    it comes up, and is right once it needs no correction.
    """

    def __init__(
        self,
        alphabet: Sequence[bytes],
        words: Iterable[tuple[Sequence[int], int]],
        ties: Ties,
        on_merge: OnMerge | None,
    ) -> None:
        self.merges: list[Merge] = []
        self._tokens = list(alphabet)
        self._pairs = PairTable(words)
        self._ties = ties
        self._on_merge = on_merge
        self._heap = [self._entry(pair) for pair, count in self._pairs.counts.items() if count > 1]
        heapify(self._heap)

    def run(self, *, tokens: int | None = None, merges: int | None = None) -> None:
        """Merge until there are so many tokens or merges, or no pair occurs twice."""
        while (tokens is None or len(self._tokens) < tokens) and (merges is None or len(self.merges) < merges):
            best = self._best()
            if best is None:
                return
            self._merge(best)

    def _entry(self, pair: Pair) -> tuple[int, int, Pair]:
        place = self._pairs.first_place(pair) if self._ties is Ties.FIRST_SEEN else 0
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
        left, right = self._tokens[pair[0]], self._tokens[pair[1]]
        merge = Merge(left, right, self._pairs.counts[pair])
        gained = self._pairs.merge(pair, len(self._tokens))
        self._tokens.append(left + right)
        for grown in gained:
            if self._pairs.counts[grown] > 1:
                heappush(self._heap, self._entry(grown))
        self.merges.append(merge)
        if self._on_merge is not None:
            self._on_merge(merge)
