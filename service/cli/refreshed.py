"""The price list in force, as a service with the same settings would have it after its start."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING

import httpx

from service.pricebook import PriceList
from service.pricebook.canaries import read_canaries
from service.pricebook.refresh import Bundled, Refresher, RefreshOptions, RefreshOutcome
from service.pricebook.snapshots import FileSnapshots
from service.settings import InvalidSetting, Settings

if TYPE_CHECKING:
    from genai_prices.types import Provider


def restored(settings: Settings, bundled: PriceList) -> tuple[PriceList, RefreshOutcome]:
    """The copy that the last refresh kept, where it is whole, sane and newer than ``bundled``, and what became of it.

    Nothing is fetched. Raises ``InvalidSetting``.
    """
    taken = [bundled]

    def accept(providers: Sequence[Provider], source: str, revision: str, checked: str) -> None:
        taken.append(PriceList(providers, source, revision, checked))

    refresher = Refresher(
        httpx.AsyncClient(transport=httpx.AsyncBaseTransport()),  # never asked
        _options(settings, bundled),
        Bundled(bundled.providers, date.fromisoformat(bundled.checked) if bundled.checked else date.min),
        store=FileSnapshots(settings.data_dir),
        accept=accept,
        listen=lambda _outcome: None,
        clock=lambda: datetime.now(UTC),
    )
    outcome = refresher.restore()
    return taken[-1], outcome


def _options(settings: Settings, bundled: PriceList) -> RefreshOptions:
    listed = {(provider.id, model.id) for provider in bundled.providers for model in provider.models}
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
