"""The ledger's file: SQLite in the data directory, every commit on the disk before it is acknowledged.

Processes that share the file take turns by a lock file beside it. SQLite's own wait for a lock tries again and again,
and lets a process that just had the lock have it once more; in a queue everybody comes to his turn.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.pool import NullPool

try:
    import fcntl
except ImportError:  # a system without it: SQLite's own wait is all there is
    fcntl = None  # type: ignore[assignment]

T = TypeVar("T")

FILE_NAME = "ledger.sqlite"
_BUSY_MS = 1500


class SqliteSession:
    """One connection of one thread, made when it is needed and dropped when something went wrong."""

    def __init__(self, folder: Path, *, writes: bool) -> None:
        self._folder = folder
        self._writes = writes
        self._engine = _engine(folder / FILE_NAME, writes=writes)
        self._connection: Connection | None = None
        self._turn = _Turn(folder) if writes and fcntl is not None else None

    @contextlib.contextmanager
    def turn(self) -> Iterator[None]:
        """Wait until it is this process's turn to write. Nothing is read or written before."""
        if self._turn is None:
            yield
        else:
            with self._turn.taken():
                yield

    def run(self, work: Callable[[Connection], T], seconds: float) -> T:
        """The result of ``work`` in a transaction of its own, committed to the disk."""
        del seconds  # SQLite answers or fails; only the wait for a lock has a limit, and that is in the connection
        try:
            connection = self._connect()
            with connection.begin():
                return work(connection)
        except BaseException:
            self.close()
            raise

    def _connect(self) -> Connection:
        if self._connection is None:
            if self._writes:
                _make_file(self._folder)
            self._connection = self._engine.connect()
        return self._connection

    def close(self) -> None:
        """Drop the connection; the next ``run`` makes another."""
        connection, self._connection = self._connection, None
        if connection is not None:
            with contextlib.suppress(Exception):  # what is broken need not close in order
                connection.close()


class _Turn:
    """A queue of processes at two locks: who has the gate is next, and nobody else can be."""

    def __init__(self, folder: Path) -> None:
        self._paths = (folder / f"{FILE_NAME}.gate", folder / f"{FILE_NAME}.turn")
        self._files: tuple[int, int] | None = None

    @contextlib.contextmanager
    def taken(self) -> Iterator[None]:
        if self._files is None:
            self._files = self._open()
        gate, turn = self._files
        fcntl.flock(gate, fcntl.LOCK_EX)
        try:
            fcntl.flock(turn, fcntl.LOCK_EX)
        finally:
            fcntl.flock(gate, fcntl.LOCK_UN)
        try:
            yield
        finally:
            fcntl.flock(turn, fcntl.LOCK_UN)

    def __del__(self) -> None:
        for file in self._files or ():
            os.close(file)

    def _open(self) -> tuple[int, int]:
        self._paths[0].parent.mkdir(parents=True, exist_ok=True)
        gate, turn = (os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600) for path in self._paths)
        return gate, turn


def _make_file(folder: Path) -> None:
    """Make the file for its owner alone; SQLite gives the files beside it the same mode."""
    folder.mkdir(parents=True, exist_ok=True)
    with contextlib.suppress(OSError):  # where it cannot be made, SQLite says why
        os.close(os.open(folder / FILE_NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))


def _engine(path: Path, *, writes: bool) -> Engine:
    engine = create_engine(
        f"sqlite:///{path}", poolclass=NullPool, connect_args={"isolation_level": None, "timeout": _BUSY_MS / 1000}
    )

    @event.listens_for(engine, "connect")
    def prepare(connection: Any, _record: object) -> None:
        run = connection.execute
        if writes:
            run("PRAGMA journal_mode = WAL")
        run("PRAGMA synchronous = FULL")
        run(f"PRAGMA query_only = {'OFF' if writes else 'ON'}")
        run("PRAGMA temp_store = MEMORY")

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine
