"""LiteLLM: ``POST /utils/token_counter``, ``/spend/calculate`` and ``/cost/estimate``."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Annotated, Any
from urllib.parse import parse_qs

import msgspec
from msgspec import Meta

from adapters.port import Stop
from service.api.errors import ApiError, Problem
from service.api.openapi import Operation
from service.api.pricing.known_cost import known_cost
from service.api.pricing.schemas import CostRequest
from service.api.services import Later, Services
from service.api.vendors.call import Call, VendorRoute, model_name, resolved
from service.api.vendors.counting import count_call
from service.api.vendors.shape import Shape, folded, told
from service.domain.catalog import Accuracy, Resolution
from service.domain.costing import Cost, cost_of
from service.domain.counting import Count, count_text
from service.domain.prices import PriceContext
from service.domain.remote import RemoteMode
from service.domain.request import Request
from service.domain.usage import Usage

_encode = msgspec.json.Encoder().encode
_FORM = ("messages", "contents", "tools", "tool_choice", "functions", "function_call", "system")
Tokens = Annotated[int, Meta(ge=0, le=10**12)]
Requests = Annotated[int, Meta(ge=0, le=10**12)]


class TokenCounterRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A ``prompt``, ``messages`` or Gemini's ``contents``. ``?call_endpoint=true`` asks the vendor too, if it may."""

    model: str | None = None
    prompt: str | None = None
    messages: list[Any] | None = None
    contents: list[Any] | None = None
    tools: list[Any] | None = None
    tool_choice: str | dict[str, Any] | None = None
    functions: list[Any] | None = None
    function_call: str | dict[str, Any] | None = None
    system: str | list[Any] | None = None


class TokenCounterAnswer(msgspec.Struct, frozen=True):
    """LiteLLM's answer. ``model_used`` is the model of the catalog."""

    total_tokens: int
    request_model: str
    model_used: str
    tokenizer_type: str
    original_response: dict[str, Any] | None = None
    error: bool = False
    error_message: str | None = None
    status_code: int | None = None


class SpendRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A model with the ``messages`` and tools it would be sent, or the ``completion_response`` of a call made."""

    model: str | None = None
    messages: list[Any] | None = None
    tools: list[Any] | None = None
    tool_choice: str | dict[str, Any] | None = None
    functions: list[Any] | None = None
    function_call: str | dict[str, Any] | None = None
    system: str | list[Any] | None = None
    completion_response: dict[str, Any] | None = None


class SpendAnswer(msgspec.Struct, frozen=True):
    """LiteLLM's answer, in dollars; of messages, what they cost as input."""

    cost: float


class CostEstimateRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A call's tokens: cache tokens are part of ``input_tokens``, reasoning is part of ``output_tokens``."""

    model: str | None = None
    input_tokens: Tokens = 0
    output_tokens: Tokens = 0
    cache_read_input_tokens: Tokens = 0
    cache_creation_input_tokens: Tokens = 0
    reasoning_tokens: Tokens = 0
    num_requests_per_day: Requests | None = None
    num_requests_per_month: Requests | None = None


class LiteLLMErrorBody(msgspec.Struct, frozen=True):
    """What is wrong; ``code`` is the status as a string."""

    message: str
    type: str
    param: str | None
    code: str


class LiteLLMError(msgspec.Struct, frozen=True):
    """LiteLLM's error."""

    error: LiteLLMErrorBody


def _write(problem: Problem) -> tuple[int, LiteLLMError]:
    status = folded(problem)
    kinds: Mapping[int, str] = {401: "auth_error", 402: "budget_exceeded", 429: "throttling_error"}
    kind = kinds.get(status, "invalid_request_error" if status < 500 else "internal_server_error")
    return status, LiteLLMError(LiteLLMErrorBody(told(problem), kind, problem.path or None, str(status)))


SHAPE = Shape(_write)


def _token_counter(services: Services, call: Call, stop: Stop | None) -> bytes | Later:
    given = call.typed(TokenCounterRequest)
    if sum(value is not None for value in (given.prompt, given.messages, given.contents)) != 1:
        detail = "Give exactly one of `prompt`, `messages` and `contents`."
        raise ApiError(422, "invalid_request", detail, path="messages")
    if given.prompt is not None:
        scale = services.weigher.scale_of(resolved(services, call, given.model))
        count = count_text(scale, given.prompt, path="prompt", stop=stop)
        services.metrics.counted(scale.info.name, scale.model or "", count.tokens, count.characters)
        call.mark_count(count)
        return _encode(_counted(count, given.model))
    return _count(services, call, given, stop, lambda count, _request, _found: _encode(_counted(count, given.model)))


def _count(
    services: Services, call: Call, given: TokenCounterRequest | SpendRequest, stop: Stop | None, answering: Any
) -> bytes | Later:
    values = {name: value for name in _FORM if (value := getattr(given, name, None)) is not None}
    values["model"] = given.model
    asked = parse_qs(call.query.decode("latin-1")).get("call_endpoint", [""])[-1].lower()
    mode: RemoteMode | None = "always" if asked in ("true", "1") else None
    return count_call(services, call, values, "litellm", stop, answering, mode=mode)


