"""Anthropic: ``POST /v1/messages/count_tokens``, also as ``?beta=true``, and its models' path on Vertex AI."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from adapters.port import Stop
from service.api.errors import Problem
from service.api.openapi import Operation
from service.api.services import Later, Services
from service.api.vendors.call import Call, VendorRoute
from service.api.vendors.counting import count_call
from service.api.vendors.shape import Shape, folded, told

_encode = msgspec.json.Encoder().encode


class MessagesInput(msgspec.Struct, frozen=True, kw_only=True):
    """The body of a Messages call, or what of it is input. Further fields are taken too."""

    model: str | None = None
    messages: list[Any]
    system: str | list[Any] | None = None
    tools: list[Any] | None = None
    tool_choice: dict[str, Any] | None = None
    thinking: dict[str, Any] | None = None
    output_config: dict[str, Any] | None = None


class MessagesInputTokens(msgspec.Struct, frozen=True):
    """Anthropic's answer."""

    input_tokens: int


class AnthropicErrorBody(msgspec.Struct, frozen=True):
    """What is wrong; ``details`` has our stable ``error_code``."""

    type: str
    message: str
    details: dict[str, str]


class AnthropicError(msgspec.Struct, frozen=True, kw_only=True):
    """Anthropic's error."""

    type: Literal["error"] = "error"
    error: AnthropicErrorBody
    request_id: str


_KINDS: Mapping[int, str] = {
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    408: "timeout_error",
    409: "conflict_error",
    413: "request_too_large",
    429: "rate_limit_error",
    503: "overloaded_error",
    504: "timeout_error",
}


def _write(problem: Problem) -> tuple[int, AnthropicError]:
    status = folded(problem)
    kind = _KINDS.get(status, "invalid_request_error" if status < 500 else "api_error")
    body = AnthropicErrorBody(kind, told(problem), {"error_code": problem.code})
    return status, AnthropicError(error=body, request_id=problem.request_id)


SHAPE = Shape(_write, id_header="request-id")


def _count_tokens(services: Services, call: Call, stop: Stop | None) -> bytes | Later:
    values = call.values(MessagesInput)
    return count_call(
        services,
        call,
        values,
        "anthropic",
        stop,
        lambda count, _request, _found: _encode(MessagesInputTokens(count.tokens)),
    )


def _vertex_count_tokens(services: Services, call: Call, stop: Stop | None) -> bytes | Later:
    """The model stands in the body here too; under this path it is Anthropic's, sold by Vertex AI."""
    named = call.values(MessagesInput).get("model")
    call.model = named and f"publishers/anthropic/models/{named}"
    return _count_tokens(services, call, stop)


VERTEX = VendorRoute(
    "/v1/projects/{project}/locations/{location}/publishers/anthropic/models/count-tokens:rawPredict",
    SHAPE,
    _vertex_count_tokens,
    Operation(
        "The same for Anthropic's models on Vertex AI, for `AnthropicVertex` with `base_url` set to this `/v1`.",
        request=MessagesInput,
        answers=(MessagesInputTokens,),
        example="anthropic_vertex_count_tokens",
        error=AnthropicError,
        parameters={"project": (), "location": ()},
    ),
)

ROUTES = (
    VendorRoute(
        "/v1/messages/count_tokens",
        SHAPE,
        _count_tokens,
        Operation(
            "Anthropic's own count of a Messages call: `anthropic` clients work with `base_url` set to this service.",
            request=MessagesInput,
            answers=(MessagesInputTokens,),
            example="anthropic_count_tokens",
            error=AnthropicError,
        ),
    ),
)
