"""Parameters of a query, each read strictly: an unknown or repeated one is refused, never passed over."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

import msgspec
from fastapi import Request

from service.api.errors import ApiError
from service.api.projects import PROJECT, project_of
from service.domain.spending.errors import InvalidQuery

_OFFSET = re.compile(r" (\d\d:\d\d)$")  # a plus sign that was not percent-encoded arrives as a blank
_LONGEST = 4096
_YEARS = (1970, 2200)


def parameters(request: Request, allowed: Sequence[str], *, prefix: str | None = None) -> dict[str, str]:
    """The query's parameters, each at most once; also those that begin with ``prefix``. Raises ``ApiError`` (422).

    ``project`` is allowed everywhere.
    """
    found: dict[str, str] = {}
    if not request.scope["query_string"]:
        return found
    for name, value in request.query_params.multi_items():
        if name not in (*allowed, PROJECT) and not (prefix and name.startswith(prefix)):
            names = ", ".join((*allowed, *([f"{prefix}NAME"] if prefix else []), PROJECT))
            raise ApiError(422, "invalid_request", f"Unknown query parameter. Allowed: {names}.")
        if name in found:
            raise ApiError(422, "invalid_request", "A query parameter is there twice.")
        if not 1 <= len(value) <= _LONGEST or not (name + value).isprintable():
            detail = f"A query parameter has 1 to {_LONGEST:,} characters, none of them a control character."
            raise ApiError(422, "invalid_request", detail)
        found[name] = value
    return found


def whole_number(query: Mapping[str, str], name: str, default: int, largest: int) -> int:
    """A whole number from 1 to ``largest``. Raises ``InvalidQuery``."""
    text = query.get(name, str(default))
    if not (text.isascii() and text.isdecimal() and len(text) <= 9 and 1 <= int(text) <= largest):
        raise InvalidQuery(name, f"Give a whole number from 1 to {largest:,}.")
    return int(text)


def instant(query: Mapping[str, str], name: str) -> datetime | None:
    """A time as RFC 3339 has it, in UTC. Raises ``InvalidQuery`` also for one without its offset from UTC."""
    text = query.get(name)
    if text is None:
        return None
    try:
        at = msgspec.convert(_OFFSET.sub(r"+\1", text), datetime)
    except msgspec.ValidationError:
        raise InvalidQuery(name, "Give a time as in 2026-11-29T12:00:00Z.") from None
    if at.tzinfo is None:
        raise InvalidQuery(name, "Give the time with its offset from UTC, as in 2026-11-29T12:00:00Z.")
    if not _YEARS[0] < at.year < _YEARS[1]:
        raise InvalidQuery(name, f"Give a time of the years {_YEARS[0] + 1} to {_YEARS[1] - 1}.")
    return at.astimezone(UTC)


def page_cursor(query: Mapping[str, str]) -> str | None:
    """The cursor of a list that is in the order of numbers. Raises ``InvalidQuery``."""
    cursor = query.get("cursor")
    if cursor is not None and not (cursor.isascii() and cursor.isdecimal() and len(cursor) <= 18):
        raise InvalidQuery("cursor", "The cursor is not one that an answer gave.")
    return cursor


def named_project(request: Request) -> str:
    """The project of a request whose query says nothing else. Raises ``ApiError``."""
    parameters(request, ())
    return project_of(request)
