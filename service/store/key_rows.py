"""Keys as rows of their table."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import Row

from service.domain.keys.access import KeyScope
from service.domain.keys.keys import Key, KeyOrigin, KeySpec
from service.domain.keys.rates import RateLimit
from service.store.rows import micros, moment


def key_of(row: Row[Any]) -> Key:
    """A row of ``keys``. A scope that this program does not know allows nothing."""
    known = frozenset(KeyScope) & frozenset(row.scopes.split())
    spec = KeySpec(
        row.project,
        row.name,
        frozenset(map(KeyScope, known)),
        _moment(row.expires_at),
        None if row.rate_limit is None else RateLimit.parse(row.rate_limit),
    )
    return Key(
        id=row.id,
        spec=spec,
        digest=bytes(row.digest),
        created_at=moment(row.created_at),
        created_by=row.created_by,
        origin=KeyOrigin(row.origin),
        last_used_at=_moment(row.last_used_at),
        revoked_at=_moment(row.revoked_at),
        revoked_by=row.revoked_by,
        previous=None if row.previous is None else bytes(row.previous),
        previous_until=_moment(row.previous_until),
    )


def key_values(key: Key) -> Mapping[str, Any]:
    """The columns of a key, but for when it was last used."""
    spec = key.spec
    return {
        "id": key.id,
        "project": spec.project,
        "name": spec.name,
        "scopes": " ".join(sorted(spec.scopes)),
        "origin": key.origin.value,
        "rate_limit": None if spec.rate_limit is None else str(spec.rate_limit),
        "digest": key.digest,
        "previous": key.previous,
        "previous_until": _micros(key.previous_until),
        "created_at": micros(key.created_at),
        "created_by": key.created_by,
        "expires_at": _micros(spec.expires_at),
        "revoked_at": _micros(key.revoked_at),
        "revoked_by": key.revoked_by,
    }


def _moment(at: int | None) -> datetime | None:
    return None if at is None else moment(at)


def _micros(at: datetime | None) -> int | None:
    return None if at is None else micros(at)
