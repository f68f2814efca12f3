"""The opt-in price refresh: restores the last good list at start, then asks for a newer one now and again."""

from __future__ import annotations

import asyncio
from datetime import UTC, date, datetime

import httpx

from service.app.assembly import Assembly
from service.pricebook.canaries import read_canaries
from service.pricebook.refresh import Bundled, Refresher, RefreshOptions
from service.pricebook.snapshots import FileSnapshots
from service.settings import InvalidSetting


def refresh_options(assembly: Assembly) -> RefreshOptions:
    """What the settings ask for. Raises ``InvalidSetting``."""
    settings = assembly.settings
    listed = {(provider.id, model.id) for provider in assembly.bundled.providers for model in provider.models}
    canaries = [(canary.provider, canary.model) for canary in read_canaries()]
    try:
        return RefreshOptions(
            settings.prices_url,
            canaries=[canary for canary in canaries if canary in listed],
            sha256=settings.prices_sha256 or None,
            interval_seconds=settings.prices_interval_seconds,
        )
    except ValueError as error:
        raise InvalidSetting(f"WEIGHBRIDGE_PRICES_*: {error}") from None


async def price_refresher(assembly: Assembly) -> None:
    """Refresh until cancelled; each outcome is a metric."""
    checked = assembly.bundled.checked
    bundled = Bundled(assembly.bundled.providers, date.fromisoformat(checked) if checked else None)
    async with httpx.AsyncClient() as client:
        refresher = Refresher(
            client,
            refresh_options(assembly),
            bundled,
            store=FileSnapshots(assembly.settings.data_dir),
            accept=assembly.accept,
            listen=lambda outcome: assembly.metrics.refreshed(outcome.status, outcome.reason),
            clock=lambda: datetime.now(UTC),
        )
        await asyncio.to_thread(refresher.restore)
        await refresher.run_forever()
