"""One chat template with what it is given beside the caller's values, as a function from those to the rendered chat."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from jinja2 import Template

from adapters.port import Stop
from service.domain.errors import ChatNotRendered
from service.rendering.environment import MAX_OUTPUT, rendered

_HERE = "\U0010fffd"
_TAG = f"{_HERE} "  # its blank tells whether the template trimmed what it stands in
_NOTHING_LEFT = "it leaves out the last message, which is to be continued."


@dataclass(frozen=True, slots=True)
class ChatWriter:
    """Writes chats with ``template``.

    ``fixed`` are variables that the caller's values go before, ``ending`` follows the chat. With ``to_continue`` the
    chat ends where the last message's text does, for the model to go on. ``source`` is what an error may quote;
    ``longest`` is how many characters a chat may have.
    """

    template: Template
    fixed: Mapping[str, Any]
    source: str = ""
    ending: str = ""
    to_continue: bool = False
    longest: int = MAX_OUTPUT
    stop: Stop | None = None

    def __call__(self, values: Mapping[str, Any]) -> str:
        """The chat. Raises ``ChatNotRendered`` or ``DeadlineExceeded``."""
        given = {"documents": None, **self.fixed, **values}
        if self.to_continue:
            given["messages"] = _tagged(given["messages"])
        text = rendered(self.template, given, source=self.source, longest=self.longest, stop=self.stop)
        return _until_tag(text) if self.to_continue else text + self.ending


def _tagged(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """``messages`` with a tag behind the last text of the last one."""
    last = messages[-1] if messages else {}
    content = last.get("content")
    if isinstance(content, str):
        return [*messages[:-1], {**last, "content": content + _TAG}]
    if isinstance(content, list):
        for number in reversed(range(len(content))):
            part = content[number]
            if isinstance(part, dict) and isinstance(part.get("text"), str):
                tagged = {**part, "text": part["text"] + _TAG}
                return [*messages[:-1], {**last, "content": [*content[:number], tagged, *content[number + 1 :]]}]
    raise ChatNotRendered("the last message has no text that could be continued.")


def _until_tag(text: str) -> str:
    place = text.rfind(_HERE)
    if place < 0:
        raise ChatNotRendered(_NOTHING_LEFT)
    return text[:place] if text[place : place + len(_TAG)] == _TAG else text[:place].rstrip()
