"""Amazon Bedrock's Converse: ``{system, messages, toolConfig, inferenceConfig, ...}``; a block's key is its type."""

from __future__ import annotations

from collections.abc import Iterator

from service.api.dialects.anthropic import read_thinking
from service.api.dialects.blocks import (
    Probes,
    arguments_text,
    file_at,
    file_in,
    function_tool,
    hosted_tool,
    role_of,
    unknown,
)
from service.api.dialects.walking import Node, compact_json
from service.domain.request import Message, Part, Reasoning, Request, Text, Tool, ToolCall, ToolChoice, ToolResult

NAME = "bedrock"
KNOWN = frozenset(
    (
        *("modelId", "model", "system", "messages", "toolConfig", "inferenceConfig", "additionalModelRequestFields"),
        *("additionalModelResponseFieldPaths", "guardrailConfig", "performanceConfig", "promptVariables"),
        *("requestMetadata", "serviceTier"),
    )
)
"""Fields of a body; those that are not read here change nothing that is counted."""

_FILES = {"image": "image/", "video": "video/", "audio": "audio/", "document": "application/"}
_PLAIN = frozenset(("txt", "md", "csv", "html"))
_IGNORED = frozenset(("cachePoint",))


def read(body: Node, probes: Probes) -> Request:
    """The request of a body. Raises ``ApiError`` with the path of what is wrong."""
    system = tuple(part for node in body.children("system") for part in _block(node, probes))
    first = (Message("system", system, path=body.at("system"), content_list=True),) if system else ()
    config = body.optional("toolConfig")
    inference = body.optional("inferenceConfig")
    more = body.optional("additionalModelRequestFields")
    return Request(
        messages=(*first, *(_message(node, probes) for node in body.children("messages"))),
        tools=tuple(_tools(config)) if config is not None else (),
        tool_choice=_choice(config.optional("toolChoice")) if config is not None else None,
        thinking=read_thinking(more.optional("thinking")) if more is not None else None,
        dialect=NAME,
        model=body.text("modelId", body.text("model", "")) or None,
        max_output_tokens=inference.whole("maxTokens") if inference is not None else None,
    )


def _message(node: Node, probes: Probes) -> Message:
    parts = tuple(part for block in node.children("content") for part in _block(block, probes))
    return Message(role_of(node), parts, path=node.path, content_list=True)


def _block(block: Node, probes: Probes) -> Iterator[Part]:
    keys = [key for key in block.values if key not in _IGNORED]
    if not keys:
        return
    key = keys[0]
    if key == "text":
        yield Text(block.text("text"), block.path)
    elif key in _FILES:
        yield _file(block.child(key), key, probes)
    elif key == "toolUse":
        call = block.child("toolUse")
        yield ToolCall(
            call.text("name"), arguments_text(call.values.get("input")), call.text("toolUseId", ""), call.path
        )
    elif key == "toolResult":
        result = block.child("toolResult")
        parts = tuple(part for inner in result.children("content") for part in _block(inner, probes))
        yield ToolResult(parts, result.text("toolUseId", ""), path=result.path)
    elif key == "json":
        yield Text(compact_json(block.values["json"]), block.path)
    elif key == "reasoningContent":
        yield _thought(block.child("reasoningContent"))
    elif key == "guardContent" and block.child("guardContent").has("text"):
        yield Text(block.child("guardContent").child("text").text("text"), block.path)
    else:
        yield unknown(block)


def _file(node: Node, kind: str, probes: Probes) -> Part:
    source = node.child("source")
    form = node.text("format", "pdf" if kind == "document" else "")
    media_type = f"text/{form}" if kind == "document" and form in _PLAIN else _FILES[kind] + form
    if source.has("bytes"):
        return file_in(source.text("bytes"), media_type, node.path, probes)
    if source.has("text"):
        return Text(source.text("text"), source.at("text"))
    return file_at(media_type, node.path)


def _thought(node: Node) -> Reasoning:
    told = node.optional("reasoningText")
    if told is not None:
        return Reasoning(told.text("text", ""), node.path)
    return Reasoning("", node.path, len(node.text("redactedContent", "")))


def _tools(config: Node) -> Iterator[Tool]:
    for node in config.children("tools"):
        if node.has("toolSpec"):
            spec = node.child("toolSpec")
            holder = spec.optional("inputSchema")
            schema = holder.values.get("json") if holder is not None else None
            yield function_tool(Node({**spec.values, "json": schema}, spec.path), "json", spec.path)
        elif node.has("systemTool"):
            yield hosted_tool(node.child("systemTool"), "systemTool")
        elif _IGNORED.isdisjoint(node.values):
            yield hosted_tool(node, "tool")


def _choice(node: Node | None) -> ToolChoice | None:
    if node is None:
        return None
    if node.has("tool"):
        return ToolChoice("named", node.child("tool").text("name"), node.path)
    return ToolChoice("required" if "any" in node.values else "auto", path=node.path)
