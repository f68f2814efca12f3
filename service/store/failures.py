"""What a database says when it cannot work, as ``LedgerUnavailable`` with a message for the operator."""

from __future__ import annotations

import asyncio
import sqlite3

from sqlalchemy.exc import DBAPIError

from service.domain.spending.errors import LedgerUnavailable

_SQLITE = {
    "SQLITE_FULL": "the disk is full",
    "SQLITE_READONLY": "the data directory, or the ledger's file in it, cannot be written",
    "SQLITE_CANTOPEN": "the ledger's file in the data directory cannot be opened",
    "SQLITE_BUSY": "the ledger's file is locked by another program",
    "SQLITE_LOCKED": "the ledger's file is locked by another program",
    "SQLITE_IOERR": "reading or writing the ledger's file failed",
    "SQLITE_CORRUPT": "the ledger's file is damaged: stop the service, and restore it from a copy",
    "SQLITE_NOTADB": "the ledger's file is no SQLite database: stop the service, and restore it from a copy",
}
_DOWN = "the database server does not answer"
_REFUSED = "the database server refused the connection: check WEIGHBRIDGE_DATABASE_URL and the server's log"
_AGAIN = ("40001", "40P01", "23505")  # two transactions stood in each other's way, or made the same row
_CONNECTION = ("08", "57", "53", "28", "3D", "25")  # lost, shutting down, out of room, not let in, read-only
_BROKEN = ("58", "XX")  # its disk or its data
_TIMEOUTS = ("57014", "55P03")  # a statement, or a wait for a lock, took too long


def unavailable(error: Exception) -> LedgerUnavailable | None:
    """Why the database cannot be used; ``None`` where it can, and the statement was wrong."""
    match error:
        case DBAPIError():
            return _of_driver(error)
        case sqlite3.Error():
            return _of_sqlite(error)
        case TimeoutError() | asyncio.TimeoutError() | ConnectionError():
            return LedgerUnavailable(_DOWN)
        case OSError():
            return LedgerUnavailable(f"{_DOWN} ({error.strerror})" if error.strerror else _DOWN)
    if type(error).__module__.startswith("asyncpg"):  # while it connects, SQLAlchemy hands over the driver's own
        return LedgerUnavailable(_REFUSED)
    return None


def is_collision(error: Exception) -> bool:
    """Whether the same transaction may well pass when it is run again."""
    return isinstance(error, DBAPIError) and getattr(error.orig, "sqlstate", None) in _AGAIN


def is_lock_timeout(error: Exception) -> bool:
    """Whether another transaction held something for too long."""
    return isinstance(error, DBAPIError) and getattr(error.orig, "sqlstate", None) == "55P03"


def _of_driver(error: DBAPIError) -> LedgerUnavailable | None:
    if isinstance(error.orig, sqlite3.Error):
        return _of_sqlite(error.orig)
    state = str(getattr(error.orig, "sqlstate", None) or "")
    if error.connection_invalidated or not state or state.startswith(_CONNECTION):
        return LedgerUnavailable(_DOWN if state[:2] in ("", "08", "57") else _REFUSED)
    if state.startswith(_BROKEN):
        return LedgerUnavailable("the database server failed: see its log")
    return LedgerUnavailable("the database is busy") if state in _TIMEOUTS else None


def _of_sqlite(error: sqlite3.Error) -> LedgerUnavailable | None:
    name = getattr(error, "sqlite_errorname", "") or ""
    for prefix, problem in _SQLITE.items():
        if name.startswith(prefix):
            return LedgerUnavailable(problem)
    return None
