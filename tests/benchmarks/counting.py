"""Throughput on 4 KB texts, warm: counts, and ids as a list."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from tests.benchmarks import corpora
from tests.benchmarks.peers import COMPARED, OURS, REFERENCE, available
from tests.benchmarks.rounds import NOTE, better, cell, print_table, run_alone

ROUNDS = 3
OTHERS = ("r50k_base", "qwen", "qwen3_5", "tekken", "claude_legacy")  # beside tiktoken alone


def run() -> None:
    """Counts of the vocabularies that all peers have, then of the others."""
    _run("warm", "count", (*COMPARED, *OTHERS))


def run_encode() -> None:
    """Ids as a list."""
    _run("encode", "encode", COMPARED)


def _run(task: str, title: str, vocabularies: tuple[str, ...]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        corpora.stored(Path(folder))
        kinds = sorted(path.name for path in Path(folder).iterdir())
        for vocabulary in vocabularies:
            best: dict[tuple[str, str], Any] = {}
            peers = available(vocabulary)
            for _ in range(ROUNDS):
                for peer in peers:
                    found = run_alone(task, peer, vocabulary, folder) or {}
                    for kind in kinds:
                        best[peer, kind] = better(best.get((peer, kind)), found.get(kind))
            print(f"{title}, {vocabulary}, 4 KB texts, warm, one thread: {NOTE}\n")
            rows = [
                [peer, *(cell(best[OURS, kind], best[peer, kind], best[REFERENCE, kind]) for kind in kinds)]
                for peer in peers
            ]
            print_table(["peer", *kinds], rows)
