"""From a body to a typed request: msgspec first, strict standard-library JSON where it refuses.

The second reading has two uses. It takes escaped lone surrogates, which msgspec refuses and which are answered with a
warning; and it names the place of an error. NaN, Infinity and numbers beyond a double are errors in both.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any, NoReturn, TypeVar

import msgspec

from service.api.errors import ApiError

T = TypeVar("T")

_PATH = re.compile(r" - at `\$?\.?([^`]*)`$")
_UNKNOWN_FIELD = re.compile(r"^Object contains unknown field `.*`", re.DOTALL)
_decoders: dict[type, msgspec.json.Decoder[Any]] = {}


def decode(body: bytes, kind: type[T]) -> T:
    """``body`` as a ``kind``. Raises ``ApiError``: 400 where it is not JSON, 422 where it is another shape."""
    decoder = _decoders.get(kind)
    if decoder is None:
        decoder = _decoders.setdefault(kind, msgspec.json.Decoder(kind))
    try:
        return decoder.decode(body)  # type: ignore[no-any-return]  # the decoder was built for T
    except msgspec.ValidationError as error:
        json_value(body)  # the first misfit ends msgspec's reading; what follows it may not even be JSON
        _refuse_shape(error, kind)
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        value = json_value(body)
    return shaped(value, kind)


def shaped(value: Any, kind: type[T], *, at: str = "") -> T:
    """A decoded JSON value as a ``kind``; ``at`` is its path in the body. Raises ``ApiError`` (422)."""
    try:
        return msgspec.convert(value, kind, strict=True)
    except msgspec.ValidationError as error:
        _refuse_shape(error, kind, at)
    except UnicodeError:
        detail = "A field's name, or the value of one with few choices, holds a lone surrogate."
        raise ApiError(422, "invalid_request", detail, path=at) from None


def json_value(body: bytes) -> Any:
    """``body`` as JSON, whatever its shape. Raises ``ApiError`` (400)."""
    try:
        return _strict(body.decode())
    except UnicodeDecodeError as error:
        raise ApiError(400, "invalid_json", f"The body is not UTF-8: see byte {error.start}.") from None
    except json.JSONDecodeError as error:
        raise ApiError(
            400, "invalid_json", f"{error.msg}: line {error.lineno}, column {error.colno}, character {error.pos}."
        ) from None
    except RecursionError:
        raise ApiError(400, "invalid_json", "The JSON is nested too deeply.") from None


def _refuse_constant(_name: str) -> NoReturn:
    raise ApiError(400, "invalid_json", "NaN and Infinity are not JSON numbers.")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ApiError(400, "invalid_json", "A number is outside the range of a double.")
    return value


def _bounded(text: str) -> int:
    if len(text) > 300:
        raise ApiError(400, "invalid_json", "A number has more than 300 digits.")
    return int(text)


_strict = json.JSONDecoder(parse_constant=_refuse_constant, parse_float=_finite, parse_int=_bounded).decode


def _refuse_shape(error: msgspec.ValidationError, kind: type, at: str = "") -> NoReturn:
    """Answer 422 with the path and the rule, but without any value or field name of the caller's."""
    text = str(error)
    found = _PATH.search(text)
    path = found.group(1) if found else ""
    rule = text[: found.start()] if found else text
    if _UNKNOWN_FIELD.match(rule):
        rule = f"Unknown field. Allowed here: {', '.join(_fields_at(kind, path))}"
    elif rule.startswith("Invalid enum value"):
        rule = f"Not an allowed value. Allowed: {_choices_at(kind, path)}"
    raise ApiError(422, "invalid_request", f"{rule}.", path=".".join(filter(None, (at, path)))) from None


def _fields_at(kind: type, path: str) -> list[str]:
    info = _type_at(kind, path)
    return [field.encode_name for field in info.fields] if isinstance(info, msgspec.inspect.StructType) else []


def _choices_at(kind: type, path: str) -> str:
    info = _type_at(kind, path)
    return ", ".join(map(str, info.values)) if isinstance(info, msgspec.inspect.LiteralType) else "see the schema"


def _type_at(kind: type, path: str) -> msgspec.inspect.Type | None:
    """The declared type at a path of field names, looking through ``| None`` and arrays."""
    info: msgspec.inspect.Type | None = msgspec.inspect.type_info(kind)
    for name in filter(None, re.sub(r"\[[^\]]*\]", "", path).split(".")):
        info = _unwrapped(info)
        if not isinstance(info, msgspec.inspect.StructType):
            return None
        info = next((field.type for field in info.fields if field.encode_name == name), None)
    return _unwrapped(info)


def _unwrapped(info: msgspec.inspect.Type | None) -> msgspec.inspect.Type | None:
    if isinstance(info, msgspec.inspect.UnionType):
        info = next((t for t in info.types if not isinstance(t, msgspec.inspect.NoneType)), None)
    return info.item_type if isinstance(info, msgspec.inspect.ListType) else info
