"""Keys in the ledger's database: the port ``Keys``, over the threads of the ledger."""

from __future__ import annotations

import hmac
from collections.abc import Mapping, Sequence
from datetime import datetime

from sqlalchemy import Connection, bindparam, delete, func, or_, select, tuple_, update
from sqlalchemy.dialects import postgresql

from service.domain.keys.errors import SecretDiffers
from service.domain.keys.keys import Key, KeyChange, KeyList, Keys, KeySpec
from service.domain.spending.ledger import Once, Page
from service.store.key_operations import CreateKey, RevokeKey, RotateKey, SetAdminKey, lock, note, one_key
from service.store.key_rows import key_of
from service.store.ledger import SqlLedger
from service.store.rows import micros, moment
from service.store.tables import FACTS, KEY_CHANGES, KEYS

_SECRET = "secret"  # noqa: S105 - the name of a fact
_VALID = KEYS.c.revoked_at.is_(None)


class SqlKeys(Keys):
    """The port ``Keys`` beside ``ledger``, whose database and threads it uses."""

    def __init__(self, ledger: SqlLedger) -> None:
        self._ledger = ledger

    async def changed(self, since: int | None, fingerprint: bytes) -> KeyList | None:
        # By the writer, whose queue is short: a reader may have a long report before it.
        return await self._ledger.write(lambda c: _changed(c, since, fingerprint))

    async def create(self, key_id: str, spec: KeySpec, digest: bytes, *, by: str, once: Once | None = None) -> Key:
        return await self._ledger.carry_out(CreateKey(key_id, spec, digest, by, once))

    async def rotate(
        self, key_id: str, digest: bytes, *, overlap_seconds: float, by: str, once: Once | None = None
    ) -> Key:
        return await self._ledger.carry_out(RotateKey(key_id, digest, overlap_seconds, by, once))

    async def revoke(self, key_id: str, *, force: bool, by: str) -> Key:
        return await self._ledger.carry_out(RevokeKey(key_id, force, by))

    async def set_admin(self, key_id: str, digest: bytes) -> Key:
        return await self._ledger.carry_out(SetAdminKey(key_id, digest))

    async def key(self, key_id: str) -> Key:
        return await self._ledger.read(lambda c: one_key(c, key_id))

    async def keys(
        self, project: str | None, *, revoked: bool = False, cursor: str | None = None, limit: int = 100
    ) -> Page[Key]:
        return await self._ledger.read(lambda c: _page(c, project, cursor, limit, revoked=revoked))

    async def changes(self, key_id: str) -> Sequence[KeyChange]:
        return await self._ledger.read(lambda c: _changes_of(c, key_id))

    async def used(self, when: Mapping[str, datetime]) -> None:
        await self._ledger.write(lambda c: _note_use(c, when))

    async def start_anew(self, *, by: str, now: datetime) -> int:
        """Revoke every key and forget whose secret they were made with; how many there were.

        For a secret that is lost: nothing can be checked with another one.
        """
        return await self._ledger.write(lambda c: _start_anew(c, by, micros(now)))


def _changed(connection: Connection, since: int | None, fingerprint: bytes) -> KeyList | None:
    if since is None:
        _require_secret(connection, fingerprint)
    version = connection.execute(select(func.coalesce(func.max(KEY_CHANGES.c.id), 0))).scalar_one()
    if version == since:
        return None
    wanted = _VALID if since is None else KEYS.c.id.in_(select(KEY_CHANGES.c.key_id).where(KEY_CHANGES.c.id > since))
    rows = connection.execute(select(KEYS).where(wanted))
    return KeyList(version, [key_of(row) for row in rows], whole=since is None)


def _require_secret(connection: Connection, fingerprint: bytes) -> None:
    """Keep the fingerprint of the first process; raise ``SecretDiffers`` for another."""
    mine = {"name": _SECRET, "value": fingerprint}
    connection.execute(postgresql.insert(FACTS).values(mine).on_conflict_do_nothing(index_elements=["name"]))
    kept = connection.execute(select(FACTS.c.value).where(FACTS.c.name == _SECRET)).scalar_one()
    if not hmac.compare_digest(bytes(kept), fingerprint):
        raise SecretDiffers


def _page(connection: Connection, project: str | None, cursor: str | None, limit: int, *, revoked: bool) -> Page[Key]:
    query = select(KEYS).order_by(KEYS.c.created_at, KEYS.c.id).limit(limit + 1)
    if project is not None:
        query = query.where(KEYS.c.project == project)
    if not revoked:
        query = query.where(_VALID)
    at, _, after = (cursor or "").partition("-")
    if at.isdecimal() and after:
        query = query.where(tuple_(KEYS.c.created_at, KEYS.c.id) > tuple_(int(at), after))
    found = [key_of(row) for row in connection.execute(query)]
    shown = found[:limit]
    return Page(shown, f"{micros(shown[-1].created_at)}-{shown[-1].id}" if len(found) > limit else None)


def _changes_of(connection: Connection, key_id: str) -> list[KeyChange]:
    one_key(connection, key_id)
    query = select(KEY_CHANGES).where(KEY_CHANGES.c.key_id == key_id).order_by(KEY_CHANGES.c.id)
    return [KeyChange(row.what, moment(row.at), row.by) for row in connection.execute(query)]


def _note_use(connection: Connection, when: Mapping[str, datetime]) -> None:
    earlier = or_(KEYS.c.last_used_at.is_(None), KEYS.c.last_used_at < bindparam("at"))
    statement = update(KEYS).where(KEYS.c.id == bindparam("key"), earlier).values(last_used_at=bindparam("at"))
    connection.execute(statement, [{"key": key, "at": micros(at)} for key, at in sorted(when.items())])


def _start_anew(connection: Connection, by: str, at: int) -> int:
    lock(connection)
    ids = connection.execute(select(KEYS.c.id).where(_VALID).order_by(KEYS.c.id)).scalars().all()
    connection.execute(update(KEYS).where(_VALID).values(revoked_at=at, revoked_by=by))
    for key_id in ids:
        note(connection, key_id, "revoked", at, by)
    connection.execute(delete(FACTS).where(FACTS.c.name == _SECRET))
    return len(ids)
