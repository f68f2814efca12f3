"""Anthropic's Messages: ``{system, messages, tools, tool_choice, thinking, output_config, ...}``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from service.api.dialects.blocks import (
    Probes,
    arguments_text,
    file_at,
    file_in,
    function_tool,
    hosted_tool,
    image_in,
    role_of,
    texts,
    unknown,
    unseen,
)
from service.api.dialects.walking import Node, refuse
from service.domain.request import (
    Image,
    Message,
    Part,
    Reasoning,
    Request,
    ResponseSchema,
    Text,
    Thinking,
    Tool,
    ToolCall,
    ToolChoice,
    ToolResult,
)

NAME = "anthropic"
KNOWN = frozenset(
    (
        *("system", "messages", "model", "tools", "tool_choice", "thinking", "output_config", "output_format"),
        *("mcp_servers", "max_tokens", "metadata", "stop_sequences", "stream", "temperature", "top_k", "top_p"),
        *("service_tier", "inference_geo", "cache_control", "speed", "container", "context_management", "betas"),
        *("anthropic_version", "anthropic_beta"),
    )
)
"""Fields of a body; those that are not read here change nothing that is counted."""

_MODES = {"enabled": "enabled", "adaptive": "adaptive", "disabled": "disabled"}


def read(body: Node, probes: Probes) -> Request:
    """The request of a body. Raises ``ApiError`` with the path of what is wrong."""
    system = tuple(texts(body, "system")) if body.has("system") else ()
    first = (Message("system", system, path=body.at("system")),) if system else ()
    servers = tuple(unseen("tools_not_included", server.path) for server in body.children("mcp_servers"))
    remote = (Message("system", servers, path=body.at("mcp_servers")),) if servers else ()
    return Request(
        messages=(*first, *remote, *(read_message(node, probes) for node in body.children("messages"))),
        tools=tuple(_tools(body)),
        tool_choice=_choice(body.optional("tool_choice")),
        response_schema=_schema(body),
        thinking=read_thinking(body.optional("thinking")),
        dialect=NAME,
        model=body.text("model", "") or None,
        max_output_tokens=body.whole("max_tokens"),
    )


def read_message(node: Node, probes: Probes) -> Message:
    """One message with all its parts."""
    content = node.values.get("content")
    if isinstance(content, str):
        return Message(role_of(node), (Text(content, node.at("content")),), path=node.path)
    if content is None:
        refuse(node.at("content"), "A message's content has to be a string or a list of blocks; it is missing.")
    parts = tuple(part for block in node.children("content") for part in read_block(block, probes))
    return Message(role_of(node), parts, path=node.path, content_list=True)


def read_block(block: Node, probes: Probes) -> Iterator[Part]:
    """The parts of one block: most are one, some bring several texts."""
    kind = block.text("type", "text" if "text" in block.values else "")
    reader = _BLOCKS.get(kind)
    if reader is None:
        yield unknown(block, kind)
    else:
        yield from reader(block, probes)


def _text(block: Node, _probes: Probes) -> Iterator[Part]:
    yield Text(block.text("text"), block.path)


def _image(block: Node, probes: Probes) -> Iterator[Part]:
    source = block.child("source")
    kind = source.text("type")
    if kind == "base64":
        yield image_in(source.text("data"), block.path, "", probes)
    else:
        yield Image(block.path, source="remote" if kind == "url" else "file")


def _document(block: Node, probes: Probes) -> Iterator[Part]:
    for key in ("title", "context"):
        if block.has(key):
            yield Text(block.text(key), block.at(key))
    source = block.child("source")
    kind = source.text("type")
    if kind == "base64":
        yield file_in(source.text("data"), source.text("media_type", "application/pdf"), block.path, probes)
    elif kind == "text":
        yield Text(source.text("data"), source.at("data"))
    elif kind == "content":
        yield from _inner(source, "content", probes)
    elif kind == "url":
        yield file_at("", block.path)
    else:
        yield unseen("file_not_included", block.path)


def _tool_use(block: Node, _probes: Probes) -> Iterator[Part]:
    yield ToolCall(block.text("name"), arguments_text(block.values.get("input")), block.text("id", ""), block.path)


def _tool_result(block: Node, probes: Probes) -> Iterator[Part]:
    yield ToolResult(tuple(_inner(block, "content", probes)), block.text("tool_use_id", ""), path=block.path)


def _thinking(block: Node, _probes: Probes) -> Iterator[Part]:
    yield Reasoning(block.text("thinking", ""), block.path)


def _redacted(block: Node, _probes: Probes) -> Iterator[Part]:
    yield Reasoning("", block.path, len(block.text("data", "")))


def _search_result(block: Node, probes: Probes) -> Iterator[Part]:
    for key in ("title", "source"):
        if isinstance(block.values.get(key), str):
            yield Text(block.text(key), block.at(key))
    yield from _inner(block, "content", probes)


def _uploaded(block: Node, _probes: Probes) -> Iterator[Part]:
    yield unseen("file_not_included", block.path)


def _inner(block: Node, key: str, probes: Probes) -> Iterator[Part]:
    value = block.values.get(key)
    if isinstance(value, str):
        yield Text(value, block.at(key))
        return
    if isinstance(value, dict):
        yield from read_block(block.child(key), probes)
        return
    for inner in block.children(key):
        yield from read_block(inner, probes)


_BLOCKS: Mapping[str, Callable[[Node, Probes], Iterator[Part]]] = {
    "text": _text,
    "image": _image,
    "document": _document,
    "tool_use": _tool_use,
    "server_tool_use": _tool_use,
    "mcp_tool_use": _tool_use,
    "tool_result": _tool_result,
    "mcp_tool_result": _tool_result,
    "thinking": _thinking,
    "redacted_thinking": _redacted,
    "search_result": _search_result,
    "container_upload": _uploaded,
}


def _tools(body: Node) -> Iterator[Tool]:
    for node in body.children("tools"):
        kind = node.text("type", "custom")
        if node.has("input_examples"):
            yield hosted_tool(node, kind)  # how examples are shown is not published
        elif kind == "custom" or node.has("input_schema"):
            yield function_tool(node, "input_schema", node.path)
        elif kind == "function" and node.has("function"):  # gateways take OpenAI's tools too
            yield function_tool(node.child("function"), "parameters", node.path)
        else:
            yield hosted_tool(node, kind)


def _choice(node: Node | None) -> ToolChoice | None:
    if node is None:
        return None
    kind = node.text("type")
    if kind == "tool":
        return ToolChoice("named", node.text("name"), node.path)
    if kind == "any":
        return ToolChoice("required", path=node.path)
    if kind not in ("auto", "none"):
        refuse(node.at("type"), "Unknown choice. Allowed: auto, any, tool, none.")
    return ToolChoice("none" if kind == "none" else "auto", path=node.path)


def read_thinking(node: Node | None) -> Thinking | None:
    """How the model is asked to think."""
    if node is None:
        return None
    kind = node.text("type")
    if kind not in _MODES:
        refuse(node.at("type"), f"Unknown mode. Allowed: {', '.join(_MODES)}.")
    return Thinking(kind, node.whole("budget_tokens"))  # type: ignore[arg-type]  # one of the three


def _schema(body: Node) -> ResponseSchema | None:
    config = body.optional("output_config")
    holder = config.optional("format") if config is not None else body.optional("output_format")
    if holder is None or holder.values.get("type") != "json_schema":
        return None
    schema = holder.child("schema")
    return ResponseSchema(schema.values, path=schema.path)
