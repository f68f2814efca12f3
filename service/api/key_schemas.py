"""Keys on the wire."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from service.domain.keys.access import KeyScope
from service.domain.keys.keyring import Issued
from service.domain.keys.keys import Key, KeyChange


class KeyRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A key to make. ``scopes`` say what it may do; ``admin`` may do all.

    ``project`` is by default the caller's. ``expires_at`` is a time with its zone; ``rate_limit`` is written like
    ``600/minute`` and goes before the one of the settings.
    """

    name: str
    scopes: list[KeyScope]
    project: str | None = None
    expires_at: Annotated[datetime, Meta(tz=True)] | None = None
    rate_limit: str | None = None


class RotateRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How to rotate a key: for ``overlap_seconds`` the text before stays valid too, by default not at all."""

    overlap_seconds: float = 0


class KeyAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """A key without its text. ``last_used_at`` may be a minute late; ``created_by`` and ``revoked_by`` say who."""

    id: str
    project: str
    name: str
    scopes: Sequence[KeyScope]
    state: Literal["active", "expired", "revoked"]
    created_at: datetime
    created_by: str
    expires_at: datetime | None
    last_used_at: datetime | None
    revoked_at: datetime | None
    revoked_by: str | None
    rate_limit: str | None
    previous_valid_until: datetime | None


class IssuedKeyAnswer(KeyAnswer, frozen=True, kw_only=True):
    """A key with its text, ``key``, which is shown this once."""

    key: str


class KeyListAnswer(msgspec.Struct, frozen=True):
    """Keys in the order they were made; ``cursor`` asks for the next ones, ``null`` at the end."""

    keys: Sequence[KeyAnswer]
    cursor: str | None


class KeyChangeAnswer(msgspec.Struct, frozen=True):
    """What was done to a key, when and by whom."""

    what: Literal["created", "rotated", "revoked", "replaced", "restored"]
    at: datetime
    by: str


class KeyChangesAnswer(msgspec.Struct, frozen=True):
    """What was done to a key, the first first."""

    changes: Sequence[KeyChangeAnswer]


def key_answer(key: Key, now: datetime) -> KeyAnswer:
    """A key as it is shown."""
    return KeyAnswer(**_fields(key, now))


def issued_answer(issued: Issued, now: datetime) -> IssuedKeyAnswer:
    """A key that was just made or rotated."""
    return IssuedKeyAnswer(key=issued.text, **_fields(issued.key, now))


def changes_answer(changes: Sequence[KeyChange]) -> KeyChangesAnswer:
    """The changes of a key."""
    return KeyChangesAnswer([msgspec.convert(change, KeyChangeAnswer, from_attributes=True) for change in changes])


def _fields(key: Key, now: datetime) -> dict[str, Any]:
    state = "revoked" if key.revoked_at is not None else "expired" if key.expired(now) else "active"
    overlaps = key.previous_until is not None and now < key.previous_until
    return {
        "id": key.id,
        "project": key.spec.project,
        "name": key.spec.name,
        "scopes": sorted(key.spec.scopes),
        "state": state,
        "created_at": key.created_at,
        "created_by": key.created_by,
        "expires_at": None if key.spec.expires_at is None else key.spec.expires_at.astimezone(UTC),
        "last_used_at": key.last_used_at,
        "revoked_at": key.revoked_at,
        "revoked_by": key.revoked_by,
        "rate_limit": None if key.spec.rate_limit is None else str(key.spec.rate_limit),
        "previous_valid_until": key.previous_until if overlaps else None,
    }
