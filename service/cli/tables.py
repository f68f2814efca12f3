"""Wide tables: on a terminal as many tables as its width asks for, each beginning with the names of the rows."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from service.cli.output import printable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

_LEAST, _ENOUGH, _MOST = 5, 8, 16  # cells of a heading that is shortened; one CJK character takes two
_GAP = 2


@dataclass(frozen=True, slots=True)
class Column:
    """A heading and a cell for each row, aligned to the right. A heading that is a caller's text may be shortened."""

    heading: str
    cells: Sequence[object]
    text: bool = False


def print_columns(names: Column, columns: Sequence[Column]) -> None:
    """Print ``columns`` beside ``names``: tables on a terminal, else tab-separated lines without a heading.

    Headings and cells are data: nothing in them is markup, and control characters are escaped.
    """
    if not sys.stdout.isatty():
        for row in zip(names.cells, *(column.cells for column in columns), strict=True):
            click.echo("\t".join(printable(str(cell)) for cell in row))
        return
    from rich.console import Console  # noqa: PLC0415 - 30 ms that only a terminal costs

    console = Console()
    cells = _heading_cells(console.width, names, columns)
    while columns:
        taken = next((n for n in range(len(columns), 1, -1) if _fits(console, names, columns[:n], cells)), 1)
        console.print(_table(names, columns[:taken], cells))
        columns = columns[taken:]


def _heading_cells(width: int, names: Column, columns: Sequence[Column]) -> int:
    """What a shortened heading may take: all columns stand side by side if they can, else the texts and the next."""
    texts = sum(column.text for column in columns)
    if not texts:
        return _MOST
    others = [_widest(column) + _GAP for column in columns if not column.text]
    left = width - _widest(names) - _GAP
    all_beside, one_beside = ((left - sum(beside)) // texts - _GAP for beside in (others, others[:1]))
    return max(_LEAST, min(_MOST, all_beside if all_beside >= _ENOUGH else one_beside))


def _widest(column: Column) -> int:
    from rich.cells import cell_len  # noqa: PLC0415

    return max(cell_len(_shown(text)) for text in (column.heading, *column.cells))


def _fits(console: Console, names: Column, columns: Sequence[Column], cells: int) -> bool:
    table = _table(names, columns, cells)
    return console.measure(table, options=console.options.update(max_width=10_000)).maximum <= console.width


def _table(names: Column, columns: Sequence[Column], cells: int) -> Table:
    from rich import box  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, _GAP - 1, 0, 0))
    table.add_column(Text(_shown(names.heading)), overflow="fold")
    for column in columns:
        heading = Text(_shown(column.heading))
        if column.text:
            heading.truncate(cells, overflow="ellipsis")
        table.add_column(heading, justify="right", no_wrap=True)
    for row in zip(names.cells, *(column.cells for column in columns), strict=True):
        table.add_row(*(Text(_shown(cell)) for cell in row))
    return table


def _shown(cell: object) -> str:
    return printable(str(cell))
