"""OpenAPI of the routes, from the types that decode requests and encode answers, with examples from the data folder."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, is_dataclass
from functools import cache
from importlib import resources
from typing import Any

import msgspec
from fastapi import Response

from service.api.errors import Problem
from service.api.glossary import describe, describe_parameters
from service.domain.notices import LiteralNotice, Notice

_REF = "#/components/schemas/{name}"
_VENDORS = "service.api.vendors."
_MARKS = {
    "weighbridge-accuracy": {
        "description": "How sure the count is.",
        "schema": {"type": "string", "enum": ["exact", "close", "approximate"]},
    },
    "weighbridge-low": {"description": "The vendor's count is no lower.", "schema": {"type": "integer"}},
    "weighbridge-high": {"description": "The vendor's count is no higher.", "schema": {"type": "integer"}},
    "weighbridge-warnings": {"description": "Codes of warnings.", "schema": {"type": "string"}},
}


_IDEMPOTENCY_KEY = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": "With the same key and body the effect happens once within a day, and the first answer is repeated; "
    "where that was a key's text, the repeat is 409 `already_created`.",
    "schema": {"type": "string", "minLength": 1, "maxLength": 255},
}


@dataclass(frozen=True, slots=True)
class Operation:
    """One route's description. ``example`` names an entry of ``service/data/examples.toml``, ``more`` further ones.

    ``others`` are types that a schema refers to only in its text. ``text_headers`` are the
    headers, each with what it says, of a route that also takes a body of plain text. A vendor's route has that vendor's
    ``error`` in place of a problem, marks its answers with how sure they are, and may have ``parameters`` in its path,
    each with the values it may take, none for any. ``query`` are the parameters of its query, each with what it says;
    ``status`` is that of its answer, which at 204 has no body; ``csv`` says that the answer may be had as CSV too,
    ``once`` that it takes an Idempotency-Key.
    """

    summary: str
    answers: Sequence[Any]
    request: type | Sequence[type] | None = None
    example: str | None = None
    more: Sequence[str] = ()
    others: Sequence[type] = ()
    media_type: str = "application/json"
    text_headers: Mapping[str, str] = field(default_factory=dict)
    error: type | None = None
    parameters: Mapping[str, Sequence[str]] = field(default_factory=dict)
    query: Mapping[str, str] = field(default_factory=dict)
    status: int = 200
    csv: bool = False
    once: bool = False

    @property
    def requests(self) -> Sequence[type]:
        """The types that a body may have."""
        if self.request is None:
            return ()
        return (self.request,) if isinstance(self.request, type) else self.request

    def options(self, others: Mapping[int | str, dict[str, Any]] | None = None) -> dict[str, Any]:
        """Keyword arguments for FastAPI's route decorators; ``others`` are answers of the same kind by status."""
        extra: dict[str, Any] = {}
        if self.request is not None:
            content: dict[str, Any] = {"schema": _any_of(self.requests)}
            if self.example:
                content["examples"] = self._examples()
            extra["requestBody"] = {"required": True, "content": {"application/json": content}}
        if self.text_headers:
            extra["requestBody"]["content"]["text/plain"] = {"schema": {"type": "string"}}
            extra["parameters"] = [
                {"name": name, "in": "header", "required": False, "description": says, "schema": {"type": "string"}}
                for name, says in self.text_headers.items()
            ]
        if self.parameters:
            extra["parameters"] = [_parameter(name, values) for name, values in self.parameters.items()]
        if self.once:
            extra["parameters"] = [*extra.get("parameters", ()), _IDEMPOTENCY_KEY]
        if self.query:
            extra["parameters"] = [*extra.get("parameters", ()), *(_optional(*row) for row in self.query.items())]
        return {
            "response_class": Response,
            "status_code": self.status,
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
        content: dict[str, Any] = {"schema": _any_of(self.answers)} if self.answers else {}
        if self.example:
            content["examples"] = self._examples()
        whole: dict[str, Any] = {"description": "The answer.", "content": {self.media_type: content}}
        if self.csv:
            whole["content"]["text/csv"] = {"schema": {"type": "string"}}
        if self.status == 204:
            return {204: {"description": "Done."}, "default": self._refusal()}
        if self.error is not None:
            whole["headers"] = _MARKS
        return {
            self.status: whole,
            **{status: answer | {"content": {self.media_type: content}} for status, answer in others.items()},
            "default": self._refusal(),
        }

    def _refusal(self) -> dict[str, Any]:
        if self.error is not None:
            content = {"application/json": {"schema": _reference(self.error)}}
            return {"description": "An error, as the vendor writes it.", "content": content}
        problem = {"application/problem+json": {"schema": _reference(Problem)}}
        return {"description": "A problem; `code` is stable.", "content": problem}


@cache
def examples() -> Mapping[str, Mapping[str, Any]]:
    """The examples by name: a request and its answer as JSON values, and the ``route`` where the name tells none."""
    rows = tomllib.loads(resources.files("service").joinpath("data/examples.toml").read_text("utf-8"))
    return {
        name: {part: text if part == "route" else json.loads(text) for part, text in row.items()}
        for name, row in rows.items()
    }


def wire_types(operations: Iterable[Operation]) -> list[Any]:
    """Every type that a request or an answer of ``operations`` is made of, problems and notices included."""
    found: dict[Any, None] = dict.fromkeys((Problem, LiteralNotice))
    for operation in operations:
        found |= dict.fromkeys((*operation.answers, *operation.others, *operation.requests))
        if operation.error is not None:
            found[operation.error] = None
    return list(found)


def complete(schema: dict[str, Any], types: Sequence[Any]) -> dict[str, Any]:
    """Put the schemas of ``types``, and of what they refer to, into an OpenAPI document.

    The fields of vendors' types are theirs to describe.
    """
    _, components = msgspec.json.schema_components(types, ref_template=_REF)
    own = [kind for kind in types if isinstance(kind, type) and not kind.__module__.startswith(_VENDORS)]
    describe(components, msgspec.json.schema_components(own, ref_template=_REF)[1])
    for component in components.values():
        _widen_notices(component)
        _name_types(component)
    _restore_examples(schema)
    describe_parameters(schema)
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
            answer = next(iter(operation["responses"].values()))
            for part, holder in (("request", operation.get("requestBody")), ("answer", answer)):
                for content in (holder or {}).get("content", {}).values():
                    for example in content.get("examples", {}).values():
                        example["value"] = examples()[example["summary"]][part]


def _widen_notices(component: dict[str, Any]) -> None:
    """A list of notices may hold any kind of notice, which a list of a base class does not say."""
    for declared in component.get("properties", {}).values():
        if declared.get("items") == _reference(Notice):
            declared["items"] = {"anyOf": [_reference(LiteralNotice), _reference(Notice)]}


def _any_of(kinds: Sequence[Any]) -> dict[str, Any]:
    schemas = [_reference(kind) for kind in kinds]
    return schemas[0] if len(schemas) == 1 else {"anyOf": schemas}


def _reference(kind: Any) -> dict[str, Any]:
    """The schema of a type: by name where it has one of its own."""
    if isinstance(kind, type) and (issubclass(kind, msgspec.Struct) or is_dataclass(kind)):
        return {"$ref": _REF.format(name=kind.__name__)}
    (schema,), _ = msgspec.json.schema_components([kind], ref_template=_REF)
    return schema


def _parameter(name: str, values: Sequence[str]) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"} | ({"enum": list(values)} if values else {})
    return {"name": name, "in": "path", "required": True, "schema": schema}


def _optional(name: str, says: str) -> dict[str, Any]:
    """A parameter of the query."""
    return {"name": name, "in": "query", "required": False, "description": says, "schema": {"type": "string"}}
