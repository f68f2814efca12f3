"""A look at the ledger now and again, beside the requests: for the probes, the metrics and the operator."""

from __future__ import annotations

import asyncio

from service.domain.spending.errors import LedgerNotOpened, LedgerUnavailable
from service.domain.spending.health import LedgerHealth
from service.domain.spending.ledger import Ledger
from service.ledger_metrics import MOST_BUDGETS, LedgerMetrics

_SECONDS = 2.0


async def watch_ledger(ledger: Ledger, metrics: LedgerMetrics, health: LedgerHealth) -> None:
    """Look at the ledger until cancelled."""
    while True:
        await look(ledger, metrics, health)
        await asyncio.sleep(_SECONDS)


async def look(ledger: Ledger, metrics: LedgerMetrics, health: LedgerHealth) -> None:
    """One round of ``watch_ledger``."""
    try:
        status = await ledger.status()
        exported = await ledger.exported_budgets(MOST_BUDGETS)
    except LedgerUnavailable as down:
        health.looked(down.problem)
    except LedgerNotOpened as wrong:
        health.looked(str(wrong))
    else:
        metrics.stands(status, exported)
        health.looked(None)