def _counted(count: Count, requested: str | None) -> TokenCounterAnswer:
    kind = "openai_tokenizer" if count.tokenizer.family == "tiktoken" else "huggingface_tokenizer"
    model = count.model or ""
    return TokenCounterAnswer(count.tokens, requested or model, model, kind)


def _spend(services: Services, call: Call, stop: Stop | None) -> bytes | Later:
    given = call.typed(SpendRequest)
    if (given.messages is None) == (given.completion_response is None):
        detail = "Give exactly one of `messages` and `completion_response`."
        raise ApiError(422, "invalid_request", detail, path="messages")
    if given.completion_response is not None:
        asked = CostRequest(model=given.model, response=given.completion_response)
        known = known_cost(asked, services.find, services.pricer, services.now())
        call.mark(Accuracy.EXACT)  # it is what was used
        return _encode(SpendAnswer(float(_dollars(services, known.found, known.cost))))

    def answer(count: Count, _request: Request, found: Resolution) -> bytes:
        cost = _priced(services, found, Usage(input_tokens=count.tokens))
        return _encode(SpendAnswer(float(_dollars(services, found, cost))))

    return _count(services, call, given, stop, answer)


def _priced(services: Services, found: Resolution, usage: Usage) -> Cost:
    return cost_of(usage, services.pricer.price(found, services.now(), PriceContext()))


def _dollars(services: Services, found: Resolution, cost: Cost) -> Decimal:
    """The dollars of a known cost, also as a metric. Raises ``ApiError``: an unknown price is never nothing."""
    if cost.usd is None:
        services.metrics.unknown_prices.inc()
        detail = f"The price is not known ({cost.missing} is missing). GET /v1/prices lists what is known."
        raise ApiError(422, "price_unknown", detail, path="model")
    services.metrics.estimated(found.model.id, int((cost.usd * 10**9).to_integral_value()))
    return cost.usd


def _estimate(services: Services, call: Call, _stop: Stop | None) -> bytes:
    given = call.typed(CostEstimateRequest)
    model = model_name(services, call, given.model)
    found = services.find(model, None)
    usage = Usage(
        input_tokens=given.input_tokens,
        output_tokens=given.output_tokens,
        cache_read_tokens=given.cache_read_input_tokens,
        cache_write_tokens=given.cache_creation_input_tokens,
        reasoning_tokens=given.reasoning_tokens,
    )
    cost = _priced(services, found, usage)
    call.mark(Accuracy.EXACT)
    per_request = _shares(cost, _dollars(services, found, cost))
    echoed = {name: getattr(given, name) for name in given.__struct_fields__} | {"model": model}
    single = {_name("", share, "_per_request"): float(usd) for share, usd in per_request.items()}
    daily = _times(per_request, given.num_requests_per_day, "daily_")
    monthly = _times(per_request, given.num_requests_per_month, "monthly_")
    rates = {f"{unit}_cost_per_token": _rate(cost, unit) for unit in ("input", "output")}
    return _encode({**echoed, **single, **daily, **monthly, **rates, "provider": found.provider})


def _shares(cost: Cost, total: Decimal) -> dict[str, Decimal]:
    """Dollars of one call by share; the shares of the cache are part of the input's, reasoning of the output's."""
    by_unit = {component.unit.name: component.usd for component in cost.components}
    nothing = Decimal(0)
    reasoning = by_unit.get("reasoning", nothing)
    output = by_unit.get("output", nothing) + reasoning
    return {
        "": total,
        "input": total - output,
        "output": output,
        "margin": nothing,
        "cache_read": by_unit.get("cache_read", nothing),
        "cache_creation": by_unit.get("cache_write", nothing),
        "reasoning": reasoning,
    }


def _times(shares: Mapping[str, Decimal], requests: int | None, period: str) -> dict[str, float | None]:
    return {
        _name(period, share, ""): None if requests is None else float(usd * requests) for share, usd in shares.items()
    }


def _name(period: str, share: str, end: str) -> str:
    return f"{period}{share}_cost{end}" if share else f"{period}cost{end}"


def _rate(cost: Cost, unit: str) -> float | None:
    """Dollars per token of a unit; ``None`` where the call has none of it."""
    return next((float(c.usd / c.quantity) for c in cost.components if c.unit.name == unit), None)


ROUTES = (
    VendorRoute(
        "/utils/token_counter",
        SHAPE,
        _token_counter,
        Operation(
            "LiteLLM's token counter.",
            request=TokenCounterRequest,
            answers=(TokenCounterAnswer,),
            example="litellm_token_counter",
            error=LiteLLMError,
        ),
    ),
    VendorRoute(
        "/spend/calculate",
        SHAPE,
        _spend,
        Operation(
            "LiteLLM's cost of messages or of an answered call, in dollars.",
            request=SpendRequest,
            answers=(SpendAnswer,),
            example="litellm_spend_calculate",
            error=LiteLLMError,
        ),
    ),
    VendorRoute(
        "/cost/estimate",
        SHAPE,
        _estimate,
        Operation(
            "LiteLLM's cost of a call's tokens, also by day and month.",
            request=CostEstimateRequest,
            answers=(dict[str, Any],),
            example="litellm_cost_estimate",
            error=LiteLLMError,
        ),
    ),
)
