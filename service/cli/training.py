"""What ``weighbridge train`` does: reads the corpus, merges with progress shown, and keeps what was done."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import click

from adapters.bpe.cutting import can_cut, cut
from adapters.bpe.state import dump_training, load_training
from adapters.bpe.train import Ties, Training, begin
from adapters.bpe.train import begin_words as begin_words_of
from adapters.bpe.trained import Merge, TrainedVocabulary
from adapters.manifest import read_manifest
from adapters.native import AVAILABLE
from service.cli.group import BadInput
from service.cli.interrupting import Interrupted, interruptible
from service.cli.output import note
from service.cli.progress import Step, progress
from service.cli.reading import text_parts
from service.cli.sources import STDIN, named, read
from service.settings import Settings

_STOPPED = 130  # what a shell reports of a program that Ctrl-C ended
_TOLD_AT_ONCE = 64


def begin_bytes(files: Sequence[str], size: int, pattern: str, special: Sequence[str], ties: str | None) -> Training:
    """The byte-level training of the inputs, read."""
    native = _wants_native()
    regex = read_manifest().patterns.get(pattern, pattern)
    with _reading(), progress() as step:
        texts = _corpus(files, step, in_parts=can_cut(regex))
        return begin(texts, size=size, pattern=regex, special=special, ties=ties or Ties.LOWEST, native=native)


def begin_words(files: Sequence[str], merges: int, ties: str | None) -> Training:
    """The word-level training of the inputs, read."""
    native = _wants_native()
    counts: Counter[str] = Counter()
    with _reading(), progress() as step:
        for text in _corpus(files, step, in_parts=True):
            counts.update(text.split())
        return begin_words_of(counts, merges=merges, ties=ties or Ties.FIRST_SEEN, native=native)


def resumed(state: str) -> Training:
    """The training that was stopped, where it was stopped."""
    return load_training(read(state), native=_wants_native())


def finished(training: Training, out: str | None, resume: str | None) -> TrainedVocabulary:
    """The vocabulary at the end of the training. Ctrl-C keeps the training's state and ends the command."""
    with interruptible() as check, progress() as step:
        step("merges", training.plan.merges, len(training.rows))
        try:
            training.run(on_merge=_telling(step, training.plan.merges), check=check)
        except Interrupted:
            stopped = True
        else:
            stopped = False
    if stopped:
        _keep(training, out, resume)
        raise click.exceptions.Exit(_STOPPED)
    return training.vocabulary


def write(out: str, data: bytes) -> None:
    """Write a finished file in one step, or write to standard output."""
    if out == STDIN:
        click.echo(data, nl=False)
        return
    _replace(Path(out), data)
    note(f"wrote {out}: {len(data)} bytes, sha256 {hashlib.sha256(data).hexdigest()}")


def _wants_native() -> bool:
    settings = Settings.from_env()
    if settings.require_native and not AVAILABLE:
        raise BadInput(
            "The native engine is required but was not built. Install a C compiler and install the package anew, or "
            "unset WEIGHBRIDGE_REQUIRE_NATIVE."
        )
    return settings.engine == "native"


@contextmanager
def _reading() -> Iterator[None]:
    """Says that Ctrl-C while the corpus is read leaves nothing to go on with."""
    try:
        yield
    except KeyboardInterrupt:
        note("stopped before the first merge, so there is nothing to resume")
        raise


def _corpus(files: Sequence[str], step: Step, *, in_parts: bool) -> Iterator[str]:
    """The text of each input, in stretches of which each can be taken for a text of its own."""
    names = named(files)
    total = _bytes_of(names)

    def on_read(size: int) -> None:
        if total:
            step("bytes", total, size)

    for name in names:
        parts = text_parts(name, on_read)
        if in_parts:
            yield from cut(parts)
        else:
            yield "".join(parts)


def _bytes_of(names: Sequence[str]) -> int:
    """The size of all inputs, or 0 where it cannot be known."""
    paths = list(map(Path, names))
    return sum(path.stat().st_size for path in paths) if all(path.is_file() for path in paths) else 0


def _telling(step: Step, planned: int) -> Callable[[Merge], None]:
    made = 0

    def on_merge(_merge: Merge) -> None:
        nonlocal made
        made += 1
        if made % _TOLD_AT_ONCE == 0:
            step("merges", planned, _TOLD_AT_ONCE)

    return on_merge


def _keep(training: Training, out: str | None, resume: str | None) -> None:
    """Write the state to the file it came from, or beside the vocabulary's."""
    made = f"stopped after {len(training.rows)} merges"
    if resume not in (None, STDIN):
        state = str(resume)
    elif out and out != STDIN:
        state = f"{out}.state"
    else:
        note(f"{made}; nothing is kept, as no --out FILE was given")
        return
    _replace(Path(state), dump_training(training))
    note(f"{made}; go on with: weighbridge train --resume {state}" + (f" --out {out}" if out else " --explain"))


def _replace(path: Path, data: bytes) -> None:
    try:
        descriptor, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        try:
            with os.fdopen(descriptor, "wb") as target:
                target.write(data)
            Path(temporary).chmod(0o644)
            Path(temporary).replace(path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise BadInput(f"{path} cannot be written: {error.strerror}.") from None
