"""When the database cannot work: refused at once, in words; nothing admitted or damaged; well again by itself."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlalchemy.exc import DBAPIError

from service.domain.spending.budgets import NANO
from service.domain.spending.errors import LedgerNotOpened, LedgerUnavailable
from service.store.failures import unavailable
from service.store.ledger import SqlLedger, sql_ledger
from service.store.sqlite import FILE_NAME
from tests.service.store.places import Place, asked, audited, budget, cost, totals
from tests.service.store.server import PostgresServer, binaries

ROOT = Path(__file__).parents[3]
ENOUGH = 10.0
"""Seconds: far above the two that a caller waits, and far below what a call without a limit would take."""


async def refused(ledger: SqlLedger) -> str:
    started = time.monotonic()
    with pytest.raises(LedgerUnavailable) as caught:
        await ledger.reserve(asked("1"))
    assert time.monotonic() - started < ENOUGH
    return caught.value.problem


async def again(ledger: SqlLedger) -> None:
    """Wait until the ledger works again, by itself."""
    for _ in range(100):
        try:
            await ledger.status()
            return
        except LedgerUnavailable:
            await asyncio.sleep(0.1)
    raise AssertionError("it did not come back")


@pytest.mark.xdist_group("postgresql")
class TestServer:
    """PostgreSQL goes away and comes back."""

    @pytest.fixture
    def server(self) -> Iterator[PostgresServer]:
        folder = binaries()
        if folder is None:
            pytest.skip("PostgreSQL is not installed: apt-get install postgresql")
        server = PostgresServer(folder)
        yield server
        server.remove()

    def test_a_server_that_stops_and_starts_again(self, server: PostgresServer, tmp_path: Path) -> None:
        place = Place(server.new_database(), tmp_path)
        done = {"held": 0, "refused": 0}

        async def callers(ledger: SqlLedger, until: asyncio.Event) -> None:
            while not until.is_set():
                try:
                    hold = await ledger.reserve(asked("0.01"))
                    done["held"] += 1
                    await ledger.settle("p", hold.id, cost("0.01"))
                except LedgerUnavailable:
                    done["refused"] += 1
                    await asyncio.sleep(0.05)

        async def work(ledger: SqlLedger) -> None:
            await ledger.create_budget(budget(limit="1000"), by="me")
            until = asyncio.Event()
            tasks = [asyncio.create_task(callers(ledger, until)) for _ in range(8)]
            await asyncio.sleep(0.3)
            await asyncio.to_thread(server.stop)
            assert "does not answer" in await refused(ledger)
            with pytest.raises(LedgerUnavailable):
                await ledger.budget("p", "team-a")
            before = done["held"]
            await asyncio.to_thread(server.start)
            await again(ledger)
            await asyncio.sleep(1)
            until.set()
            await asyncio.gather(*tasks)
            assert done["refused"] > 0
            assert done["held"] > before
            await audited(ledger)
            found = await totals(ledger)
            assert found.spent_nano >= (done["held"] - found.open_holds - 8) * NANO // 100

        place.run(work)

    def test_a_server_that_falls_silent(self, server: PostgresServer, tmp_path: Path) -> None:
        place = Place(server.new_database(), tmp_path)

        async def work(ledger: SqlLedger) -> None:
            await ledger.create_budget(budget(), by="me")
            hold = await ledger.reserve(asked("1"))
            server.signal(signal.SIGSTOP)
            try:
                for problem in await asyncio.gather(*(refused(ledger) for _ in range(20))):
                    assert problem in ("the database server does not answer", "the database is busy")
            finally:
                server.signal(signal.SIGCONT)
            await again(ledger)
            await ledger.settle("p", hold.id, cost("1"))
            await audited(ledger)

        place.run(work)

    def test_a_connection_that_the_server_ends_is_made_anew(self, server: PostgresServer, tmp_path: Path) -> None:
        place = Place(server.new_database(), tmp_path)

        async def work(ledger: SqlLedger) -> None:
            await ledger.create_budget(budget(), by="me")
            end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'weighbridge'"
            server.sql(end, "postgres")
            await again(ledger)
            try:
                await ledger.reserve(asked("1"))
            except LedgerUnavailable:
                await ledger.reserve(asked("1"))
            assert (await totals(ledger)).open_holds == 1

        place.run(work)


def test_a_server_that_is_not_there(tmp_path: Path) -> None:
    async def work() -> None:
        ledger = sql_ledger("postgresql://nobody@127.0.0.1:1/nothing", tmp_path, lambda: datetime.now(UTC))
        with pytest.raises(LedgerUnavailable, match="does not answer"):
            await ledger.open()
        await ledger.close()

    asyncio.run(work())


@pytest.mark.parametrize("url", ["mysql://here/there", "nonsense", "sqlite:///x"])
def test_a_url_of_another_kind_is_refused(tmp_path: Path, url: str) -> None:
    with pytest.raises(LedgerNotOpened, match="WEIGHBRIDGE_DATABASE_URL"):
        sql_ledger(url, tmp_path, lambda: datetime.now(UTC))


def test_a_file_that_is_no_database(tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).write_bytes(b"not a database, and long enough to tell" * 100)

    async def work() -> None:
        ledger = sql_ledger("", tmp_path, lambda: datetime.now(UTC))
        with pytest.raises(LedgerUnavailable, match="no SQLite database"):
            await ledger.open()
        await ledger.close()

    asyncio.run(work())
    assert (tmp_path / FILE_NAME).read_bytes().startswith(b"not a database")


def test_a_damaged_file(tmp_path: Path) -> None:
    place = Place("", tmp_path)
    place.run(lambda ledger: ledger.create_budget(budget(), by="me"))
    file = tmp_path / FILE_NAME
    content = bytearray(file.read_bytes())
    content[4096:] = os.urandom(len(content) - 4096)
    file.write_bytes(content)

    async def work() -> None:
        ledger = place.ledger()
        with pytest.raises(LedgerUnavailable, match="damaged"):
            await ledger.open()
        await ledger.close()

    asyncio.run(work())


def test_a_file_that_another_program_locks(tmp_path: Path) -> None:
    place = Place("", tmp_path)

    async def work(ledger: SqlLedger) -> None:
        await ledger.create_budget(budget(), by="me")
        other = sqlite3.connect(tmp_path / FILE_NAME, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        assert await refused(ledger) == "the ledger's file is locked by another program"
        assert (await totals(ledger)).open_holds == 0
        other.execute("ROLLBACK")
        other.close()
        await ledger.reserve(asked("1"))

    place.run(work)


@pytest.mark.parametrize("url", ["", "postgresql"])
def test_a_newer_schema_is_refused(url: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    place = Place(request.getfixturevalue("postgres").new_database() if url else "", tmp_path)

    async def newer(ledger: SqlLedger) -> None:
        await ledger._writers.run(lambda c: c.exec_driver_sql("UPDATE alembic_version SET version_num = '9999'"))

    place.run(newer)
    with pytest.raises(LedgerNotOpened, match="newer"):
        place.run(newer)


FULL = """
import asyncio, resource, sys
from tests.service.store.places import *
from service.domain.spending.errors import LedgerUnavailable
async def work(ledger):
    await ledger.create_budget(budget(limit=None), by="me")
    held, problem = 0, None
    resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, -1))
    for _ in range(2000):
        try:
            await ledger.reserve(asked("1"))
            held += 1
        except LedgerUnavailable as error:
            problem = error.problem
            break
    resource.setrlimit(resource.RLIMIT_FSIZE, (-1, -1))
    await ledger.reserve(asked("1"))
    assert (await totals(ledger)).open_holds == held + 1, held
    await audited(ledger)
    print(problem)
