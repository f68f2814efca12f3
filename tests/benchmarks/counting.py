"""Counting throughput: the service's counter beside the tiktoken library and whatever fast peers are installed."""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable

from adapters.bpe.vocabulary import read_ranks
from adapters.loader import LoaderOptions, Vocabularies, read_verified
from adapters.manifest import read_manifest
from adapters.tiktoken import build_encoding
from tests.benchmarks.corpora import corpora, slices

ROUNDS = 5
VOCABULARIES = ("o200k_base", "cl100k_base")
Counter = Callable[[str], int]


def run() -> None:
    """Print megabytes a second on 4 KB texts, warm, best of five, interleaved; and the ratio to tiktoken."""
    manifest = read_manifest()
    for name in VOCABULARIES:
        spec = manifest.vendored[name]
        ours = Vocabularies(manifest.vendored).load(name)
        plain = Vocabularies(manifest.vendored, LoaderOptions(engine="python")).load(name)
        reference = build_encoding(name, spec.pattern, read_ranks(read_verified(spec)))
        peers: dict[str, Counter] = {
            f"weighbridge ({ours.engine})": ours.count,
            "weighbridge (python)": plain.count,
            "tiktoken": lambda text, encode=reference.encode_ordinary: len(encode(text)),
        }
        print(f"\ncount, {name}, 4 KB texts, warm: MB/s (ratio to tiktoken)")
        for kind, text in corpora().items():
            _print_kind(kind, text, peers)
    missing = [peer for peer in ("gigatoken", "fastokens", "toktok") if importlib.util.find_spec(peer) is None]
    print(f"peers not installed: {', '.join(missing) or 'none'}")


def _print_kind(kind: str, text: str, peers: dict[str, Counter]) -> None:
    warm, timed = slices(text)
    size = sum(len(part.encode()) for part in timed) / 1e6
    best = dict.fromkeys(peers, float("inf"))
    totals = {}
    for _ in range(ROUNDS):
        for peer, count in peers.items():
            for part in warm:
                count(part)
            start = time.perf_counter()
            totals[peer] = sum(map(count, timed))
            best[peer] = min(best[peer], time.perf_counter() - start)
    exact = "exact" if len(set(totals.values())) == 1 else f"DIFFERENT {totals}"
    speeds = {peer: size / seconds for peer, seconds in best.items()}
    cells = ", ".join(f"{peer} {speed:.1f} ({speed / speeds['tiktoken']:.2f}x)" for peer, speed in speeds.items())
    print(f"  {kind:8} {cells}; totals {exact}")
