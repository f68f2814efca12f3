"""Budgets over HTTP: pairs of reserve and settle a second, latency, and the processor's time, beside a plain service.

Every commit is on the disk before it is acknowledged, for both. LiteLLM's proxy has no call to compare with: it adds up
spend after the fact, and holds nothing.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace

from service.client import Weighbridge
from tests.benchmarks.pairs import Pairs, Plan
from tests.benchmarks.rounds import print_table
from tests.benchmarks.servers import ROOT, Running, Service, cpu_seconds, running
from tests.service.store.server import PostgresServer, binaries

ROUNDS = 3
CLIENTS = 32
SECONDS = 4.0
BUDGETS = 100
_KEY = "benchmark-admin-key"
_CHAT = [{"role": "user", "content": "Say in one sentence what a weighbridge is, and who had the first one."}]
_USAGE = {"prompt_tokens": 20, "completion_tokens": 50, "total_tokens": 70}
_HEAD = (
    "pairs/s",
    "reserve: half, 99 % within",
    "settle: half, 99 % within",
    "processor µs a pair",
    "rate as a multiple",
)


@dataclass(frozen=True, slots=True)
class Case:
    """What is asked: ``reserves`` are bodies for one budget each."""

    title: str
    reserves: Sequence[Mapping[str, object]]
    settlement: Mapping[str, object]
    reserve: str = "/v1/reservations"
    settle: str = "/v1/reservations/{id}/settle"
    headers: Mapping[str, str] = field(default_factory=dict)

    def plan(self, port: int) -> Plan:
        """As the client takes it."""
        bodies = [json.dumps(body) for body in self.reserves]
        settlement = json.dumps(self.settlement)
        return Plan(port, self.reserve, bodies, self.settle, settlement, self.headers, CLIENTS, SECONDS)


@dataclass(frozen=True, slots=True)
class Measured:
    """What the client saw, and what the service and a database server used of the processor for a pair."""

    pairs: Pairs
    cpu_microseconds: float
    database_microseconds: float

    @property
    def rate(self) -> float:
        return self.pairs.pairs / self.pairs.seconds

    def better(self, other: Measured | None) -> Measured:
        """The best of both, the processor's time apart."""
        if other is None:
            return self
        faster = max(self, other, key=lambda measured: measured.rate)
        return replace(
            faster,
            cpu_microseconds=min(self.cpu_microseconds, other.cpu_microseconds),
            database_microseconds=min(self.database_microseconds, other.database_microseconds),
        )


def run() -> None:
    """One server at a time on one CPU, the client on another; the databases use the disk of the temporary folder."""
    print(f"reserve and settle over HTTP, {CLIENTS} clients, one process on one CPU, every commit on the disk\n")
    _run_over("SQLite", lambda: "", 0)
    if folder := binaries():
        postgres = PostgresServer(folder, durable=True)
        try:
            _run_over("PostgreSQL", postgres.new_database, postgres.leader)
        finally:
            postgres.remove()
    else:
        print("PostgreSQL is not installed, and left out\n")


def _run_over(name: str, new_database: Callable[[], str], leader: int) -> None:
    """The plain service and ours, without keys and with; each has a database of its own."""
    rows: list[Sequence[str]] = []
    with running(_plain(new_database()), _bound(0)) as server:
        plain = _best(_PLAIN, server, leader)
        rows.append(_row(_PLAIN.title, plain, plain))
    for key in ("", _KEY):
        with running(_ours(new_database(), key), _bound(0)) as server:
            with Weighbridge(f"http://127.0.0.1:{server.port}", key or None) as client:
                for number in range(BUDGETS):
                    client.create_budget(f"b{number}", limit_usd=1_000_000)
            rows += [_row(case.title, _best(case, server, leader), plain) for case in _cases(key)]
    print_table([name, *_HEAD], rows)


_PLAIN = Case("a plain service: one limit, a transaction a request", [{"budget": 1, "amount": 9}], {"cost": 8},
              "/reserve", "/settle/{id}")  # fmt: skip


def _cases(key: str) -> Iterator[Case]:
    keys, headers = (" (keys)", {"authorization": f"Bearer {key}"}) if key else ("", {})
    amount, cost = {"amount_usd": "0.01"}, {"cost_usd": "0.005"}
    hot = [{"budget": "b0", **amount}]
    yield Case(f"weighbridge{keys}, one budget", hot, cost, headers=headers)
    if key:
        return
    many = [{"budget": f"b{number}", **amount} for number in range(BUDGETS)]
    yield Case(f"weighbridge, {BUDGETS} budgets", many, cost)
    chat = [{"budget": "b0", "model": "gpt-4o", "messages": _CHAT, "max_output_tokens": 100}]
    yield Case("weighbridge, a chat counted and priced, its usage too", chat, {"usage": _USAGE})


def _ours(database: str, key: str) -> Service:
    settings = {"WEIGHBRIDGE_SECRET": "0" * 64, "WEIGHBRIDGE_DATABASE_URL": database, "WEIGHBRIDGE_ADMIN_KEY": key}
    env = ["env", *(f"{name}={value}" for name, value in settings.items() if value)]
    return Service(
        "weighbridge",
        lambda port, _: [*env, sys.executable, "-m", "service", "serve", "--port", str(port)],
        "/v1/count",
        lambda text: {"model": "gpt-4o", "text": text},
        {"authorization": f"Bearer {key}"} if key else {},
    )


def _plain(database: str) -> Service:
    command = [sys.executable, "-m", "tests.benchmarks.minimal_ledger"]
    return Service(
        "a plain service",
        lambda port, folder: [*command, str(port), database or folder / "plain.db"],
        "/ready",
        lambda _: {},
    )


def _bound(index: int) -> list[str]:
    """What binds a command to the first CPU, or to the last, where there are two."""
    cpus = sorted(os.sched_getaffinity(0))
    return ["taskset", "--cpu-list", str(cpus[index])] if len(cpus) > 1 else []


def _best(case: Case, server: Running, leader: int) -> Measured:
    best = None
    for _ in range(ROUNDS):
        plan = json.dumps(asdict(case.plan(server.port)))
        before = server.cpu_seconds(), _cpu_of_children(leader)
        command = [*_bound(-1), sys.executable, "-m", "tests.benchmarks.pairs", plan]
        printed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=120).stdout
        pairs = Pairs(**json.loads(printed))
        used = server.cpu_seconds() - before[0], _cpu_of_children(leader) - before[1]
        best = Measured(pairs, *(seconds / pairs.pairs * 1e6 for seconds in used)).better(best)
    assert best is not None
    return best


def _cpu_of_children(leader: int) -> float:
    return cpu_seconds(parent=leader) if leader else 0.0


def _row(title: str, found: Measured, plain: Measured) -> list[str]:
    pairs = found.pairs
    reserve, settle = (
        f"{half * 1e3:.1f} ms, {most * 1e3:.1f} ms"
        for half, most in ((pairs.reserve_half, pairs.reserve_most), (pairs.settle_half, pairs.settle_most))
    )
    ratio = f"{found.rate / plain.rate:.2f} ({plain.cpu_microseconds / found.cpu_microseconds:.2f} by processor time)"
    used = f"{found.cpu_microseconds:,.0f}"
    if found.database_microseconds:
        used += f" and {found.database_microseconds:,.0f} of the database"
    return [title, f"{found.rate:,.0f}", reserve, settle, used, ratio]
