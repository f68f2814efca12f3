"""The opt-in price refresh: restores the last good list at start, then asks for a newer one now and again."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

import httpx

from service.app.assembly import Assembly
from service.pricebook.options import bundled, refresh_options
from service.pricebook.refresh import Refresher, RefreshOptions
from service.pricebook.snapshots import FileSnapshots


async def refresh_prices(assembly: Assembly, options: RefreshOptions) -> None:
    """Refresh until cancelled; each outcome is a metric."""
    async with httpx.AsyncClient() as client:
        refresher = Refresher(
            client,
            options,
            bundled(assembly.bundled),
            store=FileSnapshots(assembly.settings.data_dir),
            accept=assembly.accept,
            listen=lambda outcome: assembly.metrics.refreshed(outcome.status, outcome.reason),
            clock=lambda: datetime.now(UTC),
        )
        await asyncio.to_thread(refresher.restore)
        await refresher.run_forever()


def asked_for(assembly: Assembly) -> RefreshOptions | None:
    """What to refresh from, if anything. Raises ``InvalidSetting``."""
    return refresh_options(assembly.settings, assembly.bundled) if assembly.settings.prices_url else None
