"""Reading a body of plain JSON values: each step knows its path, and what is wrong is refused with it.

Paths hold the names of known fields and places in lists, never a value or a name of the sender's.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

from service.api.errors import ApiError

DEEPEST = 100
"""Levels of JSON that a request may nest: a schema of a tool's has a few, and recursion over it stays safe."""

_DATA_URL = re.compile(r"data:[^,]{0,256};base64,", re.IGNORECASE)
_BASE64 = re.compile(r"[A-Za-z0-9+/_=-]+")
_LONG = 2048  # characters from which base64 is taken for binary data
_KINDS: Mapping[type, str] = {
    str: "a string",
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    list: "a list",
    dict: "an object",
    type(None): "null",
}


def refuse(path: str, detail: str) -> NoReturn:
    """Raise the error for a request that does not fit its wire form."""
    raise ApiError(422, "invalid_request", detail, path=path)


@dataclass(frozen=True, slots=True)
class Node:
    """An object of the body and its path."""

    values: Mapping[str, Any]
    path: str = ""

    def at(self, key: str) -> str:
        """The path of a field."""
        return f"{self.path}.{key}" if self.path else key

    def has(self, key: str) -> bool:
        """Whether the field is there and not null."""
        return self.values.get(key) is not None

    def text(self, key: str, default: str | None = None) -> str:
        """A string; without ``default`` it has to be there."""
        value = self.values.get(key)
        if value is None and default is not None:
            return default
        if not isinstance(value, str):
            self._refuse(key, "a string")
        return value

    def flag(self, key: str, *, default: bool) -> bool:
        """True or false."""
        value = self.values.get(key)
        if value is None:
            return default
        if not isinstance(value, bool):
            self._refuse(key, "true or false")
        return value

    def whole(self, key: str) -> int | None:
        """A whole number of at least 0; ``None`` where it is missing."""
        value = self.values.get(key)
        if value is None:
            return None
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= 10**12:
            self._refuse(key, "a whole number of at least 0")
        return value

    def number(self, key: str) -> float | None:
        """A number of at least 0; ``None`` where it is missing."""
        value = self.values.get(key)
        if value is None:
            return None
        if not isinstance(value, (int, float)) or isinstance(value, bool) or not 0 <= value <= 10**9:
            self._refuse(key, "a number of at least 0")
        return float(value)

    def child(self, key: str) -> Node:
        """An object; it has to be there."""
        value = self.values.get(key)
        if not isinstance(value, dict):
            self._refuse(key, "an object")
        return Node(value, self.at(key))

    def optional(self, key: str) -> Node | None:
        """An object; ``None`` where it is missing."""
        return self.child(key) if self.has(key) else None

    def children(self, key: str) -> list[Node]:
        """A list of objects; empty where it is missing."""
        value = self.values.get(key)
        if value is None:
            return []
        return nodes(value, self.at(key))

    def _refuse(self, key: str, wanted: str) -> NoReturn:
        value = self.values.get(key)
        found = "it is missing" if key not in self.values else f"it is {_KINDS.get(type(value), 'something else')}"
        refuse(self.at(key), f"This field has to be {wanted}; {found}.")


def nodes(value: Any, path: str) -> list[Node]:
    """A list of objects."""
    if not isinstance(value, list):
        refuse(path, f"This field has to be a list; it is {_KINDS.get(type(value), 'something else')}.")
    for index, item in enumerate(value):
        if not isinstance(item, dict):
            kind = _KINDS.get(type(item), "something else")
            refuse(f"{path}[{index}]", f"Every item has to be an object; this one is {kind}.")
    return [Node(item, f"{path}[{index}]") for index, item in enumerate(value)]


def check_depth(value: Any, path: str = "") -> None:
    """Refuse JSON that is nested deeper than ``DEEPEST`` levels. Takes no stack of its own."""
    level = [value]
    for _ in range(DEEPEST):
        level = [
            item
            for holder in level
            for item in (holder.values() if isinstance(holder, dict) else holder)
            if isinstance(item, (dict, list))
        ]
        if not level:
            return
    refuse(path, f"The request is nested deeper than {DEEPEST} levels.")


def compact_json(value: Any) -> str:
    """``value`` as JSON text without blanks."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def readable(value: Any) -> tuple[str, int]:
    """``value`` as compact JSON with binary data left out, and how many bytes that data has."""
    dropped = 0

    def kept(item: Any) -> Any:
        nonlocal dropped
        if isinstance(item, str):
            if not is_binary(item):
                return item
            dropped += len(item) * 3 // 4
            return ""
        if isinstance(item, dict):
            return {name: kept(inner) for name, inner in item.items()}
        return [kept(inner) for inner in item] if isinstance(item, list) else item

    return compact_json(kept(value)), dropped


def is_binary(text: str) -> bool:
    """Whether ``text`` is a data URL, or long and nothing but base64."""
    if text.startswith(("data:", "DATA:")) and _DATA_URL.match(text):
        return True
    return len(text) >= _LONG and _BASE64.fullmatch(text) is not None


def base64_bytes(text: str) -> int:
    """How many bytes ``text`` stands for."""
    return len(text) * 3 // 4 - text[-2:].count("=")


def objects(values: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Every object anywhere in ``values``, outermost first."""
    waiting: list[Any] = [values]
    while waiting:
        item = waiting.pop()
        if isinstance(item, Mapping):
            yield item
            waiting += item.values()
        elif isinstance(item, list):
            waiting += item
