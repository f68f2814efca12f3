"""Keys: what one is, how its text is made and hashed, and the port to where keys are kept.

A key's text is ``wb_``, its id and 256 random bits. It is shown once; what is kept is a keyed hash of it.
"""

from __future__ import annotations

import hmac
import re
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Protocol

from service.domain.keys.access import Caller, KeyScope, is_project
from service.domain.keys.errors import InvalidKey
from service.domain.keys.rates import RateLimit
from service.domain.spending.ledger import Once, Page

_PREFIX = "wb_"
_ID_DIGITS = 16
_ID = re.compile(r"[0-9a-f]{16}")
_TEXT = re.compile(rb"wb_([0-9a-f]{16})_[0-9a-f]{64}")
_LONGEST_NAME = 100
_EARLIEST, _LATEST = datetime(2000, 1, 1, tzinfo=UTC), datetime(9998, 12, 31, tzinfo=UTC)

MAX_OVERLAP_SECONDS = 30 * 86_400
"""Longest time that the text before a rotation stays valid."""


class KeyOrigin(StrEnum):
    """Where a key comes from: ``made`` by a caller or the command line, or ``setting``, the admin key that was set."""

    MADE = "made"
    SETTING = "setting"


@dataclass(frozen=True, slots=True)
class KeySpec:
    """A key as it is asked for. Raises ``InvalidKey``."""

    project: str
    name: str
    scopes: frozenset[KeyScope]
    expires_at: datetime | None = None
    rate_limit: RateLimit | None = None

    def __post_init__(self) -> None:
        if not is_project(self.project):
            problem = "A project has 1 to 64 of A-Z a-z 0-9 . _ -, and starts with a letter or digit."
            raise InvalidKey("project", problem)
        if not 1 <= len(self.name) <= _LONGEST_NAME or not self.name.isprintable():
            raise InvalidKey("name", f"A name has 1 to {_LONGEST_NAME} printable characters.")
        if self.expires_at is not None and not _EARLIEST <= self.expires_at <= _LATEST:
            raise InvalidKey("expires_at", "A key expires in a year from 2000 to 9998.")


def scopes_of(names: Iterable[str]) -> frozenset[KeyScope]:
    """The scopes of those names, one at least. Raises ``InvalidKey``."""
    given = frozenset(names)
    if not given or not given <= frozenset(KeyScope):
        raise InvalidKey("scopes", f"Give one scope or more of: {', '.join(KeyScope)}.")
    return frozenset(map(KeyScope, given))


@dataclass(frozen=True, slots=True)
class Key:
    """A key as it is kept. ``digest`` is the keyed hash of its text.

    After a rotation ``previous`` is the hash of the text before, which stays valid until ``previous_until``.
    """

    id: str
    spec: KeySpec
    digest: bytes
    created_at: datetime
    created_by: str
    origin: KeyOrigin = KeyOrigin.MADE
    last_used_at: datetime | None = None
    revoked_at: datetime | None = None
    revoked_by: str | None = None
    previous: bytes | None = None
    previous_until: datetime | None = None

    def expired(self, now: datetime) -> bool:
        """Whether its time is over."""
        return self.spec.expires_at is not None and now >= self.spec.expires_at

    def opens(self, digest: bytes, now: datetime) -> bool:
        """Whether the text with that hash is this key's, now. Takes the same time whatever the hash is."""
        fits = hmac.compare_digest(self.digest, digest)
        if self.previous is not None and self.previous_until is not None and now < self.previous_until:
            fits |= hmac.compare_digest(self.previous, digest)
        return fits and self.revoked_at is None and not self.expired(now)

    @property
    def caller(self) -> Caller:
        """Who asks with it."""
        return Caller(self.spec.project, self.id, self.spec.scopes)


def new_id() -> str:
    """An id for a new key."""
    return secrets.token_hex(_ID_DIGITS // 2)


def new_text(key_id: str) -> str:
    """A text for the key, with 256 random bits."""
    return f"{_PREFIX}{key_id}_{secrets.token_hex(32)}"


def id_of(text: bytes, digest: bytes) -> str:
    """The id of the key that a text may be: it stands in the text, or where that has another form, in its hash."""
    match = _TEXT.fullmatch(text)
    return digest.hex()[:_ID_DIGITS] if match is None else match[1].decode()


def is_key_id(text: str) -> bool:
    """Whether a key can have that id."""
    return _ID.fullmatch(text) is not None


@dataclass(frozen=True, slots=True)
class KeyList:
    """All keys that are not revoked, as of ``version``; unless ``whole``, those that changed, revoked or not."""

    version: int
    keys: Sequence[Key]
    whole: bool = True


@dataclass(frozen=True, slots=True)
class KeyChange:
    """What was done to a key: ``created``, ``rotated``, ``revoked``, ``replaced`` or ``restored``."""

    what: str
    at: datetime
    by: str


class Keys(Protocol):
    """Where keys are kept, with every change of one.

    Every call raises ``LedgerUnavailable`` or ``LedgerNotOpened`` where the database cannot be used. A call with
    ``once`` raises ``Replayed``, with the key's id for an answer, where it was carried out before.
    """

    async def changed(self, since: int | None, fingerprint: bytes) -> KeyList | None:
        """All keys, those that have changed since that version, or ``None`` where none has.

        Without a version the ``fingerprint`` of the service's secret is compared with the one kept, and kept where
        there is none. Raises ``SecretDiffers``.
        """
        ...

    async def create(self, key_id: str, spec: KeySpec, digest: bytes, *, by: str, once: Once | None = None) -> Key:
        """A new key. Raises ``FirstKeyNotAdmin``."""
        ...

    async def rotate(
        self, key_id: str, digest: bytes, *, overlap_seconds: float, by: str, once: Once | None = None
    ) -> Key:
        """The key with another text. Raises ``UnknownKey``, ``KeyRevoked``."""
        ...

    async def revoke(self, key_id: str, *, force: bool, by: str) -> Key:
        """The key, which opens nothing from now on. Raises ``UnknownKey``, ``LastAdminKey`` unless ``force``."""
        ...

    async def set_admin(self, key_id: str, digest: bytes) -> Key:
        """The admin key of the setting, in place of the one that the setting gave before; twice is as once."""
        ...

    async def key(self, key_id: str) -> Key:
        """One key, revoked or not. Raises ``UnknownKey``."""
        ...

    async def keys(
        self, project: str | None, *, revoked: bool = False, cursor: str | None = None, limit: int = 100
    ) -> Page[Key]:
        """The keys of a project, or of all, in the order they were made."""
        ...

    async def changes(self, key_id: str) -> Sequence[KeyChange]:
        """What was done to a key, the first first. Raises ``UnknownKey``."""
        ...

    async def used(self, when: Mapping[str, datetime]) -> None:
        """Note when keys were last used."""
        ...
