"""From Python values to a request's JSON: exact decimals, objects of vendors' SDKs, and any string there is."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any

import msgspec

Money = Decimal | str | int
"""Dollars, exact. A float is refused: 0.1 is not a tenth."""

_SDK = ("to_dict", "to_json_dict", "model_dump", "dict")  # OpenAI and Anthropic, Google, pydantic 2 and 1


def encode(body: Mapping[str, Any]) -> bytes:
    """``body`` as JSON; decimals are strings. Raises ``TypeError`` for an object that is no data."""
    try:
        return msgspec.json.encode(body, enc_hook=plain)
    except UnicodeEncodeError:  # half of a surrogate pair, which the service takes as it stands
        return json.dumps(msgspec.to_builtins(body, enc_hook=plain)).encode()


def plain(value: Any) -> Any:
    """An object of a vendor's SDK, or another that is a mapping at heart, as data. Raises ``TypeError``.

    Fields that the vendor did not send are left out: to the service a count that is null is not one of zero.
    """
    if isinstance(value, Mapping):
        return dict(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.asdict(value)
    for name in _SDK:
        method = getattr(value, name, None)
        if callable(method) and not isinstance(value, type):
            return method(mode="json", exclude_unset=True) if name == "model_dump" else method()
    if hasattr(value, "__iter__") and not isinstance(value, str | bytes):
        return list(value)
    raise TypeError(
        f"An object of the type {type(value).__name__} cannot be sent: give a mapping or a vendor's object."
    )


def dollars(value: Money) -> str:
    """Dollars as the service takes them. Raises ``TypeError`` for a float."""
    if isinstance(value, bool | float) or not isinstance(value, Decimal | str | int):
        raise TypeError("Give dollars as a Decimal or a string, such as Decimal('0.25'): a float is not exact.")
    return format(value, "f") if isinstance(value, Decimal) else str(value)


def without_none(fields: Mapping[str, Any]) -> dict[str, Any]:
    """What was given. A trailing underscore (``as_``) keeps a name from being Python's own."""
    return {name.removesuffix("_"): value for name, value in fields.items() if value is not None}


def query_text(value: object) -> str:
    """A query parameter."""
    return value.isoformat() if isinstance(value, datetime) else str(value)
