"""From the domain's advice to its wire form, with the words that explain each way to save."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from service.api.pricing.wire import distinct, wire_price
from service.api.saving.schemas import AdviseAnswer, WireAdvice, WireCaching, WireCombined, WirePlace
from service.domain.advice import Advice, Advised, Call, Saving
from service.domain.caching import Caching
from service.domain.money import canonical

EXPLAINED: Mapping[str, str] = {
    "minified_json": "Blanks between the tokens of JSON go. Strings, numbers as they are written, doubled keys and "
    "their order stay, so it means the same.",
    "white_space": "Blanks at line ends go, and all but one of empty lines in a row and of blanks between words. "
    "Indentation, fenced code and JSON stay; a table aligned by blanks, or a line break of Markdown made of two, does "
    "not.",
    "spaced_cjk": "Blanks between Chinese or Japanese characters go; check where they part names or words. Fenced code "
    "and JSON stay.",
    "repeated_context": "A long passage is said again. Without the repeats the text has to refer to the first one, "
    "which takes a few tokens of its own.",
    "low_image_detail": "Every picture is looked at in low detail; small print in it may get lost.",
    "alternative_text": "Your own alternative in place of the text.",
    "cacheable_prefix": "All before the last message of the user can be read from the vendor's cache by calls that "
    "send it again unchanged. The saving is of each further call while the cache lasts; the first may cost more.",
    "batch_tier": "The same call through the batch interface, which answers within a day in place of at once.",
    "service_tier": "The same call in another service tier, which may be slower, or refused at busy times.",
    "special_token_literal": "The text holds literals of special tokens. They count as ordinary text here; who reads "
    "them as the tokens that they name takes them for the format of the chat.",
}
"""What each way does, and what to look out for."""


def wire_advised(advised: Advised, call: Call) -> AdviseAnswer:
    """The whole answer."""
    count = advised.count
    return AdviseAnswer(
        model=count.model,
        provider=count.provider,
        rule=count.rule,
        tokenizer=count.tokenizer,
        tokens=count.tokens,
        low=count.low,
        high=count.high,
        accuracy=count.accuracy,
        accuracy_reasons=count.accuracy_reasons,
        service_tier=call.plan.context.service_tier,
        usd=_dollars(advised.usd),
        price=wire_price(call.price_of(call.plan.context)),
        advice=[_advice(item) for item in advised.advice],
        combined=WireCombined(codes=advised.combined, **_saving(advised.together)),
        warnings=distinct(count.warnings),
    )


def _advice(item: Advice) -> WireAdvice:
    return WireAdvice(
        code=item.code,  # type: ignore[arg-type]  # the domain's words, which a test compares
        applies=item.applies,
        reason=item.reason,  # type: ignore[arg-type]  # as above
        **_saving(item.saving),
        explanation=EXPLAINED[item.code],
        path=item.places[0].path if item.places else None,
        places=[WirePlace(p.path, p.offset, p.length, p.first_path, p.first_offset) for p in item.places],
        found=item.found,
        service_tier=item.service_tier,
        caching=None if item.caching is None else _caching(item.caching),
    )


def _saving(saving: Saving) -> dict[str, Any]:
    return {
        "tokens_before": saving.tokens_before,
        "tokens_after": saving.tokens_after,
        "tokens_saved": saving.tokens_saved,
        "usd_before": _dollars(saving.usd_before),
        "usd_after": _dollars(saving.usd_after),
        "usd_saved": _dollars(saving.usd_saved),
    }


def _caching(caching: Caching) -> WireCaching:
    return WireCaching(
        prefix_tokens=caching.prefix_tokens,
        minimum_tokens=caching.minimum_tokens,
        cached_tokens=caching.cached_tokens,
        automatic=caching.automatic,
        usd_saved_per_call=_dollars(caching.usd_saved_per_call),
        usd_write_surcharge=_dollars(caching.usd_write_surcharge),
        break_even_calls=caching.break_even_calls,
    )


def _dollars(amount: Decimal | None) -> str | None:
    return None if amount is None else canonical(amount)
