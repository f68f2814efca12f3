"""What ``POST /v1/trim`` does: find the turns in the body, drop the oldest until it fits, answer in the same form."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from adapters.port import Stop
from service.api.decoding import decode
from service.api.dialects.conversation import Conversation, conversation_in
from service.api.errors import ApiError
from service.api.saving.schemas import TrimAnswer, TrimRequest
from service.api.services import Services
from service.api.weighing.requests import count_one, model_of, record, requests_of
from service.domain.catalog import Resolution
from service.domain.counting import Count, require_exact_count
from service.domain.notices import Notice
from service.domain.request import Request
from service.domain.trim import Trimmed, items_of, room, trim

_MOST_TURNS = 100_000
_NOT_FITTING = "What has to stay takes more than the limit: system messages, the last user's message and what you keep."
_NOT_SURELY = "Only the upper bound of what has to stay is more than the limit: by its count alone (`fit_by`) it fits."


def trim_work(services: Services, body: bytes, stop: Stop | None) -> bytes:
    """``POST /v1/trim``."""
    given = decode(body, TrimRequest)
    if given.text is not None or given.texts is not None:
        raise ApiError(422, "invalid_request", "A chat is trimmed: give `messages` or a `request`.", path="text")
    talk = talk_of(given)
    [request], _ = requests_of(services, given)
    found = services.resolve(model_of(given.model, [request]), given.provider)
    notices: list[Notice] = []
    limit = limit_of(found, request, given, notices)
    at = services.now()

    def recount(kept: Sequence[int]) -> Count:
        if stop is not None:
            stop.check()
        [left], _ = requests_of(services, with_turns(given, talk, kept))
        return count_one(services, found, left, at, stop)

    trimmed = trimmed_of(request, talk, given, limit, recount)
    record(services, [trimmed.before])
    if given.strict:
        require_exact_count(trimmed.after)
    return encoded(answer_of(trimmed, request, given, talk, notices))


def limit_of(found: Resolution, request: Request, given: TrimRequest, notices: list[Notice]) -> int:
    """What the input may take. Raises ``ApiError`` where nothing says so, or nothing is left of the window."""
    most = request.max_output_tokens if given.max_output_tokens is None else given.max_output_tokens
    limit = room(found.model, given.limit, most, notices)
    if limit is None:
        detail = "No source gives this model's context window: give a `limit`."
        raise ApiError(422, "invalid_request", detail, path="limit")
    if limit < 1:
        detail = "So much output leaves nothing of the context window: give fewer `max_output_tokens`, or a `limit`."
        raise ApiError(422, "invalid_request", detail, path="max_output_tokens")
    return limit


def talk_of(given: TrimRequest) -> Conversation:
    """The turns that were sent. Raises ``ApiError`` where there are too many."""
    if given.request is None:
        return conversation_in({"messages": given.messages})
    talk = conversation_in(given.request, "request")
    if len(talk.turns) > _MOST_TURNS:
        raise ApiError(422, "invalid_request", f"At most {_MOST_TURNS} turns are trimmed at once.", path="request")
    return talk


def with_turns(given: TrimRequest, talk: Conversation, kept: Sequence[int]) -> TrimRequest:
    """What was sent, with the turns at ``kept`` alone."""
    body = talk.only(kept)
    if given.request is not None:
        return msgspec.structs.replace(given, request=body)
    return msgspec.structs.replace(given, messages=body["messages"])


def trimmed_of(
    request: Request, talk: Conversation, given: TrimRequest, limit: int, recount: Callable[[Sequence[int]], Count]
) -> Trimmed:
    """Drop what has to go."""
    return trim(
        items_of(request, range(len(talk.turns)), talk.place_of),
        limit,
        recount,
        keep_first=given.keep_first,
        keep_last=given.keep_last,
        fit_by=given.fit_by,
    )


def answer_of(
    trimmed: Trimmed, request: Request, given: TrimRequest, talk: Conversation, notices: Sequence[Notice]
) -> TrimAnswer:
    """The answer, with the turns in the form in which they came."""
    after, body = trimmed.after, talk.only(trimmed.kept)
    said = [*notices, *after.warnings]
    if not trimmed.fits:
        unsure = after.tokens <= trimmed.limit
        said.insert(0, Notice("does_not_fit", _NOT_SURELY if unsure else _NOT_FITTING, "fit_by" if unsure else "limit"))
    return TrimAnswer(
        model=after.model,
        provider=after.provider,
        rule=after.rule,
        tokenizer=after.tokenizer,
        dialect=request.dialect,
        strategy=given.strategy,
        limit=trimmed.limit,
        fits=trimmed.fits,
        tokens_before=trimmed.before.tokens,
        tokens_after=after.tokens,
        tokens_dropped=trimmed.before.tokens - after.tokens,
        low=after.low,
        high=after.high,
        accuracy=after.accuracy,
        accuracy_reasons=after.accuracy_reasons,
        kept=trimmed.kept,
        dropped=trimmed.dropped,
        messages=None if given.request is not None else body["messages"],
        request=body if given.request is not None else None,
        warnings=said,
    )


def encoded(answer: Any) -> bytes:
    """``answer`` as JSON; half a surrogate pair in the caller's text leaves as the escape that it came as."""
    try:
        return msgspec.json.encode(answer)
    except UnicodeEncodeError:
        return json.dumps(msgspec.to_builtins(answer)).encode()
