"""What wire forms have in common: pictures and files in a body, unknown blocks, tools, and the words for roles."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from service.api.dialects.walking import Node, base64_bytes, compact_json, readable, refuse
from service.domain.ports import ImageSizer, PageCounter
from service.domain.request import Audio, Document, Image, Part, Role, Text, Tool, Unknown, Unseen, Video

ROLES: frozenset[str] = frozenset(("system", "developer", "user", "assistant", "tool", "function"))


@dataclass(frozen=True, slots=True)
class Probes:
    """What looks into files: the size of a picture, the pages of a document. Without them both are unknown."""

    image_size: ImageSizer | None = None
    pdf_pages: PageCounter | None = None


def role_of(node: Node, also: Mapping[str, Role] | None = None) -> Role:
    """The role of a message; ``also`` are a dialect's own words for roles."""
    role = node.text("role")
    known = (also or {}).get(role, role)
    if known not in ROLES:
        allowed = ", ".join(sorted({*ROLES, *(also or {})}))
        refuse(node.at("role"), f"Unknown role. Allowed: {allowed}.")
    return cast("Role", known)


def texts(node: Node, key: str, kinds: frozenset[str] = frozenset(("text",))) -> Iterator[Text]:
    """The text of a field that is a string or a list of text blocks."""
    value = node.values.get(key)
    if isinstance(value, str):
        yield Text(value, node.at(key))
        return
    for block in node.children(key):
        if block.text("type", "text") not in kinds:
            refuse(block.at("type"), "Only text stands here.")
        yield Text(block.text("text"), block.path)


def image_at(url: str, path: str, detail: str, probes: Probes) -> Image:
    """A picture by its URL: a data URL is looked into, any other is not fetched."""
    head, found, data = url.partition(";base64,")
    if head[:5].lower() == "data:" and found:
        return image_in(data, path, detail, probes)
    if head[:5].lower() == "data:":
        return Image(path, detail=detail)
    return Image(path, detail=detail, source="remote")


def image_in(data: str, path: str, detail: str, probes: Probes) -> Image:
    """A picture as base64."""
    size = probes.image_size.encoded(data) if probes.image_size is not None else None
    width, height = size or (None, None)
    return Image(path, width, height, detail)


def file_in(data: str, media_type: str, path: str, probes: Probes, detail: str = "") -> Part:
    """A file as base64, by its media type. Plain text is read as text."""
    kind = media_type.lower().partition(";")[0].strip()
    size = base64_bytes(data)
    if kind.startswith("image/"):
        return image_in(data, path, detail, probes)
    if kind.startswith("audio/"):
        return Audio(path, bytes=size)
    if kind.startswith("video/"):
        return Video(path, bytes=size, detail=detail)
    if kind.startswith("text/") or kind in ("application/json", "application/xml"):
        return Text(_decoded(data, path).decode("utf-8", "replace"), path)
    pages = None
    if kind == "application/pdf" and probes.pdf_pages is not None:
        pages = probes.pdf_pages(_decoded(data, path))
    return Document(path, pages, size, detail)


def file_at(media_type: str, path: str, detail: str = "") -> Part:
    """A file by its URL, which is not fetched."""
    if media_type.startswith("image/"):
        return Image(path, detail=detail, source="remote")
    if media_type.startswith("audio/"):
        return Audio(path, source="remote")
    if media_type.startswith("video/"):
        return Video(path, detail=detail, source="remote")
    return Document(path, detail=detail, source="remote")


def unknown(node: Node, kind: str = "") -> Unknown:
    """A block of a type that no rule knows, as JSON text; binary data is left out and its size kept."""
    text, dropped = readable(node.values)
    return Unknown(text, node.path, kind, dropped)


def unseen(reason: str, path: str) -> Unseen:
    """Content that the body only refers to."""
    return Unseen(reason, path)


def function_tool(node: Node, schema_key: str, path: str) -> Tool:
    """A tool of the sender's own: ``name``, ``description`` and its schema."""
    parameters = node.values.get(schema_key)
    if parameters is not None and not isinstance(parameters, dict):
        refuse(node.at(schema_key), "A tool's schema has to be an object.")
    return Tool(node.text("name"), node.text("description", ""), parameters, path)


def hosted_tool(node: Node, kind: str) -> Tool:
    """A tool that the vendor runs or defines itself."""
    return Tool(node.text("name", kind), "", None, node.path, kind, readable(node.values)[0])


def arguments_text(value: Any) -> str:
    """The arguments of a call as JSON text."""
    if value is None:
        return ""
    return value if isinstance(value, str) else compact_json(value)


def _decoded(data: str, path: str) -> bytes:
    try:
        return base64.b64decode(data, validate=False)
    except (binascii.Error, ValueError):
        refuse(path, "The data is no valid base64.")
