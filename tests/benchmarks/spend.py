"""A year of spend over a million entries, asked over HTTP: by month and model, by day, by hour, as CSV."""

from __future__ import annotations

import asyncio
import os
import random
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx

from service.store.ledger import sql_ledger
from service.store.rollups import Sums, write_rollups
from tests.service.conftest import ServerProcess
from tests.service.store.server import PostgresServer, binaries

_DAYS = 365
_END = datetime(2026, 12, 1, tzinfo=UTC)
_ENTRIES = 1_000_000
_SPAN = f"start={(_END - timedelta(days=_DAYS)).date()}T00:00:00Z&end={_END.date()}T00:00:00Z"
_REPORTS = {
    "by month and model": f"{_SPAN}&interval=month&group_by=model",
    "by month and model, Berlin": f"{_SPAN}&interval=month&group_by=model&timezone=Europe/Berlin",
    "by model": f"{_SPAN}&group_by=model",
    "by day and key": f"{_SPAN}&interval=day&group_by=key",
    "by hour": f"{_SPAN}&interval=hour",
    "by hour and model, CSV": f"{_SPAN}&interval=hour&group_by=model&format=csv",
    "by day and model, CSV": f"{_SPAN}&interval=day&group_by=model&format=csv",
}


def run() -> None:
    """Fill and ask a ledger in SQLite, and one in PostgreSQL where that is installed."""
    with tempfile.TemporaryDirectory() as folder:
        _ask("SQLite", "", Path(folder))
    found = binaries()
    if found is None:
        print("PostgreSQL is not installed, and left out")
        return
    server = PostgresServer(found)
    try:
        with tempfile.TemporaryDirectory() as folder:
            _ask("PostgreSQL", server.new_database(), Path(folder))
    finally:
        server.remove()


def _ask(name: str, url: str, folder: Path) -> None:
    rows = asyncio.run(_fill(url, folder))
    env = {"WEIGHBRIDGE_DATABASE_URL": url, "WEIGHBRIDGE_SECRET": "0" * 64, "WEIGHBRIDGE_VOCABULARIES": "o200k_base"}
    server = ServerProcess(folder, env)
    try:
        server.wait_until_ready()
        print(f"{name}: {_ENTRIES:,} entries of a year in {rows:,} sums, {os.cpu_count()} processors; best of three")
        for report, query in _REPORTS.items():
            times = [_seconds(f"{server.url}/v1/spend?{query}") for _ in range(3)]
            print(f"  {report:28} {min(times):6.3f} s")
    finally:
        server.stop()


def _seconds(url: str) -> float:
    started = time.perf_counter()
    httpx.get(url, timeout=60).raise_for_status()
    return time.perf_counter() - started


async def _fill(url: str, folder: Path) -> int:
    """Write the sums of entries of 20 models and 5 keys, each at a random quarter of an hour."""
    ledger = sql_ledger(url, folder, lambda: datetime.now(UTC))
    await ledger.open()
    rows = 0
    for part in _sums():
        await ledger._writers.run(lambda c, part=part: write_rollups(c, part), 60, 60)
        rows += len(part.rollups)
    await ledger.close()
    return rows


def _sums() -> Iterator[Sums]:
    chance = random.Random(1)
    for day in range(_DAYS):
        at = int((_END - timedelta(days=_DAYS - day)).timestamp())
        sums = Sums()
        for _ in range(_ENTRIES // _DAYS + (day < _ENTRIES % _DAYS)):
            quarter, model, key = chance.randrange(96), chance.randrange(20), chance.randrange(5)
            row = sums.rollups["default", at + quarter * 900, "openai", f"model-{model}", f"k{key}", "o200k_base"]
            for place, value in enumerate((chance.randrange(10**9), 500, 400, 0, 0, 0, 1, 0)):
                row[place] += value
        yield sums
