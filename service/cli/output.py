"""What the commands print: tables for people, tab-separated lines and JSON for programs."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence

import click
import msgspec

_ESCAPES = {"\t": "\\t", "\n": "\\n", "\r": "\\r", "\\": "\\\\"}


class Printable(str):
    """Text in which everything that a terminal would act on is escaped."""

    __slots__ = ()


def note(message: str) -> None:
    """Say something on standard error that is not part of the result."""
    click.echo(f"weighbridge: {message}", err=True)


def print_json(value: object) -> None:
    """Print ``value`` (dataclasses, mappings, sequences) as one line of JSON."""
    click.echo(msgspec.json.encode(value))


def print_table(columns: Sequence[str], rows: Iterable[Sequence[object]], *, right: Sequence[str] = ()) -> None:
    """Print ``rows``: a table on a terminal, else tab-separated lines without a heading.

    Cells are data: nothing in them is markup, and control characters are escaped. Columns named in ``right`` are
    aligned to the right.
    """
    cells = [[cell if isinstance(cell, Printable) else printable(str(cell)) for cell in row] for row in rows]
    if not sys.stdout.isatty():
        for row in cells:
            click.echo("\t".join(row))
        return
    from rich import box  # noqa: PLC0415 - 30 ms that only a terminal costs
    from rich.console import Console  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        table.add_column(column, justify="right" if column in right else "left", overflow="fold")
    for row in cells:
        table.add_row(*map(Text, row))
    Console().print(table)


def printable(text: str) -> Printable:
    """``text`` with backslashes, control and format characters, and bytes that are no text, as escapes."""
    if text.isprintable() and "\\" not in text:
        return Printable(text)
    return Printable("".join(map(_escaped, text)))


def printable_bytes(data: bytes) -> Printable:
    r"""A piece's bytes in double quotes: text where they are UTF-8, ``\xNN`` where they are not."""
    text = data.decode("utf-8", "surrogateescape")
    return Printable('"' + printable(text).replace('"', '\\"') + '"')


def _escaped(character: str) -> str:
    if character.isprintable() and character != "\\":
        return character
    if character in _ESCAPES:
        return _ESCAPES[character]
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:  # a byte that is no UTF-8, as Python keeps it
        return f"\\x{code - 0xDC00:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"