Place("", Path(sys.argv[1])).run(work)
"""

UNWRITABLE = """
import asyncio, concurrent.futures.thread, os, sys
from tests.service.store.places import *
from service.domain.spending.errors import LedgerUnavailable
os.setuid(65534)
async def work():
    ledger = Place("", Path(sys.argv[1])).ledger()
    try:
        await ledger.open()
    except LedgerUnavailable as error:
        print(error.problem)
    await ledger.close()
asyncio.run(work())
"""


def child(script: str, folder: Path) -> str:
    command = [sys.executable, "-c", script, str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_a_disk_without_room_refuses_and_damages_nothing(tmp_path: Path) -> None:
    """A limit on the size of files stands in for the disk: SQLite is told that it cannot write on."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    assert child(FULL, tmp_path) in ("the disk is full", "reading or writing the ledger's file failed")
    checked = sqlite3.connect(tmp_path / FILE_NAME)
    assert checked.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    checked.close()


@pytest.mark.skipif(os.geteuid() != 0, reason="another user is needed, whom the folder's mode keeps out")
@pytest.mark.parametrize("existing", [True, False])
def test_a_folder_that_cannot_be_written(existing: bool) -> None:
    folder = Path(tempfile.mkdtemp(prefix="weighbridge-"))  # outside of what pytest keeps for its owner alone
    try:
        if existing:
            Place("", folder).run(lambda ledger: ledger.create_budget(budget(), by="me"))
        for path in (folder, *folder.iterdir()):  # what is there belongs to that user
            os.chown(path, 65534, 65534)
        folder.chmod(0o555)
        assert "cannot be" in child(UNWRITABLE, folder)
    finally:
        shutil.rmtree(folder)


@pytest.mark.parametrize(
    ("state", "says"),
    [
        ("58030", "failed"),  # its disk cannot be read
        ("XX001", "failed"),  # its data are damaged
        ("XX000", "failed"),
        ("57P01", "does not answer"),
        ("53300", "refused the connection"),
        ("57014", "does not answer"),
        ("55P03", "is busy"),
    ],
)
def test_a_server_that_fails_is_down_whatever_the_statement_was(state: str, says: str) -> None:
    driver = Exception("of the driver")
    driver.sqlstate = state  # type: ignore[attr-defined]
    down = unavailable(DBAPIError("SELECT", {}, driver))
    assert down is not None
    assert says in down.problem


def test_a_statement_that_is_wrong_is_not_the_servers_fault() -> None:
    driver = Exception("of the driver")
    driver.sqlstate = "42703"  # type: ignore[attr-defined]
    assert unavailable(DBAPIError("SELECT", {}, driver)) is None
