"""OpenAI: ``POST /v1/responses/input_tokens``."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from adapters.port import Stop
from service.api.errors import Problem
from service.api.openapi import Operation
from service.api.services import Later, Services
from service.api.vendors.call import Call, VendorRoute
from service.api.vendors.counting import count_call
from service.api.vendors.shape import Shape, folded

_encode = msgspec.json.Encoder().encode


class ResponsesInput(msgspec.Struct, frozen=True, kw_only=True):
    """The body of a Responses call, or what of it is input. Further fields are taken too."""

    model: str | None = None
    input: str | list[Any] | None = None
    instructions: str | list[Any] | None = None
    tools: list[Any] | None = None
    tool_choice: str | dict[str, Any] | None = None
    text: dict[str, Any] | None = None
    reasoning: dict[str, Any] | None = None
    previous_response_id: str | None = None
    conversation: str | dict[str, Any] | None = None
    parallel_tool_calls: bool | None = None
    truncation: str | None = None


class ResponsesInputTokens(msgspec.Struct, frozen=True, kw_only=True):
    """OpenAI's answer."""

    object: Literal["response.input_tokens"] = "response.input_tokens"
    input_tokens: int


class OpenAIErrorBody(msgspec.Struct, frozen=True):
    """What is wrong; ``code`` is stable, ``param`` the place in the body."""

    message: str
    type: str
    param: str | None
    code: str | None


class OpenAIError(msgspec.Struct, frozen=True):
    """OpenAI's error."""

    error: OpenAIErrorBody


def _write(problem: Problem) -> tuple[int, OpenAIError]:
    status = folded(problem)
    code = "model_not_found" if problem.code == "unknown_model" else problem.code
    param = problem.path or ("model" if status == 404 and problem.code == "unknown_model" else None)
    return status, OpenAIError(OpenAIErrorBody(problem.detail, _kind(status), param, code))


def _kind(status: int) -> str:
    kinds = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}
    return kinds.get(status, "invalid_request_error" if status < 500 else "server_error")


SHAPE = Shape(_write)


def _input_tokens(services: Services, call: Call, stop: Stop | None) -> bytes | Later:
    values = call.values(ResponsesInput)
    return count_call(
        services,
        call,
        values,
        "openai_responses",
        stop,
        lambda count, _request, _found: _encode(ResponsesInputTokens(input_tokens=count.tokens)),
    )


ROUTES = (
    VendorRoute(
        "/v1/responses/input_tokens",
        SHAPE,
        _input_tokens,
        Operation(
            "OpenAI's own count of a Responses call: `openai` clients work with `base_url` set to this service.",
            request=ResponsesInput,
            answers=(ResponsesInputTokens,),
            example="openai_input_tokens",
            error=OpenAIError,
        ),
    ),
)
