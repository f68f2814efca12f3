"""What each counting endpoint is sent: the sender's own body where it is in that vendor's form, else a translation.

A body is cut down to the fields that the endpoint takes. A request with anything that has no counterpart is not sent.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from service.domain.remote import RemoteAsk, RemoteFailed
from service.domain.request import Message, Request, Text, Tool, ToolCall, ToolResult

# Fields of the endpoints, from the vendors' references as read on 2026-11-29.
_OPENAI = (
    *("input", "instructions", "tools", "tool_choice", "text", "reasoning", "truncation"),
    *("conversation", "previous_response_id", "parallel_tool_calls"),
)
_ANTHROPIC = ("messages", "system", "tools", "tool_choice", "thinking", "output_config", "mcp_servers")
_GEMINI = (
    *("contents", "systemInstruction", "tools", "toolConfig", "generationConfig", "cachedContent"),
    *("system_instruction", "tool_config", "generation_config", "cached_content"),  # the vendor takes both spellings
)
_SYSTEM = ("system", "developer")


def openai_body(ask: RemoteAsk) -> dict[str, Any]:
    """For ``/v1/responses/input_tokens``. Raises ``RemoteFailed`` (``not_translatable``)."""
    if ask.sent is not None and ask.request.dialect == "openai_responses":
        return {"model": ask.model, **_only(ask.sent, _OPENAI)}
    request = ask.request
    body: dict[str, Any] = {"model": ask.model, "input": [item for m in request.messages for item in _items(m)]}
    if request.tools:
        body["tools"] = [{"type": "function", "strict": False, **_function(tool)} for tool in _own_tools(request)]
    choice = request.tool_choice
    if choice is not None:
        body["tool_choice"] = {"type": "function", "name": choice.name} if choice.mode == "named" else choice.mode
    if request.response_schema is not None:
        schema = request.response_schema
        answer = {"type": "json_schema", "name": schema.name or "answer", "schema": dict(schema.schema)}
        body["text"] = {"format": answer}
    return body


def anthropic_body(ask: RemoteAsk) -> dict[str, Any]:
    """For ``/v1/messages/count_tokens``. Raises ``RemoteFailed`` (``not_translatable``)."""
    if ask.sent is not None and ask.request.dialect == "anthropic":
        return {"model": ask.model, **_only(ask.sent, _ANTHROPIC)}
    request = ask.request
    turns = [
        {"role": "assistant" if message.role == "assistant" else "user", "content": _blocks(message)}
        for message in request.messages
        if message.role not in _SYSTEM
    ]
    body: dict[str, Any] = {"model": ask.model, "messages": turns}
    if system := _system(request):
        body["system"] = [{"type": "text", "text": text} for text in system]
    if request.tools:
        body["tools"] = [_function(tool, "input_schema") for tool in _own_tools(request)]
    choice = request.tool_choice
    if choice is not None:
        kinds = {"auto": "auto", "none": "none", "required": "any", "named": "tool"}
        body["tool_choice"] = {"type": kinds[choice.mode]} | ({"name": choice.name} if choice.mode == "named" else {})
    if request.response_schema is not None:
        answer = {"type": "json_schema", "schema": dict(request.response_schema.schema)}
        body["output_config"] = {"format": answer}
    thinking = request.thinking
    if thinking is not None and thinking.mode == "enabled" and thinking.budget_tokens:
        body["thinking"] = {"type": "enabled", "budget_tokens": thinking.budget_tokens}
    return body


def gemini_body(ask: RemoteAsk) -> dict[str, Any]:
    """For ``:countTokens``. Raises ``RemoteFailed`` (``not_translatable``)."""
    model = f"models/{ask.model}"
    if ask.sent is not None and ask.request.dialect == "gemini":
        wrapped = ask.sent.get("generateContentRequest") or ask.sent.get("generate_content_request")
        inner = wrapped or ask.sent
        if not isinstance(inner, Mapping):
            raise RemoteFailed("not_translatable")
        return {"generateContentRequest": {"model": model, **_only(inner, _GEMINI)}}
    request = ask.request
    names = {part.id: part.name for m in request.messages for part in m.parts if isinstance(part, ToolCall)}
    turns = [
        {"role": "model" if message.role == "assistant" else "user", "parts": _gemini_parts(message, names)}
        for message in request.messages
        if message.role not in _SYSTEM
    ]
    body: dict[str, Any] = {"model": model, "contents": turns}
    if system := _system(request):
        body["systemInstruction"] = {"parts": [{"text": text} for text in system]}
    if request.tools:
        body["tools"] = [{"functionDeclarations": [_function(tool) for tool in _own_tools(request)]}]
    choice = request.tool_choice
    if choice is not None:
        modes = {"auto": "AUTO", "none": "NONE", "required": "ANY", "named": "ANY"}
        named = {"allowedFunctionNames": [choice.name]} if choice.mode == "named" else {}
        body["toolConfig"] = {"functionCallingConfig": {"mode": modes[choice.mode], **named}}
    if request.response_schema is not None:
        schema = dict(request.response_schema.schema)
        body["generationConfig"] = {"responseMimeType": "application/json", "responseJsonSchema": schema}
    return {"generateContentRequest": body}


def _only(sent: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    return {name: sent[name] for name in names if sent.get(name) is not None}


def _items(message: Message) -> list[dict[str, Any]]:
    """A message as items of a Responses input."""
    kind = "output_text" if message.role == "assistant" else "input_text"
    items: list[dict[str, Any]] = []
    texts = []
    for part in message.parts:
        if isinstance(part, ToolCall):
            call = {"call_id": part.id or part.name, "name": part.name, "arguments": part.arguments}
            items.append({"type": "function_call", **call})
        elif isinstance(part, ToolResult):
            output = "".join(_text(inner) for inner in part.parts)
            items.append({"type": "function_call_output", "call_id": part.call_id or part.name, "output": output})
        else:
            texts.append({"type": kind, "text": _text(part)})
    if len(texts) == 1 and not message.content_list:
        items.insert(0, {"role": _role(message), "content": texts[0]["text"]})
    elif texts:
        items.insert(0, {"role": _role(message), "content": texts})
    return items


def _role(message: Message) -> str:
    if message.name or message.role in ("tool", "function"):
        raise RemoteFailed("not_translatable")
    return message.role


def _blocks(message: Message) -> list[dict[str, Any]] | str:
    """A message as blocks of Anthropic's, or as the one text that it was."""
    blocks: list[dict[str, Any]] = []
    for part in message.parts:
        if isinstance(part, ToolCall):
            call = {"id": part.id or part.name, "name": part.name, "input": _arguments(part)}
            blocks.append({"type": "tool_use", **call})
        elif isinstance(part, ToolResult):
            output = "".join(_text(inner) for inner in part.parts)
            blocks.append({"type": "tool_result", "tool_use_id": part.call_id or part.name, "content": output})
        else:
            blocks.append({"type": "text", "text": _text(part)})
    alone = len(blocks) == 1 and not message.content_list
    return str(blocks[0]["text"]) if alone and blocks[0]["type"] == "text" else blocks


