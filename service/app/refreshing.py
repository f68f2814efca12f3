"""The opt-in price refresh: restores the last good list at start, then asks for a newer one now and again."""

from __future__ import annotations

import asyncio
import uuid
from datetime import UTC, datetime
from functools import partial

import httpx

from service.app.assembly import Assembly
from service.pricebook.options import bundled, refresh_options
from service.pricebook.refresh import Refresher, RefreshOptions
from service.pricebook.snapshots import FileSnapshots
from service.store.ledger import sessions
from service.store.snapshots import DatabaseSnapshots, RefreshLease
from service.store.workers import Use


async def refresh_prices(assembly: Assembly, options: RefreshOptions) -> None:
    """Refresh until cancelled; each outcome is a metric."""
    settings = assembly.settings
    shared = partial(sessions(settings.database_url, settings.data_dir), Use.WRITE) if settings.database_url else None
    async with httpx.AsyncClient() as client:
        refresher = Refresher(
            client,
            options,
            bundled(assembly.bundled),
            store=DatabaseSnapshots(shared) if shared else FileSnapshots(settings.data_dir),
            accept=assembly.accept,
            listen=lambda outcome: assembly.metrics.refreshed(outcome.status, outcome.reason),
            clock=lambda: datetime.now(UTC),
        )
        if shared:
            lease = RefreshLease(shared, uuid.uuid4().hex, lambda: datetime.now(UTC))
            await refresher.run_in_turn(lease.take)
        await asyncio.to_thread(refresher.restore)
        await refresher.run_forever()


def asked_for(assembly: Assembly) -> RefreshOptions | None:
    """What to refresh from, if anything. Raises ``InvalidSetting``."""
    return refresh_options(assembly.settings, assembly.bundled) if assembly.settings.prices_url else None
