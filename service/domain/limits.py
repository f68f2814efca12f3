"""Whether a text is within a number of tokens, found without counting far past it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

from adapters.port import Stop
from service.domain.counting import Breakdown, Count, Scale, TokenizerInfo, Weighed, measured, weigh
from service.domain.notices import Notice


@dataclass(frozen=True, slots=True)
class LimitedCount:
    """Whether a text has at most ``limit`` tokens: ``fits`` only where it surely has, so ``high`` decides.

    Counting stops past the limit. Then the text does not fit, and all that would need the whole count is ``None``.
    """

    model: str | None
    provider: str | None
    rule: str | None
    tokenizer: TokenizerInfo
    limit: int
    fits: bool
    tokens: int | None
    low: int | None
    high: int | None
    accuracy: str
    accuracy_reasons: Sequence[str]
    characters: int
    utf8_bytes: int
    tokens_per_character: float | None
    characters_per_token: float | None
    breakdown: Breakdown | None
    warnings: Sequence[Notice]


def count_limited(
    scale: Scale, text: str, limit: int, *, parse_special: bool = False, stop: Stop | None = None
) -> LimitedCount:
    """Whether ``text`` fits into ``limit`` tokens on ``scale``, and its count unless that was stopped."""
    most = scale.estimator.most(limit) if scale.estimator else limit
    found = weigh(scale, text, path="text", parse_special=parse_special, stop=stop, most=most)
    if found.counted is None:
        return _stopped(scale, found, limit)
    counted = found.counted
    bounds = scale.estimator.bounds(counted, found.ordinary) if scale.estimator else (counted, counted, counted)
    return within(measured(scale, bounds, found.characters, found.utf8_bytes, found.notices), limit)


def within(count: Count, limit: int) -> LimitedCount:
    """Whether what was counted in full surely has at most ``limit`` tokens."""
    return LimitedCount(
        **{field.name: getattr(count, field.name) for field in fields(Count)}, limit=limit, fits=count.high <= limit
    )


def _stopped(scale: Scale, found: Weighed, limit: int) -> LimitedCount:
    return LimitedCount(
        scale.model,
        scale.provider,
        scale.rule,
        scale.info,
        limit,
        fits=False,
        tokens=None,
        low=None,
        high=None,
        accuracy=scale.accuracy.value,
        accuracy_reasons=scale.reasons,
        characters=found.characters,
        utf8_bytes=found.utf8_bytes,
        tokens_per_character=None,
        characters_per_token=None,
        breakdown=None,
        warnings=found.notices,
    )
