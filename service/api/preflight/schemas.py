"""Wire models of ``/v1/preflight``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from service.api.holding.schemas import HeldInput, Reservation
from service.api.pricing.schemas import Dollars, EstimateAnswer, EstimateBatchAnswer, Tokens
from service.api.weighing.schemas import Name
from service.domain.notices import Notice

_REF = "#/components/schemas/"
EstimateOrBatch = Annotated[
    Any,
    Meta(
        description="As `/v1/estimate` answers; `null` where the call cannot be counted.",
        extra_json_schema={
            "anyOf": [
                {"$ref": f"{_REF}{EstimateAnswer.__name__}"},
                {"$ref": f"{_REF}{EstimateBatchAnswer.__name__}"},
                {"type": "null"},
            ]
        },
    ),
]


class RequestLimits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What one request may take: dollars for all its calls at their high cost, high input tokens for each of them."""

    max_cost_usd: Dollars | None = None
    max_input_tokens: Tokens | None = None


class PreflightRequest(HeldInput, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What is about to be sent, and the ``limits`` it must keep beside its budgets and the model's context window.

    ``reserve`` holds it at once where it may be made. ``alternatives`` are models to look at in its place; without
    them those of a comparison are, where the call may not be made. ``budget`` looks at that budget alone.
    ``max_cost_usd`` is a limit too, and the estimate says what output it pays for.
    """

    limits: RequestLimits = RequestLimits()
    max_cost_usd: Dollars | None = None
    alternatives: Annotated[list[Name], Meta(max_length=64)] | None = None
    reserve: bool = False


class Reason(msgspec.Struct, frozen=True):
    """Why the call may not be made: a stable code, and the budget that it does not fit."""

    code: str
    message: str
    budget: str | None


class BudgetLeft(msgspec.Struct, frozen=True):
    """A budget that counts the call, as it stood before it. ``null`` is no limit; ``fits``: the call fits this one."""

    name: str
    limit_usd: str | None
    remaining_usd: str | None
    limit_tokens: int | None
    remaining_tokens: int | None
    period_end: str | None
    fits: bool | None


class Alternative(msgspec.Struct, frozen=True):
    """Another model that keeps all limits and budgets: counted by its own tokenizer, at its high cost."""

    model: str
    provider: str
    accuracy: str
    input_tokens: int
    cost_usd: str
    expected_usd: str | None


class PreflightAnswer(msgspec.Struct, frozen=True):
    """Whether the call may be made, and what is known of it. ``reservation`` is there where ``reserve`` held it."""

    allowed: bool
    reasons: Sequence[Reason]
    estimate: EstimateOrBatch
    budgets: Sequence[BudgetLeft]
    reservation: Reservation | None
    alternatives: Sequence[Alternative]
    warnings: Sequence[Notice]
