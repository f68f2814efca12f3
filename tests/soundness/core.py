"""Builds the core with its driver, runs it over texts, and compares what it says with tiktoken."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from adapters.loader import read_verified
from adapters.native.families import FAMILIES, classes
from tests.exhaustive.pairs import Pair, ranked_specs
from tests.exhaustive.points import CONTEXTS, LONG_CONTEXTS, in_contexts, shown, telling_points
from tests.exhaustive.sweep import fuzz
from tests.fuzz import strings

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "adapters" / "native"
DRIVER = Path(__file__).with_name("driver.c")
_MASK = 2**64 - 1
_INCLUDED = re.compile(r'^#include "(\w+\.h)"', re.MULTILINE)

Answer = tuple[int, int]
"""Number of tokens, and the driver's hash of the ids."""


class BuildFailed(Exception):
    """A compiler did not take the sources; the message is the compiler's own."""


@dataclass(frozen=True, slots=True)
class Driver:
    """A built driver; ``runner`` stands before it on the command line, an emulator for example."""

    path: Path
    runner: Sequence[str] = ()
    env: tuple[tuple[str, str], ...] = ()

    def answers(self, name: str, texts: Sequence[str], threads: int = 1) -> list[Answer]:
        """What the driver says of each text. Raises ``RuntimeError`` with its last words where it fails."""
        spec = ranked_specs()[name]
        with tempfile.TemporaryDirectory() as folder:
            inputs = {"classes": classes(), "ranks": read_verified(spec), "texts": b"".join(map(_packed, texts))}
            paths = [Path(folder) / kind for kind in inputs]
            for path, data in zip(paths, inputs.values(), strict=True):
                path.write_bytes(data)
            command = [*self.runner, self.path, FAMILIES[spec.pattern], *paths, str(threads)]
            env = os.environ | dict(self.env)
            done = subprocess.run(command, env=env, capture_output=True, text=True, errors="replace", check=False)
        if done.returncode:
            raise RuntimeError(f"exit code {done.returncode}\n{done.stderr[-6000:]}")
        return [(int(count), int(hashed, 16)) for count, hashed in map(str.split, done.stdout.splitlines())]


def build(folder: Path, name: str, compiler: str, *flags: str) -> Path:
    """The driver with all sources that need no interpreter. Raises ``BuildFailed``."""
    target = folder / name
    sources = [path for path in sorted(SOURCES.glob("*.c")) if not _needs_interpreter(path)]
    command = [compiler, "-std=c11", "-Wall", "-Wextra", *flags, "-I", SOURCES, "-o", target, DRIVER, *sources]
    done = subprocess.run([*command, "-pthread", "-lm"], capture_output=True, text=True, check=False)
    if done.returncode:
        raise BuildFailed(f"{name}: {compiler} ended with {done.returncode}\n{done.stderr[-4000:]}")
    return target


def _needs_interpreter(source: Path) -> bool:
    """Whether a file includes the interpreter's header, by its own headers too."""
    text = source.read_text("utf-8")
    headers = (SOURCES / name for name in _INCLUDED.findall(text))
    return "<Python.h>" in text or any(map(_needs_interpreter, headers))


def corpus(size: int) -> list[str]:
    """About ``size`` strings of each kind: odd ones, code points in context, in long stretches, and long pieces."""
    points = telling_points()
    step = max(1, 9 * len(points) // size)
    drawn = [*strings(size, seed=77, surrogates=False), *(text for _, text in zip(range(size), fuzz(77), strict=False))]
    long = ["a" * 9_000, " " * 9_000 + "x", "\n" * 9_000, "ab" * 4_100, "=-" * 5_000, "你" * 5_000, "的一是不" * 2_000]
    return ["", *drawn, *in_contexts(map(chr, points[::step]), CONTEXTS + LONG_CONTEXTS), *long]


def reference(name: str, texts: Iterable[str]) -> list[Answer]:
    """tiktoken's answers, in the driver's form."""
    encode = Pair(ranked_specs()[name]).reference.encode_ordinary
    return [(len(ids), _hashed(ids)) for ids in map(encode, texts)]


def check(build_name: str, driver: Driver, names: Iterable[str], texts: list[str], threads: int = 1) -> int:
    """How many vocabularies the driver got wrong; prints a line for each, with the first texts that differ."""
    return sum(
        not _agrees(build_name, lambda name: driver.answers(name, texts, threads), name, texts) for name in names
    )


def _agrees(build_name: str, answers: Callable[[str], list[Answer]], name: str, texts: list[str]) -> bool:
    try:
        found = answers(name)
    except RuntimeError as error:
        print(f"{build_name}, {name}: FAILED, {error}", flush=True)
        return False
    differing = [
        text for text, ours, theirs in zip(texts, found, reference(name, texts), strict=True) if ours != theirs
    ]
    print(f"{build_name}, {name}: {len(texts):,} texts, {len(differing):,} differ from tiktoken", flush=True)
    for text in differing[:5]:
        print(f"  {shown(text)}")
    return not differing


def _packed(text: str) -> bytes:
    data = text.encode()
    return len(data).to_bytes(4, "little") + data


def _hashed(ids: list[int]) -> int:
    value = 0xCBF29CE484222325
    for token_id in ids:
        value = (value ^ token_id) * 0x100000001B3 & _MASK
    return value
