"""The port: what a tokenizer of any family offers, and the words its users share.

``TokenCounter`` counts ordinary text, ``Tokenizer`` also encodes and decodes, ``Sampler`` draws random encodings. Ids
are integers, text is a ``str``, and no method raises on any string: markup such as ``<|endoftext|>`` is only text.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import Protocol, runtime_checkable

NO_TOKENS: Mapping[str, int] = MappingProxyType({})
"""No special tokens: the empty mapping, shared because it cannot change."""


class Family(StrEnum):
    """How a tokenizer works, and so which adapter serves it."""

    TIKTOKEN = "tiktoken"
    HUGGINGFACE = "huggingface"
    SENTENCEPIECE = "sentencepiece"
    BPE = "bpe"
    CLAUDE = "claude"


FallbackListener = Callable[[str, str], None]
"""Told the vocabulary's name and the engine that took over, each time an engine could not take a text."""


def ignore_fallback(name: str, engine: str) -> None:
    """Listen to fallbacks and do nothing."""
    del name, engine


class TokenizerError(Exception):
    """Base of every error a tokenizer or its loading raises; the message says what to do next."""


class VocabularyDamaged(TokenizerError):
    """A vocabulary's bytes are not the ones the manifest describes, or they do not give the known answer."""


class VocabularyMissing(TokenizerError):
    """The vocabulary is known, but its file is not on this machine."""


class UnknownVocabulary(TokenizerError):
    """No vocabulary of that name exists in the manifest or the configuration."""


class EngineMissing(TokenizerError):
    """An engine was required that is not on this machine."""


class InvalidIds(TokenizerError):
    """An id lies outside the vocabulary, or names an entry without bytes."""


class DeadlineExceeded(TokenizerError):
    """A count was still running when its deadline passed."""


class StretchTooLong(TokenizerError):
    """A text that arrives in parts goes on for too long without a place where it can be cut."""


