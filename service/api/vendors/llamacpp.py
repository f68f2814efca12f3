"""llama.cpp's server: its form of ``POST /tokenize`` (``content``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

import msgspec
from msgspec import Meta

from adapters.port import Piece, Stop, well_formed
from service.api.errors import Problem
from service.api.services import Services
from service.api.vendors.call import Call, own_scale
from service.api.vendors.shape import Shape, folded, told
from service.api.vendors.tokens import Id, literal_of, wrapping_of
from service.api.vendors.vllm import ServerError, ServerErrorBody

_encode = msgspec.json.Encoder().encode


class LlamaTokenize(msgspec.Struct, frozen=True, kw_only=True):
    """llama.cpp's body; ``content`` may mix texts and ids. ``model`` is ours, WEIGHBRIDGE_DEFAULT_MODEL without."""

    content: str | Annotated[list[str | Id], Meta(max_length=1_000_000)]
    add_special: bool = False
    parse_special: bool = True
    with_pieces: bool = False
    model: str | None = None


class LlamaPiece(msgspec.Struct, frozen=True):
    """One token; ``piece`` is its text, or its bytes where they are no UTF-8 of their own."""

    id: int
    piece: str | list[int]


class LlamaTokens(msgspec.Struct, frozen=True):
    """llama.cpp's answer: ids, or tokens where pieces were asked for."""

    tokens: Sequence[int | LlamaPiece]


_KINDS: Mapping[int, str] = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    503: "unavailable_error",
}


def _write(problem: Problem) -> tuple[int, ServerError]:
    status = folded(problem)
    kind = _KINDS.get(status, "invalid_request_error" if status < 500 else "server_error")
    return status, ServerError(ServerErrorBody(told(problem), kind, problem.path or None, status))


SHAPE = Shape(_write)


def tokenize(services: Services, call: Call, _stop: Stop | None) -> bytes:
    """``POST /tokenize`` in llama.cpp's form."""
    given = call.typed(LlamaTokenize)
    scale, tokenizer = own_scale(services, call, given.model)
    parts = [given.content] if isinstance(given.content, str) else given.content
    before: list[int] = []
    if given.add_special:
        before, _ = wrapping_of(services.wrappings, tokenizer, "add_special")
    tokens = [LlamaPiece(id_, literal_of(tokenizer, id_)) for id_ in before]
    for part in parts:
        if isinstance(part, int):
            tokens.append(LlamaPiece(part, _piece(tokenizer.decode_bytes([part]))))
            continue
        pieces = tokenizer.pieces(well_formed(part), parse_special=given.parse_special)
        tokens += [_token(piece) for piece in pieces]
        services.metrics.counted(scale.info.name, scale.model or "", len(pieces), len(part))
    call.mark_ids(scale, [(len(tokens), "".join(part for part in parts if isinstance(part, str)))])
    return _encode(LlamaTokens(list(tokens) if given.with_pieces else [token.id for token in tokens]))


def _token(piece: Piece) -> LlamaPiece:
    return LlamaPiece(piece.id, _piece(piece.bytes))


def _piece(data: bytes) -> str | list[int]:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return list(data)
