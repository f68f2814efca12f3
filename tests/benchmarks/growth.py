"""How the time to count grows with the size of a text of one shape."""

from __future__ import annotations

import math
from typing import Any

from tests.benchmarks.growth_texts import MOST_SECONDS, SIZES, TEXTS
from tests.benchmarks.peers import available
from tests.benchmarks.rounds import print_table, run_alone

ROUNDS = 2
VOCABULARY = "o200k_base"


def run() -> None:
    """Milliseconds at each size, and the exponent over the last tenfold: 1 is linear, 2 quadratic."""
    sizes = " / ".join(f"10^{round(math.log10(size))}" for size in SIZES)
    print(
        f"count, {VOCABULARY}, one text of {sizes} characters, a fresh process: ms, and the exponent of the last step"
    )
    print(f"(n/a: the step before lets expect more than {MOST_SECONDS:.0f} s)\n")
    peers = [peer for peer in available(VOCABULARY) if peer != "weighbridge (python)"]
    print_table(["peer", *TEXTS], ([peer, *(_cell(_best(peer, kind)) for kind in TEXTS)] for peer in peers))


def _best(peer: str, kind: str) -> list[float | str]:
    runs: list[list[Any]] = [run_alone("growth", peer, VOCABULARY, kind) or ["failed"] for _ in range(ROUNDS)]
    steps = zip(*runs, strict=False)
    return [min(step) if all(isinstance(seconds, float) for seconds in step) else str(step[0]) for step in steps]


def _cell(found: list[float | str]) -> str:
    shown = [
        f"{step * 1000:.3g}" if isinstance(step, float) else "n/a" if step == "too long" else step for step in found
    ]
    times = [step for step in found if isinstance(step, float)]
    exponent = f", exponent {math.log10(times[-1] / times[-2]):.2f}" if len(times) > 1 and min(times) > 0 else ""
    return " / ".join(shown) + exponent
