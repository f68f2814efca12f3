"""From settings to the counter of the vendors that have a key."""

from __future__ import annotations

from pathlib import Path

from service.providers.counter import Limits, Listen, VendorCounter
from service.providers.endpoints import FORMS, Endpoint
from service.settings import PREFIX, InvalidSetting, Settings

_LONGEST_KEY = 4096
_SETTINGS = {"openai": "openai", "anthropic": "anthropic", "google": "gemini"}
"""What the settings of a provider begin with."""


def vendor_counter(settings: Settings, listen: Listen) -> VendorCounter | None:
    """The counter, ``None`` where no key is set. Raises ``InvalidSetting``."""
    endpoints = {}
    for provider, name in _SETTINGS.items():
        key = _key(settings, f"{name}_api_key")
        if key:
            endpoints[provider] = Endpoint(FORMS[provider], key, getattr(settings, f"{name}_url"))
    if not endpoints:
        if settings.remote != "never":
            keys = ", ".join(f"{PREFIX}{name.upper()}_API_KEY" for name in sorted(_SETTINGS.values()))
            raise InvalidSetting(f"{PREFIX}REMOTE={settings.remote} needs the key of a vendor: one of {keys}.")
        return None
    limits = Limits(settings.remote_timeout_seconds, at_once=settings.remote_concurrency)
    return VendorCounter(endpoints, limits, listen=listen)


def _key(settings: Settings, name: str) -> str:
    key: str = getattr(settings, name)
    file: Path | None = getattr(settings, f"{name}_file")
    variable = PREFIX + name.upper()
    if key and file:
        raise InvalidSetting(f"Set one of {variable} and {variable}_FILE, not both.")
    if file is not None:
        variable += "_FILE"
        try:
            with file.open("rb") as opened:
                data = opened.read(_LONGEST_KEY + 1)
        except OSError as error:
            raise InvalidSetting(f"{variable} cannot be read: {error.strerror}.") from None
        key = data.decode("latin-1").strip()
        if not key:
            raise InvalidSetting(f"{variable} is empty.")
    if len(key) > _LONGEST_KEY or not key.isascii() or (key and not key.isprintable()) or " " in key:
        raise InvalidSetting(f"{variable} holds no key: it is too long, or has blanks or characters that no key has.")
    return key
