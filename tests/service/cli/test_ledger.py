"""``weighbridge ledger``."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from service.cli import cli
from service.domain.spending.budgets import Spender
from service.domain.spending.ledger import EntryQuery, UsageRecord
from service.store.ledger import sql_ledger
from service.store.sqlite import FILE_NAME


@pytest.fixture(autouse=True)
def data_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("WEIGHBRIDGE_DATA_DIR", str(tmp_path))
    return tmp_path


def ledger(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["ledger", *arguments])


def booked(data_dir: Path, record: bool = True) -> int:
    """Book two calls of two years ago, where asked; how many entries there are."""
    then = datetime(2024, 5, 6, 7, 8, tzinfo=UTC)

    async def work() -> int:
        opened = sql_ledger("", data_dir, lambda: then)
        await opened.open()
        if record:
            await opened.record([UsageRecord(Spender(), Decimal(1), then)] * 2)
        entries = (await opened.entries(EntryQuery())).items
        await opened.close()
        return len(entries)

    return asyncio.run(work())


def test_rebuild_says_how_many_entries_it_added_up(data_dir: Path) -> None:
    booked(data_dir)
    result = ledger("rebuild")
    assert (result.exit_code, result.stdout) == (0, "2 entries added up\n")


def test_prune_removes_what_was_booked_before(data_dir: Path) -> None:
    booked(data_dir)
    assert ledger("prune", "--before", "2024-05-06").stdout == "0 entries removed\n"
    assert booked(data_dir, record=False) == 2
    assert ledger("prune", "--before", "2024-05-07").stdout == "2 entries removed\n"
    assert booked(data_dir, record=False) == 0


@pytest.mark.parametrize("before", ["2999-01-01", "yesterday"])
def test_a_date_that_cannot_be_is_refused(before: str, data_dir: Path) -> None:
    assert ledger("prune", "--before", before).exit_code == 2


def test_a_ledger_that_cannot_be_opened_is_said_to_be_so(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (data_dir / FILE_NAME).write_bytes(b"something else " * 1000)
    result = ledger("rebuild")
    assert result.exit_code == 1
    assert "no SQLite database" in result.stderr
    monkeypatch.setenv("WEIGHBRIDGE_DATABASE_URL", "mysql://x")
    result = ledger("rebuild")
    assert result.exit_code == 1
    assert "WEIGHBRIDGE_DATABASE_URL" in result.stderr
