"""Tokens with their bounds and how sure they are: what each part of a request adds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from service.domain.catalog import Accuracy


@dataclass(frozen=True, slots=True)
class Amount:
    """So many ``tokens``, between ``low`` and ``high``; ``reasons`` are the codes why it is no surer.

    ``unbounded`` says that nothing but the model's context window limits it.
    """

    tokens: int = 0
    low: int = 0
    high: int = 0
    accuracy: Accuracy = Accuracy.EXACT
    reasons: tuple[str, ...] = ()
    unbounded: bool = False

    def __post_init__(self) -> None:
        if not 0 <= self.low <= self.tokens <= self.high:
            tokens = max(0, self.tokens)
            object.__setattr__(self, "tokens", tokens)
            object.__setattr__(self, "low", max(0, min(self.low, tokens)))
            object.__setattr__(self, "high", max(self.high, tokens))

    def __add__(self, other: Amount) -> Amount:
        return Amount(
            self.tokens + other.tokens,
            self.low + other.low,
            self.high + other.high,
            Accuracy.worst((self.accuracy, other.accuracy)),
            merged(self.reasons, other.reasons),
            self.unbounded or other.unbounded,
        )

    def because(self, accuracy: Accuracy, *reasons: str) -> Amount:
        """The same, no surer than ``accuracy``, for ``reasons`` too."""
        return replace(
            self,
            accuracy=Accuracy.worst((self.accuracy, accuracy)),
            reasons=merged(self.reasons, reasons),
        )


NONE = Amount()


def fixed(tokens: int) -> Amount:
    """Exactly ``tokens``."""
    return Amount(tokens, tokens, tokens)


def total(amounts: Iterable[Amount]) -> Amount:
    """The sum: no surer than its least sure part."""
    amounts = tuple(amounts)
    if len(amounts) <= 1:
        return amounts[0] if amounts else NONE
    tokens = low = high = 0
    accuracy, unbounded = Accuracy.EXACT, False
    reasons: dict[str, None] = {}
    for amount in amounts:
        tokens += amount.tokens
        low += amount.low
        high += amount.high
        if amount.accuracy is not accuracy:
            accuracy = Accuracy.worst((accuracy, amount.accuracy))
        reasons |= dict.fromkeys(amount.reasons)
        unbounded = unbounded or amount.unbounded
    return Amount(tokens, low, high, accuracy, tuple(reasons), unbounded)


def merged(first: tuple[str, ...], second: tuple[str, ...]) -> tuple[str, ...]:
    """Both lists of codes, each code once, in order."""
    return tuple(dict.fromkeys((*first, *second))) if second else first
