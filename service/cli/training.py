"""What ``weighbridge train`` does: reads the corpus, merges with progress shown, and keeps what was done at Ctrl-C."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import click

from adapters.bpe.state import dump_reading, dump_training, load_state
from adapters.bpe.train import Training, begin_words
from adapters.bpe.trained import Merge, TrainedVocabulary
from adapters.bpe.training import Plan
from adapters.native import AVAILABLE
from service.cli.corpus import Check, CorpusReader
from service.cli.group import BadInput
from service.cli.interrupting import Interrupted, interruptible
from service.cli.output import note
from service.cli.progress import Step, progress
from service.cli.sources import STDIN, read
from service.settings import Settings

_STOPPED = 130  # what a shell reports of a program that Ctrl-C ended
_TOLD_AT_ONCE = 64


@dataclass(frozen=True, slots=True)
class Keeper:
    """Where the state of a stopped training goes: to the file it came from, or beside the vocabulary's."""

    out: str | None
    resume: str | None

    def stop(self, done: str, state: Callable[[], bytes]) -> NoReturn:
        """Keep the state, say how to go on, and end the command."""
        if self.resume not in (None, STDIN):
            file = str(self.resume)
        elif self.out and self.out != STDIN:
            file = f"{self.out}.state"
        else:
            note(f"stopped after {done}; nothing is kept, as no --out FILE was given")
            raise click.exceptions.Exit(_STOPPED)
        replace(Path(file), state())
        then = f"--out {self.out}" if self.out else "--explain"
        note(f"stopped after {done}; go on with: weighbridge train --resume {file} {then}")
        raise click.exceptions.Exit(_STOPPED)


def begun(plan: Plan, files: Sequence[str], keeper: Keeper) -> Training:
    """The training of the inputs, read and not merged."""
    native = wants_native()
    return _read(CorpusReader.of_files(plan, files, native=native), keeper, native=native)


def resumed(state: str, keeper: Keeper) -> Training:
    """The training that was stopped, where it was stopped; if that was while it read, it reads on first."""
    native = wants_native()
    found = load_state(read(state), native=native)
    if isinstance(found, Training):
        return found
    return _read(CorpusReader.going_on(found, native=native), keeper, native=native)


def finished(training: Training, keeper: Keeper) -> TrainedVocabulary:
    """The vocabulary at the end of the training. Ctrl-C keeps the training's state and ends the command."""
    planned = training.plan.merges
    try:
        with interruptible() as check, progress() as step:
            step("merges", planned, len(training.rows))
            training.run(on_merge=_telling(step, planned), check=check)
    except Interrupted:
        keeper.stop(f"{len(training.rows)} merges", lambda: dump_training(training))
    return training.vocabulary


def wants_native() -> bool:
    """Whether the settings ask for the extension, which trains where it was built. Raises ``BadInput``."""
    settings = Settings.from_env()
    if settings.require_native and not AVAILABLE:
        raise BadInput(
            "The native engine is required but was not built. Install a C compiler and install the package anew, or "
            "unset WEIGHBRIDGE_REQUIRE_NATIVE."
        )
    return settings.engine == "native"


def write(out: str, data: bytes) -> None:
    """Write a finished file in one step, or write to standard output."""
    if out == STDIN:
        click.echo(data, nl=False)
        return
    replace(Path(out), data)
    note(f"wrote {out}: {len(data)} bytes, sha256 {hashlib.sha256(data).hexdigest()}")


def replace(path: Path, data: bytes) -> None:
    """Put ``data`` in the place of a file, in one step. Raises ``BadInput``."""
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


def _read(reader: CorpusReader, keeper: Keeper, *, native: bool) -> Training:
    try:
        with _stopping(reader) as check, progress() as step:
            reader.read(step, check)
    except Interrupted:
        keeper.stop("a part of the corpus", lambda: dump_reading(reader.reading))
    if not reader.plan.end_of_word:
        return Training(reader.plan, reader.words, native=native)
    counts = {bytes(word).decode(): weight for word, weight in reader.words}
    return begin_words(counts, merges=reader.plan.merges, ties=reader.plan.ties, native=native)


@contextmanager
def _stopping(reader: CorpusReader) -> Iterator[Check]:
    """Ctrl-C is a request where reading can be gone on with; elsewhere it acts at once, and leaves nothing."""
    if reader.resumable:
        with interruptible() as check:
            yield check
        return
    try:
        yield lambda: None
    except KeyboardInterrupt:
        note("stopped before the corpus was read; standard input, or a pattern of your own, leaves nothing to resume")
        raise


def _telling(step: Step, planned: int) -> Callable[[Merge], None]:
    made = 0

    def on_merge(_merge: Merge) -> None:
        nonlocal made
        made += 1
        if made % _TOLD_AT_ONCE == 0:
            step("merges", planned, _TOLD_AT_ONCE)

    return on_merge
