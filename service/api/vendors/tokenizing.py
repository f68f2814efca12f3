"""``POST /tokenize`` and ``/detokenize``, which three servers of open models share: the body's fields tell whose form.

``inputs`` is TEI's, ``content`` llama.cpp's, ``prompt`` or ``messages`` vLLM's. LiteLLM's form of ``/tokenize`` has
vLLM's fields, so a body in it is answered in vLLM's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from adapters.port import Stop
from service.api.decoding import decode
from service.api.errors import ApiError
from service.api.openapi import Operation
from service.api.services import Services
from service.api.vendors import llamacpp, tei, vllm
from service.api.vendors.call import Call, VendorRoute, own_scale
from service.api.vendors.shape import Shape
from service.api.vendors.tokens import Ids, text_of

_encode = msgspec.json.Encoder().encode
_OWNERS: Mapping[str, str] = {"inputs": "tei", "content": "llamacpp", "prompt": "vllm", "messages": "vllm"}
_SHAPES: Mapping[str, Shape] = {"tei": tei.SHAPE, "llamacpp": llamacpp.SHAPE, "vllm": vllm.SHAPE}
_WORKS: Mapping[str, Callable[[Services, Call, Stop | None], bytes]] = {
    "tei": tei.tokenize,
    "llamacpp": llamacpp.tokenize,
    "vllm": vllm.tokenize,
}


class _Fields(msgspec.Struct, frozen=True):
    """Which of the telling fields a body has; what they hold is passed over."""

    inputs: msgspec.Raw | None = None
    content: msgspec.Raw | None = None
    prompt: msgspec.Raw | None = None
    messages: msgspec.Raw | None = None


class ServerDetokenize(msgspec.Struct, frozen=True, kw_only=True):
    """The ids, in vLLM's form and in llama.cpp's alike."""

    tokens: Ids
    model: str | None = None


class ServerText(msgspec.Struct, frozen=True):
    """The text, as ``prompt`` for clients of vLLM and as ``content`` for those of llama.cpp."""

    prompt: str
    content: str


_peek = msgspec.json.Decoder(_Fields)


def shape_of(body: bytes) -> Shape:
    """The shape of errors about a body: vLLM's where its fields do not tell."""
    owners = _owners(body)
    return _SHAPES[owners.pop()] if len(owners) == 1 else vllm.SHAPE


def _owners(body: bytes) -> set[str]:
    try:
        fields = _peek.decode(body)
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        return _slowly(body)
    return {owner for name, owner in _OWNERS.items() if getattr(fields, name) is not None}


def _slowly(body: bytes) -> set[str]:
    """As ``_owners``, of a body that only the strict reading takes; none where it does not take it either."""
    try:
        values = decode(body, dict[str, Any])
    except ApiError:
        return set()
    return {owner for name, owner in _OWNERS.items() if values.get(name) is not None}


def _tokenize(services: Services, call: Call, stop: Stop | None) -> bytes:
    owners = _owners(call.body)
    if len(owners) != 1:
        decode(call.body, dict[str, Any])
        detail = "Send `prompt` or `messages` (vLLM's form), `inputs` (TEI's) or `content` (llama.cpp's): one of them."
        raise ApiError(400, "invalid_request", detail)
    return _WORKS[owners.pop()](services, call, stop)


def _detokenize(services: Services, call: Call, _stop: Stop | None) -> bytes:
    given = call.typed(ServerDetokenize)
    scale, tokenizer = own_scale(services, call, given.model)
    text = text_of(tokenizer, given.tokens, skip_special=False)
    call.mark(scale.accuracy)
    return _encode(ServerText(text, text))


ROUTES = (
    VendorRoute(
        "/tokenize",
        vllm.SHAPE,
        _tokenize,
        Operation(
            "Ids of a text as vLLM (`prompt`, `messages`), TEI (`inputs`) or llama.cpp (`content`) answer them.",
            request=(vllm.VllmTokenize, tei.TeiTokenize, llamacpp.LlamaTokenize),
            answers=(vllm.VllmTokens, list[list[tei.TeiToken]], llamacpp.LlamaTokens),
            example="vllm_tokenize",
            more=("tei_tokenize", "llamacpp_tokenize"),
            error=vllm.ServerError,
        ),
        weight=8,
    ),
    VendorRoute(
        "/detokenize",
        vllm.SHAPE,
        _detokenize,
        Operation(
            "The text of ids, in the forms of vLLM (`prompt`) and llama.cpp (`content`) at once.",
            request=ServerDetokenize,
            answers=(ServerText,),
            example="server_detokenize",
            error=vllm.ServerError,
        ),
        weight=2,
    ),
    tei.DECODE,
)
