"""Trains a vocabulary: merge the most frequent pair of neighbours, again and again.

``train`` works on bytes, so that what it learns encodes any text; ``train_words`` works on the characters of words with
a mark at their end, as Sennrich, Haddow and Birch (2016) do. Both stop when no pair occurs twice. Pairs are counted as
``adapters.bpe.pairs`` says, and ties go as ``adapters.bpe.merging`` says. Only the distinct pieces and their counts are
kept in memory, never the corpus.

No two merges make the same token. What happens between the ends of a token's bytes is the same wherever it comes to be,
since a merge across an end would leave another token; so all places that spell it are merged by one merge.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from adapters.bpe.merging import Check
from adapters.bpe.trained import TrainedVocabulary
from adapters.bpe.training import OnMerge, Plan, Ties, Training, TrainingError
from adapters.bpe.words import count_pieces, words_of_ids
from adapters.manifest import read_manifest
from adapters.port import well_formed

__all__ = [
    "END_OF_WORD", "Ties", "Training", "TrainingError", "begin", "begin_words", "plan_bytes", "plan_words", "train",
    "train_words",
]  # fmt: skip

_BYTES = tuple(bytes([byte]) for byte in range(256))
END_OF_WORD = "</w>"


def train(
    corpus: Iterable[str],
    *,
    size: int,
    pattern: str,
    special: Sequence[str] = (),
    ties: str = Ties.LOWEST,
    native: bool = True,
    on_merge: OnMerge | None = None,
    check: Check | None = None,
) -> TrainedVocabulary:
    """A byte-level vocabulary of at most ``size`` ids, the 256 bytes and the special tokens among them.

    ``corpus`` gives texts; no piece reaches from one into the next (``adapters.bpe.cutting`` cuts a long text where
    none does). ``pattern`` is the name of a split pattern in the manifest, or the pattern itself. ``special`` are
    literals that get the last ids; in the corpus they are ordinary text. ``native`` asks for the extension, which gives
    the same vocabulary; where it was not built plain Python serves. ``on_merge`` is called with each merge soon after
    it is made; ``check`` is asked now and then, and raises to end the work. Raises ``TrainingError`` and
    ``UnsupportedPattern``.
    """
    training = begin(corpus, size=size, pattern=pattern, special=special, ties=ties, native=native, check=check)
    training.run(on_merge=on_merge, check=check)
    return training.vocabulary


def begin(
    corpus: Iterable[str],
    *,
    size: int,
    pattern: str,
    special: Sequence[str] = (),
    ties: str = Ties.LOWEST,
    native: bool = True,
    check: Check | None = None,
) -> Training:
    """The training that ``train`` runs, with the corpus read and no merge made."""
    plan = plan_bytes(size=size, pattern=pattern, special=special, ties=ties)
    words = count_pieces(corpus, plan.pattern, native=native, check=check)
    return Training(plan, words, native=native, check=check)


def plan_bytes(*, size: int, pattern: str, special: Sequence[str] = (), ties: str = Ties.LOWEST) -> Plan:
    """The plan of a byte-level vocabulary. Raises ``TrainingError``."""
    rule = _ties(ties)
    least = len(_BYTES) + len(special)
    if size < least:
        raise TrainingError(f"The size must be at least {least}: 256 bytes and the special tokens.")
    if len(set(special)) < len(special) or not all(special) or any(text != well_formed(text) for text in special):
        raise TrainingError("A special token is empty, given twice, or not valid Unicode.")
    regex = read_manifest().patterns.get(pattern, pattern)
    return Plan(_BYTES, size - least, regex, tuple(special), rule)


def train_words(
    counts: Mapping[str, int],
    *,
    merges: int,
    ties: str = Ties.FIRST_SEEN,
    native: bool = True,
    on_merge: OnMerge | None = None,
    check: Check | None = None,
) -> TrainedVocabulary:
    """A word-level vocabulary: characters of words and ``</w>``, and at most ``merges`` merges.

    ``counts`` are the words, in the order in which the corpus first shows them, and how often each occurs; words of
    white-space separated text are ``Counter(text.split())``. The other arguments are those of ``train``. Raises
    ``TrainingError``.

    Worked example: low 5, lower 2, newest 6, widest 3. e s occurs 9 times, as do s t and t </w>, and is seen first; the
    merges are e s (9), es t (9), est </w> (9), l o (7), lo w (7).
    """
    training = begin_words(counts, merges=merges, ties=ties, native=native, check=check)
    training.run(on_merge=on_merge, check=check)
    return training.vocabulary


def begin_words(
    counts: Mapping[str, int],
    *,
    merges: int,
    ties: str = Ties.FIRST_SEEN,
    native: bool = True,
    check: Check | None = None,
) -> Training:
    """The training that ``train_words`` runs, with no merge made."""
    plan = plan_words(merges=merges, ties=ties)
    if any(count < 1 or not word or END_OF_WORD in word or word != well_formed(word) for word, count in counts.items()):
        raise TrainingError(f"A word is empty, holds {END_OF_WORD!r}, is not valid Unicode, or occurs less than once.")
    alphabet = (*sorted({character for word in counts for character in word}), END_OF_WORD)
    number = {symbol: index for index, symbol in enumerate(alphabet)}
    spelled = [[*map(number.__getitem__, word), number[END_OF_WORD]] for word in counts]
    try:
        words = words_of_ids(spelled, counts.values())
    except OverflowError:
        raise TrainingError("A word occurs too often. Divide all counts.") from None
    plan = replace(plan, alphabet=tuple(symbol.encode() for symbol in alphabet))
    return Training(plan, words, native=native, check=check)


def plan_words(*, merges: int, ties: str = Ties.FIRST_SEEN) -> Plan:
    """The plan of a word-level vocabulary, whose alphabet the corpus has to give. Raises ``TrainingError``."""
    return Plan((), merges, "", (), _ties(ties), END_OF_WORD)


def _ties(name: str) -> Ties:
    if name not in list(Ties):
        raise TrainingError(f"No rule for ties has that name. Known: {', '.join(Ties)}.")
    return Ties(name)
