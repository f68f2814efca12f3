"""The tokens of a chat that its template has rendered."""

from __future__ import annotations

from typing import NamedTuple

from adapters.port import Family, Stop, Tokenizer
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
    if not chat.literals and tokenizer.family is Family.HUGGINGFACE:
        # As the whole, for special tokens part the text there too; what parses them takes seconds to build.
        tokens = _apart(chat, tokenizer, stop)
        return RenderedCount(tokens, tokens, tokens)
    parsed = len(tokenizer.encode(chat.text, parse_special=True, stop=stop))
    if not chat.literals:
        return RenderedCount(parsed, parsed, parsed)
    tokens = _apart(chat, tokenizer, stop)
    return RenderedCount(tokens, min(tokens, parsed), max(tokens, parsed))


def _apart(chat: RenderedChat, tokenizer: Tokenizer, stop: Stop | None) -> int:
    """One token for each special token, and those of the texts between them."""
    marks = sum(segment.markup for segment in chat.segments)
    return marks + sum(tokenizer.count(part.text, stop=stop) for part in chat.segments if not part.markup)
