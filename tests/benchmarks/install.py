"""Install the peers from their lock into their folder; one that does not install is named and left out."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.benchmarks import PEERS

LOCK = Path(__file__).with_name("requirements.lock")
_NEXT = re.compile(r"^(?=\S)", re.MULTILINE)  # a package starts at the margin, its hashes are indented


def main() -> None:
    """All at once; where that fails, one by one."""
    lock = LOCK.read_text("utf-8")
    if not _installed(lock):
        for package in filter(None, _NEXT.split(lock)):
            if not _installed(package):
                print(f"not installed: {package.split()[0]}")


def _installed(lock: str) -> bool:
    with tempfile.NamedTemporaryFile("w", suffix=".lock") as file:
        file.write(lock)
        file.flush()
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--require-hashes", "--upgrade"]
        done = subprocess.run([*command, "--target", str(PEERS), "-r", file.name], capture_output=True, check=False)
    return done.returncode == 0


if __name__ == "__main__":
    main()
