"""Whole responses of vendors, and the events of streamed ones: where the usage stands, which model served, and how.

Of a stream the last word counts: a later number replaces an earlier one of the same name and is never added to it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from service.api.dialects.usages.tiers import served_tier
from service.api.errors import ApiError
from service.domain.notices import Notice

_TOLD = (
    "object",
    "type",
    "model",
    "modelVersion",
    "model_version",
    "service_tier",
    "serviceTier",
    "output",
    "candidates",
)
_USAGES = ("usage", "usageMetadata", "usage_metadata")
_ENDS = ("message_delta", "message-end", "response.completed", "response.incomplete", "response.failed")


@dataclass(frozen=True, slots=True)
class Served:
    """What a response says: its ``usage`` at ``path``, the form it most likely has, the model, and the service tier.

    ``model`` is empty and ``service_tier`` None where the response does not say. ``fees`` are calls that stand in the
    output and not in the usage.
    """

    usage: Mapping[str, Any]
    path: str
    likely: str
    model: str
    service_tier: str | None
    fees: Mapping[str, Decimal] = field(default_factory=dict)
    notices: Sequence[Notice] = ()


def read_response(response: Mapping[str, Any] | Sequence[Any], path: str = "response") -> Served:
    """What a whole response, a line of a batch's results or the events of a stream say. Raises ``ApiError``."""
    notices: list[Notice] = []
    batch = False
    if isinstance(response, Mapping):
        whole, path, batch = _unwrapped(response, path)
        where = {name: f"{path}.{name}" for name in whole}
    else:
        whole, where = _merged(response, path, notices)
    name = next((name for name in (*_USAGES, "meta", "x_groq") if _has_usage(name, whole.get(name))), None)
    if name is None:
        detail = (
            "There is no usage in the response. Streams of OpenAI's form have one only if asked for with "
            "`stream_options: {include_usage: true}`; what was counted otherwise goes into `usage`."
        )
        raise ApiError(422, "usage_missing", detail, path=path)
    usage, at = whole[name], where[name]
    if name == "x_groq":
        usage, at = usage["usage"], f"{at}.usage"
    tier = "batch" if batch else _tier(whole)
    fees = _calls(whole.get("output"), f"{path}.output", notices)
    _grounded(whole.get("candidates"), f"{path}.candidates", notices)
    return Served(usage, at, _likely(name, whole), _model(whole), tier, fees, notices)


def stream_events(text: str) -> list[Any]:
    """The events of a stream kept as text: server-sent events (``data: {...}``) or one JSON object a line.

    Raises ``ValueError`` where a line is neither.
    """
    events = []
    for line in text.splitlines():
        data = line.strip()
        if data.startswith("data:"):
            data = data[5:].strip()
        elif data.partition(":")[0] in ("event", "id", "retry", ""):
            continue
        if data != "[DONE]":
            events.append(json.loads(data))
    return events


def _unwrapped(response: Mapping[str, Any], path: str) -> tuple[Mapping[str, Any], str, bool]:
    """A response without what batch results and proxies put around it; and whether it is of a batch."""
    if "custom_id" in response:
        for names in (("response", "body"), ("result", "message")):
            outer = response.get(names[0])
            inner = outer.get(names[1]) if isinstance(outer, dict) else None
            if isinstance(inner, dict):
                return inner, f"{path}.{names[0]}.{names[1]}", True
    inner = response.get("result")
    if isinstance(inner, dict) and isinstance(inner.get("usage"), dict):
        return inner, f"{path}.result", False
    event = response.get("response")  # one event of a stream, which ends it
    if isinstance(event, dict) and isinstance(event.get("usage"), dict):
        return event, f"{path}.response", False
    return response, path, False


