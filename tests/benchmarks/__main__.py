"""Run every benchmark, or those named: ``python -m tests.benchmarks counting http``."""

from __future__ import annotations

import sys

from tests.benchmarks import counting, http

BENCHMARKS = {"counting": counting.run, "http": http.run}

if __name__ == "__main__":
    for name in sys.argv[1:] or BENCHMARKS:
        BENCHMARKS[name]()
