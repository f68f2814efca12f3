"""Peers that take turns: each in a process of its own, all of them alive, so that what slows the machine slows all.

``python -m tests.benchmarks.turns PEER VOCABULARY FOLDER count|encode`` reads one request a line: a corpus and the
number of a group of slices. A corpus is run over half of its slices first; the others are timed, each seen once.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from tests.benchmarks import corpora
from tests.benchmarks.alone import Answer, timed
from tests.benchmarks.peers import open_peer
from tests.benchmarks.rounds import ONE_THREAD

GROUP = 20  # slices
Results = dict[tuple[str, str], dict[str, Any]]
"""By peer and corpus: seconds at the speed of the best group, bytes, and all answers."""


def take_turns(peers: Sequence[str], vocabulary: str, folder: Path, call: str) -> Results:
    """Every group of every corpus by every peer, one after another."""
    results: Results = {}
    with ExitStack() as stack:
        processes = {peer: stack.enter_context(_started(peer, vocabulary, folder, call)) for peer in peers}
        for kind, text in corpora.read(folder).items():
            groups = range(len(corpora.slices(text)[1]) // GROUP)
            for group in groups:
                for peer, process in processes.items():
                    found = _ask(process, kind, group)
                    results[peer, kind] = _joined(results.get((peer, kind)), found)
        for process in processes.values():
            process.kill()
    return results


def _joined(before: dict[str, Any] | None, found: dict[str, Any]) -> dict[str, Any]:
    if before is None:
        return found
    size = before["bytes"] + found["bytes"]
    a_byte = min(part["seconds"] / part["bytes"] for part in (before, found))
    return {"seconds": a_byte * size, "bytes": size, "answers": before["answers"] + found["answers"]}


def _started(peer: str, vocabulary: str, folder: Path, call: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.benchmarks.turns", peer, vocabulary, folder, call]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=os.environ | ONE_THREAD)


def _ask(process: subprocess.Popen[str], kind: str, group: int) -> dict[str, Any]:
    if process.stdin is None or process.stdout is None:
        raise RuntimeError("started without pipes")
    process.stdin.write(json.dumps([kind, group]) + "\n")
    process.stdin.flush()
    return dict(json.loads(process.stdout.readline()))


def _answer(call: Callable[[str], object], halves: tuple[list[str], list[str]], group: int) -> Answer:
    before, parts = halves
    for part in before[
        : GROUP if group else None
    ]:  # all of them first, then some: others have had the caches meanwhile
        call(part)
    return timed(call, parts[group * GROUP : (group + 1) * GROUP])


def _serve(peer: str, vocabulary: str, folder: str, call: str) -> None:
    function = getattr(open_peer(peer, vocabulary), call)
    halves = {kind: corpora.slices(text) for kind, text in corpora.read(Path(folder)).items()}
    for line in sys.stdin:
        kind, group = json.loads(line)
        print(json.dumps(_answer(function, halves[kind], group)), flush=True)


if __name__ == "__main__":
    _serve(*sys.argv[1:])
