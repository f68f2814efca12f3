"""A request as chat templates read it, and its count once the model's own template has rendered it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from adapters.port import Stop
from service.domain.amounts import NONE, Amount
from service.domain.catalog import Accuracy, ModelSpec
from service.domain.chats import count_rendered
from service.domain.counting import Scale, tokenizer_of
from service.domain.ports import ChatRenderer, RenderedChat
from service.domain.request import Image, Message, Part, Reasoning, Request, Text, Tool, ToolCall, ToolResult, Unknown

_MOST_MISSED = 20
SELF_HOSTED = frozenset(("hosted_vllm",))
"""Sellers that are the caller itself: what it renders is what its model reads."""


@dataclass(frozen=True, slots=True)
class Rendered:
    """What a rendered ``chat`` takes without its tools, and what the ``tools`` add.

    ``tools_ignored``: the template never reads them. ``left_out`` are texts of messages that it does not show.
    ``hosted``: someone else serves the model, and may add to it.
    """

    chat: Amount
    tools: Amount = NONE
    tools_ignored: bool = False
    left_out: Sequence[Text] = ()
    hosted: bool = True


@dataclass(frozen=True, slots=True)
class Rendering:
    """The templates at hand, for one model of one seller."""

    renderer: ChatRenderer
    model: ModelSpec
    seller: str = ""

    def count(self, request: Request, scale: Scale, *, stop: Stop | None = None) -> Rendered | None:
        """The rendered chat's tokens; ``None`` without a template.

        Raises ``ChatNotRendered``, ``TemplateNotAllowed`` and ``DeadlineExceeded``.
        """
        if scale.stand_in:
            return None
        messages = [turn for message in request.messages for turn in turns(message)]
        hosted = self.seller not in SELF_HOSTED and request.dialect != "vllm"
        chat = self._render(request, messages, (), stop)
        if chat is None:
            return None
        bare = _amount(chat, scale, stop)
        tools = [tool_form(tool) for tool in request.tools]
        told = self._render(request, messages, tools, stop) if tools else None
        if told is None:
            return Rendered(bare, left_out=left_out(request, chat.text), hosted=hosted)
        whole = _amount(told, scale, stop)
        more = replace(whole, tokens=whole.tokens - bare.tokens, low=whole.low - bare.low, high=whole.high - bare.high)
        return Rendered(bare, more, "tools" in told.ignored, left_out(request, told.text), hosted)

    def whole(self, request: Request, *, stop: Stop | None = None) -> RenderedChat | None:
        """The chat with its tools as the template writes it; ``None`` without a template. Raises as ``count`` does."""
        messages = [turn for message in request.messages for turn in turns(message)]
        return self._render(request, messages, [tool_form(tool) for tool in request.tools], stop)

    def _render(
        self,
        request: Request,
        messages: Sequence[Mapping[str, Any]],
        tools: Sequence[Mapping[str, Any]],
        stop: Stop | None,
    ) -> RenderedChat | None:
        options = dict(request.template_options)
        if request.continue_final_message:
            options["continue_final_message"] = True
        return self.renderer.render(
            self.model,
            messages,
            tools,
            add_generation_prompt=request.add_generation_prompt,
            options=options,
            template=request.template,
            stop=stop,
        )


def _amount(chat: RenderedChat, scale: Scale, stop: Stop | None) -> Amount:
    """A rendered chat's tokens; no surer than close where a server may read literals of the sender's as marks."""
    amount = Amount(*count_rendered(chat, tokenizer_of(scale), stop=stop))
    return amount.because(Accuracy.CLOSE, "special_token_literal") if chat.literals else amount


def left_out(request: Request, shown: str) -> list[Text]:
    """The texts of messages that a rendered chat does not hold, blanks around them aside; at most ``_MOST_MISSED``.

    Texts stand in their order, so the search goes on from the one before and takes linear time.
    """
    missed: list[Text] = []
    place = 0
    for part in (part for message in request.messages for part in message.parts if isinstance(part, Text)):
        words = part.text.strip()
        found = shown.find(words, place)
        if found < 0:
            found = shown.find(words)  # a template may move the system text
        else:
            place = found + len(words)
        if found < 0:
            missed.append(part)
            if len(missed) == _MOST_MISSED:
                break
    return missed


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
