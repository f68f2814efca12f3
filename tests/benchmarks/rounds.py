"""Runs peers in turn, each time in a fresh process, and keeps each one's best."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from typing import Any

from tests.benchmarks.corpora import SLICE

ONE_THREAD = {"RAYON_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}


def run_alone(task: str, peer: str, vocabulary: str, argument: str, cpus: Sequence[int] | None = None) -> Any:
    """The result of a task in a fresh process, on these CPUs alone; ``None`` where the process fails."""
    env = os.environ | (ONE_THREAD if cpus is None else {"RAYON_NUM_THREADS": str(len(cpus))})
    bound = [] if cpus is None else ["taskset", "--cpu-list", ",".join(map(str, cpus))]
    command = [*bound, sys.executable, "-m", "tests.benchmarks.alone", task, peer, vocabulary, argument]
    done = subprocess.run(command, env=env, capture_output=True, text=True, errors="replace", check=False)
    return json.loads(done.stdout) if done.returncode == 0 and done.stdout else None


def better(best: dict[str, Any] | None, found: dict[str, Any] | None) -> dict[str, Any] | None:
    """The faster of two results; the processor's time is the least of both, where it is stated apart."""
    if best is None or found is None:
        return best or found
    faster = found if found["seconds"] < best["seconds"] else best
    return faster | ({"cpu": min(found["cpu"], best["cpu"])} if "cpu" in found else {})


def cell(ours: dict[str, Any] | None, theirs: dict[str, Any] | None, reference: dict[str, Any] | None) -> str:
    """How many times as fast ours is, the peer's megabytes a second, and how many slices differ from the reference."""
    if ours is None or theirs is None or reference is None:
        return "failed"
    ratio, speed = theirs["seconds"] / ours["seconds"], theirs["bytes"] / theirs["seconds"] / 1e6
    differing = sum(a != b for a, b in zip(theirs["answers"], reference["answers"], strict=True))
    exact = f"{differing} of {len(theirs['answers'])} differ" if differing else "exact"
    return f"{ratio:.2f} ({speed:.1f} MB/s, {exact})"


def print_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """A table in Markdown, each row as soon as it is there."""
    print("| " + " | ".join(head) + " |")
    print("|" + "---|" * len(head), flush=True)
    for row in rows:
        print("| " + " | ".join(row) + " |", flush=True)
    print()


NOTE = f"ours as a multiple of the peer's speed (the peer's MB/s; slices of {SLICE:,} bytes whose answer differs)"
