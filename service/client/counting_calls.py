"""The calls that count and price. Each builds a ``Call``; the clients carry it out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeVar, Unpack

import msgspec

from service.client.answers import Comparison, Count, Counts, Estimate, KnownCost
from service.client.call import Call
from service.client.inputs import Billed, Compared, Content, Costed, Counted, CountedTexts
from service.client.wording import dollars, encode, without_none

T = TypeVar("T")

_read_count = msgspec.json.Decoder(Count).decode
_read_counts = msgspec.json.Decoder(Counts).decode
_read_estimate = msgspec.json.Decoder(Estimate).decode
_read_comparison = msgspec.json.Decoder(Comparison).decode
_read_cost = msgspec.json.Decoder(KnownCost).decode


def count(model: str | None = None, **what: Unpack[Counted]) -> Call[Count]:
    """The tokens of a text, of a chat or of a vendor's whole request."""
    return _asked("/v1/count", {"model": model, **what}, _read_count)


def count_texts(model: str | None, texts: Sequence[str], **what: Unpack[CountedTexts]) -> Call[Counts]:
    """The tokens of several texts, each counted apart."""
    return _asked("/v1/count", {"model": model, "texts": texts, **what}, _read_counts)


def estimate(model: str | None = None, **what: Unpack[Costed]) -> Call[Estimate]:
    """What a call will cost: tokens, context fit, and the range from the cheapest to the dearest."""
    return _asked("/v1/estimate", costed({"model": model, **what}), _read_estimate)


def compare(**what: Unpack[Compared]) -> Call[Comparison]:
    """The same text or chat over many models or tokenizers."""
    return _asked("/v1/compare", what, _read_comparison)


def cost(
    model: str | None = None,
    usage: Any = None,
    *,
    response: Any = None,
    at: datetime | None = None,
    **billed: Unpack[Billed],
) -> Call[KnownCost]:
    """The cost of ``usage``, ours or a vendor's, or of a vendor's whole ``response``."""
    return _asked("/v1/cost", {"model": model, "usage": usage, "response": response, "at": at, **billed}, _read_cost)


def costed(what: Mapping[str, Any] | Content) -> dict[str, Any]:
    """The fields of a costed request, its sums of money checked. Raises ``TypeError`` for a float."""
    fields = dict(what)
    for name in ("max_cost_usd", "amount_usd", "cost_usd", "limit_usd"):
        if fields.get(name) is not None:
            fields[name] = dollars(fields[name])
    return fields


def _asked(path: str, fields: Mapping[str, Any] | Content, read: Callable[[bytes], T]) -> Call[T]:
    return Call("POST", path, read, encode(without_none(fields)), in_project=False)
