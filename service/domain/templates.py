"""A request as chat templates read it, and its count once the model's own template has rendered it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from adapters.port import Stop
from service.domain.amounts import Amount
from service.domain.catalog import ModelSpec
from service.domain.chats import count_rendered
from service.domain.counting import Scale
from service.domain.ports import ChatRenderer
from service.domain.request import Image, Message, Part, Reasoning, Request, Text, Tool, ToolCall, ToolResult, Unknown


@dataclass(frozen=True, slots=True)
class Rendering:
    """The templates at hand, for one model."""

    renderer: ChatRenderer
    model: ModelSpec

    def count(self, request: Request, scale: Scale, *, stop: Stop | None = None) -> tuple[Amount, Amount] | None:
        """What the rendered chat takes without its tools, and what the tools add; ``None`` without a template.

        Raises ``ChatNotRendered`` and ``DeadlineExceeded``.
        """
        if scale.stand_in:
            return None
        messages = [turn for message in request.messages for turn in turns(message)]
        tools = [tool_form(tool) for tool in request.tools]
        bare = self._rendered(request, scale, messages, (), stop)
        if bare is None or not tools:
            return None if bare is None else (bare, Amount())
        whole = self._rendered(request, scale, messages, tools, stop)
        if whole is None:
            return None
        return bare, Amount(whole.tokens - bare.tokens, whole.low - bare.low, whole.high - bare.high)

    def _rendered(
        self,
        request: Request,
        scale: Scale,
        messages: list[dict[str, Any]],
        tools: list[dict[str, Any]] | tuple[()],
        stop: Stop | None,
    ) -> Amount | None:
        options = dict(request.template_options)
        if request.continue_final_message:
            options["continue_final_message"] = True
        chat = self.renderer.render(
            self.model,
            messages,
            tools,
            add_generation_prompt=request.add_generation_prompt,
            options=options,
            stop=stop,
        )
        return None if chat is None else Amount(*count_rendered(chat, scale.tokenizer, stop=stop))


def turns(message: Message) -> Iterator[dict[str, Any]]:
    """``message`` as templates have it: results of tools are turns of their own."""
    results = [part for part in message.parts if isinstance(part, ToolResult)]
    for result in results:
        yield {
            "role": "tool",
            "content": _content(result.parts),
            "tool_call_id": result.call_id,
            **({"name": result.name} if result.name else {}),
        }
    rest = [part for part in message.parts if not isinstance(part, ToolResult)]
    if not rest and results:
        return
    calls = [part for part in rest if isinstance(part, ToolCall)]
    thoughts = "".join(part.text for part in rest if isinstance(part, Reasoning))
    turn: dict[str, Any] = {"role": "system" if message.role == "developer" else message.role}
    turn["content"] = _content([part for part in rest if not isinstance(part, (ToolCall, Reasoning))])
    if message.name:
        turn["name"] = message.name
    if thoughts:
        turn["reasoning_content"] = thoughts
    if calls:
        turn["tool_calls"] = [_call(call) for call in calls]
    yield turn


def tool_form(tool: Tool) -> dict[str, Any]:
    """``tool`` as templates have it."""
    function: dict[str, Any] = {"name": tool.name, "description": tool.description}
    function["parameters"] = tool.parameters if tool.parameters is not None else {}
    return {"type": "function", "function": function}


def _call(call: ToolCall) -> dict[str, Any]:
    try:
        arguments: Any = json.loads(call.arguments)
    except ValueError:
        arguments = call.arguments
    if not isinstance(arguments, Mapping):
        arguments = call.arguments
    return {"type": "function", "id": call.id, "function": {"name": call.name, "arguments": arguments}}


def _content(parts: list[Part] | tuple[Part, ...]) -> str | list[dict[str, str]]:
    """One string where all is text, else a list of blocks."""
    texts = [part.text for part in parts if isinstance(part, (Text, Unknown))]
    if not any(isinstance(part, Image) for part in parts):
        return "\n".join(texts)
    return [
        {"type": "text", "text": part.text} if isinstance(part, (Text, Unknown)) else {"type": "image"}
        for part in parts
        if isinstance(part, (Text, Unknown, Image))
    ]
