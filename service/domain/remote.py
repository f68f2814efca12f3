"""Counts by the vendor itself: when to ask for one, and what it makes of the count that was made here.

A vendor's count is its own estimate of what it will bill. It is never called exact: where it agrees with an exact count
made here that one stands, elsewhere the answer is ``close``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal, Protocol, TypeAlias

from service.domain.catalog import Accuracy
from service.domain.counting import Breakdown, Count
from service.domain.notices import Notice
from service.domain.request import Request, Text, ToolCall, flattened

RemoteMode: TypeAlias = Literal["never", "when_inexact", "always"]

REMOTE_FAILURES = (
    "unconfigured",
    "not_translatable",
    "busy",
    "circuit_open",
    "timeout",
    "transport",
    "rate_limited",
    "unauthorized",
    "rejected",
    "http_status",
    "too_large",
    "malformed",
)
"""Every reason why a vendor's count was not to be had."""

_MESSAGES: Mapping[str, str] = {
    "unconfigured": "no key is set for this vendor's counting endpoint",
    "not_translatable": "the request holds what cannot be put into that vendor's form",
    "busy": "too many counts are being asked for at once",
    "circuit_open": "it failed again and again, and is left alone for a while",
    "timeout": "it did not answer in time",
    "transport": "the connection failed",
    "rate_limited": "it asks to come back later",
    "unauthorized": "it does not take the key",
    "rejected": "it does not take this request",
    "http_status": "it answered with an error",
    "too_large": "its answer was too large",
    "malformed": "its answer could not be read",
}


class RemoteFailed(Exception):
    """No count came from the vendor. ``reason`` is one of ``REMOTE_FAILURES``."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(f"The vendor did not count: {_MESSAGES[reason]}.")


@dataclass(frozen=True, slots=True)
class RemoteAsk:
    """What a vendor is asked to count: ``request`` for its ``model``, under the name that the vendor sells it by.

    ``sent`` is the body as its sender wrote it, in the wire form ``request.dialect``.
    """

    provider: str
    model: str
    request: Request = field(repr=False)
    sent: Mapping[str, Any] | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class RemoteTokens:
    """A vendor's count of input ``tokens``. ``remembered`` says that it was asked before and not again."""

    tokens: int
    remembered: bool = False


class RemoteCounter(Protocol):
    """Asks vendors to count."""

    def serves(self, provider: str, /) -> bool:
        """Whether the vendor can be asked: there is a key for it."""
        ...

    async def tokens(self, ask: RemoteAsk, /) -> RemoteTokens:
        """The vendor's count. Raises ``RemoteFailed``; a call takes no longer than its own time limit."""
        ...


@dataclass(frozen=True, slots=True)
class RemoteSource:
    """Who counted, and what was counted here instead of asking: ``local_tokens`` shows how far the two are apart."""

    provider: str
    remembered: bool
    local_tokens: int


@dataclass(frozen=True, slots=True)
class RemoteCount(Count):
    """A count by the vendor's own endpoint; ``tokenizer``, the ratios and the parts are those of the count here."""

    remote: RemoteSource


def wants_vendor(mode: RemoteMode, count: Count) -> bool:
    """Whether the vendor is to be asked, once it was counted here."""
    return mode == "always" or (mode == "when_inexact" and count.accuracy != Accuracy.EXACT.value)


def by_vendor(count: Count, answer: RemoteTokens, ask: RemoteAsk) -> Count:
    """``count`` with the vendor's number in its place.

    Its bounds are that number alone for text and tools. Where the request holds pictures, recordings or files they
    also keep those of the count here: for these, endpoints have been seen to count far less than was billed.
    """
    exact = count.accuracy == Accuracy.EXACT.value
    agrees = exact and answer.tokens == count.tokens
    bounds = [answer.tokens]
    if exact or not _plain(ask.request):
        bounds += (count.low, count.high)
    reasons = () if agrees else ("remote_estimate",)
    warnings = count.warnings
    if exact and not agrees:
        message = "The vendor's count differs from the one made here by its own vocabulary; the bounds hold both."
        warnings = (*warnings, Notice("remote_differs", message, "remote"))
    values = {item.name: getattr(count, item.name) for item in fields(Count)}
    values |= {
        "tokens": answer.tokens,
        "low": min(bounds),
        "high": max(bounds),
        "accuracy": (Accuracy.EXACT if agrees else Accuracy.CLOSE).value,
        "accuracy_reasons": reasons,
        "breakdown": _fitted(count.breakdown, answer.tokens),
        "warnings": warnings,
    }
    return RemoteCount(**values, remote=RemoteSource(ask.provider, answer.remembered, count.tokens))


def without_vendor(count: Count, failure: RemoteFailed) -> Count:
    """``count`` as it was made here, with the warning that the vendor did not answer."""
    message = f"The vendor did not count ({failure.reason}): {_MESSAGES[failure.reason]}. The count made here stands."
    return replace(count, warnings=(*count.warnings, Notice("remote_failed", message, "remote")))


def _plain(request: Request) -> bool:
    """Whether all that is counted is text."""
    return not any(
        not isinstance(part, Text | ToolCall) for message in request.messages for part in flattened(message.parts)
    )


def _fitted(parts: Breakdown, tokens: int) -> Breakdown:
    """The parts, made to add up to ``tokens``: what is over is framing; what lacks is taken from framing first."""
    lacking = parts.text + parts.framing + parts.tools + parts.images - tokens
    if lacking <= 0:
        return replace(parts, framing=parts.framing - lacking)
    left = {"framing": parts.framing, "tools": parts.tools, "images": parts.images, "text": parts.text}
    for name, count in left.items():
        taken = min(count, lacking)
        left[name], lacking = count - taken, lacking - taken
    return Breakdown(**left)
