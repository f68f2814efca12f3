"""What chat formats add around texts: by request and message, and as an upper bound for a text counted bare."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TypeAlias

from service.domain.amounts import Amount, fixed, total
from service.domain.catalog import Accuracy, ModelSpec
from service.domain.request import Message, Role, Text
from service.domain.rules import Scope

Weigh: TypeAlias = Callable[[str], Amount]
"""Counts one text on the scale of the model in question."""


@dataclass(frozen=True, slots=True)
class MessageFraming:
    """So many tokens for the models of a provider (``*``: any) whose id one of ``models`` matches (none: all)."""

    provider: str
    tokens: int
    models: tuple[str, ...] = ()
    source: str = ""
    checked: str = ""

    def matches(self, spec: ModelSpec) -> bool:
        """Whether the row is about ``spec``."""
        if self.provider not in ("*", spec.provider):
            return False
        return not self.models or any(fnmatchcase(spec.id, pattern) for pattern in self.models)


def message_framing(rows: Sequence[MessageFraming], spec: ModelSpec) -> int:
    """Tokens that one user message of ``spec`` may add to its text; the last row that matches decides."""
    if spec.kind != "chat":
        return 0
    return next((row.tokens for row in reversed(rows) if row.matches(spec)), 0)


@dataclass(frozen=True, slots=True)
class Frame:
    """What a chat format adds around the texts of a request, in tokens.

    ``request`` is added once, ``message`` for each message; ``system`` (also developer), ``assistant``, ``tool`` and
    ``function`` take its place for those roles. With ``roles`` the word of the role counts too. A name costs its own
    tokens and ``name``. ``text_part`` is added for each block of text, ``extra_text_part`` for each but a message's
    first; ``tool_call`` and ``tool_result`` for each of those, ``thinking`` where thinking is enabled. A system text is
    joined to the first user text by ``system_joint``.

    How far the vendor's count may lie below and above: ``low`` and ``high`` once; ``low_message`` and ``high_message``
    for each message; ``low_turn`` and ``high_turn`` for each but the first of a user or the model; ``low_part`` and
    ``high_part`` for each block of text; ``low_call`` and ``high_call`` for each tool call or result.

    ``template`` says that the model's own chat template goes before all this where it is at hand; ``host`` is what
    those who serve the model may add to that.
    """

    scope: Scope
    request: int = 0
    message: int = 0
    system: int | None = None
    assistant: int | None = None
    tool: int | None = None
    function: int | None = None
    roles: bool = False
    name: int = 0
    text_part: int = 0
    extra_text_part: int = 0
    tool_call: int = 0
    legacy_call: int = 0
    tool_result: int = 0
    thinking: int = 0
    system_joint: str = ""
    low: int = 0
    high: int = 0
    low_message: int = 0
    high_message: int = 0
    low_turn: int = 0
    high_turn: int = 0
    low_part: int = 0
    high_part: int = 0
    low_call: int = 0
    high_call: int = 0
    high_thinking: int = 0
    template: bool = False
    host: int = 0
    accuracy: Accuracy = Accuracy.EXACT
    reasons: tuple[str, ...] = ()

    def of_role(self, role: Role) -> int:
        """Tokens around one message of ``role``."""
        own = {
            "system": self.system,
            "developer": self.system,
            "assistant": self.assistant,
            "tool": self.tool,
            "function": self.function,
        }.get(role)
        return self.message if own is None else own

    def once(self, *, thinking: bool = False) -> Amount:
        """What the format adds to any request."""
        tokens = self.request + (self.thinking if thinking else 0)
        high = tokens + self.high + (self.high_thinking if thinking else 0)
        return Amount(tokens, tokens - self.low, high, self.accuracy, self.reasons)

    def around(self, message: Message, weigh: Weigh, *, further: bool = False) -> Amount:
        """What the format adds around ``message``: its marks, its role and name, what joins its blocks.

        ``further`` says that a user or the model spoke before.
        """
        texts = sum(isinstance(part, Text) for part in message.parts)
        marks = self.of_role(message.role) + self.text_part * texts + self.extra_text_part * max(0, texts - 1)
        words = [weigh(message.role)] if self.roles else []
        if message.name:
            marks += self.name
            words.append(weigh(message.name))
        spoken = total(words)
        tokens = max(0, marks + spoken.tokens)
        low = marks + spoken.low - self.low_message - self.low_part * texts - self.low_turn * further
        high = marks + spoken.high + self.high_message + self.high_part * texts + self.high_turn * further
        return Amount(tokens, low, high, spoken.accuracy, spoken.reasons)

    def around_call(self, *, legacy: bool = False) -> Amount:
        """What the format adds around a tool call, beside its name and arguments."""
        if legacy and self.legacy_call:
            return fixed(self.legacy_call).because(Accuracy.CLOSE, "tool_turns_reconstructed")
        return self._estimated(self.tool_call)

    def around_result(self, message: Message, weigh: Weigh) -> Amount:
        """What the format adds around a tool's result; within a message of another role it takes its own frame."""
        if message.role == "function" and self.function is not None:
            return fixed(self.tool_result).because(Accuracy.CLOSE, "tool_turns_reconstructed")
        tokens = self.tool_result
        if message.role != "tool":
            tokens += self.of_role("tool") + (weigh("tool").tokens if self.roles else 0)
        return self._estimated(tokens)

    def _estimated(self, tokens: int) -> Amount:
        amount = Amount(tokens, tokens - self.low_call, tokens + self.high_call)
        return amount.because(Accuracy.APPROXIMATE, "tool_turns_estimated")
