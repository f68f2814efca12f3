"""What the domain asks of the outside world, each as a protocol with small implementations elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

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
        """Width and height in pixels; ``None`` where the bytes are too few or of no known format. Never raises."""
        ...


class PageCounter(Protocol):
    """Counts the pages of a PDF."""

    def __call__(self, data: bytes, /) -> int | None:
        """How many pages; ``None`` where that cannot be told. Never raises."""
        ...


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of a rendered chat: ``markup`` is the template's own, everything else the sender's text."""

    text: str
    markup: bool


@dataclass(frozen=True, slots=True)
class RenderedChat:
    """A chat as its template writes it, in order."""

    segments: Sequence[Segment]


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
    ) -> RenderedChat | None:
        """The chat, ``None`` where the model has no known template.

        ``messages`` and ``tools`` have the form that Hugging Face templates read; ``options`` are template variables.
        """
        ...
