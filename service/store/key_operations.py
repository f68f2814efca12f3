"""What is done to keys: made, given another text, revoked. One after the other, and each is kept with who did it.

The last change's number is the version of all keys, by which other processes see that they have to read them anew.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import ClassVar

from sqlalchemy import ColumnElement, Connection, func, insert, or_, select, text, update

from service.domain.keys.access import KeyScope
from service.domain.keys.errors import FirstKeyNotAdmin, KeyRevoked, LastAdminKey, UnknownKey
from service.domain.keys.keys import Key, KeyOrigin, KeySpec
from service.domain.spending.budgets import DEFAULT_PROJECT
from service.domain.spending.ledger import Once
from service.store.key_rows import key_of, key_values
from service.store.rows import Charge, micros
from service.store.tables import KEY_CHANGES, KEYS
from service.store.working import Needs, Working

_LOCK = 0x576B657973  # a number of our own, for PostgreSQL's advisory lock
SETTING = "setting WEIGHBRIDGE_ADMIN_KEY"
_VALID = KEYS.c.revoked_at.is_(None)


@dataclass(frozen=True, slots=True)
class _KeyOperation:
    """Needs nothing of the ledger's own rows."""

    alone: ClassVar[bool] = True

    def needs(self) -> Needs:
        return Needs()

    def charges(self, working: Working) -> Iterable[Charge]:
        del working
        return ()


@dataclass(frozen=True, slots=True)
class CreateKey(_KeyOperation):
    """A new key."""

    key_id: str
    spec: KeySpec
    digest: bytes
    by: str
    once: Once | None = None

    def apply(self, working: Working) -> Key:
        lock(working.connection)
        if KeyScope.ADMIN not in self.spec.scopes and not _any(working.connection, _VALID):
            raise FirstKeyNotAdmin
        key = Key(self.key_id, self.spec, self.digest, working.now, self.by)
        return _add(working, key, "created")


@dataclass(frozen=True, slots=True)
class RotateKey(_KeyOperation):
    """Another text for a key; the one before stays valid for so many seconds."""

    key_id: str
    digest: bytes
    overlap_seconds: float
    by: str
    once: Once | None = None

    def apply(self, working: Working) -> Key:
        lock(working.connection)
        key = one_key(working.connection, self.key_id)
        if key.revoked_at is not None:
            raise KeyRevoked
        overlaps = self.overlap_seconds > 0
        changed = replace(
            key,
            digest=self.digest,
            previous=key.digest if overlaps else None,
            previous_until=working.now + timedelta(seconds=self.overlap_seconds) if overlaps else None,
            origin=KeyOrigin.MADE,  # its text is no longer the one that was set
        )
        return _change(working, changed, "rotated", self.by)


@dataclass(frozen=True, slots=True)
class RevokeKey(_KeyOperation):
    """The end of a key. The last admin key only by ``force``."""

    key_id: str
    force: bool
    by: str
    once: Once | None = None

    def apply(self, working: Working) -> Key:
        lock(working.connection)
        key = one_key(working.connection, self.key_id)
        if key.revoked_at is not None:
            return key
        if not self.force and KeyScope.ADMIN in key.spec.scopes and not self._another(working):
            raise LastAdminKey
        return _change(working, replace(key, revoked_at=working.now, revoked_by=self.by), "revoked", self.by)

    def _another(self, working: Working) -> bool:
        lasts = or_(KEYS.c.expires_at.is_(None), KEYS.c.expires_at > micros(working.now))
        admins = KEYS.c.scopes.contains(KeyScope.ADMIN.value)
        rows = working.connection.execute(select(KEYS).where(_VALID, lasts, admins, KEYS.c.id != self.key_id))
        return any(KeyScope.ADMIN in key_of(row).spec.scopes for row in rows)


@dataclass(frozen=True, slots=True)
class SetAdminKey(_KeyOperation):
    """The admin key whose text was set, in place of one that was set before. One that somebody revoked stays so."""

    key_id: str
    digest: bytes
    once: Once | None = None

    def apply(self, working: Working) -> Key:
        lock(working.connection)
        connection, key_id = working.connection, self.key_id
        before = KEYS.c.origin == KeyOrigin.SETTING.value, KEYS.c.id != key_id, _VALID
        for other in connection.execute(select(KEYS).where(*before)).all():
            old = replace(key_of(other), revoked_at=working.now, revoked_by=SETTING)
            _change(working, old, "replaced", SETTING)
        row = connection.execute(select(KEYS).where(KEYS.c.id == key_id)).one_or_none()
        if row is None:
            spec = KeySpec(DEFAULT_PROJECT, "admin key of the settings", frozenset({KeyScope.ADMIN}))
            key = Key(key_id, spec, self.digest, working.now, SETTING, KeyOrigin.SETTING)
            return _add(working, key, "created")
        key = key_of(row)
        if key.revoked_at is None or key.revoked_by != SETTING:
            return key
        return _change(working, replace(key, revoked_at=None, revoked_by=None), "restored", SETTING)


def lock(connection: Connection) -> None:
    """Let nobody else change keys until the transaction ends; so changes are numbered in the order of their commits."""
    if connection.dialect.name == "postgresql":  # SQLite's transaction is exclusive anyway
        connection.execute(text("SELECT pg_advisory_xact_lock(:number)"), {"number": _LOCK})


def one_key(connection: Connection, key_id: str) -> Key:
    """A key as it stands. Raises ``UnknownKey``."""
    row = connection.execute(select(KEYS).where(KEYS.c.id == key_id)).one_or_none()
    if row is None:
        raise UnknownKey
    return key_of(row)


def note(connection: Connection, key_id: str, what: str, at: int, by: str) -> None:
    """Keep what was done to a key."""
    connection.execute(insert(KEY_CHANGES).values(key_id=key_id, what=what, at=at, by=by))


def _any(connection: Connection, condition: ColumnElement[bool]) -> bool:
    return bool(connection.execute(select(func.count()).select_from(KEYS).where(condition)).scalar_one())


def _add(working: Working, key: Key, what: str) -> Key:
    working.connection.execute(insert(KEYS).values(key_values(key)))
    note(working.connection, key.id, what, micros(working.now), key.created_by)
    return key


def _change(working: Working, key: Key, what: str, by: str) -> Key:
    working.connection.execute(update(KEYS).where(KEYS.c.id == key.id).values(key_values(key)))
    note(working.connection, key.id, what, micros(working.now), by)
    return key
