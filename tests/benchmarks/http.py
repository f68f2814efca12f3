"""Counting over HTTP: requests a second, latency, and the processor's time per request, beside other services."""

from __future__ import annotations

import json
import math
import os
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from tests.benchmarks.corpora import corpora
from tests.benchmarks.load import Load, client, load
from tests.benchmarks.rounds import print_table
from tests.benchmarks.servers import LITELLM, Running, Service, installed, running

ROUNDS = 3
SIZES = (1_000, 10_000, 100_000, 1_000_000)
_MOST_BYTES = 20_000_000  # of all bodies of a size


@dataclass(frozen=True, slots=True)
class Measured:
    """What the client saw, requests a second among it, and what the server's processes used for each request."""

    load: Load
    rate: float
    cpu_microseconds: float

    def better(self, other: Measured | None) -> Measured:
        """The best of both, the processor's time apart: the round with the most answers need not have the least."""
        if other is None:
            return self
        faster = max(self, other, key=lambda measured: measured.rate)
        return replace(faster, cpu_microseconds=min(self.cpu_microseconds, other.cpu_microseconds))


def run() -> None:
    """All services run at once on one CPU, the client on another; they are asked in turn, and the best round counts."""
    cpus = sorted(os.sched_getaffinity(0))
    server_bound, client_bound = ([], [])
    if len(cpus) > 1:
        server_bound, client_bound = (["taskset", "--cpu-list", str(cpu)] for cpu in (cpus[0], cpus[-1]))
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        started: list[Running] = []
        for service in installed():
            try:
                started.append(stack.enter_context(running(service, server_bound)))
            except (RuntimeError, TimeoutError) as error:
                print(f"left out: {error}")
        text = corpora()["english"]
        measured = {
            size: _measure(started, _bodies(folder, text, size), _seconds(size), client_bound) for size in SIZES
        }
    _print_tables(started, measured)
    if not LITELLM.exists():
        print("LiteLLM is not installed, and left out: `make .venv/.litellm` tries to\n")


def _seconds(size: int) -> int:
    return 2 if size < 500_000 else 6  # enough for some answers of the slowest


def _bodies(folder: Path, text: str, size: int) -> dict[str, Path]:
    """A file of bodies for each service, one a line."""
    number = max(4, min(200, _MOST_BYTES // size))
    step = max(1, (len(text) - size) // number)
    parts = [text[start : start + size] for start in range(0, max(1, len(text) - size), step)][:number]
    paths = {}
    for service in installed():
        path = paths[service.name] = folder / f"{size} {service.name}".replace(" ", "-")
        path.write_text("".join(json.dumps(service.body(part)) + "\n" for part in parts))
    return paths


def _measure(started: list[Running], bodies: dict[str, Path], seconds: int, bound: list[str]) -> dict[str, Measured]:
    best: dict[str, Measured] = {}
    for _ in range(ROUNDS):
        for server in started:
            service: Service = server.service
            before = server.cpu_seconds()
            seen = load(server.url, bodies[service.name], service.all_headers(), seconds, bound)
            used = (server.cpu_seconds() - before) / seen.requests * 1e6 if seen.requests else math.inf
            best[service.name] = Measured(seen, seen.requests / seen.seconds, used).better(best.get(service.name))
    return best


def _print_tables(started: list[Running], measured: dict[int, dict[str, Measured]]) -> None:
    names = [server.service.name for server in started]
    ours = names[0]
    print(f"count over HTTP, o200k_base, English, one process on one CPU; {client()}\n")
    rows = [
        [f"{size:,} characters", *(_ratio(found[ours], found[name]) for name in names[1:])]
        for size, found in measured.items()
    ]
    print_table(["ours as a multiple of", *names[1:]], rows)
    rows = [[f"{size:,} characters", *(_cell(found[name]) for name in names)] for size, found in measured.items()]
    print_table(["requests/s (half within, 99 % within, processor µs each)", *names], rows)


def _ratio(ours: Measured, theirs: Measured) -> str:
    if not (ours.rate and theirs.rate):
        return "no answer"
    cpu = theirs.cpu_microseconds / ours.cpu_microseconds
    return f"{ours.rate / theirs.rate:.2f} ({cpu:.2f} by processor time)"


def _cell(found: Measured) -> str:
    if not found.rate:
        return "no answer"
    times = f"{found.load.half * 1e3:.2f} ms, {found.load.most * 1e3:.2f} ms"
    return f"{found.rate:,.0f} ({times}, {found.cpu_microseconds:,.0f} µs)"
