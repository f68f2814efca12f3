"""A counter of the claude family: how many tokens a text takes as a message, without the message's own frame."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from adapters.claude.cleaning import clean
from adapters.claude.marking import stretches
from adapters.claude.tiling import Tiling
from adapters.port import NO_TOKENS, Family, Marking, Stop, TokenizerSpec, well_formed
from adapters.unicode import normalize

_LARGEST_LIMIT = 2**63  # of `fits`; no text has as many tokens
_BETWEEN_CHECKS = 1 << 16  # bytes of the marked stream


class Tiles(Protocol):
    """A vocabulary with the engine that tiles texts in NFC with it."""

    @property
    def engine(self) -> str:
        """``native`` or ``python``."""
        ...

    def count(self, text: str, marking: Marking, stop: Stop | None) -> int:
        """Pieces of a text that is not empty. Raises ``DeadlineExceeded``."""
        ...

    def fits(self, text: str, marking: Marking, limit: int) -> bool:
        """Whether they are at most ``limit``, found without counting far past it."""
        ...


class PlainTiles:
    """The engine in plain Python."""

    engine = "python"

    def __init__(self, tiling: Tiling) -> None:
        self._tiling = tiling

    def count(self, text: str, marking: Marking, stop: Stop | None = None) -> int:
        """Pieces of a text that is not empty."""
        return self._tiled(text, marking, _LARGEST_LIMIT, stop)

    def fits(self, text: str, marking: Marking, limit: int) -> bool:
        """Whether they are at most ``limit``."""
        return self._tiled(text, marking, limit, None) <= limit

    def _tiled(self, text: str, marking: Marking, limit: int, stop: Stop | None) -> int:
        """Their number, or where it is above ``limit`` some number above it."""
        if stop is not None:
            stop.check()
        cleaned = clean(text, folds_quotes=marking.folds_quotes)
        body = cleaned.rstrip("\n")
        newlines = len(cleaned) - len(body)
        total = unchecked = 0
        for stretch in stretches(body, marking, led_by_blank=text.startswith(" ")):
            total += self._tiling.fewest(stretch, stop)
            if total > limit:
                return total
            unchecked += len(stretch)
            if stop is not None and unchecked >= _BETWEEN_CHECKS:
                unchecked = 0
                stop.check()
        # A message ends in two newlines, which go together with those of its text; the last piece is the message's own.
        return total + (self._tiling.fewest(b"\n" * (newlines + 2), stop) - 1 if newlines else 0)


class ClaudeCounter:
    """A reconstructed vocabulary. It tells how many tokens a text has, and neither where they end nor their ids.

    ``count`` is the text's share of a request with one user message: it holds what the message's borders make of the
    first and the last characters, so that counts of parts need not add up.
    """

    family = Family.CLAUDE
    special_tokens = NO_TOKENS
    always_matched = NO_TOKENS
    added_tokens = 0

    def __init__(self, spec: TokenizerSpec, tiles: Tiles) -> None:
        if spec.marking is None:
            raise ValueError("a vocabulary of the claude family needs a marking")
        self.name = spec.name
        self.sha256 = spec.sha256
        self.engine = tiles.engine
        self.vocab_size = spec.size
        self._marking = spec.marking
        self._tiles = tiles

    def count(self, text: str, *, stop: Stop | None = None) -> int:
        """Tokens of ``text`` as ordinary text. Raises ``DeadlineExceeded`` if ``stop`` passes first."""
        if stop is not None:
            stop.check()
        return self._tiles.count(_normalized(text, stop), self._marking, stop) if text else 0

    def count_batch(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text."""
        return [self.count(text) for text in texts]

    def fits(self, text: str, limit: int) -> bool:
        """Whether ``text`` has at most ``limit`` tokens; counting ends past it."""
        if limit < 0 or not text:
            return limit >= 0
        return self._tiles.fits(_normalized(text), self._marking, min(limit, _LARGEST_LIMIT))


def _normalized(text: str, stop: Stop | None = None) -> str:
    return normalize("NFC", well_formed(text), stop=stop)
