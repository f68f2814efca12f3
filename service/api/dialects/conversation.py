"""The list of turns in a body, whatever the wire form calls it, and the body with only some of them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

_LISTS = ("messages", "contents", "input")
_WRAPPERS = ("generateContentRequest", "generate_content_request")


@dataclass(frozen=True, slots=True)
class Conversation:
    """The turns of ``body``: the list under ``key``, within ``wrapper`` where that is not empty.

    ``path`` is where a request that was read from the body says the list is. A body without such a list has no turns.
    """

    body: Mapping[str, Any]
    key: str = ""
    wrapper: str = ""
    path: str = ""

    @property
    def turns(self) -> Sequence[Any]:
        """The turns as they were sent."""
        holder = self.body[self.wrapper] if self.wrapper else self.body
        turns: Sequence[Any] = holder[self.key] if self.key else ()
        return turns

    def place_of(self, path: str) -> int | None:
        """Which turn a path lies in; ``None`` where in none."""
        found = re.match(r"\[(\d+)\]", path.removeprefix(self.path)) if path.startswith(self.path) else None
        return int(found.group(1)) if found and self.key else None

    def only(self, places: Sequence[int]) -> dict[str, Any]:
        """The body with the turns at ``places`` alone."""
        if not self.key:
            return dict(self.body)
        kept = {self.key: [self.turns[place] for place in places]}
        return {**self.body, **({self.wrapper: {**self.body[self.wrapper], **kept}} if self.wrapper else kept)}


def conversation_in(body: Mapping[str, Any], path: str = "") -> Conversation:
    """The conversation in a body that was read without an error; ``path`` is the body's own."""
    wrapper = next((name for name in _WRAPPERS if isinstance(body.get(name), Mapping)), "")
    holder: Mapping[str, Any] = body[wrapper] if wrapper else body
    key = next((name for name in _LISTS if isinstance(holder.get(name), list)), "")
    where = (path, _WRAPPERS[0] if wrapper else "", key)
    return Conversation(body, key, wrapper, ".".join(filter(None, where)))
