"""What a stream told of its usage and how far its text came, so that one that is cut off is booked as far as it went.

Chunks are those of OpenAI's, Anthropic's, Google's and their like's streams, as mappings or as objects of their SDKs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from service.client.ledger_answers import Expected
from service.client.wording import plain

_USAGES = ("usage", "usageMetadata", "usage_metadata")
_INNER = ("message", "response", "metadata", "delta", "x_groq")
_ENDS = ("finish_reason", "finishReason")
_CHOICE_TEXTS = ("content", "reasoning_content", "refusal")
_DELTA_TEXTS = ("text", "partial_json", "thinking")


class Seen:
    """What was seen of one stream: ``events`` that tell something of usage, and all ``text`` that the model wrote.

    ``told`` is whether any told a usage, ``ended`` whether the stream came to its own end.
    """

    def __init__(self) -> None:
        self.events: list[Mapping[str, Any]] = []
        self.told = False
        self.ended = False
        self._parts: list[str] = []
        self._began: Mapping[str, Any] | None = None

    @property
    def text(self) -> str:
        """What the model wrote: answer, reasoning and the arguments of calls."""
        return "".join(self._parts)

    def note(self, chunk: Any) -> None:
        """Take note of one chunk. One that is no object of a stream's tells nothing."""
        try:
            event = chunk if isinstance(chunk, Mapping) else plain(chunk)
        except TypeError:
            return
        if not isinstance(event, Mapping):
            return
        usage = _usage(event)
        if usage is not None or _finishes(event):
            self.events.append(event)
        self.told = self.told or usage is not None
        if event.get("type") == "message_start":
            self._began = usage
        self._parts += _texts(event)

    def cut_off_at(self, tokens: int, expected: Expected | None) -> dict[str, Any]:
        """What to settle with where the stream broke off after text of ``tokens`` tokens.

        Anthropic tells the input at the start and the output only at the end, others tell it all as they go, or only
        at the end: then the input is the one that was expected.
        """
        if self._began is not None:
            end = {"type": "message_delta", "usage": {"output_tokens": max(tokens, self._output())}}
            return {"response": [*self.events, end]}
        if self.told:
            return {"response": self.events}
        if expected is None or expected.input_tokens is None:
            return {}
        return {"usage": {"input_tokens": expected.input_tokens, "output_tokens": tokens}}

    def _output(self) -> int:
        usages = filter(None, map(_usage, self.events))
        return max((n for usage in usages if isinstance(n := usage.get("output_tokens"), int)), default=0)


def _usage(event: Mapping[str, Any]) -> Mapping[str, Any] | None:
    places = [event, *(inner for name in _INNER if isinstance(inner := event.get(name), Mapping))]
    found = (place.get(name) for place in places for name in (*_USAGES, "meta"))
    return next((usage for usage in found if isinstance(usage, Mapping) and usage), None)


def _finishes(event: Mapping[str, Any]) -> bool:
    choices = event.get("choices") or event.get("candidates")
    each = choices if isinstance(choices, list) else []
    return any(isinstance(choice, Mapping) and any(choice.get(name) for name in _ENDS) for choice in each)


def _texts(event: Mapping[str, Any]) -> Iterator[str]:
    delta = event.get("delta")
    if isinstance(delta, str) and str(event.get("type", "")).startswith("response."):
        yield delta
    elif isinstance(delta, Mapping):
        yield from _strings(delta, _DELTA_TEXTS)
    for choice in _mappings(event.get("choices")):
        part = choice.get("delta")
        if isinstance(part, Mapping):
            yield from _strings(part, _CHOICE_TEXTS)
            for call in _mappings(part.get("tool_calls")):
                yield from _strings(call.get("function"), ("name", "arguments"))
    for candidate in _mappings(event.get("candidates")):
        content = candidate.get("content")
        for part in _mappings(content.get("parts") if isinstance(content, Mapping) else None):
            yield from _strings(part, ("text",))


def _mappings(value: Any) -> Iterator[Mapping[str, Any]]:
    yield from (each for each in value if isinstance(each, Mapping)) if isinstance(value, list) else ()


def _strings(holder: Any, names: tuple[str, ...]) -> Iterator[str]:
    if isinstance(holder, Mapping):
        yield from (text for name in names if isinstance(text := holder.get(name), str))
