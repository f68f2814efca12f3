"""vLLM's form of ``POST /tokenize``: a ``prompt``, or ``messages`` as the model's chat template renders them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

import msgspec

from adapters.port import Piece, Stop, Tokenizer, well_formed
from service.api.dialects.registry import read_request
from service.api.errors import ApiError, Problem
from service.api.services import Services
from service.api.vendors.call import Call, own_scale, resolved
from service.api.vendors.shape import Shape, folded, told
from service.api.vendors.tokens import wrapping_of
from service.domain.request import Audio, Document, Image, Request, Unseen, Video, flattened
from service.domain.templates import Rendering

_encode = msgspec.json.Encoder().encode


class VllmTokenize(msgspec.Struct, frozen=True, kw_only=True):
    """vLLM's body: ``prompt`` or ``messages``. Without ``add_special_tokens`` they are added to a prompt alone."""

    model: str | None = None
    prompt: str | None = None
    messages: list[Any] | None = None
    tools: list[Any] | None = None
    add_special_tokens: bool | None = None
    return_token_strs: bool | None = False
    add_generation_prompt: bool | None = None
    continue_final_message: bool | None = None
    chat_template: str | None = None
    chat_template_kwargs: dict[str, Any] | None = None
    mm_processor_kwargs: dict[str, Any] | None = None


class VllmTokens(msgspec.Struct, frozen=True):
    """vLLM's answer; ``max_model_len`` is the model's context window. ``token_strs`` are the tokens' own texts."""

    count: int
    max_model_len: int | None
    tokens: Sequence[int]
    token_strs: Sequence[str] | None


class ServerErrorBody(msgspec.Struct, frozen=True):
    """What is wrong; ``param`` is the place in the body."""

    message: str
    type: str
    param: str | None
    code: int


class ServerError(msgspec.Struct, frozen=True):
    """vLLM's error, and llama.cpp's, which has the same fields."""

    error: ServerErrorBody


_KINDS: Mapping[int, str] = {400: "BadRequestError", 404: "NotFoundError", 500: "InternalServerError"}


def _write(problem: Problem) -> tuple[int, ServerError]:
    status = folded(problem)
    kind = _KINDS.get(status) or HTTPStatus(status).phrase
    return status, ServerError(ServerErrorBody(told(problem), kind, problem.path or None, status))


SHAPE = Shape(_write)


def tokenize(services: Services, call: Call, stop: Stop | None) -> bytes:
    """``POST /tokenize`` in vLLM's form."""
    given = call.typed(VllmTokenize)
    if (given.prompt is None) == (given.messages is None):
        raise ApiError(422, "invalid_request", "Give exactly one of `prompt` and `messages`.", path="prompt")
    scale, tokenizer = own_scale(services, call, given.model)
    window = resolved(services, call, given.model).model.context_window
    if given.prompt is not None:
        text, wrapped = well_formed(given.prompt), given.add_special_tokens is not False
    else:
        text, wrapped = _rendered(services, call, given, stop), given.add_special_tokens is True
    pieces = tokenizer.pieces(text, parse_special=True) if given.return_token_strs else None
    ids = (
        [piece.id for piece in pieces] if pieces is not None else tokenizer.encode(text, parse_special=True, stop=stop)
    )
    before, after = wrapping_of(services.wrappings, tokenizer, "add_special_tokens") if wrapped else ([], [])
    ids = [*before, *ids, *after]
    services.metrics.counted(scale.info.name, scale.model or "", len(ids), len(text))
    call.mark_ids(scale, [(len(ids), text)])
    strings = None if pieces is None else _strings(tokenizer, before, pieces, after)
    return _encode(VllmTokens(len(ids), window, ids, strings))


def _rendered(services: Services, call: Call, given: VllmTokenize, stop: Stop | None) -> str:
    """The chat as the model's own template writes it. Raises ``ApiError`` where that is not all the model reads."""
    values = call.values(VllmTokenize)
    request = read_request(values, services.probes, dialect="vllm")
    _require_text(request)
    found = resolved(services, call, given.model)
    rendering = None if services.renderer is None else Rendering(services.renderer, found.model, found.provider)
    chat = None if rendering is None else rendering.whole(request, stop=stop)
    if chat is None:
        detail = "This model's chat template is not known here. Send `prompt`, or count the chat with /v1/count."
        raise ApiError(422, "chat_not_rendered", detail, path="messages")
    return chat.text


def _require_text(request: Request) -> None:
    for message in request.messages:
        for part in flattened(message.parts):
            if isinstance(part, (Image, Audio, Video, Document, Unseen)):
                detail = "The ids of pictures and recordings are made by the model's server. /v1/count counts them."
                raise ApiError(422, "invalid_request", detail, path=part.path)


def _strings(tokenizer: Tokenizer, before: list[int], pieces: list[Piece], after: list[int]) -> list[str]:
    literals = {id_: literal for literal, id_ in tokenizer.special_tokens.items()}
    return [
        *(literals[id_] for id_ in before),
        *(piece.bytes.decode("utf-8", "replace") for piece in pieces),
        *(literals[id_] for id_ in after),
    ]
