"""The last good price list in the ledger's database, shared by replicas, and the lease under which one refreshes it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import TypeVar

from sqlalchemy import Connection, select, update
from sqlalchemy.dialects.postgresql import insert

from service.domain.ports import Snapshot, SnapshotError
from service.domain.spending.errors import LedgerNotOpened
from service.store.failures import unavailable
from service.store.migrate import upgrade
from service.store.rows import micros, moment
from service.store.tables import LEASES, PRICE_SNAPSHOTS
from service.store.workers import Session
from service.store.writing import upsert

T = TypeVar("T")

_ONLY = 1  # the id of the one row
_SECONDS = 10.0  # a price list has megabytes
_LEASE = "price_refresh"
_LEASE_LENGTH = timedelta(minutes=5)  # longer than any refresh takes with all its attempts
_KEEP = upsert(PRICE_SNAPSHOTS, add=())


class DatabaseSnapshots:
    """A snapshot store over a connection of its own, which ``make`` makes. Calls block, one at a time."""

    def __init__(self, make: Callable[[], Session]) -> None:
        self._make = make

    def load(self) -> Snapshot | None:
        """The snapshot kept, ``None`` without one. Raises ``SnapshotError``: ``unreadable`` or ``damaged``."""
        row = self._run(lambda c: c.execute(select(PRICE_SNAPSHOTS)).one_or_none(), "unreadable")
        if row is None:
            return None
        if hashlib.sha256(row.body).hexdigest() != row.sha256:
            raise SnapshotError("damaged")
        return Snapshot(row.body, row.sha256, row.etag, row.url, moment(row.fetched_at), moment(row.checked_at))

    def save(self, snapshot: Snapshot) -> None:
        """Put ``snapshot`` in place of the one before. Raises ``SnapshotError`` ``not_saved``."""
        values = {
            "id": _ONLY,
            "body": snapshot.body,
            "sha256": snapshot.sha256,
            "url": snapshot.url,
            "etag": snapshot.etag,
            "fetched_at": micros(snapshot.fetched_at),
            "checked_at": micros(snapshot.checked_at),
        }
        self._run(lambda c: c.execute(_KEEP, values), "not_saved")

    def touch(self, checked: datetime) -> None:
        """Set ``checked_at`` of the snapshot kept, if there is one. Raises ``SnapshotError`` ``not_saved``."""
        self._run(lambda c: c.execute(update(PRICE_SNAPSHOTS).values(checked_at=micros(checked))), "not_saved")

    def _run(self, work: Callable[[Connection], T], reason: str) -> T:
        session = self._make()
        try:
            with session.turn():
                return session.run(work, _SECONDS)
        except Exception as error:  # whatever the driver says, the list in service stays
            raise SnapshotError(reason) from error
        finally:
            session.close()


class RefreshLease:
    """The right to refresh the list, which one replica has at a time, for a while."""

    def __init__(self, make: Callable[[], Session], holder: str, clock: Callable[[], datetime]) -> None:
        self._make = make
        self._holder = holder
        self._clock = clock

    def take(self) -> bool:
        """Whether it is this replica's turn: nobody else has the lease. False too where the database is of no use.

        Makes the tables where they are not there yet.
        """
        session = self._make()
        try:
            with session.turn():
                return session.run(self._take, _SECONDS)
        except LedgerNotOpened:
            return False
        except Exception as error:
            if unavailable(error) is None:
                raise
            return False
        finally:
            session.close()

    def _take(self, connection: Connection) -> bool:
        upgrade(connection)
        now = self._clock()
        row = {"name": _LEASE, "holder": self._holder, "until": micros(now + _LEASE_LENGTH)}
        wanted = insert(LEASES).values(row)
        free = (LEASES.c.holder == self._holder) | (LEASES.c.until <= micros(now))
        new = {"holder": wanted.excluded.holder, "until": wanted.excluded.until}
        taken = connection.execute(wanted.on_conflict_do_update(index_elements=["name"], set_=new, where=free))
        return taken.rowcount == 1
