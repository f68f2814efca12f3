"""One text of ten megabytes on one CPU and on two."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

from tests.benchmarks import corpora
from tests.benchmarks.peers import OURS, REFERENCE, available
from tests.benchmarks.rounds import better, print_table, run_alone

ROUNDS = 3
SIZE = 10_000_000  # bytes
VOCABULARY = "o200k_base"


def run() -> None:
    """Speeds by the clock, and what the second CPU gives."""
    cpus = sorted(os.sched_getaffinity(0))[:2]
    peers = [peer for peer in available(VOCABULARY) if peer != "weighbridge (python)"]
    with tempfile.TemporaryDirectory() as folder:
        kinds = {kind: text for kind, text in corpora.corpora().items() if kind in ("english", "chinese")}
        for kind, text in kinds.items():
            path = Path(folder) / kind
            path.write_bytes(corpora.long_text(text, SIZE, seed=1).encode())
            Path(f"{path}.warm").write_bytes(corpora.long_text(text, SIZE // 5, seed=2).encode())
            _print_kind(kind, _measured(peers, path, cpus), peers, len(cpus))


def _measured(peers: list[str], path: Path, cpus: list[int]) -> dict[tuple[str, int], Any]:
    best: dict[tuple[str, int], Any] = {}
    for _ in range(ROUNDS):
        for peer in peers:
            for number in range(1, len(cpus) + 1):
                found = run_alone("large", peer, VOCABULARY, str(path), cpus[-number:])
                best[peer, number] = better(best.get((peer, number)), found)
    return best


def _print_kind(kind: str, best: dict[tuple[str, int], Any], peers: list[str], cpus: int) -> None:
    print(
        f"count, {VOCABULARY}, one {kind} text of {SIZE:,} bytes: ours as a multiple of the peer's speed (its MB/s)\n"
    )
    rows = []
    for peer in peers:
        ours, theirs = best[OURS, 1], best[peer, 1]
        row = [peer, _cell(ours, theirs, best[REFERENCE, 1], "cpu"), _cell(ours, theirs, best[REFERENCE, 1], "seconds")]
        if cpus > 1:
            row.append(_cell(best[OURS, cpus], best[peer, cpus], best[REFERENCE, 1], "seconds"))
            both = best[peer, 1], best[peer, cpus]
            row.append(f"{both[0]['seconds'] / both[1]['seconds']:.2f}" if all(both) else "failed")
        rows.append(row)
    more = [f"{cpus} CPUs, by the clock", f"{cpus} CPUs as a multiple of one"] if cpus > 1 else []
    print_table(["peer", "1 CPU, by its time", "1 CPU, by the clock", *more], rows)


def _cell(ours: Any, theirs: Any, reference: Any, time: str) -> str:
    if not (ours and theirs):
        return "failed"
    exact = "" if reference and theirs["tokens"] == reference["tokens"] else ", count differs"
    return f"{theirs[time] / ours[time]:.2f} ({theirs['bytes'] / theirs[time] / 1e6:.1f} MB/s{exact})"