def _merged(events: Sequence[Any], path: str, notices: list[Notice]) -> tuple[dict[str, Any], dict[str, str]]:
    """One response from a stream's events, and where each of its fields stands."""
    whole: dict[str, Any] = {}
    where: dict[str, str] = {}
    ids = set()
    ended = False
    for index, event in enumerate(events):
        if not isinstance(event, dict):
            raise ApiError(422, "invalid_request", "Give the events of a stream as objects.", path=f"{path}[{index}]")
        part, at = _part(event, f"{path}[{index}]")
        ended = ended or event.get("type") in _ENDS or "metadata" in event or _finished(event)
        own_id = part.get("id") or part.get("responseId")
        if isinstance(own_id, str):
            ids.add(own_id)
        for name in (*_TOLD, *_USAGES, "meta", "x_groq"):
            value = part.get(name)
            if value is None:
                continue
            if name in _USAGES and isinstance(value, dict) and isinstance(whole.get(name), dict):
                value = whole[name] | {key: item for key, item in value.items() if item is not None}
            whole[name], where[name] = value, f"{at}.{name}"
    if len(ids) > 1:
        detail = "The list holds events of more than one response. Ask for the cost of each by itself."
        raise ApiError(422, "invalid_request", detail, path=path)
    if any(map(where.get, _USAGES)) and not ended:
        message = "The stream stops before its end: what was used after its last event is not in the cost."
        notices.append(Notice("usage_partial", message, path))
    return whole, where


def _part(event: Mapping[str, Any], path: str) -> tuple[Mapping[str, Any], str]:
    """The part of an event that is like a whole response."""
    for name in ("message", "response", "metadata", "delta"):
        inner = event.get(name)
        if isinstance(inner, dict) and any(isinstance(inner.get(key), dict) for key in (*_USAGES, "meta")):
            return inner, f"{path}.{name}"
    for name in ("message", "response"):  # the first events name the model and have no usage yet
        if isinstance(event.get(name), dict) and event.get("type"):
            return event[name], f"{path}.{name}"
    return event, path


def _finished(event: Mapping[str, Any]) -> bool:
    """Whether an event says why the answer ended."""
    if event.get("event_type") == "stream-end":
        return True
    for name, reason in (("choices", "finish_reason"), ("candidates", "finishReason"), ("candidates", "finish_reason")):
        items = event.get(name)
        if isinstance(items, list) and any(isinstance(item, dict) and item.get(reason) for item in items):
            return True
    return False


def _has_usage(name: str, value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    if name in ("meta", "x_groq"):
        return isinstance(value.get("billed_units" if name == "meta" else "usage"), dict)
    return True


def _likely(name: str, whole: Mapping[str, Any]) -> str:
    """The form that a response has by everything but its usage."""
    if name in ("usageMetadata", "usage_metadata"):
        return "gemini"
    if name == "meta":
        return "cohere"
    if whole.get("type") in ("message", "message_delta", "message_stop"):
        return "anthropic"
    return "openai_responses"


def _model(whole: Mapping[str, Any]) -> str:
    for name in ("model", "modelVersion", "model_version"):
        value = whole.get(name)
        if isinstance(value, str):
            return value
    return ""


def _tier(whole: Mapping[str, Any]) -> str | None:
    word = whole.get("service_tier") or whole.get("serviceTier")
    if isinstance(word, dict):  # Bedrock's {"type": "flex"}
        word = word.get("type")
    return served_tier(word) if isinstance(word, str) else None


def _calls(output: Any, path: str, notices: list[Notice]) -> dict[str, Decimal]:
    """Tool calls of a Responses output that are billed by the call and are not in its usage."""
    fees: dict[str, Decimal] = {}
    for index, item in enumerate(output if isinstance(output, list) else ()):
        kind = item.get("type") if isinstance(item, dict) else None
        if kind == "web_search_call":
            action = item.get("action")
            if not isinstance(action, dict) or action.get("type", "search") == "search":  # opening a page is free
                fees["web_searches"] = fees.get("web_searches", Decimal(0)) + 1
        elif kind == "file_search_call":
            fees["storage_searches"] = fees.get("storage_searches", Decimal(0)) + 1
        elif kind in ("code_interpreter_call", "image_generation_call"):
            message = "The fee for this call is not in the usage and is not in the cost."
            notices.append(Notice("fee_not_included", message, f"{path}[{index}]"))
    return fees


def _grounded(candidates: Any, path: str, notices: list[Notice]) -> None:
    """Gemini bills searches by the prompt or by the query, depending on the model, and reports neither as usage."""
    for index, item in enumerate(candidates if isinstance(candidates, list) else ()):
        grounding = item.get("groundingMetadata") if isinstance(item, dict) else None
        if isinstance(grounding, dict) and grounding.get("webSearchQueries"):
            message = "The answer is grounded on searches: their fee is not in the usage and is not in the cost."
            notices.append(Notice("fee_not_included", message, f"{path}[{index}].groundingMetadata"))
