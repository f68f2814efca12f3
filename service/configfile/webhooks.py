"""The ``[[webhook]]`` rows of the configuration file: where alerts are sent."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from urllib.parse import urlsplit

from service.configfile.document import Document, Row
from service.domain.spending.alerts import AlertKind, Target

SECTION = "webhook"

_KEYS = ("url", "secret_env", "secret_file", "events", "allow_private")
_MARK = "whsec_"
_SHORTEST = 16
_LONGEST = 4096
_MOST = 32


def read_webhooks(document: Document, env: Mapping[str, str] | None) -> tuple[Target, ...]:
    """The targets in the file's order, with the secrets that ``env`` or their files hold; without ``env`` with none.

    Raises ``InvalidConfig``, and names no secret in it.
    """
    targets: dict[str, Target] = {}
    for row in document.rows(SECTION):
        row.only(_KEYS)
        if len(targets) == _MOST:
            row.refuse(f"At most {_MOST} webhooks.")
        target = _target(row, env)
        if target.key in targets:
            row.refuse("This url is there twice: name all its 'events' in one row.", "url")
        targets[target.key] = target
    return tuple(targets.values())


def _target(row: Row, env: Mapping[str, str] | None) -> Target:
    allow_private = row.flag("allow_private", default=False)
    events = row.texts("events")
    for event in events:
        if event not in list(AlertKind):
            row.refuse(f"'events' may hold {', '.join(AlertKind)}.", "events")
    return Target(
        url=_url(row, allow_private=allow_private),
        secret=_secret(row, env),
        events=frozenset(map(AlertKind, events)) or frozenset(AlertKind),
        allow_private=allow_private,
    )


def _url(row: Row, *, allow_private: bool) -> str:
    text = row.text("url")
    try:
        url = urlsplit(text)
        host, _ = url.hostname, url.port
    except ValueError:
        host = None
        url = urlsplit("")
    schemes = ("https", "http") if allow_private else ("https",)
    if not host or url.scheme not in schemes or url.username is not None or url.fragment or not text.isprintable():
        hint = "" if allow_private else "; http only with allow_private = true"
        row.refuse(f"'url' must be an address such as https://alerts.example/hook{hint}.", "url")
    return text


def _secret(row: Row, env: Mapping[str, str] | None) -> bytes:
    variable, file = row.text("secret_env", ""), row.text("secret_file", "")
    if bool(variable) == bool(file):
        row.refuse("[[webhook]] needs 'secret_env', the name of a variable, or 'secret_file', and not both.")
    if env is None:
        return b""
    if variable:
        text = env.get(variable, "").strip()
        if not text:
            row.refuse("The variable that 'secret_env' names is not set.", "secret_env")
        return _key(row, text)
    path = row.document.path.parent / file
    try:
        with path.open("rb") as opened:
            return _key(row, opened.read(2 * _LONGEST).decode("latin-1").strip())
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is no path"
        row.refuse(f"The file of 'secret_file' cannot be read: {reason}.", "secret_file")


def _key(row: Row, text: str) -> bytes:
    """The key itself: after ``whsec_`` it is base64, as other senders write it; else the text is the key."""
    where = "secret_env" if "secret_env" in row.values else "secret_file"
    key = text.encode("latin-1", "replace")
    if text.startswith(_MARK):
        try:
            key = base64.b64decode(text.removeprefix(_MARK), validate=True)
        except (binascii.Error, ValueError):
            row.refuse(f"The secret begins with {_MARK}, and what follows is no base64.", where)
    if not _SHORTEST <= len(key) <= _LONGEST:
        row.refuse(f"The secret has {_SHORTEST} to {_LONGEST} bytes.", where)
    return key
