"""Wire models of the routes that save tokens. Money leaves as canonical decimal strings, never as floats."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from service.api.pricing.schemas import Cache, CostedInput, Tokens, WirePrice
from service.api.weighing.schemas import Input, Name
from service.domain.counting import TokenizerInfo
from service.domain.notices import Notice

Places = Annotated[int, Meta(ge=0, le=100_000)]
AdviceCode = Literal[
    "minified_json",
    "white_space",
    "spaced_cjk",
    "repeated_context",
    "low_image_detail",
    "alternative_text",
    "cacheable_prefix",
    "batch_tier",
    "service_tier",
    "special_token_literal",
]
NoAdvice = Literal[
    "nothing_found",
    "no_saving",
    "no_stable_prefix",
    "cache_minimum_unknown",
    "below_cache_minimum",
    "price_unknown",
]
"""Why a way to save does not apply."""


class TrimRequest(Input, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A chat (``messages`` or a ``request``) to shorten until it takes at most ``limit`` tokens.

    Without ``limit`` it has to fit the model's context window, less ``max_output_tokens`` (the request's own, or the
    model's, where missing). ``keep_first`` and ``keep_last`` are how many turns always stay at either end.
    ``fit_by``: the upper bound of an inexact count has to fit, or only the count.
    """

    model: Name | None = None
    provider: Name | None = None
    limit: Annotated[int, Meta(ge=1, le=10**12)] | None = None
    max_output_tokens: Tokens | None = None
    keep_first: Places = 0
    keep_last: Places = 1
    fit_by: Literal["high", "tokens"] = "high"
    strategy: Literal["oldest_turns"] = "oldest_turns"


class TrimAnswer(msgspec.Struct, frozen=True):
    """The shortened chat in the form it came in: ``messages``, or the whole ``request``; the other is ``null``.

    ``kept`` and ``dropped`` are places in the list of turns that was sent. ``tokens_after``, its bounds and its
    accuracy are those of the whole answer, counted anew. Where ``fits`` is false, the answer is the least that has to
    stay, and no less is possible.
    """

    model: str | None
    provider: str | None
    rule: str | None
    tokenizer: TokenizerInfo
    dialect: str
    strategy: str
    limit: int
    fits: bool
    tokens_before: int
    tokens_after: int
    tokens_dropped: int
    low: int
    high: int
    accuracy: str
    accuracy_reasons: Sequence[str]
    kept: Sequence[int]
    dropped: Sequence[int]
    messages: Sequence[Any] | None
    request: dict[str, Any] | None
    warnings: Sequence[Notice]


class AdviseRequest(CostedInput, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One text or one request to save on, the ``model`` that it is sent to, and how the call is billed.

    ``alternative_text`` is measured in place of the ``text``, or of the text of a request's last message of the user;
    with ``alternative_of: "system"`` of its first system message. Dollars hold the output only where
    ``expected_output_tokens`` or ``max_output_tokens`` say how much there is.
    """

    model: Name | None = None
    provider: Name | None = None
    max_output_tokens: Tokens | None = None
    expected_output_tokens: Tokens | None = None
    cache: Cache = Cache()
    alternative_text: str | None = None
    alternative_of: Literal["user", "system"] = "user"


class WirePlace(msgspec.Struct, frozen=True, omit_defaults=True):
    """``length`` code points from ``offset`` on of the text at ``path``; the first of a repeated passage beside it."""

    path: str
    offset: int | None = None
    length: int | None = None
    first_path: str | None = None
    first_offset: int | None = None


class WireCaching(msgspec.Struct, frozen=True):
    """What a cache does for the stable beginning of the request; each further call saves, the first may cost more."""

    prefix_tokens: int
    minimum_tokens: int | None
    cached_tokens: int
    automatic: bool | None
    usd_saved_per_call: str | None
    usd_write_surcharge: str | None
    break_even_calls: int | None


class WireAdvice(msgspec.Struct, frozen=True):
    """One way to save. Where it does not apply, ``reason`` is a code that says why; dollars are of one call.

    ``path`` is the first of ``places``, which are the first 20 of what was ``found``. Savings are negative where the
    change makes the call dearer.
    """

    code: AdviceCode
    applies: bool
    reason: NoAdvice | None
    tokens_before: int
    tokens_after: int
    tokens_saved: int
    usd_before: str | None
    usd_after: str | None
    usd_saved: str | None
    explanation: str
    path: str | None
    places: Sequence[WirePlace]
    found: int
    service_tier: str | None
    caching: WireCaching | None


class WireCombined(msgspec.Struct, frozen=True):
    """All changes of the content that apply (``codes``), made together and counted anew."""

    codes: Sequence[str]
    tokens_before: int
    tokens_after: int
    tokens_saved: int
    usd_before: str | None
    usd_after: str | None
    usd_saved: str | None


class AdviseAnswer(msgspec.Struct, frozen=True):
    """The count of the call as it is, what it costs, and every way to save that was looked for."""

    model: str | None
    provider: str | None
    rule: str | None
    tokenizer: TokenizerInfo
    tokens: int
    low: int
    high: int
    accuracy: str
    accuracy_reasons: Sequence[str]
    service_tier: str
    usd: str | None
    price: WirePrice | None
    advice: Sequence[WireAdvice]
    combined: WireCombined
    warnings: Sequence[Notice]
