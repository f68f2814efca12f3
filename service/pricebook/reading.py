"""Reads a price list that came over the network: providers of genai-prices' second data format, strictly.

Everything that decides a price is checked here, once: unknown fields, numbers that are none, prices out of bounds,
duplicates. What passes can be priced from without another look. Extractors are left out: no price depends on them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

import pydantic
from genai_prices.types import ModelPrice, Provider, Tier, TieredPrices

MAX_PER_MTOK = Decimal(1_000)
"""No rate is above this, in dollars per million tokens or characters."""

MAX_PER_UNIT = Decimal(100_000)
"""No other rate is above this, as stated: dollars per thousand calls or pages, per hour, per image."""

_MAX_DIGITS = 30  # the longest in the bundled data has 18; far more would make every product of it slow
_MAX_NAME = 200
_PRICE_KEY = re.compile(r"[a-z][a-z0-9_]{0,99}")
_MAX_PATTERN = 500

_PROVIDERS = pydantic.TypeAdapter(
    list[Provider], config=pydantic.ConfigDict(extra="forbid", arbitrary_types_allowed=True, defer_build=True)
)


class TableRefused(Exception):
    """A price list is not good enough to replace the one in service.

    ``reason`` is a stable word. ``detail`` names a provider or model of our own lists, never text that was received.
    """

    def __init__(self, reason: str, detail: str = "") -> None:
        self.reason = reason
        self.detail = detail
        super().__init__(f"The price list was refused: {reason}{' ' + detail if detail else ''}")


def read_providers(body: bytes) -> list[Provider]:
    """The providers in ``body``. A model's id with a ``*`` is ``malformed``.

    Raises ``TableRefused``: ``not_json``, ``not_a_list``, ``empty``, ``malformed``, ``price_invalid``,
    ``price_too_high`` or ``duplicate``.
    """
    raw = _read_json(body)
    if not isinstance(raw, list):
        raise TableRefused("not_a_list")
    if not raw:
        raise TableRefused("empty")
    try:
        providers = _PROVIDERS.validate_python([_provider(item) for item in raw])
    except TableRefused:
        raise
    except Exception:  # the readers of a broken clause raise what they like, StopIteration included
        raise TableRefused("malformed") from None  # its text quotes what was received
    _require_unique(provider.id for provider in providers)
    for provider in providers:
        _require_unique(model.id for model in provider.models)
        if any("*" in model.id for model in provider.models):
            raise TableRefused("malformed")  # in a price file that is a pattern, which no list has
    return providers


def _read_json(body: bytes) -> Any:
    try:
        return json.loads(
            body.decode(), parse_float=Decimal, parse_constant=_no_constant, object_pairs_hook=_unique_keys
        )
    except (ValueError, ArithmeticError, RecursionError):
        raise TableRefused("not_json") from None


def _no_constant(_name: str) -> Any:
    raise TableRefused("price_invalid")


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise TableRefused("duplicate")
    return result


def _require_unique(names: Iterable[str]) -> None:
    """Refuse a name that is listed twice, and one that could not be shown or asked for."""
    seen: set[str] = set()
    for name in names:
        if not name.isprintable() or " " in name or not 0 < len(name) <= _MAX_NAME:
            raise TableRefused("malformed")
        if name.casefold() in seen:
            raise TableRefused("duplicate")
        seen.add(name.casefold())


def _provider(raw: Any) -> dict[str, Any]:
    provider = dict(_mapping(raw))
    provider.pop("extractors", None)
    provider["models"] = [_model(item) for item in _list(provider["models"])]
    _check_patterns([provider.get("api_pattern", ""), *_patterns(provider.get("model_match"))])
    _check_patterns(_patterns(provider.get("provider_match")))
    return provider


def _model(raw: Any) -> dict[str, Any]:
    model = dict(_mapping(raw))
    _check_patterns(_patterns(model["match"]))
    prices = model["prices"]
    if isinstance(prices, list):
        if not prices:
            raise TableRefused("malformed")
        model["prices"] = [_dated(item) for item in prices]
        _require_distinct([item.get("constraint") for item in model["prices"]])
    else:
        model["prices"] = _prices(prices)
    variants = model.get("price_variants")
    if variants is not None:
        model["price_variants"] = [_dated(item) for item in _list(variants)]
        _require_distinct([(item["when"], item.get("constraint")) for item in model["price_variants"]])
    return model


def _dated(raw: Any) -> dict[str, Any]:
    item = dict(_mapping(raw))
    item["prices"] = _prices(item["prices"])
    constraint = item.get("constraint")
    if constraint is not None and not all(isinstance(value, str) for value in _mapping(constraint).values()):
        raise TableRefused("malformed")  # a bare number would be read as seconds
    return item


def _prices(raw: Any) -> ModelPrice:
    prices: dict[str, Decimal | TieredPrices | None] = {}
    for key, value in _mapping(raw).items():
        if not _PRICE_KEY.fullmatch(key):
            raise TableRefused("malformed")
        prices[key] = _tiered(key, value) if isinstance(value, dict) else _price(key, value)
    return ModelPrice(**prices)


def _tiered(key: str, raw: Mapping[str, Any]) -> TieredPrices:
    tiers = []
    for item in _list(raw["tiers"]):
        start = _mapping(item)["start"]
        if set(item) != {"start", "price"} or type(start) is not int or start < 0:
            raise TableRefused("malformed")
        tiers.append(Tier(start=start, price=_price(key, item["price"])))
    if set(raw) != {"base", "tiers"}:
        raise TableRefused("malformed")
    _require_distinct([tier.start for tier in tiers])
    return TieredPrices(base=_price(key, raw["base"]), tiers=tiers)


def _price(key: str, raw: Any) -> Decimal:
    if isinstance(raw, bool) or not isinstance(raw, int | Decimal):
        raise TableRefused("price_invalid")
    price = Decimal(raw)
    if not price.is_finite() or price < 0:
        raise TableRefused("price_invalid")
    if price > (MAX_PER_MTOK if key.endswith(("_mtok", "_mchars")) else MAX_PER_UNIT):
        raise TableRefused("price_too_high")
    _, digits, exponent = price.as_tuple()
    if len(digits) > _MAX_DIGITS or abs(int(exponent)) > _MAX_DIGITS:
        raise TableRefused("price_invalid")
    return price


def _require_distinct(items: list[Any]) -> None:
    keys = [json.dumps(item, sort_keys=True) for item in items]
    if len(set(keys)) != len(keys):
        raise TableRefused("duplicate")


def _patterns(clause: Any) -> list[Any]:
    """Every regular expression in a match clause."""
    if not isinstance(clause, dict):
        return []
    found = [clause["regex"]] if "regex" in clause else []
    for word in ("or", "and"):
        for part in clause.get(word, ()):
            found += _patterns(part)
    return found


def _check_patterns(patterns: list[Any]) -> None:
    for pattern in patterns:
        if not isinstance(pattern, str) or len(pattern) > _MAX_PATTERN:
            raise TableRefused("malformed")
        try:
            re.compile(pattern)
        except (re.error, OverflowError):
            raise TableRefused("malformed") from None


def _mapping(raw: Any) -> Mapping[str, Any]:
    if not isinstance(raw, dict):
        raise TableRefused("malformed")
    return raw


def _list(raw: Any) -> list[Any]:
    if not isinstance(raw, list):
        raise TableRefused("malformed")
    return raw
