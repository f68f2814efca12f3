"""OpenAI's Chat Completions: ``{messages, tools | functions, tool_choice, response_format, ...}``."""

from __future__ import annotations

from collections.abc import Iterator

from service.api.dialects.blocks import (
    Probes,
    arguments_text,
    file_in,
    function_tool,
    hosted_tool,
    image_at,
    role_of,
    unknown,
    unseen,
)
from service.api.dialects.walking import Node, base64_bytes, refuse
from service.domain.request import (
    Audio,
    Message,
    Part,
    Reasoning,
    Request,
    ResponseSchema,
    Text,
    Tool,
    ToolCall,
    ToolChoice,
    ToolResult,
    Video,
)

NAME = "openai_chat"
KNOWN = frozenset(
    (
        *("messages", "model", "tools", "tool_choice", "functions", "function_call", "response_format", "system"),
        *("max_tokens", "max_completion_tokens", "temperature", "top_p", "n", "stop", "seed", "user", "stream"),
        *("stream_options", "presence_penalty", "frequency_penalty", "logit_bias", "logprobs", "top_logprobs"),
        *("parallel_tool_calls", "reasoning_effort", "service_tier", "store", "metadata", "modalities", "audio"),
        *("prediction", "web_search_options", "verbosity", "prompt_cache_key", "prompt_cache_retention"),
        *("safety_identifier", "extra_body", "extra_headers", "top_k", "min_p", "thinking", "timeout", "provider"),
    )
)
"""Fields of a body; those that are not read here change nothing that is counted."""
_TEXT_FIELDS = {"text": "text", "input_text": "text", "output_text": "text", "refusal": "refusal"}


def read(body: Node, probes: Probes) -> Request:
    """The request of a body. Raises ``ApiError`` with the path of what is wrong."""
    return Request(
        messages=tuple(read_message(node, probes) for node in body.children("messages")),
        tools=tuple(read_tools(body)),
        tool_choice=read_choice(body),
        response_schema=read_schema(body.optional("response_format")),
        dialect=NAME,
        model=body.text("model", "") or None,
        max_output_tokens=body.whole("max_completion_tokens") or body.whole("max_tokens"),
        answers=body.whole("n") or 1,
    )


def read_message(node: Node, probes: Probes) -> Message:
    """One message with all its parts."""
    role = role_of(node)
    content = node.values.get("content")
    listed = isinstance(content, list)
    parts = tuple(_content(node, probes))
    if role in ("tool", "function"):
        name = node.text("name", "") if role == "tool" else ""
        parts = (ToolResult(parts, node.text("tool_call_id", ""), name, node.at("content")),)
    parts = (*_thoughts(node), *parts, *_answered(node), *_calls(node))
    name = "" if role == "tool" else node.text("name", "")
    return Message(role, parts, name, node.path, listed)


def _content(node: Node, probes: Probes) -> Iterator[Part]:
    content = node.values.get("content")
    if content is None:
        return
    if isinstance(content, str):
        yield Text(content, node.at("content"))
        return
    if not isinstance(content, list):
        refuse(node.at("content"), "A message's content has to be a string or a list of blocks.")
    for index, item in enumerate(content):
        if isinstance(item, str):
            yield Text(item, f"{node.at('content')}[{index}]")
        elif isinstance(item, dict):
            yield read_block(Node(item, f"{node.at('content')}[{index}]"), probes)
        else:
            refuse(f"{node.at('content')}[{index}]", "Every block has to be an object.")


def read_block(node: Node, probes: Probes) -> Part:
    """One block of a message's content."""
    kind = node.text("type", "text" if "text" in node.values else "")
    if kind in _TEXT_FIELDS:
        return Text(node.text(_TEXT_FIELDS[kind]), node.path)
    if kind == "image_url":
        return _image(node, probes)
    if kind == "input_audio":
        return Audio(node.path, bytes=base64_bytes(node.child("input_audio").text("data")))
    if kind == "file":
        return _file(node.child("file"), probes)
    if kind in ("audio_url", "video_url"):
        return _linked(node, kind, probes)
    return _thought(node) if kind in ("thinking", "reasoning") else unknown(node, kind)


