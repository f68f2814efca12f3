"""Whole requests on the routes that count: from what a caller sent to the domain's request, and its count."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any

import msgspec

from adapters.port import Stop
from service.api.dialects.blocks import texts
from service.api.dialects.registry import read_request
from service.api.dialects.walking import Node
from service.api.errors import ApiError
from service.api.services import Later, Services
from service.api.weighing.remote import counted_by_vendor, refuse_remote
from service.api.weighing.schemas import CountRequest, Input
from service.domain.catalog import Accuracy, Resolution
from service.domain.counting import Count, CountBatch, require_exact_count
from service.domain.limits import within
from service.domain.request import Message, Request, user_message
from service.domain.requests import count_request
from service.domain.rules import Asked
from service.domain.templates import Rendering

ONE_LIMITED = "`limit` goes with one `text`, with `messages` or with a `request`."
EXACTLY_ONE = "Give exactly one of `text`, `texts`, `messages` and `request`."

_encode = msgspec.json.Encoder().encode
_OF_MESSAGES = ("tools", "tool_choice", "functions", "function_call", "response_format", "system")
_OWN_SYSTEM = ("anthropic", "bedrock", "litellm")


def is_plain(given: Input) -> bool:
    """Whether nothing but bare texts is asked about."""
    return (
        given.messages is None
        and given.request is None
        and given.as_ == "text"
        and given.dialect is None
        and given.tools is None
        and given.system is None
        and given.tool_choice is None
        and given.functions is None
        and given.function_call is None
        and given.response_format is None
    )


def count_whole(services: Services, given: CountRequest, stop: Stop | None) -> bytes | Later:
    """``POST /v1/count`` for anything but bare texts."""
    requests, single = requests_of(services, given)
    if given.tokenizer is not None:
        detail = "A chat is framed as its model frames it: send `model` in place of `tokenizer`."
        raise ApiError(422, "invalid_request", detail, path="tokenizer")
    found = services.resolve(model_of(given.model, requests), given.provider)
    if given.limit is not None and not single:
        raise ApiError(422, "invalid_request", ONE_LIMITED, path="limit")
    counts = [count_one(services, found, request, services.now(), stop) for request in requests]
    if given.strict:
        for count in counts:
            require_exact_count(count)
    record(services, counts)
    if single:
        answer = _encode if given.limit is None else partial(_encode_within, given.limit)
        return counted_by_vendor(services, given, given.remote, found, requests[0], counts[0], answer)
    refuse_remote(given.remote)
    return _encode(batch(counts))


def _encode_within(limit: int, count: Count) -> bytes:
    return _encode(within(count, limit))


def count_one(services: Services, found: Resolution, request: Request, at: datetime, stop: Stop | None) -> Count:
    """Count ``request`` for the model ``found``, by the rules of the day ``at``."""
    if found.model.kind != "chat":
        detail = "This model takes text, not messages: send `text` or `texts`, without `as`."
        raise ApiError(422, "invalid_request", detail, path="model")
    scale = services.weigher.scale_of(found)
    asked = Asked(found.model, found.provider, request.dialect, at.date().isoformat())
    renderer = None if services.renderer is None else Rendering(services.renderer, found.model, found.provider)
    return count_request(
        scale,
        request,
        services.rules.of(asked),
        window=found.model.context_window,
        renderer=renderer,
        stop=stop,
    )


def record(services: Services, counts: Sequence[Count]) -> None:
    """Add what was counted to the metrics."""
    for count in counts:
        services.metrics.counted(count.tokenizer.name, count.model or "", count.tokens, count.characters)


def requests_of(services: Services, given: Input) -> tuple[Sequence[Request], bool]:
    """What was sent, as requests, and whether it was one. Raises ``ApiError``."""
    _check(given)
    if given.request is not None:
        return [read_request(given.request, services.probes, dialect=given.dialect, path="request")], True
    if given.messages is not None:
        return [_chat(services, given, given.messages)], True
    if given.text is not None:
        return [user_message(given.text)], True
    return [user_message(text, f"texts[{index}]") for index, text in enumerate(given.texts or ())], False


def model_of(model: str | None, requests: Sequence[Request]) -> str:
    """The model asked for, else the one that the body names. Raises ``ApiError``."""
    named = model or (requests[0].model if requests else None)
    if named is None:
        raise ApiError(422, "invalid_request", "Give a `model`: the request names none either.", path="model")
    return named


def batch(counts: Sequence[Count]) -> CountBatch:
    """Several requests counted apart."""
    worst = Accuracy.worst(Accuracy(count.accuracy) for count in counts)
    return CountBatch(
        counts,
        sum(count.tokens for count in counts),
        sum(count.low for count in counts),
        sum(count.high for count in counts),
        worst.value,
    )


def _check(given: Input) -> None:
    if sum(value is not None for value in (given.text, given.texts, given.messages, given.request)) != 1:
        raise ApiError(422, "invalid_request", EXACTLY_ONE, path="text")
    if given.messages is None:
        for name in _OF_MESSAGES:
            if getattr(given, name) is not None:
                raise ApiError(422, "invalid_request", f"`{name}` goes with `messages` only.", path=name)
    if given.messages is None and given.request is None:
        if given.dialect is not None:
            detail = "`dialect` goes with `messages` or `request` only."
            raise ApiError(422, "invalid_request", detail, path="dialect")
    elif given.as_ != "text":
        raise ApiError(422, "invalid_request", "`as` goes with `text` or `texts` only.", path="as")
    if given.special_tokens == "parse":
        detail = "In messages text is only text: `parse` goes with bare `text` or `texts` only."
        raise ApiError(422, "invalid_request", detail, path="special_tokens")


def _chat(services: Services, given: Input, messages: list[Any]) -> Request:
    values: dict[str, Any] = {"messages": messages}
    values |= {name: getattr(given, name) for name in _OF_MESSAGES if getattr(given, name) is not None}
    system = values.pop("system", None)
    if system is None:
        return read_request(values, services.probes, dialect=given.dialect)
    if given.dialect in _OWN_SYSTEM:
        return read_request(values | {"system": system}, services.probes, dialect=given.dialect)
    request = read_request(values, services.probes, dialect=given.dialect)
    parts = tuple(texts(Node({"system": system}), "system"))
    first = Message("system", parts, path="system", content_list=isinstance(system, list))
    return replace(request, messages=(first, *request.messages)) if parts else request
