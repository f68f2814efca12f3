"""What each field of our own wire types means, put into their schemas from ``service/data/fields.toml``."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from functools import cache
from importlib import resources
from typing import Any

from service.api.projects import PROJECT, TAKEN_BY

ANYWHERE = "fields"
"""The table of what a field means wherever it stands."""

PATH = "path"
"""The table of the parameters of paths."""

_PROJECT = {
    "name": PROJECT,
    "in": "query",
    "required": False,
    "description": "The project that is meant, in place of the key's own: an admin's choice, or anyone's without keys.",
    "schema": {"type": "string"},
}


@cache
def glossary() -> Mapping[str, Mapping[str, str]]:
    """What fields mean, by name: anywhere, and in single types."""
    return tomllib.loads(resources.files("service").joinpath("data/fields.toml").read_text("utf-8"))


def describe(components: Mapping[str, dict[str, Any]], own: Iterable[str]) -> None:
    """Describe the fields of the types called ``own`` that do not describe themselves."""
    words = glossary()
    for name in own:
        meanings = {**words[ANYWHERE], **words.get(name, {})}
        for field, declared in components[name].get("properties", {}).items():
            if field in meanings:
                declared.setdefault("description", meanings[field])


def describe_parameters(document: dict[str, Any]) -> None:
    """Describe the parameters of an OpenAPI document's operations, and add ``project`` to those that take it."""
    words = glossary()
    for path, operations in document.get("paths", {}).items():
        for operation in operations.values():
            if path.startswith(TAKEN_BY):
                operation.setdefault("parameters", []).append(_PROJECT)
            for parameter in operation.get("parameters", ()):
                if "description" not in parameter:
                    parameter["description"] = words[PATH if parameter["in"] == "path" else ANYWHERE][parameter["name"]]
