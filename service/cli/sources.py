"""Texts from files and standard input, as bytes that must be UTF-8."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from service.cli.group import BadInput
from service.cli.output import printable

STDIN = "-"


def named(files: Sequence[str]) -> list[str]:
    """The inputs to read: ``files``, or standard input when there are none. It can be read only once."""
    if files.count(STDIN) > 1:
        raise BadInput("Standard input ('-') can be read only once.")
    return list(files) or [STDIN]


def texts(files: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Each input's name and text, in order. Raises ``BadInput`` for a file that cannot be read or is not UTF-8."""
    for name in named(files):
        yield name, decoded(name, read(name))


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
        raise BadInput(
            f"{shown(name)}: not UTF-8 at byte {error.start}. Convert it first, for instance with iconv."
        ) from None


def shown(name: str) -> str:
    """An input's name for a message or a table."""
    return "standard input" if name == STDIN else printable(name)
