"""Messages in the form that one chat template takes: content as text or as parts, arguments as an object or as text."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

Content: TypeAlias = Literal["text", "parts"]
Arguments: TypeAlias = Literal["object", "text"]
Missing: TypeAlias = Literal["empty", "none"]

_THOUGHTS = ("reasoning_content", "reasoning", "thinking")


@dataclass(frozen=True, slots=True)
class Form:
    """What a template reads.

    ``content`` is ``text`` for templates that know one string alone: text parts are joined by line breaks then, as vLLM
    does, and pictures are left out. ``arguments`` of tool calls are an ``object``, or JSON ``text``; ``results`` of
    tools are ``text`` as they came, or the value that they are JSON of (``object``). ``missing`` content of a message
    with tool calls is an ``empty`` string, or ``none``.
    """

    content: Content = "text"
    arguments: Arguments = "object"
    results: Arguments = "text"
    missing: Missing = "empty"


def messages_in(form: Form, messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """``messages`` in ``form``, as fresh dicts; an assistant's thoughts are there under each name in use."""
    return [_message(form, message) for message in messages]


def _message(form: Form, message: Mapping[str, Any]) -> dict[str, Any]:
    changed = dict(message)
    thoughts = next((message[name] for name in _THOUGHTS if message.get(name) is not None), None)
    if thoughts is not None:
        changed = {"thinking": thoughts} | changed | {"reasoning_content": thoughts}
    calls = message.get("tool_calls")
    if isinstance(calls, (list, tuple)) and calls:
        changed["tool_calls"] = [_call(form, call) for call in calls]
    elif "tool_calls" in changed:
        del changed["tool_calls"]  # templates ask whether there is the key
    content = message.get("content")
    if form.content == "text":
        changed["content"] = _joined(content)
    elif content is None:
        changed["content"] = ""
    if form.missing == "none" and "tool_calls" in changed:
        changed["content"] = changed["content"] or None
    if form.results == "object" and message.get("role") == "tool":
        changed["content"] = _value(changed["content"])
    return changed


def _value(content: object) -> object:
    """What ``content`` is JSON of, else ``content``."""
    try:
        return json.loads(content) if isinstance(content, str) else content
    except (ValueError, RecursionError):
        return content


def _joined(content: object) -> object:
    """One string out of text parts; no content is the empty string, what is no list stays."""
    if content is None:
        return ""
    if not isinstance(content, (list, tuple)):
        return content
    parts = (part.get("text") if isinstance(part, Mapping) else part for part in content)
    return "\n".join(part for part in parts if isinstance(part, str))


def _call(form: Form, call: object) -> object:
    function = call.get("function") if isinstance(call, Mapping) else None
    if not isinstance(call, Mapping) or not isinstance(function, Mapping):
        return call
    return dict(call) | {"function": dict(function) | {"arguments": _arguments(form, function.get("arguments"))}}


def _arguments(form: Form, arguments: object) -> object:
    """Arguments that are not JSON stay as they are, and none are an empty object."""
    if form.arguments == "text":
        return arguments if isinstance(arguments, str) else json.dumps(arguments or {}, ensure_ascii=False)
    return (_value(arguments) if isinstance(arguments, str) else arguments) or {}
