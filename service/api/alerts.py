"""What is POSTed to webhooks, described in the OpenAPI document; who raises alerts writes them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from service.api.budgets.schemas import Period


class BudgetAlert(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A budget's spend has reached ``warn_at`` of a limit, or the limit. The amounts are those of the ``unit``."""

    id: str
    type: Literal["budget.warning", "budget.exceeded"]
    at: datetime
    budget: str
    project: str
    unit: Literal["usd", "tokens"]
    limit_usd: str | UnsetType = UNSET
    spent_usd: str | UnsetType = UNSET
    held_usd: str | UnsetType = UNSET
    limit_tokens: int | UnsetType = UNSET
    spent_tokens: int | UnsetType = UNSET
    held_tokens: int | UnsetType = UNSET
    warn_at: float | None
    period: Period
    period_start: datetime | None
    period_end: datetime | None


class PriceAlert(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A call could not be priced, or a new price list lacks the price of a model."""

    id: str
    type: Literal["price.unknown"]
    at: datetime
    provider: str
    model: str


class DriftAlert(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Half of a model's calls of today and yesterday were more than 10 % off their estimates, to one side."""

    id: str
    type: Literal["estimate.drift"]
    at: datetime
    provider: str
    model: str
    tokenizer: str
    settles: int
    p5: float
    p50: float
    p95: float


ALERTS = (BudgetAlert, PriceAlert, DriftAlert)

_HEADERS = {
    "webhook-id": "What the alert is called, the same each time that it is tried again.",
    "webhook-timestamp": "When it is sent, in seconds since 1970.",
    "webhook-signature": "`v1,` and the base64 of HMAC-SHA256 over id, timestamp and body, with dots between them.",
}


def webhooks() -> Mapping[str, Any]:
    """The ``webhooks`` of the OpenAPI document."""
    return {kind.__name__: {"post": _operation(kind)} for kind in ALERTS}


def _operation(kind: type) -> dict[str, Any]:
    schema = {"$ref": f"#/components/schemas/{kind.__name__}"}
    return {
        "summary": (kind.__doc__ or "").replace("``", "`"),
        "parameters": [
            {"name": name, "in": "header", "required": True, "description": says, "schema": {"type": "string"}}
            for name, says in _HEADERS.items()
        ],
        "requestBody": {"required": True, "content": {"application/json": {"schema": schema}}},
        "responses": {"2XX": {"description": "Delivered. After any other answer it is tried again, for three days."}},
    }
