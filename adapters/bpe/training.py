"""A training from its words to its vocabulary, which can be stopped between two merges and gone on with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from adapters.bpe.merging import Check, Merges, PlainMerges, Row
from adapters.bpe.trained import Merge, TrainedVocabulary
from adapters.bpe.words import Words
from adapters.native import AVAILABLE
from adapters.port import TokenizerError

_AT_ONCE = 64  # merges made before they are told
_LARGEST_COUNT = 2**63 - 1
_MOST_SLOTS = 2**32 - 3  # symbols of all words, and a border around each


class TrainingError(TokenizerError):
    """A vocabulary cannot be trained as asked."""


class Ties(StrEnum):
    """Which of several equally frequent pairs is merged first."""

    LOWEST = "lowest"
    FIRST_SEEN = "first_seen"


OnMerge = Callable[[Merge], None]


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be trained: the vocabulary's parts beside its merges, and how many merges there may be."""

    alphabet: tuple[bytes, ...]
    merges: int
    pattern: str
    special: tuple[str, ...]
    ties: Ties
    end_of_word: str = ""


class Training:
    """A plan, its words, and the merges made so far.

    ``native`` asks for the extension, which makes the same merges many times as fast; without it plain Python serves.
    ``check`` is asked now and then, and raises to end the work. Raises ``TrainingError`` for words that do not fit.
    """

    def __init__(self, plan: Plan, words: Words, *, native: bool = True, check: Check | None = None) -> None:
        self.plan = plan
        self.words = words
        self._merges = _start(plan, words, native=native and AVAILABLE, check=check)
        self._tokens = list(plan.alphabet)
        self._made: list[Merge] = []

    def run(self, *, on_merge: OnMerge | None = None, check: Check | None = None) -> None:
        """Merge until there are as many merges as planned, or no pair occurs twice.

        ``on_merge`` is called with each merge soon after it is made. What ``check`` raises comes out between two
        merges, and another ``run`` goes on from there.
        """
        while (left := self.plan.merges - len(self._made)) > 0:
            most = min(left, _AT_ONCE)
            try:
                done = self._merges.run(most, check)
            finally:
                self._tell(on_merge)
            if done < most:
                return

    def repeat(self, rows: list[Row]) -> None:
        """Make merges that were chosen before. Raises ``TrainingError`` if they are not those of the words."""
        for row in rows:
            if len(self._made) >= self.plan.merges or not self._merges.repeat(*row):
                raise TrainingError("The merges do not belong to the words. Train anew.")
            self._tell(None)

    @property
    def rows(self) -> list[Row]:
        """The merges made so far."""
        return self._merges.made(0)

    @property
    def vocabulary(self) -> TrainedVocabulary:
        """The vocabulary of the merges made so far."""
        plan = self.plan
        return TrainedVocabulary(
            alphabet=plan.alphabet,
            merges=tuple(self._made),
            pattern=plan.pattern,
            special=plan.special,
            ties=plan.ties,
            end_of_word=plan.end_of_word,
        )

    def _tell(self, on_merge: OnMerge | None) -> None:
        for left, right, frequency in self._merges.made(len(self._made)):
            merge = Merge(self._tokens[left], self._tokens[right], frequency)
            self._tokens.append(merge.left + merge.right)
            self._made.append(merge)
            if on_merge is not None:
                on_merge(merge)


def _start(plan: Plan, words: Words, *, native: bool, check: Check | None) -> Merges:
    weights = words.all_weights()
    symbols = len(words.symbols) // words.width
    if symbols + len(weights) + 1 > _MOST_SLOTS or sum(weights) * symbols > _LARGEST_COUNT:
        raise TrainingError("The words are too many, or occur too often. Train on a part of the corpus.")
    if not words.made_of(len(plan.alphabet)):
        raise TrainingError("The words are not made of the alphabet. Train anew.")
    first_seen = plan.ties is Ties.FIRST_SEEN
    if not native:
        return PlainMerges(words, len(plan.alphabet), first_seen=first_seen)
    from adapters.native.training import merges_of  # noqa: PLC0415 - only where the extension was built

    return merges_of(words.width, words.symbols, words.lengths, words.weights, len(plan.alphabet), first_seen, check)
