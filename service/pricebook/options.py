"""What a refresh is asked to do, from the scalar settings and the list that came with the package."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING

from service.pricebook.canaries import read_canaries
from service.pricebook.fetching import allowed_url
from service.pricebook.refresh import Bundled, RefreshOptions
from service.settings import InvalidSetting, Settings

if TYPE_CHECKING:
    from service.pricebook import PriceList


def refresh_options(settings: Settings, prices: PriceList) -> RefreshOptions:
    """Where from, how often, and the canaries that ``prices`` knows. Raises ``InvalidSetting``."""
    if not allowed_url(settings.prices_url):
        raise InvalidSetting("WEIGHBRIDGE_PRICES_URL must be https; http goes to this machine alone.")
    listed = {(provider.id, model.id) for provider in prices.providers for model in provider.models}
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


def bundled(prices: PriceList) -> Bundled:
    """The package's own list, as a refresh measures others by it."""
    return Bundled(prices.providers, date.fromisoformat(prices.checked) if prices.checked else None)
