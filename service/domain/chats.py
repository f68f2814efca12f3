"""The tokens of a chat that its template has rendered."""

from __future__ import annotations

from typing import NamedTuple

from adapters.port import Stop, Tokenizer
from service.domain.ports import RenderedChat


class RenderedCount(NamedTuple):
    """Tokens of a rendered chat: ``tokens`` where the sender's text is only text, within ``low`` and ``high``."""

    tokens: int
    low: int
    high: int


def count_rendered(chat: RenderedChat, tokenizer: Tokenizer, *, stop: Stop | None = None) -> RenderedCount:
    """Count ``chat``, its special tokens included (the template's BOS too) and none added.

    Where the sender's text holds literals of special tokens, the bounds hold both readings: as text, and as the tokens
    that a server sees which encodes the rendered chat as a whole. Raises ``DeadlineExceeded``.
    """
    parsed = len(tokenizer.encode(chat.text, parse_special=True, stop=stop))
    if not chat.literals:
        return RenderedCount(parsed, parsed, parsed)
    marks = sum(segment.markup for segment in chat.segments)
    tokens = marks + sum(tokenizer.count(part.text, stop=stop) for part in chat.segments if not part.markup)
    return RenderedCount(tokens, min(tokens, parsed), max(tokens, parsed))
