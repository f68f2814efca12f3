"""The one internal form of a whole request: what a vendor's model is sent, whatever the wire form it came in.

Every part and message knows its ``path`` in the sender's body (``messages[2].content[0]``), as warnings name it.
Nothing is dropped on the way here: what has no part of its own is an ``Unknown``, and what the body only refers to (a
stored file, an earlier response) is an ``Unseen``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

from service.domain.notices import NO_NOTICES, Notice

Role: TypeAlias = Literal["system", "developer", "user", "assistant", "tool", "function"]
Source: TypeAlias = Literal["inline", "remote", "file"]
"""Where the bytes of a picture, sound, film or document are: in the body, at a URL, or in a store of the vendor's."""

NOTHING: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Text:
    """Plain text."""

    text: str
    path: str = ""


@dataclass(frozen=True, slots=True)
class Image:
    """A picture of ``width`` x ``height`` pixels, both ``None`` where the body does not tell.

    ``detail`` is the vendor's word for how closely it is looked at (``low``, ``high``, ``original``, ``auto``; Gemini's
    ``media_resolution_low``); empty where nothing is said.
    """

    path: str
    width: int | None = None
    height: int | None = None
    detail: str = ""
    source: Source = "inline"


@dataclass(frozen=True, slots=True)
class Audio:
    """A sound of ``seconds``; ``bytes`` are those of its file. ``None`` where the body does not tell."""

    path: str
    seconds: float | None = None
    bytes: int | None = None
    source: Source = "inline"


@dataclass(frozen=True, slots=True)
class Video:
    """A film of ``seconds``, looked at ``fps`` times a second; ``bytes`` are those of its file."""

    path: str
    seconds: float | None = None
    bytes: int | None = None
    fps: float | None = None
    detail: str = ""
    source: Source = "inline"


@dataclass(frozen=True, slots=True)
class Document:
    """A PDF or another file that the vendor reads: ``pages`` and ``bytes``, ``None`` where the body does not tell."""

    path: str
    pages: int | None = None
    bytes: int | None = None
    detail: str = ""
    source: Source = "inline"


@dataclass(frozen=True, slots=True)
class ToolCall:
    """The model called a tool; ``arguments`` are JSON text. ``legacy`` is the older ``function_call`` of a message."""

    name: str
    arguments: str
    id: str = ""
    path: str = ""
    legacy: bool = False


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What the call ``call_id`` of the tool ``name`` (empty where not told) brought."""

    parts: tuple[Part, ...]
    call_id: str = ""
    name: str = ""
    path: str = ""


@dataclass(frozen=True, slots=True)
class Reasoning:
    """What the model thought in an earlier turn. ``sealed_bytes`` are those of an encrypted or signed block."""

    text: str
    path: str = ""
    sealed_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Unknown:
    """A block that no rule knows, as compact JSON ``text``. ``sealed_bytes`` is binary data left out of the text."""

    text: str
    path: str = ""
    kind: str = ""
    sealed_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Unseen:
    """Content that the body refers to and does not hold: ``reason`` is a code such as ``history_not_included``."""

    reason: str
    path: str = ""


Part: TypeAlias = Text | Image | Audio | Video | Document | ToolCall | ToolResult | Reasoning | Unknown | Unseen


@dataclass(frozen=True, slots=True)
class Message:
    """One turn. ``content_list`` says that the sender wrote its content as a list of blocks, not as one string."""

    role: Role
    parts: tuple[Part, ...]
    name: str = ""
    path: str = ""
    content_list: bool = False


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool that the model may call. ``parameters`` is its JSON schema, ``None`` where it has none.

    ``kind`` is ``function`` for the sender's own, else the vendor's type of a tool that it runs or defines itself
    (``web_search_20250305``); then ``definition`` is what was sent, as compact JSON text.
    """

    name: str
    description: str = ""
    parameters: Mapping[str, Any] | None = None
    path: str = ""
    kind: str = "function"
    definition: str = ""


@dataclass(frozen=True, slots=True)
class ToolChoice:
    """Which tools may or must be called. ``legacy`` is the older ``function_call`` of a request."""

    mode: Literal["auto", "none", "required", "named"]
    name: str = ""
    path: str = ""
    legacy: bool = False


@dataclass(frozen=True, slots=True)
class ResponseSchema:
    """The JSON schema that the answer has to fit."""

    schema: Mapping[str, Any]
    name: str = ""
    path: str = ""


@dataclass(frozen=True, slots=True)
class Thinking:
    """How the model is asked to think before it answers; ``budget_tokens`` are output."""

    mode: Literal["enabled", "adaptive", "disabled"]
    budget_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Request:
    """A whole request, in the order in which the model reads it.

    ``dialect`` is the wire form it came in. ``model``, ``max_output_tokens`` and ``answers`` (how many are asked for)
    are what the body itself says.
    ``add_generation_prompt``, ``continue_final_message`` and ``template_options`` go to a chat template; ``template``
    is one of the sender's own. ``notices`` are what its reader found.
    """

    messages: tuple[Message, ...]
    tools: tuple[Tool, ...] = ()
    tool_choice: ToolChoice | None = None
    response_schema: ResponseSchema | None = None
    thinking: Thinking | None = None
    dialect: str = ""
    model: str | None = None
    max_output_tokens: int | None = None
    answers: int = 1
    add_generation_prompt: bool = True
    continue_final_message: bool = False
    template: str | None = field(default=None, repr=False)
    template_options: Mapping[str, Any] = field(default_factory=lambda: NOTHING)
    notices: tuple[Notice, ...] = NO_NOTICES


def user_message(text: str, path: str = "text") -> Request:
    """A request of one user message that is just ``text``."""
    return Request((Message("user", (Text(text, path),), path=path),))


def spoken(request: Request) -> list[str]:
    """Every text of the sender's, in order: what is said, called, answered, thought, and what no rule knows."""
    texts: list[str] = []
    for message in request.messages:
        for part in flattened(message.parts):
            if isinstance(part, (Text, Reasoning, Unknown)):
                texts.append(part.text)
            elif isinstance(part, ToolCall):
                texts += (part.name, part.arguments)
    return texts


def media_of(request: Request) -> tuple[str, ...]:
    """The kinds of media in the request: ``audio``, ``image``, ``video``."""
    found = {type(part) for message in request.messages for part in flattened(message.parts)}
    return tuple(kind for kind, part in (("audio", Audio), ("image", Image), ("video", Video)) if part in found)


def flattened(parts: Sequence[Part]) -> list[Part]:
    """``parts`` with the parts of tool results in place of the results."""
    flat: list[Part] = []
    for part in parts:
        flat += flattened(part.parts) if isinstance(part, ToolResult) else (part,)
    return flat
