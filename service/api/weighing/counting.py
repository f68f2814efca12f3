"""What the JSON routes do: decode the body, make one domain call, encode the answer."""

from __future__ import annotations

import base64
from typing import Any

import msgspec

from adapters.port import Piece, Sampler, Stop
from service.api.decoding import decode
from service.api.errors import ApiError
from service.api.services import Later, Services
from service.api.weighing.remote import refuse_remote
from service.api.weighing.requests import EXACTLY_ONE, ONE_LIMITED, count_whole, is_plain
from service.api.weighing.schemas import (
    CountRequest,
    DetokenizeAnswer,
    DetokenizeRequest,
    Sample,
    TokenizeAnswer,
    TokenizeRequest,
    WirePiece,
)
from service.domain.counting import Count, CountBatch, Scale, count_text, count_texts, own_tokenizer, require_exact
from service.domain.limits import count_limited

_encode = msgspec.json.Encoder().encode
_MAX_SAMPLED = 262_144


def count(services: Services, body: bytes, stop: Stop | None) -> bytes | Later:
    """``POST /v1/count``."""
    request = decode(body, CountRequest)
    if not is_plain(request):
        return count_whole(services, request, stop)
    refuse_remote(request.remote)
    scale = services.scale(request.model, request.provider, request.tokenizer)
    if request.strict:
        require_exact(scale)
    parse = request.special_tokens == "parse"
    if request.limit is not None:
        return _within(services, scale, request, stop)
    answer: Count | CountBatch
    if request.text is not None and request.texts is None:
        answer = count_text(scale, request.text, parse_special=parse, stop=stop)
        _record(services, scale, answer)
    elif request.texts is not None and request.text is None:
        answer = count_texts(scale, request.texts, parse_special=parse, stop=stop)
        for item in answer.items:
            _record(services, scale, item)
    else:
        raise ApiError(422, "invalid_request", EXACTLY_ONE, path="text")
    return _encode(answer)


def _within(services: Services, scale: Scale, request: CountRequest, stop: Stop | None) -> bytes:
    """The answer where a ``limit`` was given."""
    if request.text is None or request.texts is not None or request.limit is None:
        raise ApiError(422, "invalid_request", ONE_LIMITED, path="limit")
    parse = request.special_tokens == "parse"
    answer = count_limited(scale, request.text, request.limit, parse_special=parse, stop=stop)
    if answer.tokens is not None:
        services.metrics.counted(scale.info.name, scale.model or "", answer.tokens, answer.characters)
    return _encode(answer)


def tokenize(services: Services, body: bytes, stop: Stop | None) -> bytes:
    """``POST /v1/tokenize``."""
    request = decode(body, TokenizeRequest)
    limit = services.settings.max_tokenize_bytes
    if len(body) > limit:
        raise ApiError(
            413, "text_too_long", f"At most {limit} bytes are taken at once. /v1/count takes more.", path="text"
        )
    scale = services.scale(request.model, request.provider, request.tokenizer)
    tokenizer = own_tokenizer(scale)
    parse = request.special_tokens == "parse"
    pieces = tokenizer.pieces(request.text, parse_special=parse) if request.pieces else None
    ids = (
        [p.id for p in pieces] if pieces is not None else tokenizer.encode(request.text, parse_special=parse, stop=stop)
    )
    return _encode(
        TokenizeAnswer(
            **_header(scale),
            tokens=len(ids),
            ids=ids,
            pieces=[_wire(piece) for piece in pieces] if pieces is not None else None,
            samples=_samples(scale, request.text, request.sample) if request.sample else None,
        )
    )


def detokenize(services: Services, body: bytes, _stop: Stop | None) -> bytes:
    """``POST /v1/detokenize``."""
    request = decode(body, DetokenizeRequest)
    scale = services.scale(request.model, request.provider, request.tokenizer)
    tokenizer = own_tokenizer(scale)
    return _encode(
        DetokenizeAnswer(
            **_header(scale),
            text=tokenizer.decode(request.ids),
            bytes=base64.b64encode(tokenizer.decode_bytes(request.ids)).decode(),
        )
    )


def _record(services: Services, scale: Scale, item: Count) -> None:
    services.metrics.counted(scale.info.name, scale.model or "", item.tokens, item.characters)


def _header(scale: Scale) -> dict[str, Any]:
    return {"model": scale.model, "provider": scale.provider, "tokenizer": scale.info, "accuracy": scale.accuracy.value}


def _wire(piece: Piece) -> WirePiece:
    try:
        own_text: str | None = piece.bytes.decode()
    except UnicodeDecodeError:
        own_text = None
    encoded = base64.b64encode(piece.bytes).decode()
    return WirePiece(piece.id, own_text, encoded, piece.start, piece.end, piece.unknown)


def _samples(scale: Scale, text: str, sample: Sample) -> list[list[int]]:
    if not isinstance(scale.tokenizer, Sampler):
        detail = "Random encodings exist for SentencePiece models only. GET /v1/tokenizers says which (`sampling`)."
        raise ApiError(422, "sampling_unsupported", detail, path="sample")
    if len(text) * sample.n > _MAX_SAMPLED:
        detail = f"At most {_MAX_SAMPLED} characters are drawn at once: the text's length times `n`."
        raise ApiError(413, "text_too_long", detail, path="sample.n")
    return scale.tokenizer.sample(text, n=sample.n, alpha=sample.alpha, seed=sample.seed)
