"""Every test of the ledger runs over SQLite and over a real PostgreSQL server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.service.store.places import Place
from tests.service.store.server import PostgresServer, binaries

MISSING = "PostgreSQL is not installed: apt-get install postgresql"


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    folder = binaries()
    if folder is None:
        pytest.skip(MISSING)
    server = PostgresServer(folder)
    yield server
    server.remove()


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.xdist_group("postgresql"))])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    """An empty place to keep a ledger in."""
    if request.param == "sqlite":
        return Place("", tmp_path / "data")
    return Place(request.getfixturevalue("postgres").new_database(), tmp_path / "data")
