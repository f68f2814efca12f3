"""From settings to the counter of the vendors that have a key."""

from __future__ import annotations

from service.providers.counter import Limits, Listen, VendorCounter
from service.providers.endpoints import FORMS, Endpoint
from service.settings import PREFIX, InvalidSetting, Settings, secret_text

_SETTINGS = {"openai": "openai", "anthropic": "anthropic", "google": "gemini"}
"""What the settings of a provider begin with."""


def vendor_counter(settings: Settings, listen: Listen) -> VendorCounter | None:
    """The counter, ``None`` where no key is set. Raises ``InvalidSetting``."""
    endpoints = {}
    for provider, name in _SETTINGS.items():
        key = secret_text(settings, f"{name}_api_key")
        if key:
            endpoints[provider] = Endpoint(FORMS[provider], key, getattr(settings, f"{name}_url"))
    if not endpoints:
        if settings.remote != "never":
            keys = ", ".join(f"{PREFIX}{name.upper()}_API_KEY" for name in sorted(_SETTINGS.values()))
            raise InvalidSetting(f"{PREFIX}REMOTE={settings.remote} needs the key of a vendor: one of {keys}.")
        return None
    limits = Limits(settings.remote_timeout_seconds, at_once=settings.remote_concurrency)
    return VendorCounter(endpoints, limits, listen=listen)
