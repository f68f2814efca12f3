"""OpenAPI of the routes, from the types that decode requests and encode answers, with examples from the data folder."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any

import msgspec
from fastapi import Response

from service.api.errors import Problem
from service.domain.notices import LiteralNotice, Notice

_REF = "#/components/schemas/{name}"


@dataclass(frozen=True, slots=True)
class Operation:
    """One route's description. ``example`` names an entry of ``service/data/examples.toml``, ``more`` further ones.

    ``others`` are types that a schema refers to only in its text. ``text_headers`` are the
    headers, each with what it says, of a route that also takes a body of plain text.
    """

    summary: str
    answers: Sequence[type]
    request: type | None = None
    example: str | None = None
    more: Sequence[str] = ()
    others: Sequence[type] = ()
    media_type: str = "application/json"
    text_headers: Mapping[str, str] = field(default_factory=dict)

    def options(self, others: Mapping[int | str, dict[str, Any]] | None = None) -> dict[str, Any]:
        """Keyword arguments for FastAPI's route decorators; ``others`` are answers of the same kind by status."""
        extra: dict[str, Any] = {}
        if self.request is not None:
            content: dict[str, Any] = {"schema": _reference(self.request)}
            if self.example:
                content["examples"] = self._examples()
            extra["requestBody"] = {"required": True, "content": {"application/json": content}}
        if self.text_headers:
            extra["requestBody"]["content"]["text/plain"] = {"schema": {"type": "string"}}
            extra["parameters"] = [
                {"name": name, "in": "header", "required": False, "description": says, "schema": {"type": "string"}}
                for name, says in self.text_headers.items()
            ]
        return {
            "response_class": Response,
            "summary": self.summary,
            "responses": self._responses(others or {}),
            "openapi_extra": extra,
            "response_model": None,
        }

    def _examples(self) -> dict[str, dict[str, Any]]:
        """The examples by name; their values are filled in once the document is made."""
        return {
            "example" if name == self.example else name: {"summary": name, "value": {}}
            for name in (self.example or "", *self.more)
        }

    def _responses(self, others: Mapping[int | str, dict[str, Any]]) -> dict[int | str, dict[str, Any]]:
        schemas = [_reference(kind) for kind in self.answers]
        content: dict[str, Any] = {"schema": schemas[0] if len(schemas) == 1 else {"anyOf": schemas}} if schemas else {}
        if self.example:
            content["examples"] = self._examples()
        problem = {"application/problem+json": {"schema": _reference(Problem)}}
        return {
            200: {"description": "The answer.", "content": {self.media_type: content}},
            **{status: answer | {"content": {self.media_type: content}} for status, answer in others.items()},
            "default": {"description": "A problem; `code` is stable.", "content": problem},
        }


@cache
def examples() -> Mapping[str, Mapping[str, Any]]:
    """The examples by name, each a request and its answer as JSON values."""
    rows = tomllib.loads(resources.files("service").joinpath("data/examples.toml").read_text("utf-8"))
    return {name: {part: json.loads(text) for part, text in row.items()} for name, row in rows.items()}


def wire_types(operations: Iterable[Operation]) -> list[type]:
    """Every type that a request or an answer of ``operations`` is made of, problems and notices included."""
    found: dict[type, None] = dict.fromkeys((Problem, LiteralNotice))
    for operation in operations:
        found |= dict.fromkeys((*operation.answers, *operation.others))
        if operation.request is not None:
            found[operation.request] = None
    return list(found)


def complete(schema: dict[str, Any], types: Sequence[type]) -> dict[str, Any]:
    """Put the schemas of ``types``, and of what they refer to, into an OpenAPI document."""
    _, components = msgspec.json.schema_components(types, ref_template=_REF)
    for component in components.values():
        _widen_notices(component)
        _name_types(component)
    _restore_examples(schema)
    schema.setdefault("components", {}).setdefault("schemas", {}).update(components)
    return schema


def _name_types(component: dict[str, Any]) -> None:
    """Say that a choice of words is a string, which viewers want to read."""
    for declared in component.get("properties", {}).values():
        for part in (declared, *declared.get("anyOf", ())):
            if part.get("enum") and all(isinstance(choice, str) for choice in part["enum"]):
                part.setdefault("type", "string")


def _restore_examples(schema: dict[str, Any]) -> None:
    """Put back what FastAPI leaves out of examples: their nulls."""
    for operations in schema.get("paths", {}).values():
        for operation in operations.values():
            for part, holder in (("request", operation.get("requestBody")), ("answer", operation["responses"]["200"])):
                for content in (holder or {}).get("content", {}).values():
                    for example in content.get("examples", {}).values():
                        example["value"] = examples()[example["summary"]][part]


def _widen_notices(component: dict[str, Any]) -> None:
    """A list of notices may hold any kind of notice, which a list of a base class does not say."""
    for declared in component.get("properties", {}).values():
        if declared.get("items") == _reference(Notice):
            declared["items"] = {"anyOf": [_reference(LiteralNotice), _reference(Notice)]}


def _reference(kind: type) -> dict[str, str]:
    return {"$ref": _REF.format(name=kind.__name__)}
