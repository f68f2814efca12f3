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
        row = [peer]
        for number in range(1, cpus + 1):
            ours, theirs = best[OURS, number], best[peer, number]
            row.append(_cell(ours, theirs, best[REFERENCE, 1]))
        both = best[peer, 1], best[peer, cpus]
        row.append(f"{both[0]['seconds'] / both[1]['seconds']:.2f}" if all(both) else "failed")
        rows.append(row)
    print_table(["peer", *(f"{n} CPU{'s' * (n > 1)}" for n in range(1, cpus + 1)), "all CPUs ÷ one"], rows)


def _cell(ours: Any, theirs: Any, reference: Any) -> str:
    if not (ours and theirs):
        return "failed"
    exact = "" if reference and theirs["tokens"] == reference["tokens"] else ", count differs"
    return f"{theirs['seconds'] / ours['seconds']:.2f} ({theirs['bytes'] / theirs['seconds'] / 1e6:.1f} MB/s{exact})"
