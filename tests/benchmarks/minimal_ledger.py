"""The budget service anyone would write first: FastAPI, and a transaction for each request. A peer, not a part of ours.

It checks one limit and keeps no history, periods, tags, idempotency or expiry: what it takes is the least there is.
"""

from __future__ import annotations

import contextlib
import sqlite3
import sys
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import uvicorn
from fastapi import FastAPI, HTTPException
from pydantic import BaseModel

_BUDGETS = 100
_TABLES = (
    "CREATE TABLE budgets (id INTEGER PRIMARY KEY, cap BIGINT NOT NULL, spent BIGINT NOT NULL, held BIGINT)",
    "CREATE TABLE holds (id {serial} PRIMARY KEY, budget INTEGER NOT NULL, amount BIGINT NOT NULL, open INTEGER)",
)
_FILL = [f"INSERT INTO budgets VALUES ({number}, 1000000000000000, 0, 0)" for number in range(_BUDGETS)]


class Reserve(BaseModel):
    budget: int
    amount: int


class Settle(BaseModel):
    cost: int


def over_sqlite(file: Path) -> FastAPI:
    """A connection for each thread of the framework's pool; ``synchronous`` is SQLite's own default, FULL."""
    app = FastAPI()
    mine = threading.local()

    def connection() -> sqlite3.Connection:
        if not hasattr(mine, "connection"):
            mine.connection = sqlite3.connect(file, timeout=30, isolation_level=None)
            mine.connection.execute("PRAGMA synchronous = FULL")
        found: sqlite3.Connection = mine.connection
        return found

    first = connection()
    first.execute("PRAGMA journal_mode = WAL")
    for statement in (*_TABLES, *_FILL):
        first.execute(statement.format(serial="INTEGER"))

    @contextlib.contextmanager
    def transaction():
        found = connection()
        found.execute("BEGIN IMMEDIATE")
        try:
            yield found
        except BaseException:
            found.execute("ROLLBACK")
            raise
        found.execute("COMMIT")

    @app.post("/reserve")
    def reserve(body: Reserve) -> dict[str, int]:
        with transaction() as db:
            cap, spent, held = db.execute("SELECT cap, spent, held FROM budgets WHERE id = ?", [body.budget]).fetchone()
            if spent + held + body.amount > cap:
                raise HTTPException(402)
            db.execute("UPDATE budgets SET held = held + ? WHERE id = ?", [body.amount, body.budget])
            row = db.execute("INSERT INTO holds (budget, amount, open) VALUES (?, ?, 1)", [body.budget, body.amount])
            return {"id": row.lastrowid or 0}

    @app.post("/settle/{number}")
    def settle(number: int, body: Settle) -> dict[str, int]:
        with transaction() as db:
            found = db.execute("SELECT budget, amount FROM holds WHERE id = ? AND open = 1", [number]).fetchone()
            if found is None:
                raise HTTPException(404)
            db.execute("UPDATE holds SET open = 0 WHERE id = ?", [number])
            change = "UPDATE budgets SET held = held - ?, spent = spent + ? WHERE id = ?"
            db.execute(change, [found[1], body.cost, found[0]])
            return {"id": number}

    return app


def over_postgresql(url: str) -> FastAPI:
    """A pool of ten connections, as many as asyncpg opens by default."""
    pool: asyncpg.Pool

    @contextlib.asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        nonlocal pool
        async with asyncpg.create_pool(url) as pool:
            for statement in (*_TABLES, *_FILL):
                await pool.execute(statement.format(serial="SERIAL"))
            yield

    app = FastAPI(lifespan=lifespan)

    @app.post("/reserve")
    async def reserve(body: Reserve) -> dict[str, int]:
        async with pool.acquire() as db, db.transaction():
            row = await db.fetchrow("SELECT cap, spent, held FROM budgets WHERE id = $1 FOR UPDATE", body.budget)
            if row["spent"] + row["held"] + body.amount > row["cap"]:
                raise HTTPException(402)
            await db.execute("UPDATE budgets SET held = held + $1 WHERE id = $2", body.amount, body.budget)
            insert = "INSERT INTO holds (budget, amount, open) VALUES ($1, $2, 1) RETURNING id"
            return {"id": await db.fetchval(insert, body.budget, body.amount)}

    @app.post("/settle/{number}")
    async def settle(number: int, body: Settle) -> dict[str, int]:
        async with pool.acquire() as db, db.transaction():
            close = "UPDATE holds SET open = 0 WHERE id = $1 AND open = 1 RETURNING budget, amount"
            found = await db.fetchrow(close, number)
            if found is None:
                raise HTTPException(404)
            change = "UPDATE budgets SET held = held - $1, spent = spent + $2 WHERE id = $3"
            await db.execute(change, found["amount"], body.cost, found["budget"])
            return {"id": number}

    return app


def ready() -> dict[str, str]:
    """What is asked until it answers."""
    return {}


if __name__ == "__main__":
    place = sys.argv[2]
    service = over_postgresql(place) if "://" in place else over_sqlite(Path(place))
    service.post("/ready")(ready)
    uvicorn.run(service, host="127.0.0.1", port=int(sys.argv[1]), log_level="warning", access_log=False)
