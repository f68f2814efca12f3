"""Wire models of what was spent and what was refused. Dollars are decimal strings, exact."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

import msgspec


class SpendRowAnswer(msgspec.Struct, frozen=True):
    """Spend of one group in the interval from ``start`` on. ``group`` is ``null`` for calls that have none.

    ``flagged`` counts the entries with a flag. ``input_tokens`` holds the cache's, ``output_tokens`` reasoning.
    """

    start: datetime
    group: str | None
    spend_usd: str
    entries: int
    input_tokens: int
    output_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int
    reasoning_tokens: int
    flagged: int


class SpendReport(msgspec.Struct, frozen=True):
    """Rows by interval and group; where nothing was spent there is none. ``project`` is ``null`` for all projects.

    Spend counts at the time of the request. ``cursor`` asks for the next rows, ``null`` at the end.
    """

    start: datetime
    end: datetime
    project: str | None
    group_by: str | None
    interval: str | None
    timezone: str
    rows: Sequence[SpendRowAnswer]
    cursor: str | None


class EntryUsage(msgspec.Struct, frozen=True):
    """Tokens of a call as it was billed, inclusive."""

    input_tokens: int
    output_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int
    reasoning_tokens: int


class EntryEstimate(msgspec.Struct, frozen=True):
    """What was expected of a call before it was made; ``null`` where nobody said."""

    input_tokens: int | None
    output_tokens: int | None
    usd: str | None


class EntryAnswer(msgspec.Struct, frozen=True):
    """What was booked for one call, and what had been expected. ``at`` is the time of the request.

    ``cost_usd`` is ``null`` where the cost is not known and nothing was held that could stand for it. ``held_usd`` is
    what ``reservation_id`` held, both ``null`` for a call without a reservation. ``flags``: ``overrun``, ``late``,
    ``unpriced``, ``inconsistent_usage``, ``partial``.
    """

    id: str
    reservation_id: str | None
    project: str
    key_id: str | None
    provider: str | None
    model: str | None
    tokenizer: str | None
    tags: Mapping[str, str]
    at: datetime
    booked_at: datetime
    cost_usd: str | None
    held_usd: str | None
    usage: EntryUsage
    estimate: EntryEstimate
    flags: Sequence[str]
    price_revision: str


class EntryList(msgspec.Struct, frozen=True):
    """Entries, the one booked last first; ``cursor`` asks for those before, ``null`` at the end."""

    entries: Sequence[EntryAnswer]
    cursor: str | None


class RefusalRow(msgspec.Struct, frozen=True):
    """How often, within a minute, reservations or calls were refused for ``reason``, the code of the refusal.

    ``budget`` is the one that was too small, ``model`` the catalog's id, each where there is one.
    """

    minute: datetime
    project: str
    reason: str
    budget: str | None
    model: str | None
    count: int


class RefusalList(msgspec.Struct, frozen=True):
    """Refusals by the minute, the last first. With ``more`` there are earlier ones: ask with an earlier ``end``."""

    start: datetime
    end: datetime
    refusals: Sequence[RefusalRow]
    more: bool
