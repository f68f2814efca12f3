"""Scalar settings, from environment variables ``WEIGHBRIDGE_*``; everything else stands in the configuration file."""

from __future__ import annotations

import difflib
import ipaddress
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from service.domain.keys.rates import RateLimit

PREFIX = "WEIGHBRIDGE_"
_LONGEST_SECRET = 4096


class InvalidSetting(Exception):
    """A setting's value cannot be used; the message names the setting and what it may be."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How one process runs. ``from_env`` reads each field from ``WEIGHBRIDGE_<NAME>``."""

    data_dir: Path
    config: Path | None = None
    database_url: str = field(default="", repr=False)
    secret: str = field(default="", repr=False)
    secret_file: Path | None = None
    admin_key: str = field(default="", repr=False)
    admin_key_file: Path | None = None
    rate_limit: RateLimit | None = None
    redis_url: str = field(default="", repr=False)
    log: str = "json"
    engine: Literal["native", "library", "python"] = "native"
    require_native: bool = False
    vocabularies: tuple[str, ...] = ()
    max_body_bytes: int = 16 * 1024 * 1024
    max_stream_bytes: int = 1024 * 1024 * 1024
    max_tokenize_bytes: int = 1024 * 1024
    inline_bytes: int = 16 * 1024
    workers: int = 2
    queue_limit: int = 64
    deadline_seconds: float = 30.0
    body_timeout_seconds: float = 30.0
    drain_seconds: int = 30
    allow_chat_template: bool = False
    default_model: str = ""
    prices_url: str = ""
    prices_sha256: str = ""
    prices_interval_seconds: int = 86_400
    remote: Literal["never", "when_inexact", "always"] = "never"
    remote_timeout_seconds: float = 5.0
    remote_concurrency: int = 8
    anthropic_api_key: str = field(default="", repr=False)
    anthropic_api_key_file: Path | None = None
    anthropic_url: str = ""
    gemini_api_key: str = field(default="", repr=False)
    gemini_api_key_file: Path | None = None
    gemini_url: str = ""
    openai_api_key: str = field(default="", repr=False)
    openai_api_key_file: Path | None = None
    openai_url: str = ""

    @property
    def config_file(self) -> Path:
        """The configuration file: the one that was set, or ``weighbridge.toml`` in the data directory."""
        return self.config or self.data_dir / "weighbridge.toml"

    @property
    def vocabulary_dir(self) -> Path:
        """Where vocabularies that were fetched on request are kept."""
        return self.data_dir / "vocabularies"

    @classmethod
    def from_env(cls, env: Mapping[str, str] | None = None) -> Settings:
        """Read the settings. Raises ``InvalidSetting``."""
        env = os.environ if env is None else env
        values: dict[str, Any] = {"data_dir": default_data_dir(env), "workers": os.cpu_count() or 2}
        for item in fields(cls):
            variable = PREFIX + item.name.upper()
            text = env.get(variable, "").strip()
            if text:
                values[item.name] = _READERS[item.name](variable, text)
        return cls(**values)


def secret_text(settings: Settings, name: str) -> str:
    """A key or the like, from its setting or from the file that ``<name>_file`` names; empty where neither is set.

    Raises ``InvalidSetting``.
    """
    text: str = getattr(settings, name)
    file: Path | None = getattr(settings, f"{name}_file")
    variable = PREFIX + name.upper()
    if text and file:
        raise InvalidSetting(f"Set one of {variable} and {variable}_FILE, not both.")
    if file is not None:
        variable += "_FILE"
        try:
            with file.open("rb") as opened:
                data = opened.read(_LONGEST_SECRET + 1)
        except OSError as error:
            raise InvalidSetting(f"{variable} cannot be read: {error.strerror}.") from None
        text = data.decode("latin-1").strip()
        if not text:
            raise InvalidSetting(f"{variable} is empty.")
    if len(text) > _LONGEST_SECRET or not text.isascii() or (text and not text.isprintable()) or " " in text:
        raise InvalidSetting(f"{variable} holds no key: it is too long, or has blanks or characters that no key has.")
    return text


def unknown_variables(env: Mapping[str, str]) -> list[str]:
    """Messages about ``WEIGHBRIDGE_*`` variables that name no setting, each with the nearest one that does."""
    known = [PREFIX + item.name.upper() for item in fields(Settings)]
    messages = []
    for variable in sorted(env):
        if variable.startswith(PREFIX) and variable not in known and not variable.startswith(PREFIX + "TEST_"):
            nearest = difflib.get_close_matches(variable, known, 1)
            hint = f" Did you mean {nearest[0]}?" if nearest else ""
            messages.append(f"{variable} is not a setting and has no effect.{hint}")
    return messages


