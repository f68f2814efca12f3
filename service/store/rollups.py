"""Rollups: sums of entries by the quarter of an hour, written with the entries themselves."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection

from service.domain.ledger import Entry
from service.store.rows import micros
from service.store.tables import MEASURES, ROLLUPS, TAG_ROLLUPS
from service.store.writing import upsert

QUARTER = 900
"""Seconds."""

_COLUMNS = (*MEASURES, "entries", "flagged")
_KEY = ("project", "start", "provider", "model", "key_id", "tokenizer")
_TAG_KEY = ("project", "tag", "start", "value")


def _zeros() -> list[int]:
    return [0] * len(_COLUMNS)


@dataclass(frozen=True, slots=True)
class Sums:
    """Sums by the keys of ``rollups`` and of ``tag_rollups``."""

    rollups: dict[tuple[Any, ...], list[int]] = field(default_factory=lambda: defaultdict(_zeros))
    tags: dict[tuple[Any, ...], list[int]] = field(default_factory=lambda: defaultdict(_zeros))


def add_up(entries: Iterable[Entry]) -> Sums:
    """The sums of ``entries``."""
    sums = Sums()
    for entry in entries:
        spender, start = entry.spender, quarter(micros(entry.at))
        whose = (spender.provider or "", spender.model or "", spender.key_id or "", spender.tokenizer or "")
        keys = [sums.rollups[spender.project, start, *whose]]
        keys += [sums.tags[spender.project, tag, start, value] for tag, value in spender.tags.items()]
        for row in keys:
            for place, value in enumerate(_values(entry)):
                row[place] += value
    return sums


def quarter(at: int) -> int:
    """The start, in seconds, of the quarter of an hour that a time in microseconds lies in."""
    return at // (QUARTER * 1_000_000) * QUARTER


def write_rollups(connection: Connection, sums: Sums) -> None:
    """Add the sums to the tables, by key in order."""
    for table, names, rows in ((ROLLUPS, _KEY, sums.rollups), (TAG_ROLLUPS, _TAG_KEY, sums.tags)):
        if rows:
            values = [
                dict(zip((*names, *_COLUMNS), (*key, *measures), strict=True)) for key, measures in sorted(rows.items())
            ]
            connection.execute(_ADD[table.name], values)


_ADD = {table.name: upsert(table, add=_COLUMNS) for table in (ROLLUPS, TAG_ROLLUPS)}


def _values(entry: Entry) -> tuple[int, ...]:
    metered = entry.metered
    return (
        entry.nano,
        metered.input_tokens,
        metered.output_tokens,
        metered.cache_read_tokens,
        metered.cache_write_tokens,
        metered.reasoning_tokens,
        1,
        1 if entry.flags else 0,
    )
