"""The ledger in PostgreSQL: one connection a thread, with limits on how long anything may take."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator
from typing import TypeVar

from sqlalchemy import URL, Connection
from sqlalchemy.ext.asyncio import AsyncConnection, create_async_engine
from sqlalchemy.pool import NullPool

T = TypeVar("T")

_CONNECT_SECONDS = 2.5


class PostgresSession:
    """As ``SqliteSession``: one connection of one thread, on an event loop of that thread's own."""

    def __init__(self, url: URL, *, looks_up: bool = True) -> None:
        """``looks_up``: rows are asked for by their keys, and not most of a table, as a report does."""
        self._engine = create_async_engine(
            url.set(drivername="postgresql+asyncpg"),
            poolclass=NullPool,
            connect_args={
                "timeout": _CONNECT_SECONDS,
                "server_settings": {
                    "application_name": "weighbridge",
                    "timezone": "UTC",
                    "synchronous_commit": "on",
                    "lock_timeout": "1000",  # less than a transaction may take, so that we learn what it waited for
                    # A statement is planned once, maybe while its table is empty: it must not read all of it for ever.
                    **({"enable_seqscan": "off"} if looks_up else {"plan_cache_mode": "force_custom_plan"}),
                    "idle_in_transaction_session_timeout": "5000",  # a frozen process must not hold its locks for ever
                },
            },
        )
        self._runner = asyncio.Runner()
        self._connection: AsyncConnection | None = None

    @contextlib.contextmanager
    def turn(self) -> Iterator[None]:
        """Nothing: the server puts transactions in order."""
        yield

    def run(self, work: Callable[[Connection], T], seconds: float) -> T:
        """The result of ``work`` in a transaction of its own, committed. Raises ``TimeoutError`` after ``seconds``."""
        try:
            return self._runner.run(asyncio.wait_for(self._transaction(work), seconds))
        except BaseException:
            self._drop()
            raise

    async def _transaction(self, work: Callable[[Connection], T]) -> T:
        if self._connection is None:
            self._connection = await self._engine.connect()
        async with self._connection.begin():
            return await self._connection.run_sync(work)

    def _drop(self) -> None:
        """Cut the connection without a word to the server, which may not listen."""
        connection, self._connection = self._connection, None
        if connection is not None:
            with contextlib.suppress(Exception):
                self._runner.run(self._cut(connection))

    @staticmethod
    async def _cut(connection: AsyncConnection) -> None:
        raw = await connection.get_raw_connection()
        driver = raw.driver_connection
        if driver is not None:
            driver.terminate()
        await connection.invalidate()
        await connection.close()

    def close(self) -> None:
        """End the connection and the thread's event loop."""
        connection, self._connection = self._connection, None
        if connection is not None:
            with contextlib.suppress(Exception):
                self._runner.run(asyncio.wait_for(connection.close(), 1))
        self._runner.close()