class Stop:
    """A deadline on the monotonic clock, looked at about every 64 KiB of text.

    ``at`` is a time in seconds as ``clock()`` gives it.
    """

    __slots__ = ("_clock", "at")

    def __init__(self, at: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.at = at
        self._clock = clock

    def check(self) -> None:
        """Raise ``DeadlineExceeded`` once the deadline has passed."""
        if self._clock() >= self.at:
            raise DeadlineExceeded("The deadline passed while the text was counted. Send less text at once.")


@dataclass(frozen=True, slots=True)
class Piece:
    """One token of a text: its id, the bytes it stands for, and the span it covers.

    ``start`` and ``end`` are code points of the original text, end exclusive. A token that holds part of a character
    covers the whole character, so neighbours may overlap; a token that the tokenizer inserts has an empty span.
    ``unknown`` marks a token that stands for text outside the vocabulary.
    """

    id: int
    bytes: bytes
    start: int
    end: int
    unknown: bool = False


@dataclass(frozen=True, slots=True)
class KnownAnswer:
    """A text, and the ids that a tokenizer must give for it before it may serve; of a mere counter ``tokens``."""

    text: str
    ids: tuple[int, ...] = ()
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class Marking:
    """How a vocabulary of the claude family marks words.

    ``folds_quotes``: curly quotes count as straight ones. ``capitals``: a word in capitals is a mark and small letters.
    ``opened``: a message opens with the border of a word, which takes the place of a blank.
    """

    folds_quotes: bool
    capitals: bool
    opened: bool


@dataclass(frozen=True, slots=True)
class TokenizerSpec:
    """What the loader needs to build one tokenizer.

    ``pattern`` is the split pattern itself (a regular expression), empty where the file brings its own. ``rank_offset``
    is added to a merge rank to get its id. ``normalizer`` is ``""``, ``"NFC"`` or ``"NFKC"`` for tiktoken-style
    vocabularies. ``marking`` belongs to the claude family. ``sha256`` and ``bytes`` describe the file once
    decompressed; ``size`` counts all ids, special ones included, or the pieces of the claude family.
    """

    name: str
    family: Family
    path: Path
    sha256: str
    size: int = 0
    bytes: int = 0
    pattern: str = ""
    normalizer: str = ""
    special: Mapping[str, int] = field(default_factory=lambda: NO_TOKENS)
    rank_offset: int = 0
    known_answer: KnownAnswer | None = None
    marking: Marking | None = None
    license: str = ""
    source: str = ""
    used_by: str = ""


class TokenCounter(Protocol):
    """Counts the tokens of ordinary text.

    Immutable once loaded and safe from several threads; long texts are counted without holding the interpreter's lock.
    """

    @property
    def name(self) -> str:
        """The vocabulary's name, such as ``o200k_base``."""
        ...

    @property
    def family(self) -> Family:
        """How the tokenizer works."""
        ...

    @property
    def engine(self) -> str:
        """What counts: ``native``, ``tiktoken``, ``huggingface``, ``sentencepiece`` or ``python``."""
        ...

    @property
    def sha256(self) -> str:
        """Hash of the vocabulary file that was loaded."""
        ...

    @property
    def special_tokens(self) -> Mapping[str, int]:
        """Every special token's literal and id."""
        ...

    @property
    def always_matched(self) -> Mapping[str, int]:
        """Literals, and their ids, that the vocabulary's own library reads as one token in ordinary text too."""
        ...

    @property
    def vocab_size(self) -> int:
        """How many ids exist, special tokens included; of a reconstructed vocabulary the pieces that are known."""
        ...

    @property
    def added_tokens(self) -> int:
        """How many tokens (BOS, EOS, CLS, SEP) the family adds around a text when asked; never part of a count here."""
        ...

    def count(self, text: str, *, stop: Stop | None = None) -> int:
        """Tokens of ``text`` as ordinary text. Raises ``DeadlineExceeded`` if ``stop`` passes first."""
        ...

    def count_batch(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text."""
        ...

    def fits(self, text: str, limit: int) -> bool:
        """Whether ``text`` has at most ``limit`` tokens, found without counting far past the limit."""
        ...


@runtime_checkable
class Tokenizer(TokenCounter, Protocol):
    """A counter that also gives the ids, the pieces and the way back."""

    def encode(self, text: str, *, parse_special: bool = False, stop: Stop | None = None) -> list[int]:
        """Ids of ``text``; with ``parse_special`` the literal of a special token becomes its one id.

        Raises ``DeadlineExceeded`` if ``stop`` passes first.
        """
        ...

    def decode(self, ids: Sequence[int]) -> str:
        """Text of ``ids``; bytes that are not UTF-8 become U+FFFD. Raises ``InvalidIds``."""
        ...

    def decode_bytes(self, ids: Sequence[int]) -> bytes:
        """Bytes of ``ids``. Raises ``InvalidIds``."""
        ...

    def pieces(self, text: str, *, parse_special: bool = False) -> list[Piece]:
        """The tokens of ``text`` with their bytes and their spans in it."""
        ...


@runtime_checkable
class Sampler(Protocol):
    """Draws random encodings of one text (subword regularisation, Kudo 2018), where the model supports it."""

    def sample(self, text: str, *, n: int, alpha: float, seed: int) -> list[list[int]]:
        """``n`` encodings drawn with smoothing ``alpha``; the same seed gives the same encodings."""
        ...


@runtime_checkable
class BoundedCounter(Protocol):
    """Counts up to a limit in one pass, where the engine can stop a count that has passed it."""

    def count_within(self, text: str, limit: int, *, stop: Stop | None = None) -> int | None:
        """Tokens of ``text``; ``None`` where there are more than ``limit``. Raises ``DeadlineExceeded``."""
        ...


@runtime_checkable
class Cuttable(Protocol):
    """Knows where a text may be cut so that its parts have, together, the very tokens of the whole.

    Whether a place is such a cut depends on the two characters at it alone.
    """

    @property
    def normalizer(self) -> str:
        """``""``, ``"NFC"`` or ``"NFKC"``: what is done to a text first. Cuts are those of the text so normalized."""
        ...

    def cut(self, ordinary: str) -> int:
        """Code points of normalized text before the last place to cut it; 0 where none is known."""
        ...


class CountStream(Protocol):
    """Counts one text that arrives in parts, in memory that does not grow with it."""

    def feed(self, text: str, *, stop: Stop | None = None) -> None:
        """Take the next part, which is well formed. Raises ``DeadlineExceeded``, ``StretchTooLong``."""
        ...

    def finish(self, *, stop: Stop | None = None) -> int:
        """Tokens of the whole text, which ends here. Raises ``DeadlineExceeded``."""
        ...


def count_within(counter: TokenCounter, text: str, limit: int, *, stop: Stop | None = None) -> int | None:
    """Tokens of ``text``; ``None`` where there are more than ``limit``, found without counting far past it."""
    if isinstance(counter, BoundedCounter):
        return counter.count_within(text, limit, stop=stop)
    return counter.count(text, stop=stop) if counter.fits(text, limit) else None


def well_formed(text: str) -> str:
    """``text`` with surrogate pairs joined and lone surrogates replaced by U+FFFD, as tiktoken does.

    A surrogate alone is no character and has no UTF-8 form; the libraries differ in how they fail on one.
    """
    if text.isascii():
        return text
    try:
        text.encode()  # ten times faster than a search for surrogates
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text
