"""The corpus of ``weighbridge train``: read input by input, and known how far."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from adapters.bpe.cutting import can_cut, cut
from adapters.bpe.state import Reading
from adapters.bpe.training import Plan
from adapters.bpe.words import PieceCounter, Words, piece_counter, word_counter
from service.cli.group import BadInput
from service.cli.progress import Step
from service.cli.reading import text_parts
from service.cli.sources import STDIN, named, shown

Check = Callable[[], None]


class CorpusReader:
    """Counts the words of the inputs for a plan: one whose pattern is known reads them in parts, any other as a whole.

    ``inputs`` are names with sizes in bytes, -1 for what has none. Raises ``UnsupportedPattern``.
    """

    def __init__(self, plan: Plan, inputs: Sequence[tuple[str, int]], *, native: bool) -> None:
        self.plan = plan
        self._inputs = tuple(inputs)
        self._in_parts = bool(plan.end_of_word) or can_cut(plan.pattern)
        self._counter: PieceCounter = word_counter() if plan.end_of_word else piece_counter(plan.pattern, native=native)
        self._at = 0
        self._offset = 0  # bytes of that input that were counted

    @classmethod
    def of_files(cls, plan: Plan, files: Sequence[str], *, native: bool) -> CorpusReader:
        """A reader of files, or of standard input where none are named."""
        names = named(files)
        if any(name == STDIN or not Path(name).is_file() for name in names):
            return cls(plan, [(name, -1) for name in names], native=native)
        return cls(plan, [(str(Path(name).absolute()), Path(name).stat().st_size) for name in names], native=native)

    @classmethod
    def going_on(cls, reading: Reading, *, native: bool) -> CorpusReader:
        """A reader that goes on where another was stopped. Raises ``BadInput`` if a file has another size now."""
        for name, size in reading.inputs:
            if not Path(name).is_file() or Path(name).stat().st_size != size:
                raise BadInput(f"{shown(name)}: it is not as it was when the training was stopped. Train anew.")
        reader = cls(reading.plan, reading.inputs, native=native)
        reader._counter.add_words(reading.words)
        reader._at, reader._offset = reading.at, reading.offset
        return reader

    @property
    def resumable(self) -> bool:
        """Whether reading can be stopped, and gone on with later."""
        return self._in_parts and self._total >= 0

    @property
    def reading(self) -> Reading:
        """How far reading came."""
        return Reading(self.plan, self.words, self._inputs, self._at, self._offset)

    @property
    def words(self) -> Words:
        """The words so far."""
        return self._counter.words()

    @property
    def _total(self) -> int:
        """The size of all inputs, or -1 where it is unknown."""
        sizes = [size for _, size in self._inputs]
        return sum(sizes) if min(sizes, default=0) >= 0 else -1

    def read(self, step: Step, check: Check) -> None:
        """Read all that is left. What ``check`` raises comes out where it can go on, if it can."""
        total = self._total
        done = sum(size for _, size in self._inputs[: self._at]) + self._offset
        while self._at < len(self._inputs):
            if total > 0:
                step("bytes", total, done)
            for text in self._texts(lambda size: step("bytes", total, size) if total > 0 else None):
                check()
                self._counter.add(text)
                self._offset += len(text.encode())
            self._at, self._offset, done = self._at + 1, 0, 0

    def _texts(self, on_read: Callable[[int], None]) -> Iterator[str]:
        """The rest of an input, in stretches of which each can be taken for a text of its own."""
        parts = text_parts(self._inputs[self._at][0], on_read, start=self._offset)
        return cut(parts) if self._in_parts else iter(["".join(parts)])
