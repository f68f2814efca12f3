"""Rows are found by their keys, however long ago PostgreSQL planned the statement."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from sqlalchemy import text

from service.store.ledger import SqlLedger
from service.store.tables import HOLDS
from tests.service.store.places import Place, asked, budget, cost

pytestmark = pytest.mark.xdist_group("postgresql")

_MANY = 20_000
_COLUMNS = [column.name for column in HOLDS.columns if column.name not in ("id", "state")]
_GROW = text(
    f"INSERT INTO holds (id, state, {', '.join(_COLUMNS)}) "
    f"SELECT 'h_' || n, 'released', {', '.join(_COLUMNS)} "
    "FROM (SELECT * FROM holds LIMIT 1) AS one, generate_series(1, :many) AS n"
)
_READ = text("SELECT COALESCE(SUM(seq_tup_read), 0) FROM pg_stat_user_tables WHERE relname = 'holds'")


def test_settling_reads_no_hold_but_its_own_in_a_table_that_has_grown(postgres, tmp_path: Path):
    place = Place(postgres.new_database(), tmp_path / "data")

    async def some(ledger: SqlLedger) -> None:
        holds = await asyncio.gather(*(ledger.reserve(asked("1")) for _ in range(32)))
        await asyncio.gather(*(ledger.hold("p", hold.id) for hold in holds))
        await asyncio.gather(*(ledger.settle("p", hold.id, cost("0.5")) for hold in holds))

    async def rows_read(ledger: SqlLedger) -> int:
        for run in (ledger.write, ledger.read):
            await run(lambda c: c.execute(text("SELECT pg_stat_force_next_flush()")))
        return await ledger.read(lambda c: int(c.execute(_READ).scalar_one()))

    async def main(ledger: SqlLedger) -> None:
        await ledger.create_budget(budget("team-a", "1000000"), by="test")
        for _ in range(10):  # often enough for the server to settle on its plans, while the table is nearly empty
            await some(ledger)
        await ledger.write(lambda c: c.execute(_GROW, {"many": _MANY}))
        before = await rows_read(ledger)
        for _ in range(5):
            await some(ledger)
        assert await rows_read(ledger) - before < _MANY

    place.run(main)
