"""The first pass of a fresh process over 4 KB texts."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from tests.benchmarks import corpora
from tests.benchmarks.peers import COMPARED, OURS, REFERENCE, available
from tests.benchmarks.rounds import NOTE, better, cell, print_table, run_alone

ROUNDS = 3


def run() -> None:
    """A process for each peer, corpus and round."""
    with tempfile.TemporaryDirectory() as folder:
        corpora.stored(Path(folder))
        kinds = sorted(path.name for path in Path(folder).iterdir())
        for vocabulary in COMPARED:
            peers = available(vocabulary)
            best: dict[tuple[str, str], Any] = {}
            for _ in range(ROUNDS):
                for kind in kinds:
                    for peer in peers:
                        found = run_alone("cold", peer, vocabulary, str(Path(folder) / kind))
                        best[peer, kind] = better(best.get((peer, kind)), found)
            print(f"count, {vocabulary}, 4 KB texts, first pass of a fresh process, one thread: {NOTE}\n")
            rows = [
                [peer, *(cell(best[OURS, kind], best[peer, kind], best[REFERENCE, kind]) for kind in kinds)]
                for peer in peers
            ]
            print_table(["peer", *kinds], rows)
