"""The core under AddressSanitizer and UndefinedBehaviorSanitizer, then under ThreadSanitizer; exit code 1 if one finds.

First the core alone, by its driver; then the whole extension, interpreter and all, under its own tests. Leaks are
looked for in the core alone: an interpreter keeps memory on purpose.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.exhaustive.pairs import distinct_names
from tests.soundness.core import ROOT, BuildFailed, Driver, build, check, corpus

COMPILER = os.environ.get("CC", "gcc")
MEMORY = ("-O1", "-g", "-fno-omit-frame-pointer", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
THREADS = ("-O1", "-g", "-fsanitize=thread")
PORTABLE = "-DWEIGHBRIDGE_PORTABLE"  # without the instructions of one processor
TESTED = ("tests/adapters/native", "-k", "not code_points and not odd_strings and not every_order and not beside")
"""The extension's tests, less those whose many strings go through the core's driver: they would take half an hour."""


def main() -> int:
    """Build, run and compare; how many of the checks failed decides the exit code."""
    if not shutil.which(COMPILER):
        sys.exit(f"make sanitize needs a C compiler with sanitizers: {COMPILER} is not here. Install gcc, or set CC.")
    names = distinct_names()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        try:
            failed = check("memory", Driver(build(folder, "memory", COMPILER, *MEMORY)), names, corpus(4_000))
            portable = Driver(build(folder, "portable", COMPILER, *MEMORY, PORTABLE))
            failed += check("memory, portable", portable, names, corpus(1_000))
            threads = Driver(build(folder, "threads", COMPILER, *THREADS), env=(("TSAN_OPTIONS", "halt_on_error=1"),))
            failed += check("threads", threads, names, corpus(700), threads=6)
        except BuildFailed as error:
            sys.exit(str(error))
        failed += _extension(folder / "tree")
    print(f"{failed} failed" if failed else "nothing found")
    return 1 if failed else 0


def _extension(tree: Path) -> bool:
    """Whether the tests of the extension fail on a copy of the project, with the extension built under sanitizers."""
    ignored = shutil.ignore_patterns(".*", "*.so", "build", "__pycache__", "*.egg-info")
    shutil.copytree(ROOT, tree, ignore=ignored)
    flags = {"CC": COMPILER, "CFLAGS": " ".join(MEMORY), "LDFLAGS": "-fsanitize=address,undefined"}
    command = [sys.executable, "setup.py", "--quiet", "build_ext", "--inplace"]
    built = subprocess.run(command, cwd=tree, env=os.environ | flags, capture_output=True, text=True, check=False)
    if built.returncode or not [*tree.glob("adapters/native/_core*.so")]:
        print(f"extension: not built\n{built.stderr[-4000:]}")
        return True
    runtimes = [_runtime("libasan.so"), _runtime("libubsan.so")]
    env = {
        "LD_PRELOAD": " ".join(runtimes),
        "ASAN_OPTIONS": "detect_leaks=0",
        "PYTHONMALLOC": "malloc",  # so that the interpreter's own blocks, a text's bytes among them, are watched
        "WEIGHBRIDGE_REQUIRE_NATIVE": "1",
        "PYTHONPATH": str(tree),
    }
    pytest = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--timeout=0", "-m", "not slow", *TESTED]
    done = subprocess.run(pytest, cwd=tree, env=os.environ | env, check=False)
    print(f"extension, its tests: exit code {done.returncode}", flush=True)
    return done.returncode != 0


def _runtime(library: str) -> str:
    found = subprocess.run([COMPILER, f"-print-file-name={library}"], capture_output=True, text=True, check=True)
    return found.stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
