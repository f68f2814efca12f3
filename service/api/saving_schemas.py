"""Wire models of the routes that save tokens. Money leaves as canonical decimal strings, never as floats."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from service.api.pricing_schemas import Tokens
from service.api.schemas import Input, Name
from service.domain.counting import TokenizerInfo
from service.domain.notices import Notice

Places = Annotated[int, Meta(ge=0, le=100_000)]


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