def _image(node: Node, probes: Probes) -> Part:
    value = node.values.get("image_url")
    if isinstance(value, str):
        return image_at(value, node.path, node.text("detail", ""), probes)
    holder = node.child("image_url")
    return image_at(holder.text("url"), node.path, holder.text("detail", ""), probes)


def _linked(node: Node, kind: str, probes: Probes) -> Part:
    url = node.child(kind).text("url")
    head, found, data = url.partition(";base64,")
    if found and head[:5].lower() == "data:":
        return file_in(data, head[5:] or kind.replace("_url", "/*"), node.path, probes)
    return Audio(node.path, source="remote") if kind == "audio_url" else Video(node.path, source="remote")


def _file(node: Node, probes: Probes) -> Part:
    if not node.has("file_data"):
        return unseen("file_not_included", node.path)
    head, found, data = node.text("file_data").partition(";base64,")
    return file_in(data if found else head, head[5:] if found else "application/pdf", node.path, probes)


def _thought(node: Node) -> Reasoning:
    """A thought in any of the forms that answers bring and clients send back."""
    summaries = [part.text("text", "") for part in node.children("summary")] if node.has("summary") else []
    plain = node.values.get("thinking", node.values.get("text"))
    text = plain if isinstance(plain, str) else "\n".join(summaries)
    return Reasoning(text, node.path, len(node.text("encrypted_content", "")))


def _answered(node: Node) -> Iterator[Part]:
    """What an earlier answer holds beside its content: why it was refused, and its sound, which the vendor keeps."""
    if node.has("refusal"):
        yield Text(node.text("refusal"), node.at("refusal"))
    if node.optional("audio") is not None:
        yield unseen("file_not_included", node.at("audio"))


def _thoughts(node: Node) -> Iterator[Reasoning]:
    for key in ("reasoning_content", "reasoning"):
        if isinstance(node.values.get(key), str):
            yield Reasoning(node.text(key), node.at(key))
            return


def _calls(node: Node) -> Iterator[Part]:
    for call in node.children("tool_calls"):
        holder = call.optional("function") or call.optional("custom")
        if holder is None:
            yield unknown(call, "tool_call")
            continue
        arguments = holder.values.get("arguments", holder.values.get("input"))
        yield ToolCall(holder.text("name"), arguments_text(arguments), call.text("id", ""), call.path)
    legacy = node.optional("function_call")
    if legacy is not None:
        arguments = arguments_text(legacy.values.get("arguments"))
        yield ToolCall(legacy.text("name"), arguments, path=legacy.path, legacy=True)


def read_tools(body: Node) -> Iterator[Tool]:
    """The tools of a body, and its older functions."""
    for node in body.children("tools"):
        kind = node.text("type", "function")
        if kind == "function":
            holder = node.optional("function") or node
            yield function_tool(holder, "parameters", node.path)
        elif kind == "custom" and node.has("custom") and not node.child("custom").has("format"):
            yield function_tool(node.child("custom"), "parameters", node.path)
        else:
            yield hosted_tool(node, kind)
    for node in body.children("functions"):
        yield function_tool(node, "parameters", node.path)


def read_choice(body: Node) -> ToolChoice | None:
    """The choice among the tools, or among the older functions."""
    if body.has("function_call"):
        return _choice(body, "function_call", legacy=True)
    return _choice(body, "tool_choice", legacy=False) if body.has("tool_choice") else None


def _choice(body: Node, key: str, *, legacy: bool) -> ToolChoice | None:
    value = body.values.get(key)
    path = body.at(key)
    if value in ("auto", "none", "required"):
        return ToolChoice(value, path=path, legacy=legacy)
    if value == "any":
        return ToolChoice("required", path=path)
    if isinstance(value, str):
        refuse(path, "Unknown choice. Allowed: auto, none, required, or an object that names a tool.")
    node = body.child(key)
    holder = node.optional("function") or node
    if holder.has("name"):
        return ToolChoice("named", holder.text("name"), path, legacy)
    return ToolChoice("required" if node.values.get("mode") == "required" else "auto", path=path)


def read_schema(node: Node | None) -> ResponseSchema | None:
    """The schema of a structured answer; ``None`` where any text will do."""
    if node is None or node.values.get("type") != "json_schema":
        return None
    holder = node.optional("json_schema") or node
    schema = holder.optional("schema")
    return None if schema is None else ResponseSchema(schema.values, holder.text("name", ""), schema.path)
