"""Training by the extension: counts pieces, and merges pairs."""

from __future__ import annotations

from collections.abc import Callable

from adapters.native._core import Merges, WordCounts
from adapters.native.families import FAMILIES, classes


def word_counts(pattern: str) -> WordCounts:
    """Counts of the pieces of texts; ``pattern`` is one of ``FAMILIES``."""
    return WordCounts(FAMILIES[pattern], classes())


def merges_of(
    width: int,
    symbols: bytes,
    lengths: bytes,
    weights: bytes,
    alphabet: int,
    first_seen: bool,
    check: Callable[[], object] | None = None,
) -> Merges:
    """The merges of words that are made of ids below ``alphabet``; the arguments are those of ``Words``."""
    return Merges(width, symbols, lengths, weights, alphabet, first_seen, check)
