"""What past calls tell, beside the requests: how far off estimates were, as metrics."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from service.api.services import Services
from service.app.assembly import Assembly
from service.domain.errors import DomainError
from service.domain.past.calibration import ENOUGH, Calibration
from service.domain.past.calls import CountedBy
from service.domain.spending.errors import LedgerUnavailable

_SECONDS = 30.0


async def show_errors(assembly: Assembly) -> None:
    """Keep the metrics of estimates' errors up to date until cancelled; while the ledger is down they stay."""
    while True:
        await show_errors_once(assembly.services)
        await asyncio.sleep(_SECONDS)


async def show_errors_once(services: Services) -> None:
    """One round of ``show_errors``."""
    try:
        services.metrics.estimate_errors(shown(services, await services.past.calibrations(None)))
    except LedgerUnavailable:
        return


def shown(services: Services, known: Mapping[CountedBy, Calibration]) -> dict[tuple[str, str], Calibration]:
    """Of ``known``, the models of the catalog with enough calls, where today's tokenizer estimated them."""
    return {
        (counted_by.provider, counted_by.model): calibration
        for counted_by, calibration in known.items()
        if calibration.settles >= ENOUGH and counts_now(services, counted_by)
    }


def counts_now(services: Services, counted_by: CountedBy) -> bool:
    """Whether the catalog has the model under this very name, and counts it with that tokenizer."""
    try:
        found = services.weigher.catalog.find(counted_by.model, counted_by.provider)
        scale = services.weigher.scale_of(found)
    except DomainError:
        return False
    return found.model.id == counted_by.model and scale.info.name == counted_by.tokenizer
