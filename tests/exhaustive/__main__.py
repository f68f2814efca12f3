"""Compare every Unicode scalar value in context, and fuzz strings, with the references; exit code 1 if any differs.

``python -m tests.exhaustive [VOCABULARY ...] [--jobs N]``; a name with a slash is a vocabulary beside its maker's own
library, as ``qwen/tokenizers``, and any other one is compared with tiktoken. Differing strings show as code points.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import time
from multiprocessing.pool import Pool

from adapters.native import AVAILABLE
from tests.exhaustive import sweep
from tests.exhaustive.pairs import distinct_names, ranked_specs
from tests.exhaustive.points import shown
from tests.exhaustive.published import PUBLISHED, ReferenceMissing

SHOWN = 10  # differing strings of a vocabulary that are printed


def main() -> int:
    """Sweep the vocabularies one after another, each with all processes; how many strings differ, as an exit code."""
    names = [*ranked_specs(), *PUBLISHED]
    options = argparse.ArgumentParser(prog="python -m tests.exhaustive", description=__doc__)
    options.add_argument(
        "vocabulary", nargs="*", help=f"of: {', '.join(names)}; default: all that differ in ranks or pattern"
    )
    options.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), help="processes (default: CPUs)")
    chosen = options.parse_args()
    if unknown := set(chosen.vocabulary) - set(names):
        options.error(f"not here: {', '.join(sorted(unknown))}; here are {', '.join(names)}")
    if not AVAILABLE:
        sys.exit("The extension is not built: install a C compiler, then `make .venv/.run`.")
    with multiprocessing.get_context("spawn").Pool(chosen.jobs) as pool:
        return 1 if sum(_swept(pool, name) for name in chosen.vocabulary or [*distinct_names(), *PUBLISHED]) else 0


def _short(ids: list[int]) -> str:
    return f"{len(ids)} ids {ids[:12]}"


def _swept(pool: Pool, name: str) -> int:
    try:
        sweep.opened(name)  # here first: a process that cannot would be started over and over
    except ReferenceMissing as missing:
        print(f"{name}: skipped, {missing}", flush=True)
        return 0
    work = sweep.parts(name)
    start, compared, differing = time.monotonic(), 0, 0
    for number, found in enumerate(pool.imap_unordered(sweep.run, work), 1):
        compared += found.strings
        for text, ours, theirs in found.differing[: max(0, SHOWN - differing)]:
            print(f"  {name}: {shown(text)}: ours {_short(ours)}, the reference's {_short(theirs)}")
        differing += len(found.differing)
        if sys.stderr.isatty():
            print(f"\r{name} {number * 100 // len(work)} %", end="\r", file=sys.stderr, flush=True)
    seconds = time.monotonic() - start
    print(f"{name}: {compared:,} strings, {differing:,} differ ({seconds:.0f} s)", flush=True)
    return differing


if __name__ == "__main__":
    sys.exit(main())
