"""What a caller should know of an answer, beyond its numbers."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Notice:
    """Something a caller should know of an answer; ``path`` names the part of the request it is about."""

    code: str
    message: str
    path: str


@dataclass(frozen=True, slots=True)
class LiteralNotice(Notice):
    """A special-token literal in a text: ``offset`` is its first place, in code points of the text as sent."""

    offset: int
    occurrences: int


NO_NOTICES: tuple[Notice, ...] = ()
