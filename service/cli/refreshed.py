"""The price list in force, as a service with the same settings would have it after its start."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import httpx

from service.pricebook import PriceList
from service.pricebook.options import bundled as measured
from service.pricebook.options import refresh_options
from service.pricebook.refresh import Refresher, RefreshOutcome
from service.pricebook.snapshots import FileSnapshots
from service.settings import Settings

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
        refresh_options(settings, bundled),
        measured(bundled),
        store=FileSnapshots(settings.data_dir),
        accept=accept,
        listen=lambda _outcome: None,
        clock=lambda: datetime.now(UTC),
    )
    outcome = refresher.restore()
    return taken[-1], outcome