def _gemini_parts(message: Message, names: Mapping[str, str]) -> list[dict[str, Any]]:
    parts: list[dict[str, Any]] = []
    for part in message.parts:
        if isinstance(part, ToolCall):
            parts.append({"functionCall": {"name": part.name, "args": _arguments(part)}})
        elif isinstance(part, ToolResult):
            output = "".join(_text(inner) for inner in part.parts)
            name = part.name or names.get(part.call_id) or part.call_id
            parts.append({"functionResponse": {"name": name, "response": {"result": output}}})
        else:
            parts.append({"text": _text(part)})
    return parts


def _system(request: Request) -> list[str]:
    return [_text(part) for message in request.messages if message.role in _SYSTEM for part in message.parts]


def _text(part: object) -> str:
    if not isinstance(part, Text):
        raise RemoteFailed("not_translatable")
    return part.text


def _arguments(call: ToolCall) -> dict[str, Any]:
    """The arguments as an object. JSON that is none, which a model may have written, is not sent."""
    try:
        value = json.loads(call.arguments or "{}")
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise RemoteFailed("not_translatable")
    return value


def _own_tools(request: Request) -> list[Tool]:
    if any(tool.kind != "function" for tool in request.tools):
        raise RemoteFailed("not_translatable")
    return list(request.tools)


def _function(tool: Tool, schema_name: str = "parameters") -> dict[str, Any]:
    described = {"description": tool.description} if tool.description else {}
    schema = dict(tool.parameters) if tool.parameters is not None else {"type": "object", "properties": {}}
    return {"name": tool.name, **described, schema_name: schema}
