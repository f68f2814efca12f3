"""The beginning of a request that stays the same from call to call, and what a vendor's cache saves on it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction

from service.domain.request import Request, ToolResult
from service.domain.rules import Scope


@dataclass(frozen=True, slots=True)
class CacheRule:
    """From how many tokens on a prompt's beginning is kept: ``minimum``, and then in steps of ``step``.

    ``automatic`` says that the vendor does so unasked; else the request has to mark what is kept.
    """

    scope: Scope
    minimum: int
    step: int = 1
    automatic: bool = False

    def kept(self, tokens: int) -> int:
        """How many of the first ``tokens`` are kept: 0 below the minimum."""
        return 0 if tokens < self.minimum else tokens - tokens % self.step


@dataclass(frozen=True, slots=True)
class Caching:
    """What caching the stable beginning would do.

    ``prefix_tokens`` it takes, ``cached_tokens`` of them are kept. Each further call saves ``usd_saved_per_call``; the
    first costs ``usd_write_surcharge`` more. After ``break_even_calls`` further calls the surcharge is earned; ``None``
    where it never is, or a price is unknown.
    """

    prefix_tokens: int
    minimum_tokens: int | None
    cached_tokens: int
    automatic: bool | None
    usd_saved_per_call: Decimal | None = None
    usd_write_surcharge: Decimal | None = None

    @property
    def break_even_calls(self) -> int | None:
        """Further calls until the surcharge of the first is earned."""
        saved, surcharge = self.usd_saved_per_call, self.usd_write_surcharge
        if saved is None or surcharge is None or saved <= 0:
            return None
        return max(1, math.ceil(Fraction(surcharge) / Fraction(saved)))


def stable_prefix(request: Request) -> Request | None:
    """All that stands before the last message of the user, tools included; ``None`` where that is nothing.

    The next call of the same conversation, or of another with the same beginning, sends it again as it is.
    """
    messages = request.messages
    last = next((at for at in reversed(range(len(messages))) if _asks(request, at)), len(messages))
    before = messages[:last]
    if not before and not request.tools:
        return None
    return replace(request, messages=before, add_generation_prompt=False, continue_final_message=False)


def _asks(request: Request, at: int) -> bool:
    message = request.messages[at]
    return message.role == "user" and not all(isinstance(part, ToolResult) for part in message.parts)
