"""Walks over the characters of a split pattern, and says where something is wrong."""

from __future__ import annotations

from collections.abc import Iterable

from adapters.bpe.syntax import UnsupportedPattern


class Scanner:
    """A pattern and a position in it."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.position = 0

    @property
    def done(self) -> bool:
        """Whether the whole pattern has been read."""
        return self.position >= len(self.pattern)

    def rest(self) -> str:
        """What is still to be read."""
        return self.pattern[self.position :]

    def peek(self) -> str:
        """The character that comes next, without moving; empty at the end."""
        return self.pattern[self.position : self.position + 1]

    def next(self) -> str:
        """The character that comes next."""
        if self.done:
            raise self.error("it ends too early")
        self.position += 1
        return self.pattern[self.position - 1]

    def take(self, text: str) -> bool:
        """Move over ``text`` if it comes next."""
        found = self.pattern.startswith(text, self.position)
        if found:
            self.position += len(text)
        return found

    def take_longest(self, texts: Iterable[str]) -> str:
        """Move over the longest of ``texts`` that comes next, and return it; empty if none does."""
        for text in sorted(texts, key=len, reverse=True):
            if self.take(text):
                return text
        return ""

    def take_capturing(self) -> str:
        """Move over the ``(`` of a plain group; only the whole match counts, so it need not capture."""
        if self.pattern.startswith("(?", self.position) or not self.take("("):
            raise self.error(f"the group {self.rest()[:4]!r}")
        return "("

    def error(self, construct: str, position: int | None = None) -> UnsupportedPattern:
        """An error that names ``construct`` and the place."""
        place = self.position if position is None else position
        return UnsupportedPattern(f"The split pattern cannot be used: {construct}, at character {place + 1}.")
