"""What would save tokens or money on one call: each way measured on the call itself, by counting it anew.

Nothing here says what a text should be; it says where something may go, and what that would save. Ways that change the
content are measured alone and all together, never summed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from decimal import Decimal

from service.domain.advice import Advice, Advised, Call, Place, Saving
from service.domain.caching import Caching, stable_prefix
from service.domain.costing import cost_of
from service.domain.counting import Count
from service.domain.notices import LiteralNotice
from service.domain.prices import SERVICE_TIERS
from service.domain.repeats import Repeat, repeats
from service.domain.request import Image, Message, Part, Request, Text, ToolResult, flattened
from service.domain.rewriting import (
    Edit,
    Edits,
    Finder,
    Passage,
    minified_json,
    passages,
    rewritten,
    spaced_cjk,
    white_space,
)
from service.domain.usage import Usage

MOST_CHARACTERS = 2_000_000
"""Code points of all texts together that are looked through; more is beyond any context window."""

MOST_PLACES = 20
_LOW_DETAIL = ("low", "media_resolution_low")
_FINDERS: dict[str, Finder] = {
    "minified_json": minified_json,
    "white_space": white_space,
    "spaced_cjk": spaced_cjk,
}


def advise(call: Call) -> Advised:
    """Measure every way to save on ``call``. Raises what counting raises, ``DeadlineExceeded`` among it."""
    before = call.weigh(call.request)
    content = [*_texts(call, before), _repeated(call, before), *_images(call, before)]
    advice = [*content, *_alternative(call, before), _cacheable(call, before), *_tiers(call, before)]
    codes = [item.code for item in content if item.applies]
    together = call.saving(before, _together(call, before, codes))
    return Advised(before, call.usd(before), [*advice, _literals(call, before)], codes, together)


def _measured(
    call: Call, before: Count, code: str, changed: Request | None, places: Sequence[Place] = (), found: int = 0
) -> Advice:
    """The advice to send ``changed``, counted whole; ``None`` where there is nothing to change."""
    after = before if changed is None else call.weigh(changed)
    less = after.tokens < before.tokens
    reason = None if less else "nothing_found" if changed is None else "no_saving"
    return Advice(code, less, call.saving(before, after), reason, places[:MOST_PLACES], found)


def _texts(call: Call, before: Count) -> Iterator[Advice]:
    texts = passages(call.request)
    for code, finder in _FINDERS.items():
        edits = finder(texts, call.stop)
        found = sum(map(len, edits))
        changed = rewritten(call.request, edits) if found else None
        yield _measured(call, before, code, changed, _reaches(texts, edits), found)


def _reaches(texts: Sequence[Passage], edits: Edits) -> list[Place]:
    """For each text, where its first edit begins and how far the last one reaches."""
    return [
        Place(passage.path, own[0].start, own[-1].end - own[0].start)
        for passage, own in zip(texts, edits, strict=True)
        if own
    ]


def _repeated(call: Call, before: Count) -> Advice:
    texts = passages(call.request)
    found = _repeats(call, texts)
    places = [
        Place(texts[r.number].path, r.start, r.end - r.start, texts[r.first].path, r.first_start)
        for r in found[:MOST_PLACES]
    ]
    changed = rewritten(call.request, _cuts(texts, found)) if found else None
    return _measured(call, before, "repeated_context", changed, places, len(found))


def _repeats(call: Call, texts: Sequence[Passage]) -> list[Repeat]:
    return repeats(["" if passage.arguments else passage.text for passage in texts], call.stop)


def _cuts(texts: Sequence[Passage], found: Sequence[Repeat]) -> Edits:
    """Each repeated passage but the first one goes."""
    edits: list[list[Edit]] = [[] for _ in texts]
    for repeat in found:
        edits[repeat.number].append(Edit(repeat.start, repeat.end))
    return edits


def _images(call: Call, before: Count) -> Iterator[Advice]:
    images = [p for m in call.request.messages for p in flattened(m.parts) if isinstance(p, Image)]
    if images:
        places = [Place(image.path) for image in images]
        yield _measured(call, before, "low_image_detail", _in_low_detail(call, call.request), places, len(images))


def _in_low_detail(call: Call, request: Request) -> Request | None:
    """``request`` with every picture in low detail; ``None`` where the model has no such setting."""
    rule = call.image
    words = {} if rule is None else {**rule.details, **rule.sides, **rule.budgets}
    word = next((word for word in _LOW_DETAIL if word in words), None)
    if word is None:
        return None
    return replace(request, messages=tuple(_lowered(message, word) for message in request.messages))


def _lowered(message: Message, word: str) -> Message:
    return replace(message, parts=tuple(_low(part, word) for part in message.parts))


def _low(part: Part, word: str) -> Part:
    if isinstance(part, Image):
        return replace(part, detail=word)
    if isinstance(part, ToolResult):
        return replace(part, parts=tuple(_low(inner, word) for inner in part.parts))
    return part


def _alternative(call: Call, before: Count) -> Iterator[Advice]:
    if call.alternative is not None:
        yield _measured(call, before, "alternative_text", call.alternative)


def with_alternative(request: Request, text: str, *, of_system: bool = False) -> Request | None:
    """``request`` with ``text`` for the texts of its last message of the user, or of its first system message.

    ``None`` where it has no such message with a text.
    """
    roles = ("system", "developer") if of_system else ("user",)
    places = range(len(request.messages))
    for at in places if of_system else reversed(places):
        message = request.messages[at]
        if message.role not in roles or not any(isinstance(part, Text) for part in message.parts):
            continue
        parts: list[Part] = []
        for part in message.parts:
            if not isinstance(part, Text):
                parts.append(part)
            elif not any(isinstance(kept, Text) for kept in parts):
                parts.append(replace(part, text=text))
        changed = replace(message, parts=tuple(parts))
        return replace(request, messages=(*request.messages[:at], changed, *request.messages[at + 1 :]))
    return None


def _cacheable(call: Call, before: Count) -> Advice:
    plain = Advice("cacheable_prefix", applies=False, saving=call.saving(before, before), reason="no_stable_prefix")
    prefix = stable_prefix(call.request)
    if prefix is None:
        return plain
    tokens, rule = min(call.weigh(prefix).tokens, before.tokens), call.cache
    if rule is None:
        return replace(plain, reason="cache_minimum_unknown", caching=Caching(tokens, None, 0, None))
    cached = rule.kept(tokens)
    if not cached:
        short = Caching(tokens, rule.minimum, 0, rule.automatic)
        return replace(plain, reason="below_cache_minimum", caching=short)
    saving = replace(plain.saving, usd_after=call.usd(before, reads=cached))
    saved = saving.usd_saved
    return replace(
        plain,
        applies=saved is not None and saved > 0,
        saving=saving,
        reason="price_unknown" if saved is None else None if saved > 0 else "no_saving",
        caching=Caching(tokens, rule.minimum, cached, rule.automatic, saved, _surcharge(call, before.tokens, cached)),
    )


def _surcharge(call: Call, tokens: int, cached: int) -> Decimal | None:
    """What the first call costs more because ``cached`` of its tokens are written to the cache."""
    price, an_hour = call.price_of(call.plan.context), call.plan.cache.write == "1h"
    plain = Usage(input_tokens=tokens)
    written = replace(plain, cache_write_tokens=cached, cache_write_1h_tokens=cached if an_hour else 0)
    usd, dearer = cost_of(plain, price).usd, cost_of(written, price).usd
    return Saving(tokens, tokens, dearer, usd).usd_saved


def _tiers(call: Call, before: Count) -> Iterator[Advice]:
    """The batch interface, and every other tier that is cheaper than the one asked about."""
    usd, asked = call.usd(before), call.plan.context.service_tier
    unknown = Advice(
        "service_tier", applies=False, saving=Saving(before.tokens, before.tokens, usd, None), reason="price_unknown"
    )
    others = [tier for tier in SERVICE_TIERS if tier != asked]
    priced = {tier: _tier(unknown, tier, call.usd(before, tier=tier)) for tier in others}
    if "batch" in priced:
        yield replace(priced.pop("batch"), code="batch_tier")
    cheaper = [item for item in priced.values() if item.applies]
    known = [item for item in priced.values() if item.reason == "no_saving"]
    yield from cheaper or [
        replace(known[0], service_tier=None, saving=call.saving(before, before)) if known else unknown
    ]


def _tier(unknown: Advice, tier: str, after: Decimal | None) -> Advice:
    saving = replace(unknown.saving, usd_after=after)
    saved = saving.usd_saved
    if saved is None:
        return replace(unknown, service_tier=tier)
    return replace(
        unknown, applies=saved > 0, saving=saving, reason=None if saved > 0 else "no_saving", service_tier=tier
    )


def _literals(call: Call, count: Count) -> Advice:
    found = [notice for notice in count.warnings if isinstance(notice, LiteralNotice)]
    return Advice(
        "special_token_literal",
        bool(found),
        call.saving(count, count),
        None if found else "nothing_found",
        [Place(notice.path, notice.offset) for notice in found[:MOST_PLACES]],
        sum(notice.occurrences for notice in found),
    )


def _together(call: Call, before: Count, codes: Sequence[str]) -> Count:
    """The count once every change of ``codes`` is made, one upon the other.

    Repeats are cut first or last, whichever leaves less: a JSON value that was cut is JSON no more, and one that was
    made compact may be too short to be found again.
    """
    others = [code for code in codes if code != "repeated_context"]
    orders = [others] if others == codes else [["repeated_context", *others], [*others, "repeated_context"]]
    counts = [call.weigh(_changed(call, order)) for order in orders if order]
    return min(counts, key=lambda count: count.tokens, default=before)


def _changed(call: Call, codes: Sequence[str]) -> Request:
    request = call.request
    for code in codes:
        texts = passages(request)
        if code == "low_image_detail":
            request = _in_low_detail(call, request) or request
        elif code == "repeated_context":
            request = rewritten(request, _cuts(texts, _repeats(call, texts)))
        else:
            request = rewritten(request, _FINDERS[code](texts, call.stop))
    return request
