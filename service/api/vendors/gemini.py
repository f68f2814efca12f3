"""Gemini: ``POST /{version}/models/{model}:countTokens``, and the paths of Vertex AI."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from adapters.port import Stop
from service.api.errors import ApiError, Problem
from service.api.openapi import Operation
from service.api.services import Later, Services
from service.api.vendors.call import Call, VendorRoute
from service.api.vendors.counting import count_call
from service.api.vendors.shape import Shape, folded, told
from service.api.weighing.requests import count_one
from service.domain.catalog import Resolution
from service.domain.counting import Count
from service.domain.request import Audio, Document, Image, Message, Part, Request, Video, flattened, spoken

_encode = msgspec.json.Encoder().encode
_VERTEX_AI = "vertex_ai"
_MEDIA: Mapping[type, str] = {Image: "IMAGE", Audio: "AUDIO", Video: "VIDEO", Document: "DOCUMENT"}


class CountTokensRequest(msgspec.Struct, frozen=True, kw_only=True):
    """``contents``, or a whole ``generateContentRequest``; both spellings of field names. Further fields are taken too.

    On Vertex AI's paths ``systemInstruction``, ``tools`` and ``generationConfig`` stand beside ``contents``.
    """

    contents: str | dict[str, Any] | list[Any] | None = None
    generateContentRequest: dict[str, Any] | None = None  # noqa: N815 - the vendor's spelling
    systemInstruction: str | dict[str, Any] | None = None  # noqa: N815
    tools: list[Any] | None = None
    generationConfig: dict[str, Any] | None = None  # noqa: N815


class ModalityTokens(msgspec.Struct, frozen=True):
    """What one kind of content takes."""

    modality: str
    tokenCount: int  # noqa: N815


class CountTokensAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    """Gemini's answer; ``totalBillableCharacters`` on Vertex AI's paths alone."""

    totalTokens: int  # noqa: N815
    promptTokensDetails: Sequence[ModalityTokens] = ()  # noqa: N815
    totalBillableCharacters: int | None = None  # noqa: N815


class GeminiErrorBody(msgspec.Struct, frozen=True):
    """What is wrong; ``reason`` in ``details`` is our stable code in capitals."""

    code: int
    message: str
    status: str
    details: list[dict[str, str]]


class GeminiError(msgspec.Struct, frozen=True):
    """Google's error."""

    error: GeminiErrorBody


_STATUSES: Mapping[int, str] = {
    401: "UNAUTHENTICATED",
    402: "FAILED_PRECONDITION",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    405: "UNIMPLEMENTED",
    408: "DEADLINE_EXCEEDED",
    409: "ABORTED",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}


def _write(problem: Problem) -> tuple[int, GeminiError]:
    status = folded(problem)
    info = {
        "@type": "type.googleapis.com/google.rpc.ErrorInfo",
        "reason": problem.code.upper(),
        "domain": "weighbridge",
    }
    word = _STATUSES.get(status, "INVALID_ARGUMENT" if status < 500 else "INTERNAL")
    return status, GeminiError(GeminiErrorBody(status, told(problem), word, [info]))


SHAPE = Shape(_write)


def _count_tokens(services: Services, call: Call, stop: Stop | None) -> bytes | Later:
    values = call.values(CountTokensRequest)
    wrapped = values.keys() & {"generateContentRequest", "generate_content_request"}
    if wrapped and "contents" in values:
        detail = "Send `contents` or `generateContentRequest`, not both."
        raise ApiError(400, "invalid_request", detail, path="contents")

    def answer(count: Count, request: Request, found: Resolution) -> bytes:
        billable = None
        if found.provider == _VERTEX_AI:
            billable = sum(len("".join(text.split())) for text in spoken(request))
        details = _details(services, found, request, count, stop)
        return _encode(CountTokensAnswer(count.tokens, details, billable))

    return count_call(services, call, values, "gemini", stop, answer)


def _details(
    services: Services, found: Resolution, request: Request, count: Count, stop: Stop | None
) -> list[ModalityTokens]:
    """The tokens by kind of content; empty where they cannot be told apart."""
    media = count.breakdown.images
    told_apart = {"TEXT": count.tokens - media}
    kinds = {_MEDIA.get(type(part), "TEXT") for message in request.messages for part in flattened(message.parts)}
    kinds.discard("TEXT")
    if len(kinds) == 1:
        told_apart[kinds.pop()] = media
    for kind in sorted(kinds):
        alone = count_one(services, found, _only(request, kind), services.now(), stop)
        told_apart[kind] = alone.breakdown.images
    if sum(told_apart.values()) != count.tokens:
        return []
    return [ModalityTokens(kind, tokens) for kind, tokens in told_apart.items() if tokens]


def _only(request: Request, kind: str) -> Request:
    """The request's parts of one kind, as one message."""
    parts: tuple[Part, ...] = tuple(
        part
        for message in request.messages
        for part in flattened(message.parts)
        if _MEDIA.get(type(part), "TEXT") == kind
    )
    return Request((Message("user", parts),), dialect=request.dialect)


_VERSION = {"version": ("v1", "v1beta", "v1beta1")}
_DEVELOPER = Operation(
    "Gemini's own count: `google-genai` clients work with `HttpOptions(base_url=...)` set to this service.",
    request=CountTokensRequest,
    answers=(CountTokensAnswer,),
    example="gemini_count_tokens",
    error=GeminiError,
    parameters={**_VERSION, "model": ()},
)
_VERTEX = Operation(
    "Gemini's count on Vertex AI, with the characters that it bills.",
    request=CountTokensRequest,
    answers=(CountTokensAnswer,),
    example="vertex_count_tokens",
    error=GeminiError,
    parameters={**_VERSION, "model": ()},
)
_VERTEX_PROJECT = Operation(
    "The same with a project and a location, which change nothing.",
    request=CountTokensRequest,
    answers=(CountTokensAnswer,),
    error=GeminiError,
    parameters={**_VERSION, "project": (), "location": (), "model": ()},
)

DEVELOPER = VendorRoute("/{version}/models/{model}:countTokens", SHAPE, _count_tokens, _DEVELOPER)
VERTEX = VendorRoute("/{version}/publishers/google/models/{model}:countTokens", SHAPE, _count_tokens, _VERTEX)
VERTEX_PROJECT = VendorRoute(
    "/{version}/projects/{project}/locations/{location}/publishers/google/models/{model}:countTokens",
    SHAPE,
    _count_tokens,
    _VERTEX_PROJECT,
)
