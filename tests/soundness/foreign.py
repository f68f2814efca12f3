"""The core built for another processor and run by an emulator, compared with tiktoken on this one.

``python -m tests.soundness.foreign arm64`` (little-endian, without SSE2), or ``s390x`` (big-endian). Where the compiler
or the emulator is missing it says so, names the Debian packages, and ends with exit code 0.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tests.exhaustive.pairs import distinct_names
from tests.soundness.core import BuildFailed, Driver, build, check, corpus

TEXTS = 2_000  # of each kind: an emulator is some twenty times as slow


@dataclass(frozen=True, slots=True)
class Machine:
    """A processor: its compiler, its emulator, and the Debian packages that hold them."""

    compiler: str
    emulator: str
    packages: str


MACHINES = {
    "arm64": Machine(
        "aarch64-linux-gnu-gcc", "qemu-aarch64-static", "gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user-static"
    ),
    "s390x": Machine(
        "s390x-linux-gnu-gcc", "qemu-s390x-static", "gcc-s390x-linux-gnu libc6-dev-s390x-cross qemu-user-static"
    ),
}


def main(chosen: list[str]) -> int:
    """Check each of the machines; exit code 1 where one differs."""
    return 1 if sum(_differs(name, MACHINES[name]) for name in chosen or MACHINES) else 0


def _differs(name: str, machine: Machine) -> bool:
    missing = [tool for tool in (machine.compiler, machine.emulator) if not shutil.which(tool)]
    if missing:
        print(f"{name}: skipped, {' and '.join(missing)} not here; apt-get install {machine.packages}")
        return False
    with tempfile.TemporaryDirectory() as folder:
        try:
            path = build(Path(folder), name, machine.compiler, "-O2", "-static")
        except BuildFailed as error:
            print(error)
            return True
        return check(name, Driver(path, (machine.emulator,)), distinct_names(), corpus(TEXTS), threads=2) > 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
