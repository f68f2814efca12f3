"""Text from files and standard input in parts, so that a large one is never in memory as a whole."""

from __future__ import annotations

import codecs
import sys
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import BinaryIO

from service.cli.group import BadInput
from service.cli.sources import STDIN, shown

PART = 1 << 20  # bytes read at once


def text_parts(
    name: str, on_read: Callable[[int], None] | None = None, *, start: int = 0, size: int = PART
) -> Iterator[str]:
    """The text of one input, ``size`` bytes at a time; line ends and a byte order mark stay what they are.

    The first ``start`` bytes of a file are left out. ``on_read`` hears how many bytes each part has. Raises
    ``BadInput`` for what cannot be read or is not UTF-8.
    """
    if name == STDIN and not sys.stdin:
        raise BadInput("Standard input is closed.")
    try:
        with nullcontext(sys.stdin.buffer) if name == STDIN else Path(name).open("rb") as file:
            if start:
                file.seek(start)
            yield from _decoded(name, file, start, size, on_read)
    except OSError as error:
        raise BadInput(f"{shown(name)}: {error.strerror}.") from None


def _decoded(name: str, file: BinaryIO, start: int, size: int, on_read: Callable[[int], None] | None) -> Iterator[str]:
    decoder = codecs.getincrementaldecoder("utf-8")()
    done = start  # bytes given to the decoder, and those left out
    while True:
        data = file.read(size)
        waiting = len(decoder.getstate()[0])  # bytes of a character that the last part cut
        try:
            text = decoder.decode(data, final=not data)
        except UnicodeDecodeError as error:
            raise BadInput(
                f"{shown(name)}: not UTF-8 at byte {done - waiting + error.start}. "
                "Convert it first, for instance with iconv."
            ) from None
        done += len(data)
        if text:
            yield text
        if not data:
            return
        if on_read is not None:
            on_read(len(data))
