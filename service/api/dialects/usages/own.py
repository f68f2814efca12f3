"""Usage in the service's own words, which is inclusive as it stands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from service.api.decoding import shaped
from service.api.dialects.usages.reading import Reading
from service.api.errors import ApiError
from service.api.pricing.schemas import UsageIn
from service.api.pricing.wire import bounded
from service.domain.usage import UNITS


def read(values: Mapping[str, Any], path: str) -> Reading:
    """The usage. Raises ``ApiError``; one without any number is no usage of nothing, and is not priced as $0."""
    if not values:
        detail = "The usage is empty. Send input_tokens and output_tokens, or the usage as the vendor answered it."
        raise ApiError(422, "usage_missing", detail, path=path)
    wire = shaped(values, UsageIn, at=path)
    counts = {name: getattr(wire, name) for name in UsageIn.__struct_fields__}
    fees = {name: counts.pop(name) for name in list(counts) if name in UNITS}
    used = {name: bounded(quantity, f"{path}.{name}") for name, quantity in fees.items() if quantity is not None}
    return Reading(counts, used)
