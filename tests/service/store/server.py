"""A PostgreSQL server of the tests' own: its files in a new folder, its socket on a free port of this machine."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

_MEMORY = Path("/dev/shm")
_ENOUGH = 4 * 2**30
_KEPT = 20
"""Databases that are kept for sure, so that a test may have several."""


def binaries() -> Path | None:
    """The folder of ``initdb`` and ``pg_ctl``: on the path, or where Debian keeps them."""
    found = shutil.which("initdb")
    if found:
        return Path(found).resolve().parent
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    return folders[-1].parent if folders else None


def _in_memory() -> str | None:
    """Where throw-away data keeps no disk busy: in memory, where there is much of it."""
    return str(_MEMORY) if _MEMORY.is_dir() and shutil.disk_usage(_MEMORY).free > _ENOUGH else None


class PostgresServer:
    """Started at once, with what makes throw-away data fast; ``stop`` and ``start`` as often as a test likes.

    ``durable``: a commit is on the disk before it is acknowledged, as it is by default and must be where it counts.
    """

    def __init__(self, folder: Path, *, durable: bool = False) -> None:
        self._bin = folder
        self._durable = durable
        self.root = Path(tempfile.mkdtemp(prefix="weighbridge-postgresql-", dir=None if durable else _in_memory()))
        self._user = "postgres" if os.geteuid() == 0 else None  # the server refuses to run as root
        if self._user:
            shutil.chown(self.root, self._user, self._user)
        self.data = self.root / "data"
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port: int = probe.getsockname()[1]
        self._run("initdb", "-D", str(self.data), "-U", "tester", "-A", "trust", "--no-sync", "-E", "UTF8")
        self._databases = 0
        self.start()

    def start(self) -> None:
        options = f"-p {self.port} -k {self.root} -c listen_addresses=127.0.0.1 -c max_connections=200"
        if not self._durable:  # nothing looks after hundreds of databases that nobody asks any more
            options += " -c fsync=off -c full_page_writes=off -c autovacuum=off -c max_wal_size=128MB"
        self._run("pg_ctl", "-D", str(self.data), "-w", "-l", str(self.root / "log"), "-o", options, "start")

    def stop(self) -> None:
        self._run("pg_ctl", "-D", str(self.data), "-w", "-m", "immediate", "stop")

    @property
    def leader(self) -> int:
        """The process that all others of the server are children of."""
        return int((self.data / "postmaster.pid").read_text().split()[0])

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the server and all its processes, as ``SIGSTOP`` to make it silent."""
        leader = self.leader
        children = subprocess.run(["pgrep", "-P", str(leader)], capture_output=True, text=True, check=False).stdout
        for process in [leader, *map(int, children.split())]:
            os.kill(process, number)

    def new_database(self) -> str:
        """The URL of an empty database. Those that were asked for long ago are removed: together they fill a disk."""
        if self._databases >= 2 * _KEPT and self._databases % _KEPT == 0:
            old = range(self._databases - 2 * _KEPT + 1, self._databases - _KEPT + 1)
            self.sql([f"DROP DATABASE test_{number} WITH (FORCE)" for number in old], "postgres")
        self._databases += 1
        name = f"test_{self._databases}"
        self.sql(f"CREATE DATABASE {name}", "postgres")
        return f"postgresql://tester@127.0.0.1:{self.port}/{name}"

    def sql(self, statements: str | Sequence[str], database: str) -> str:
        """What psql prints for each of ``statements``, which are transactions of their own."""
        each = (statements,) if isinstance(statements, str) else statements
        asked = [part for statement in each for part in ("-c", statement)]
        return self._run("psql", "-h", "127.0.0.1", "-p", str(self.port), "-U", "tester", "-At", *asked, database)

    def remove(self) -> None:
        self.stop()
        shutil.rmtree(self.root, ignore_errors=True)

    def _run(self, program: str, *arguments: str) -> str:
        with tempfile.TemporaryFile("w+") as output:  # a pipe would stay open in the server
            done = subprocess.run(
                [str(self._bin / program), *arguments],
                stdout=output,
                stderr=subprocess.STDOUT,
                user=self._user,
                cwd="/",
                env={"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "TZ": "UTC"},
                timeout=120,
                check=False,
            )
            output.seek(0)
            text = output.read()
        if done.returncode:
            raise RuntimeError(f"{program}: {text}")
        return text.strip()
