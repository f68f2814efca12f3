"""OpenAI's Responses: ``{input, instructions, tools, tool_choice, text, ...}``. Its items become messages in order."""

from __future__ import annotations

from collections.abc import Iterator

from service.api.dialects.blocks import (
    Probes,
    arguments_text,
    file_at,
    file_in,
    image_at,
    role_of,
    unknown,
    unseen,
)
from service.api.dialects.openai_chat import read_choice, read_schema, read_tools
from service.api.dialects.walking import Node, base64_bytes, nodes
from service.domain.request import Audio, Image, Message, Part, Reasoning, Request, Text, ToolCall, ToolResult

NAME = "openai_responses"
KNOWN = frozenset(
    (
        *("input", "instructions", "model", "tools", "tool_choice", "text", "previous_response_id", "conversation"),
        *("prompt", "reasoning", "truncation", "parallel_tool_calls", "max_output_tokens", "max_tool_calls"),
        *("temperature", "top_p", "top_logprobs", "stream", "stream_options", "store", "metadata", "include", "user"),
        *("background", "service_tier", "prompt_cache_key", "prompt_cache_retention", "safety_identifier"),
        *("personality", "context_management", "moderation"),
    )
)
"""Fields of a body; those that are not read here change nothing that is counted."""

_TEXT_FIELDS = {
    "input_text": "text",
    "output_text": "text",
    "text": "text",
    "refusal": "refusal",
    "summary_text": "text",
    "reasoning_text": "text",
}
_STORED = {
    "previous_response_id": "history_not_included",
    "conversation": "history_not_included",
    "prompt": "prompt_not_included",
}
_CALLS = ("function_call", "custom_tool_call", "mcp_call")
_RESULTS = ("function_call_output", "custom_tool_call_output")


def read(body: Node, probes: Probes) -> Request:
    """The request of a body. Raises ``ApiError`` with the path of what is wrong."""
    text = body.optional("text")
    return Request(
        messages=tuple(_messages(body, probes)),
        tools=tuple(read_tools(body)),
        tool_choice=read_choice(body),
        response_schema=read_schema(text.optional("format")) if text is not None else None,
        dialect=NAME,
        model=body.text("model", "") or None,
        max_output_tokens=body.whole("max_output_tokens"),
    )


def _messages(body: Node, probes: Probes) -> Iterator[Message]:
    stored = tuple(unseen(reason, body.at(key)) for key, reason in _STORED.items() if body.has(key))
    if stored:
        yield Message("user", stored, path=stored[0].path)
    if body.has("instructions"):
        if isinstance(body.values["instructions"], str):
            path = body.at("instructions")
            yield Message("developer", (Text(body.text("instructions"), path),), path=path)
        else:
            yield from _items(nodes(body.values["instructions"], body.at("instructions")), probes)
    given = body.values.get("input")
    if isinstance(given, str):
        path = body.at("input")
        yield Message("user", (Text(given, path),), path=path)
    elif given is not None:
        yield from _items(nodes(given, body.at("input")), probes)


def _items(items: list[Node], probes: Probes) -> Iterator[Message]:
    """Messages as they are; an answer's calls and thoughts in a row are one message of the assistant's."""
    spoken: list[Part] = []
    for item in items:
        kind = item.text("type", "message")
        if kind in _CALLS or kind == "reasoning":
            spoken.append(_call(item) if kind in _CALLS else _thought(item))
            continue
        if spoken:
            yield Message("assistant", tuple(spoken), path=spoken[0].path)
            spoken = []
        yield _message(item, kind, probes)
    if spoken:
        yield Message("assistant", tuple(spoken), path=spoken[0].path)


def _message(item: Node, kind: str, probes: Probes) -> Message:
    if kind == "message":
        content = item.values.get("content")
        return Message(
            role_of(item), tuple(_content(item, "content", probes)), "", item.path, isinstance(content, list)
        )
    if kind in _RESULTS:
        parts = tuple(_content(item, "output", probes))
        return Message("tool", (ToolResult(parts, item.text("call_id", ""), path=item.path),), path=item.path)
    if kind == "item_reference":
        return Message("user", (unseen("history_not_included", item.path),), path=item.path)
    return Message("assistant", (unknown(item, kind),), path=item.path)


def _content(item: Node, key: str, probes: Probes) -> Iterator[Part]:
    value = item.values.get(key)
    if isinstance(value, str):
        yield Text(value, item.at(key))
        return
    for block in item.children(key):
        yield _block(block, probes)


def _block(block: Node, probes: Probes) -> Part:
    kind = block.text("type", "input_text" if "text" in block.values else "")
    if kind in _TEXT_FIELDS:
        return Text(block.text(_TEXT_FIELDS[kind]), block.path)
    if kind == "input_image":
        return _image(block, probes)
    if kind == "input_file":
        return _file(block, probes)
    if kind == "input_audio":
        holder = block.optional("input_audio") or block
        return Audio(block.path, bytes=base64_bytes(holder.text("data")))
    return unknown(block, kind)


def _image(block: Node, probes: Probes) -> Part:
    detail = block.text("detail", "")
    if block.has("image_url"):
        return image_at(block.text("image_url"), block.path, detail, probes)
    return Image(block.path, detail=detail, source="file")


def _file(block: Node, probes: Probes) -> Part:
    if block.has("file_data"):
        head, found, data = block.text("file_data").partition(";base64,")
        return file_in(data if found else head, head[5:] if found else "application/pdf", block.path, probes)
    if block.has("file_url"):
        return file_at("", block.path)
    return unseen("file_not_included", block.path)


def _call(item: Node) -> ToolCall:
    arguments = item.values.get("arguments", item.values.get("input"))
    return ToolCall(item.text("name"), arguments_text(arguments), item.text("call_id", ""), item.path)


def _thought(item: Node) -> Reasoning:
    told = [part.text("text", "") for key in ("content", "summary") for part in item.children(key)]
    return Reasoning("\n".join(told), item.path, len(item.text("encrypted_content", "")))
