"""Gemini's generateContent: ``{contents, systemInstruction, tools, toolConfig, generationConfig, ...}``.

Field names are taken in both spellings that the vendor takes, ``systemInstruction`` and ``system_instruction``. A
``generateContentRequest`` around all of it, as countTokens has it, is taken off.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from service.api.dialects.blocks import (
    Probes,
    arguments_text,
    file_at,
    file_in,
    function_tool,
    hosted_tool,
    role_of,
    unknown,
    unseen,
)
from service.api.dialects.walking import Node, refuse
from service.domain.request import (
    Message,
    Part,
    Reasoning,
    Request,
    ResponseSchema,
    Role,
    Text,
    Tool,
    ToolCall,
    ToolChoice,
    ToolResult,
    Video,
)

NAME = "gemini"
_OWN = (
    *("contents", "systemInstruction", "tools", "toolConfig", "generationConfig", "cachedContent", "model"),
    *("generateContentRequest", "safetySettings", "labels", "serviceTier", "store"),
)
_ROLES: Mapping[str, Role] = {"model": "assistant"}
_CALL_MODES: Mapping[str, Any] = {"AUTO": "auto", "ANY": "required", "NONE": "none", "VALIDATED": "auto"}
_CAPITAL = re.compile(r"(?<!^)([A-Z])")
_SECONDS = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)s")


def _snake(name: str) -> str:
    return _CAPITAL.sub(r"_\1", name).lower()


KNOWN = frozenset((*_OWN, *map(_snake, _OWN)))
"""Fields of a body; those that are not read here change nothing that is counted."""


def _spelt(node: Node) -> Node:
    """``node`` with every field in the first spelling."""
    values = {_camel(name): value for name, value in node.values.items()}
    return Node(values, node.path)


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part[:1].upper() + part[1:] for part in rest)


def read(body: Node, probes: Probes) -> Request:
    """The request of a body. Raises ``ApiError`` with the path of what is wrong."""
    body = _spelt(body)
    inner = body.optional("generateContentRequest")
    if inner is not None:
        body = _spelt(inner)
    config = body.optional("generationConfig")
    config = Node({}) if config is None else _spelt(config)
    detail = config.text("mediaResolution", "").lower()
    return Request(
        messages=tuple(_messages(body, detail, probes)),
        tools=tuple(_tools(body)),
        tool_choice=_choice(body.optional("toolConfig")),
        response_schema=_schema(config),
        dialect=NAME,
        model=body.text("model", "").removeprefix("models/") or None,
        max_output_tokens=config.whole("maxOutputTokens"),
        answers=config.whole("candidateCount") or 1,
    )


def _messages(body: Node, detail: str, probes: Probes) -> Iterator[Message]:
    if body.has("cachedContent"):
        path = body.at("cachedContent")
        yield Message("user", (unseen("cache_not_included", path),), path=path)
    if body.has("systemInstruction"):
        path = body.at("systemInstruction")
        if isinstance(body.values["systemInstruction"], str):
            yield Message("system", (Text(body.text("systemInstruction"), path),), path=path)
        else:
            yield Message("system", tuple(_parts(body.child("systemInstruction"), detail, probes)), path=path)
    contents = body.values.get("contents")
    if isinstance(contents, str):
        yield Message("user", (Text(contents, body.at("contents")),), path=body.at("contents"))
        return
    listed = [body.child("contents")] if isinstance(contents, dict) else body.children("contents")
    for node in listed:
        role: Role = role_of(node, _ROLES) if node.has("role") else "user"
        yield Message(role, tuple(_parts(node, detail, probes)), path=node.path, content_list=True)


def _parts(node: Node, detail: str, probes: Probes) -> Iterator[Part]:
    value = node.values.get("parts")
    if isinstance(value, dict):
        yield _part(_spelt(node.child("parts")), detail, probes)
        return
    for part in node.children("parts"):
        yield _part(_spelt(part), detail, probes)


def _part(part: Node, detail: str, probes: Probes) -> Part:
    sealed = len(part.text("thoughtSignature", ""))
    if part.has("text"):
        text = part.text("text")
        return Reasoning(text, part.path, sealed) if part.values.get("thought") is True else Text(text, part.path)
    if part.has("inlineData"):
        data = _spelt(part.child("inlineData"))
        found = file_in(data.text("data"), data.text("mimeType", ""), part.path, probes, _detail(part, detail))
        return _timed(part, found)
    if part.has("fileData"):
        data = _spelt(part.child("fileData"))
        return _timed(part, file_at(data.text("mimeType", ""), part.path, _detail(part, detail)))
    if part.has("functionCall"):
        call = part.child("functionCall")
        return ToolCall(call.text("name"), arguments_text(call.values.get("args")), call.text("id", ""), part.path)
    if part.has("functionResponse"):
        return _response(_spelt(part.child("functionResponse")), part.path, detail, probes)
    return unknown(part, "part")


def _detail(part: Node, default: str) -> str:
    """How closely a part is looked at: its own word before the request's."""
    own = part.values.get("mediaResolution")
    if isinstance(own, dict):
        own = own.get("level")
    return own.lower() if isinstance(own, str) else default


def _timed(part: Node, found: Part) -> Part:
    """A film with the stretch and the frame rate that the part tells."""
    if not isinstance(found, Video) or not part.has("videoMetadata"):
        return found
    told = _spelt(part.child("videoMetadata"))
    start, end = _offset(told, "startOffset"), _offset(told, "endOffset")
    seconds = max(0.0, end - (start or 0.0)) if end is not None else None
    return Video(found.path, seconds, found.bytes, told.number("fps"), found.detail, found.source)


def _offset(node: Node, key: str) -> float | None:
    if not node.has(key):
        return None
    match = _SECONDS.fullmatch(node.text(key))
    if match is None:
        refuse(node.at(key), "A time is written in seconds, such as 12.5s.")
    return float(match.group(1))


def _response(node: Node, path: str, detail: str, probes: Probes) -> ToolResult:
    told = Text(arguments_text(node.values.get("response")), node.at("response"))
    return ToolResult((told, *_parts(node, detail, probes)), node.text("id", ""), node.text("name", ""), path)


def _tools(body: Node) -> Iterator[Tool]:
    for node in body.children("tools"):
        spelt = _spelt(node)
        for key in spelt.values:
            if key == "functionDeclarations":
                for declared in spelt.children(key):
                    function = _spelt(declared)
                    schema = "parameters" if function.has("parameters") else "parametersJsonSchema"
                    yield function_tool(function, schema, function.path)
            elif spelt.has(key):
                kind = key if key in _HOSTED else "tool"
                yield hosted_tool(Node({kind: spelt.values[key]}, node.path), kind)


_HOSTED = frozenset(
    ("googleSearch", "googleSearchRetrieval", "codeExecution", "urlContext", "googleMaps", "fileSearch", "computerUse")
)


def _choice(node: Node | None) -> ToolChoice | None:
    config = _spelt(node).optional("functionCallingConfig") if node is not None else None
    if config is None:
        return None
    mode = config.text("mode", "AUTO").upper()
    if mode not in _CALL_MODES:
        refuse(config.at("mode"), f"Unknown mode. Allowed: {', '.join(_CALL_MODES)}.")
    return ToolChoice(_CALL_MODES[mode], path=config.path)


def _schema(config: Node) -> ResponseSchema | None:
    for key in ("responseSchema", "responseJsonSchema"):
        schema = config.optional(key)
        if schema is not None:
            return ResponseSchema(schema.values, path=schema.path)
    return None