def default_data_dir(env: Mapping[str, str]) -> Path:
    """``$XDG_DATA_HOME/weighbridge``, by default ``~/.local/share/weighbridge``."""
    base = env.get("XDG_DATA_HOME", "").strip()
    return (Path(base) if base else Path.home() / ".local" / "share") / "weighbridge"


def _path(variable: str, text: str) -> Path:
    path = Path(text).expanduser()
    if not path.is_absolute():
        path = Path.cwd() / path
    if "\0" in text:
        raise InvalidSetting(f"{variable} is not a path.")
    return path


def _choice(*allowed: str) -> Callable[[str, str], str]:
    def read(variable: str, text: str) -> str:
        if text.lower() not in allowed:
            raise InvalidSetting(f"{variable} must be one of {', '.join(allowed)}.")
        return text.lower()

    return read


def _number(kind: type[int] | type[float], low: float, high: float) -> Callable[[str, str], float]:
    def read(variable: str, text: str) -> float:
        try:
            value = kind(text)
        except ValueError:
            value = kind(-1)
        if not low <= value <= high:
            what = "a whole number" if kind is int else "a number"
            raise InvalidSetting(f"{variable} must be {what} from {low:g} to {high:g}.")
        return value

    return read


def _switch(variable: str, text: str) -> bool:
    if text not in ("0", "1"):
        raise InvalidSetting(f"{variable} must be 0 or 1.")
    return text == "1"


def _text(_variable: str, text: str) -> str:
    return text


def _url(variable: str, text: str) -> str:
    """An address of https, or of http on this machine; a path on it is kept."""
    try:
        url = urlsplit(text)
        host, _ = url.hostname or "", url.port
    except ValueError:
        url, host = urlsplit(""), ""
    secure = url.scheme == "https" or (url.scheme == "http" and _is_loopback(host))
    if not host or not secure or url.query or url.fragment or url.username is not None:
        raise InvalidSetting(
            f"{variable} must be an address such as https://proxy.example (http on this machine only)."
        )
    return text


def _rate_limit(variable: str, text: str) -> RateLimit:
    try:
        return RateLimit.parse(text)
    except ValueError as error:
        raise InvalidSetting(f"{variable} must be {error}.") from None


def _redis_url(variable: str, text: str) -> str:
    try:
        url = urlsplit(text)
        host, _ = url.hostname or "", url.port
    except ValueError:
        url, host = urlsplit(""), ""
    if url.scheme not in ("redis", "rediss") or not host:
        raise InvalidSetting(f"{variable} must be an address such as redis://127.0.0.1:6379/0 (rediss: with TLS).")
    return text


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _names(_variable: str, text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


_READERS: Mapping[str, Callable[[str, str], Any]] = {
    "data_dir": _path,
    "config": _path,
    "database_url": _text,
    "secret": _text,
    "secret_file": _path,
    "admin_key": _text,
    "admin_key_file": _path,
    "rate_limit": _rate_limit,
    "redis_url": _redis_url,
    "log": _choice("json", "text", "off"),
    "engine": _choice("native", "library", "python"),
    "require_native": _switch,
    "vocabularies": _names,
    "max_body_bytes": _number(int, 1024, 1 << 30),
    "max_stream_bytes": _number(int, 1024, 1 << 50),
    "max_tokenize_bytes": _number(int, 1024, 1 << 30),
    "inline_bytes": _number(int, 0, 1 << 24),
    "workers": _number(int, 1, 256),
    "queue_limit": _number(int, 0, 100_000),
    "deadline_seconds": _number(float, 0.01, 3600),
    "body_timeout_seconds": _number(float, 0.01, 3600),
    "drain_seconds": _number(int, 0, 3600),
    "allow_chat_template": _switch,
    "default_model": _text,
    "prices_url": _text,
    "prices_sha256": _text,
    "prices_interval_seconds": _number(int, 3600, 31_536_000),
    "remote": _choice("never", "when_inexact", "always"),
    "remote_timeout_seconds": _number(float, 0.01, 600),
    "remote_concurrency": _number(int, 1, 1024),
    "anthropic_api_key": _text,
    "anthropic_api_key_file": _path,
    "anthropic_url": _url,
    "gemini_api_key": _text,
    "gemini_api_key_file": _path,
    "gemini_url": _url,
    "openai_api_key": _text,
    "openai_api_key_file": _path,
    "openai_url": _url,
}
