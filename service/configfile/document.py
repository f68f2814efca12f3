"""A TOML file of ``[[section]]`` rows, read strictly: what is wrong is refused with its line."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal, InvalidOperation
from functools import cached_property
from pathlib import Path
from typing import Any, NoReturn

from service.domain.errors import InvalidConfig

_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]{1,3})?")
_MOST_DIGITS = 30  # no price has half as many, and far more make every product slow
_EXPONENTS = range(-20, 4)
_SYNTAX_LINE = re.compile(r" \(at line (\d+), column \d+\)$")


def plain_decimal(value: object) -> Decimal | None:
    """A number or the text of one, in ASCII digits: at most 30 of them, with an exponent from -20 to 3; else None."""
    if isinstance(value, bool) or not isinstance(value, (str, int, Decimal)):
        return None
    if isinstance(value, str):
        if _NUMBER.fullmatch(value) is None or len(value) > 2 * _MOST_DIGITS:
            return None
        value = Decimal(value)
    elif isinstance(value, int):
        if not 0 <= value < 10**_MOST_DIGITS:
            return None
        value = Decimal(value)
    _, digits, exponent = value.as_tuple()
    fits = isinstance(exponent, int) and exponent in _EXPONENTS and len(digits) <= _MOST_DIGITS
    return value if fits and value >= 0 else None


def _float(text: str) -> Decimal:
    """A number of the file; one beyond all bounds is none, so that its row refuses it with its line."""
    try:
        return Decimal(text)
    except InvalidOperation:
        return Decimal("NaN")


class Document:
    """The file at ``path``, which may hold ``sections`` and a ``[defaults]`` table for keys that its rows leave out.

    The standard library's parser tells no line of a value, so lines are looked up in the text.
    """

    def __init__(self, path: Path, sections: Collection[str]) -> None:
        self.path = path
        try:
            self.text = path.read_bytes().decode()
            self.values: dict[str, Any] = tomllib.loads(self.text, parse_float=_float)
        except UnicodeDecodeError as error:
            raise InvalidConfig(path, 0, f"The file is not UTF-8 ({error.reason} at byte {error.start}).") from None
        except tomllib.TOMLDecodeError as error:
            line = _SYNTAX_LINE.search(str(error))
            raise InvalidConfig(path, int(line[1]) if line else 0, f"Not TOML: {error}.") from None
        except (ValueError, RecursionError):  # a whole number of thousands of digits, or tables without end
            raise InvalidConfig(path, 0, "The file holds a number or a nesting beyond all bounds.") from None
        for name, rows in self.values.items():
            if name == "defaults" and isinstance(rows, dict):
                continue
            if name not in sections:
                allowed = ", ".join(f"[[{section}]]" for section in sections)
                raise InvalidConfig(path, self._line_of(name), f"Unknown section {name!r}. Allowed: {allowed}.")
            if not (isinstance(rows, list) and all(isinstance(row, dict) for row in rows)):
                raise InvalidConfig(path, self._line_of(name), f"{name!r} is a list of tables: write [[{name}]].")

    def rows(self, section: str) -> Iterator[Row]:
        """The rows of ``section``, in order."""
        for index, values in enumerate(self.values.get(section, ())):
            yield Row(self, section, index, values)

    @cached_property
    def defaults(self) -> Row:
        """The ``[defaults]`` table."""
        return Row(self, "defaults", 0, self.values.get("defaults", {}))

    @cached_property
    def lines(self) -> list[str]:
        """The text by lines; the first is number 1."""
        return ["", *self.text.splitlines()]

    def line(self, section: str, index: int, key: str | None = None) -> int:
        """The line of ``key`` in the ``index``-th ``[[section]]``, or of that header; 0 where neither is found."""
        header = re.compile(rf"\s*\[\[?\s*[\"']?{re.escape(section)}[\"']?\s*\]")
        heads = [number for number, line in enumerate(self.lines) if header.match(line)]
        if index >= len(heads):
            return self._line_of(section)
        start = heads[index]
        if key is not None:
            assignment = re.compile(rf"\s*[\"']?{re.escape(key)}[\"']?\s*[=.]")
            for number in range(start + 1, len(self.lines)):
                if assignment.match(self.lines[number]):
                    return number
                if re.match(r"\s*\[\[?[^\[\]]+\]\]?\s*(#.*)?$", self.lines[number]):
                    break
        return start

    def _line_of(self, name: str) -> int:
        start = re.compile(rf"\s*\[*\s*[\"']?{re.escape(name)}[\"']?\s*[\]=.]")
        return next((number for number, line in enumerate(self.lines) if start.match(line)), 0)


@dataclass(frozen=True, slots=True)
class Row:
    """One table of a document; each method reads one key strictly, and refuses with its line."""

    document: Document
    section: str
    index: int
    values: Mapping[str, Any]

    @property
    def _header(self) -> str:
        return "[defaults]" if self.section == "defaults" else f"[[{self.section}]]"

    def refuse(self, problem: str, key: str | None = None) -> NoReturn:
        """Raise ``InvalidConfig`` for this row, or one key of it."""
        raise InvalidConfig(self.document.path, self.document.line(self.section, self.index, key), problem)

    def only(self, allowed: Collection[str]) -> None:
        """Refuse any key that is not ``allowed``."""
        for key in self.values:
            if key not in allowed:
                self.refuse(f"Unknown key {key!r} in {self._header}. Allowed: {', '.join(allowed)}.", key)

    def text(self, key: str, default: str | None = None) -> str:
        """A string; without ``default`` it has to be there and not be blank."""
        value = self.values.get(key, default)
        if value is None:
            self.refuse(f"[[{self.section}]] needs {key!r}.")
        if not isinstance(value, str) or (default is None and not value.strip()):
            self.refuse(f"{key!r} must be a string that is not blank.", key)
        return value

    def one_of(self, key: str, allowed: Collection[str], default: str | None = None) -> str:
        """A string out of ``allowed``."""
        value = self.text(key, default)
        if value not in allowed:
            self.refuse(f"{key!r} must be one of {', '.join(repr(str(word)) for word in allowed)}.", key)
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of strings; empty where it is missing."""
        value = self.values.get(key, [])
        if not isinstance(value, list) or not all(isinstance(item, str) and item.strip() for item in value):
            self.refuse(f"{key!r} must be a list of strings.", key)
        return tuple(value)

    def whole(self, key: str, least: int = 1) -> int | None:
        """A whole number of at least ``least``; None where it is missing."""
        value = self.values.get(key)
        if value is None:
            return None
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            self.refuse(f"{key!r} must be a whole number of at least {least}.", key)
        return value

    def flag(self, key: str, *, default: bool) -> bool:
        """True or false."""
        value = self.values.get(key, default)
        if not isinstance(value, bool):
            self.refuse(f"{key!r} must be true or false.", key)
        return value

    def number(self, key: str, default: Decimal | None = None) -> Decimal:
        """A number of at least 0, written as a number or as a string, as ``plain_decimal`` reads it."""
        value = self.values.get(key, default)
        if value is None:
            self.refuse(f"[[{self.section}]] needs {key!r}.")
        number = plain_decimal(value)
        if number is None:
            self.refuse(f"{key!r} must be a number of at least 0, in at most {_MOST_DIGITS} digits.", key)
        return number

    def day(self, key: str) -> str:
        """A date, as ``YYYY-MM-DD``; empty where it is missing."""
        value = self.values.get(key, "")
        if type(value) is date:
            return value.isoformat()
        if value != "":
            self.refuse(f"{key!r} must be a date, such as 2026-11-29.", key)
        return ""

    def pairs(self, key: str, kind: type) -> dict[str, Any]:
        """A table whose values are all of ``kind``; empty where it is missing."""
        value = self.values.get(key, {})
        if not isinstance(value, dict) or not all(type(item) is kind for item in value.values()):
            self.refuse(f"{key!r} must be a table of {kind.__name__} values.", key)
        return value
