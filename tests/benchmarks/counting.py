"""Throughput on 4 KB texts, warm: counts, and ids as a list."""

from __future__ import annotations

import tempfile
from pathlib import Path

from tests.benchmarks import corpora
from tests.benchmarks.peers import CLAUDE, COMPARED, OURS, available, reference_of
from tests.benchmarks.rounds import NOTE, cell, print_table
from tests.benchmarks.turns import take_turns

OTHERS = ("r50k_base", "qwen", "qwen3_5", "tekken", "claude_legacy")  # beside tiktoken alone


def run() -> None:
    """Counts of the vocabularies that all peers have, then of the others."""
    _run("count", (*COMPARED, *OTHERS, *CLAUDE))


def run_encode() -> None:
    """Ids as a list."""
    _run("encode", COMPARED)


def _run(call: str, vocabularies: tuple[str, ...]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        corpora.stored(Path(folder))
        kinds = sorted(path.name for path in Path(folder).iterdir())
        for vocabulary in vocabularies:
            peers, reference = available(vocabulary), reference_of(vocabulary)
            best = take_turns(peers, vocabulary, Path(folder), call)
            print(f"{call}, {vocabulary}, 4 KB texts, warm, one thread: {NOTE}\n")
            rows = [
                [peer, *(cell(best[OURS, kind], best[peer, kind], best[reference, kind]) for kind in kinds)]
                for peer in peers
            ]
            print_table(["peer", *kinds], rows)
