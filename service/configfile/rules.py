"""The tables of counting rules: chat formats, tools, pictures, sounds, films and documents."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from decimal import Decimal
from pathlib import Path
from typing import Any, TypeVar

from service.configfile.document import Document, Row
from service.configfile.shipped import DATA
from service.domain.caching import CacheRule
from service.domain.catalog import Accuracy
from service.domain.framing import Frame
from service.domain.images import ImageRule
from service.domain.media import AudioRule, DocumentRule, VideoRule
from service.domain.rulebook import RuleBook
from service.domain.rules import Scope
from service.domain.tools import HostedToolRule, SchemaRule, ToolRule

T = TypeVar("T")

_LEAST = -10_000
_FILES = {
    "framing.toml": ("framing", "chat"),
    "tools.toml": ("tools", "hosted_tool", "schema"),
    "images.toml": ("image",),
    "media.toml": ("audio", "video", "document"),
    "caching.toml": ("cache",),
}
_SCOPE = ("provider", "models", "sellers", "dialects", "from", "to", "source", "checked")
_METHODS = ("tiles", "patches", "grid", "crops", "detail", "open")
_FORMATS = ("typescript", "spaced_json", "json")


def rule_book(data: Path = DATA) -> RuleBook:
    """Every rule of the package. Raises ``InvalidConfig`` where a file is wrong."""
    documents = {section: Document(data / name, sections) for name, sections in _FILES.items() for section in sections}

    def rows(section: str, kind: type[T]) -> list[T]:
        return [_rule(row, kind) for row in documents[section].rows(section)]

    return RuleBook(
        frames=rows("chat", Frame),
        tools=rows("tools", ToolRule),
        hosted=rows("hosted_tool", HostedToolRule),
        schemas=rows("schema", SchemaRule),
        images=rows("image", ImageRule),
        audio=rows("audio", AudioRule),
        video=rows("video", VideoRule),
        documents=rows("document", DocumentRule),
        caches=rows("cache", CacheRule),
    )


def _rule(row: Row, kind: type[T]) -> T:
    """A row as a rule of ``kind``: each field by its declared type, those left out as the rule's own defaults."""
    declared = [field for field in fields(kind) if field.name != "scope"]  # type: ignore[arg-type]  # all are dataclasses
    row.only((*_SCOPE, *(field.name for field in declared)))
    values: dict[str, Any] = {}
    for field in declared:
        if field.name in row.values:
            values[field.name] = _READERS[str(field.type)](row, field.name)
        elif field.default is MISSING and field.default_factory is MISSING:
            row.refuse(f"[[{row.section}]] needs {field.name!r}.")
    return kind(scope=_scope(row), **values)  # type: ignore[call-arg]  # every rule has a scope


def _scope(row: Row) -> Scope:
    return Scope(
        provider=row.text("provider"),
        models=row.texts("models"),
        sellers=row.texts("sellers"),
        dialects=row.texts("dialects"),
        start=row.day("from"),
        end=row.day("to"),
        source=row.text("source"),
        checked=row.day("checked"),
    )


def _whole(row: Row, key: str) -> int:
    return row.whole(key, _LEAST) or 0


def _table(row: Row, key: str) -> Mapping[str, int]:
    return row.pairs(key, int)


_READERS: Mapping[str, Callable[[Row, str], Any]] = {
    "int": _whole,
    "int | None": _whole,
    "bool": lambda row, key: row.flag(key, default=False),
    "str": lambda row, key: row.text(key, ""),
    "Decimal": lambda row, key: row.number(key, Decimal(1)),
    "tuple[str, ...]": lambda row, key: row.texts(key),
    "Mapping[str, int]": _table,
    "Accuracy": lambda row, key: Accuracy(row.one_of(key, [str(word) for word in Accuracy])),
    "ImageMethod": lambda row, key: row.one_of(key, _METHODS),
    "ToolFormat": lambda row, key: row.one_of(key, _FORMATS),
}
