"""CSV as it is downloaded: a line of names first, and no cell that a spreadsheet would take for a formula."""

from __future__ import annotations

import csv
import io
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from typing import TypeVar

from fastapi import Response
from fastapi.responses import StreamingResponse

from service.domain.spending.ledger import Page

T = TypeVar("T")

_FORMULA = (*"=+-@\t\r", *"\uff1d\uff0b\uff0d\uff20")  # also in the wide forms of East Asia


async def csv_answer(
    name: str,
    columns: Sequence[str],
    page_at: Callable[[str | None], Awaitable[Page[T]]],
    cells: Callable[[T], Sequence[object]],
) -> Response:
    """All pages, each read when the one before is sent. Raises what the first page raises.

    Where a later one fails the connection is cut, so that nobody takes a part for the whole.
    """
    first = await page_at(None)

    async def parts() -> AsyncIterator[str]:
        yield lines([columns])
        page = first
        while True:
            yield lines(cells(item) for item in page.items)
            if page.cursor is None:
                return
            page = await page_at(page.cursor)

    headers = {"content-disposition": f'attachment; filename="{name}.csv"', "vary": "accept"}
    return StreamingResponse(parts(), headers=headers, media_type="text/csv")


def lines(rows: Iterable[Sequence[object]]) -> str:
    """Rows as CSV (RFC 4180); a text that begins as a formula does gets an apostrophe before it."""
    text = io.StringIO()
    csv.writer(text).writerows([_safe(cell) for cell in row] for row in rows)
    return text.getvalue()


def _safe(cell: object) -> object:
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(_FORMULA) else cell
