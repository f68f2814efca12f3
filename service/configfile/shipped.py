"""Small tables of the package: control marks, what stands around a message or a text, the models compared."""

from __future__ import annotations

from pathlib import Path

from service.configfile.document import Document
from service.domain.framing import MessageFraming
from service.domain.wrapping import Wrapping

DATA = Path(__file__).parents[1] / "data"


def chat_marks(data: Path = DATA) -> list[str]:
    """The control marks of the chat formats that no vocabulary file lists."""
    rows = Document(data / "control_marks.toml", ("format",)).rows("format")
    return [mark for row in rows for mark in row.texts("marks")]


def message_framings(data: Path = DATA) -> list[MessageFraming]:
    """What the format of one user message adds, by provider and model."""
    return [
        MessageFraming(
            provider=row.text("provider"),
            tokens=row.whole("tokens", 0) or 0,
            models=row.texts("models"),
            source=row.text("source"),
            checked=row.day("checked"),
        )
        for row in Document(data / "framing.toml", ("framing", "chat")).rows("framing")
    ]


def wrappings(data: Path = DATA) -> dict[str, Wrapping]:
    """By tokenizer: the special tokens that its maker's own library puts around a text."""
    rows = Document(data / "wrapping.toml", ("wrapping",)).rows("wrapping")
    found = [(row.texts("tokenizers"), Wrapping(tuple(row.texts("before")), tuple(row.texts("after")))) for row in rows]
    return {name: wrapping for names, wrapping in found for name in names}


def compared_models(data: Path = DATA) -> list[str]:
    """The models that a comparison shows where none are named."""
    rows = Document(data / "compared.toml", ("compared",)).rows("compared")
    return [model for row in rows for model in row.texts("models")]
