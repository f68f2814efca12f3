"""What past calls say of a new one: asked once it is counted, and never in the way of an answer."""

from __future__ import annotations

from collections.abc import Sequence

from service.api.pricing.schemas import ForeseenInput
from service.api.services import Services
from service.domain.catalog import Resolution
from service.domain.counting import Count
from service.domain.estimate import CallPlan, expecting, expecting_nothing
from service.domain.past.calibration import calibrated, uncalibrated
from service.domain.past.calls import CountedBy
from service.domain.spending.errors import LedgerUnavailable

_HISTORY = "history"


def asks_past_calls(given: ForeseenInput) -> bool:
    """Whether past calls have to be looked at for the answer."""
    return given.bounds == "calibrated" or given.expected_output_tokens == _HISTORY


async def foreseen(
    services: Services,
    project: str,
    given: ForeseenInput,
    found: Resolution,
    counted: tuple[Sequence[Count], Sequence[CallPlan]],
) -> tuple[Sequence[Count], Sequence[CallPlan]]:
    """The counts for one model, and how the calls will be made, with what past calls of ``project`` say of both.

    Where the ledger is down both stay as they are, with a warning: counting goes on.
    """
    counts, plans = counted
    if given.bounds == "calibrated" and counts:
        counts = await _bounded(services, project, found, counts)
    if given.expected_output_tokens == _HISTORY and found.model.kind != "embedding":
        plans = await _expecting(services, project, given, found, plans)
    return counts, plans


async def _bounded(services: Services, project: str, found: Resolution, counts: Sequence[Count]) -> list[Count]:
    counted_by = CountedBy(found.provider, found.model.id, counts[0].tokenizer.name)
    try:
        calibration = await services.past.calibration(project, counted_by)
    except LedgerUnavailable:
        return [uncalibrated(count) for count in counts]
    return [calibrated(count, calibration) for count in counts]


async def _expecting(
    services: Services, project: str, given: ForeseenInput, found: Resolution, plans: Sequence[CallPlan]
) -> list[CallPlan]:
    try:
        history = await services.past.output(project, found.provider, found.model.id, given.tags)
    except LedgerUnavailable:
        return [expecting_nothing(plan) for plan in plans]
    return [expecting(plan, history) for plan in plans]
