"""Run every benchmark, or those named: ``python -m tests.benchmarks counting cold``."""

from __future__ import annotations

import sys

from tests.benchmarks import cold, counting, growth, http, large, ledger, peers, spend, training

BENCHMARKS = {
    "counting": counting.run,
    "cold": cold.run,
    "large": large.run,
    "encode": counting.run_encode,
    "growth": growth.run,
    "training": training.run,
    "http": http.run,
    "ledger": ledger.run,
    "spend": spend.run,
}

if __name__ == "__main__":
    if unknown := set(sys.argv[1:]) - set(BENCHMARKS):
        sys.exit(f"no benchmark is called {', '.join(sorted(unknown))}; there are {', '.join(BENCHMARKS)}")
    for name in sys.argv[1:] or BENCHMARKS:
        BENCHMARKS[name]()
    if left_out := peers.missing():
        print(f"not installed, and left out: {', '.join(left_out)}")
