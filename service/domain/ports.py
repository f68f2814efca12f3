"""What the domain asks of the outside world, each as a protocol with small implementations elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple, Protocol

from adapters.port import Stop
from service.domain.catalog import ModelSpec


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A price list as it arrived: ``body``, its hash in hex, and where and when it was fetched.

    ``etag`` is the sender's own tag for it, ``None`` where it gave none. ``checked_at`` is when the sender last said
    that this is still its list. Both times have a zone.
    """

    body: bytes = field(repr=False)
    sha256: str
    etag: str | None
    url: str = field(repr=False)
    fetched_at: datetime
    checked_at: datetime


class SnapshotError(Exception):
    """A snapshot could not be read or kept. ``reason`` is a stable word: ``unreadable``, ``damaged``, ``not_saved``."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(f"The copy of the price list is of no use ({reason}); the prices in service stay as they are.")


class SnapshotStore(Protocol):
    """Keeps the last good price list. Calls may block; none of them deletes a snapshot that cannot be read."""

    def load(self) -> Snapshot | None:
        """The snapshot kept, ``None`` where there is none. Raises ``SnapshotError`` where it is not what was saved."""
        ...

    def save(self, snapshot: Snapshot) -> None:
        """Keep ``snapshot`` in place of the one before: all of it or, with ``SnapshotError``, nothing."""
        ...

    def touch(self, checked: datetime) -> None:
        """Set ``checked_at`` of the snapshot kept, if there is one. Raises ``SnapshotError``."""
        ...


class ImageSizer(Protocol):
    """Reads the size of a picture from the first bytes of its file."""

    def __call__(self, data: bytes, /) -> tuple[int, int] | None:
        """Width and height in pixels, as the picture is shown (turned as its orientation says).

        ``None`` where the bytes are too few or of no known format. Never raises.
        """
        ...

    def encoded(self, text: str, /) -> tuple[int, int] | None:
        """As for bytes, of base64 ``text`` or a ``data:`` URL, of which no more is decoded than the header needs."""
        ...


class PageCounter(Protocol):
    """Counts the pages of a PDF."""

    def __call__(self, data: bytes, /) -> int | None:
        """How many pages; ``None`` where that cannot be told. Never raises."""
        ...


class Segment(NamedTuple):
    """A stretch of a rendered chat: the literal of one special token (``markup``), or ordinary text."""

    text: str
    markup: bool


@dataclass(frozen=True, slots=True)
class RenderedChat:
    """A chat as its template writes it: ``segments`` in order join to ``text``.

    In the segments, a literal of a special token that the sender wrote is ordinary text; ``literals`` is how many such
    there are. A server that encodes ``text`` as a whole reads them as the tokens they name. ``ignored`` names what was
    given and the template never reads (``tools``).
    """

    segments: Sequence[Segment]
    text: str = ""
    template: str = ""
    literals: int = 0
    ignored: tuple[str, ...] = ()


class ChatRenderer(Protocol):
    """Writes a chat as the model's own template does."""

    def render(
        self,
        model: ModelSpec,
        messages: Sequence[Mapping[str, Any]],
        tools: Sequence[Mapping[str, Any]] = (),
        *,
        add_generation_prompt: bool = True,
        options: Mapping[str, Any] | None = None,
        template: str | None = None,
        stop: Stop | None = None,
    ) -> RenderedChat | None:
        """The chat, ``None`` where the model has no known template, or no vocabulary.

        ``messages`` and ``tools`` have the form that Hugging Face templates read: a message has ``role`` and
        ``content`` (a string, None, or parts ``{"type": "text", "text": ...}``, ``{"type": "image"}``), an assistant's
        ``reasoning_content`` and ``tool_calls`` (``{"type": "function", "id", "function": {"name", "arguments"}}``,
        arguments as JSON text or an object), a tool's ``tool_call_id`` and ``name``; a tool is ``{"type": "function",
        "function": {...}}``. ``options`` are template variables; ``template`` is the sender's own, in place of the
        model's. Raises ``ChatNotRendered``, ``TemplateNotAllowed`` or ``DeadlineExceeded``.
        """
        ...
