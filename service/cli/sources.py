"""Texts from files and standard input, as bytes that must be UTF-8."""

from __future__ import annotations

import codecs
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from service.cli.group import BadInput
from service.cli.output import printable

STDIN = "-"
_PART = 4 * 1024 * 1024


def named(files: Sequence[str]) -> list[str]:
    """The inputs to read: ``files``, or standard input when there are none. It can be read only once."""
    if files.count(STDIN) > 1:
        raise BadInput("Standard input ('-') can be read only once.")
    return list(files) or [STDIN]


def texts(files: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Each input's name and text, in order. Raises ``BadInput`` for a file that cannot be read or is not UTF-8."""
    for name in named(files):
        yield name, decoded(name, read(name))


def parts(name: str) -> Iterator[str]:
    """The text of one input, in parts of some megabytes. Raises ``BadInput`` as ``texts`` does."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    done = 0
    try:
        with _opened(name) as file:
            while data := file.read(_PART):
                waiting = len(decoder.getstate()[0])
                yield _decoded_part(name, decoder, data, done - waiting)
                done += len(data)
    except OSError as error:
        raise BadInput(f"{shown(name)}: {error.strerror}.") from None
    _decoded_part(name, decoder, b"", done - len(decoder.getstate()[0]))


@contextmanager
def _opened(name: str) -> Iterator[BinaryIO]:
    if name != STDIN:
        with Path(name).open("rb") as file:
            yield file
    elif sys.stdin:
        yield sys.stdin.buffer
    else:
        raise BadInput("Standard input is closed.")


def _decoded_part(name: str, decoder: codecs.IncrementalDecoder, data: bytes, start: int) -> str:
    try:
        return decoder.decode(data, not data)
    except UnicodeDecodeError as error:
        raise _not_utf8(name, start + error.start) from None


def read(name: str) -> bytes:
    """The bytes of one input."""
    if name == STDIN and not sys.stdin:
        raise BadInput("Standard input is closed.")
    try:
        return sys.stdin.buffer.read() if name == STDIN else Path(name).read_bytes()
    except OSError as error:
        raise BadInput(f"{shown(name)}: {error.strerror}.") from None


def decoded(name: str, data: bytes) -> str:
    """``data`` as text; line ends and a byte order mark stay what they are."""
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise _not_utf8(name, error.start) from None


def _not_utf8(name: str, place: int) -> BadInput:
    return BadInput(f"{shown(name)}: not UTF-8 at byte {place}. Convert it first, for instance with iconv.")


def shown(name: str) -> str:
    """An input's name for a message or a table."""
    return "standard input" if name == STDIN else printable(name)
