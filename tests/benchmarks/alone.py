"""One peer in a process of its own: does a task with it and prints the result as JSON.

``python -m tests.benchmarks.alone TASK PEER VOCABULARY ARGUMENT``. Times are of the processor, all threads together, so
that other work on the machine counts for little; a large text alone is timed by the clock, because threads share it.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import time
import zlib
from collections.abc import Callable
from pathlib import Path

from tests.benchmarks import corpora, growth_texts
from tests.benchmarks.peers import Peer, open_peer

Answer = dict[str, object]


def cold(peer: Peer, path: str) -> Answer:
    """The first pass over one corpus; one letter is counted before, for what a library sets up at its first call."""
    peer.count("a")
    return timed(peer.count, corpora.slices(Path(path).read_bytes().decode())[1])


def large(peer: Peer, path: str) -> Answer:
    """Seconds for one large text by the clock, and of the processor; after a pass over another text."""
    peer.count(Path(f"{path}.warm").read_bytes().decode())
    text = Path(path).read_bytes().decode()
    text.encode()  # its pages are there
    start, used = time.perf_counter(), time.process_time()
    count = peer.count(text)
    used = time.process_time() - used
    return {"seconds": time.perf_counter() - start, "cpu": used, "bytes": len(text.encode()), "tokens": count}


def growth(peer: Peer, kind: str) -> list[float | str]:
    """Seconds for each size, up to the first that fails or that would take too long."""
    found: list[float | str] = []
    peer.count("a")
    for size in growth_texts.SIZES:
        if found and isinstance(found[-1], str):
            break
        if found and float(found[-1]) * 10 > growth_texts.MOST_SECONDS:
            found.append("too long")
            break
        text = growth_texts.TEXTS[kind](size)
        start = time.process_time()
        try:
            peer.count(text)
        except BaseException as error:  # a panic of a library in Rust is no Exception
            found.append("panics" if "Panic" in type(error).__name__ else "refuses")
        else:
            found.append(time.process_time() - start)
    return found


def timed(call: Callable[[str], object], parts: list[str]) -> Answer:
    """Seconds, bytes and answers of one pass; of ids a checksum."""
    answers: list[object] = []
    gc.disable()
    start = time.process_time()
    for part in parts:
        answers.append(call(part))  # noqa: PERF401 - a comprehension would be a call of its own in the time
    seconds = time.process_time() - start
    gc.enable()
    return {
        "seconds": seconds,
        "bytes": sum(len(part.encode()) for part in parts),
        "answers": [answer if isinstance(answer, int) else zlib.crc32(repr(answer).encode()) for answer in answers],
    }


TASKS: dict[str, Callable[[Peer, str], object]] = {"cold": cold, "large": large, "growth": growth}

if __name__ == "__main__":
    task, peer_name, vocabulary, argument = sys.argv[1:]
    result = TASKS[task](open_peer(peer_name, vocabulary), argument)
    sys.stdout.write(json.dumps(result))
    sys.stdout.flush()
    os._exit(0)  # the threads of some libraries would be waited for
