"""Text Embeddings Inference: its form of ``POST /tokenize`` (``inputs``), and ``POST /decode``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

import msgspec
from msgspec import Meta

from adapters.port import Stop, Tokenizer, well_formed
from service.api.errors import ApiError, Problem
from service.api.openapi import Operation
from service.api.services import Services
from service.api.vendors.call import Call, VendorRoute, own_scale
from service.api.vendors.shape import Shape, told
from service.api.vendors.tokens import Id, Ids, literal_of, text_of, wrapping_of
from service.domain.counting import Scale

_encode = msgspec.json.Encoder().encode


class TeiTokenize(msgspec.Struct, frozen=True, kw_only=True):
    """TEI's body. ``model`` is ours: TEI serves one model, here WEIGHBRIDGE_DEFAULT_MODEL where none is named."""

    inputs: str | Annotated[list[str], Meta(max_length=10_000)]
    add_special_tokens: bool = True
    prompt_name: str | None = None
    model: str | None = None


class TeiToken(msgspec.Struct, frozen=True):
    """One token; ``start`` and ``stop`` are characters of the input, null for a token that was added."""

    id: int
    text: str
    special: bool
    start: int | None
    stop: int | None


class TeiDecode(msgspec.Struct, frozen=True, kw_only=True):
    """TEI's body: one list of ids, or several."""

    ids: Annotated[list[Id | Ids], Meta(max_length=1_000_000)]
    skip_special_tokens: bool = True
    model: str | None = None


class TeiError(msgspec.Struct, frozen=True):
    """TEI's error."""

    error: str
    error_type: str


_KINDS: Mapping[int, str] = {429: "Overloaded", 503: "Overloaded", 500: "Backend"}
_OF_TOKENIZERS = frozenset(("invalid_ids", "no_tokenizer", "text_not_countable"))


def _write(problem: Problem) -> tuple[int, TeiError]:
    kind = "Tokenizer" if problem.code in _OF_TOKENIZERS else _KINDS.get(problem.status, "Validation")
    status = 404 if problem.code == "unknown_model" else problem.status
    return status, TeiError(told(problem), kind)


SHAPE = Shape(_write)


def tokenize(services: Services, call: Call, _stop: Stop | None) -> bytes:
    """``POST /tokenize`` in TEI's form."""
    given = call.typed(TeiTokenize)
    if given.prompt_name is not None:
        detail = "Prompts by name are set up in TEI; put the prompt in front of the input instead."
        raise ApiError(422, "invalid_request", detail, path="prompt_name")
    scale, tokenizer = own_scale(services, call, given.model)
    inputs = [given.inputs] if isinstance(given.inputs, str) else given.inputs
    answer = [
        _tokens(services, scale, tokenizer, well_formed(text), wrapped=given.add_special_tokens) for text in inputs
    ]
    call.mark_ids(scale, list(zip(map(len, answer), inputs, strict=True)))
    return _encode(answer)


def _tokens(services: Services, scale: Scale, tokenizer: Tokenizer, text: str, *, wrapped: bool) -> list[TeiToken]:
    before, after = wrapping_of(services.wrappings, tokenizer, "add_special_tokens") if wrapped else ([], [])

    def added(id_: int) -> TeiToken:
        return TeiToken(id_, literal_of(tokenizer, id_), special=True, start=None, stop=None)

    tokens = [
        *(added(id_) for id_ in before),
        *(
            TeiToken(piece.id, text[piece.start : piece.end], special=False, start=piece.start, stop=piece.end)
            for piece in tokenizer.pieces(text, parse_special=True)
        ),
        *(added(id_) for id_ in after),
    ]
    services.metrics.counted(scale.info.name, scale.model or "", len(tokens), len(text))
    return tokens


def _decode(services: Services, call: Call, _stop: Stop | None) -> bytes:
    given = call.typed(TeiDecode)
    scale, tokenizer = own_scale(services, call, given.model)
    lists = [ids for ids in given.ids if isinstance(ids, list)]
    loose = [id_ for id_ in given.ids if isinstance(id_, int)]
    if lists and loose:
        raise ApiError(422, "invalid_request", "Send one list of ids, or a list of such lists.", path="ids")
    many = lists or [loose]
    texts = [text_of(tokenizer, ids, skip_special=given.skip_special_tokens) for ids in many]
    call.mark(scale.accuracy)
    return _encode(texts)


DECODE = VendorRoute(
    "/decode",
    SHAPE,
    _decode,
    Operation(
        "TEI's way back from ids to texts.",
        request=TeiDecode,
        answers=(list[str],),
        example="tei_decode",
        error=TeiError,
    ),
    weight=2,
)
