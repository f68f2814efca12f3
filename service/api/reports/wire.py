"""From entries, sums and refusals to their wire form, JSON or rows of CSV."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import msgspec

from service.api.budgets.wire import usd
from service.api.reports.schemas import EntryAnswer, EntryEstimate, EntryUsage, RefusalRow, SpendRowAnswer
from service.domain.money import canonical
from service.domain.pricemark import PriceMark
from service.domain.spending.budgets import dollars
from service.domain.spending.ledger import Entry, Flag, RefusalCount, SpendRow

SPEND_COLUMNS = SpendRowAnswer.__struct_fields__
ENTRY_COLUMNS = (
    *("id", "reservation_id", "project", "key_id", "provider", "model", "tokenizer", "tags", "at", "booked_at"),
    *("cost_usd", "held_usd", *EntryUsage.__struct_fields__),
    *("estimated_input_tokens", "estimated_output_tokens", "estimated_usd", "flags", "price_revision"),
)
_NOT_PRICED = frozenset({Flag.UNPRICED, Flag.INCONSISTENT_USAGE})


def wire_spend_row(row: SpendRow) -> SpendRowAnswer:
    """Spend of one group in one interval."""
    return SpendRowAnswer(
        start=row.start,
        group=row.group,
        spend_usd=canonical(dollars(row.nano)),
        entries=row.entries,
        input_tokens=row.input_tokens,
        output_tokens=row.output_tokens,
        cache_read_tokens=row.cache_read_tokens,
        cache_write_tokens=row.cache_write_tokens,
        reasoning_tokens=row.reasoning_tokens,
        flagged=row.flagged,
    )


def wire_entry(entry: Entry) -> EntryAnswer:
    """One entry: a cost that nobody knows is ``null``, never nothing."""
    spender, metered, estimate = entry.spender, entry.metered, entry.estimate
    unknown = entry.hold_id is None and not entry.flags.isdisjoint(_NOT_PRICED)
    return EntryAnswer(
        id=entry.id,
        reservation_id=entry.hold_id,
        project=spender.project,
        key_id=spender.key_id,
        provider=spender.provider,
        model=spender.model,
        tokenizer=spender.tokenizer,
        tags=dict(spender.tags),
        at=entry.at,
        booked_at=entry.booked_at,
        cost_usd=None if unknown else usd(entry.nano),
        held_usd=usd(entry.held_nano),
        usage=EntryUsage(
            metered.input_tokens,
            metered.output_tokens,
            metered.cache_read_tokens,
            metered.cache_write_tokens,
            metered.reasoning_tokens,
        ),
        estimate=EntryEstimate(
            estimate.input_tokens,
            estimate.output_tokens,
            None if estimate.usd is None else canonical(estimate.usd),
        ),
        flags=sorted(entry.flags),
        price_revision=PriceMark.read(entry.price_revision).revision,
    )


def wire_refusal(count: RefusalCount) -> RefusalRow:
    """Refusals of one kind within a minute."""
    refusal = count.refusal
    return RefusalRow(count.minute, refusal.project, refusal.reason, refusal.budget, refusal.model, count.count)


def spend_cells(row: SpendRow) -> Sequence[object]:
    """The cells of ``SPEND_COLUMNS``."""
    wire = wire_spend_row(row)
    return [_cell(getattr(wire, name)) for name in SPEND_COLUMNS]


def entry_cells(entry: Entry) -> Sequence[object]:
    """The cells of ``ENTRY_COLUMNS``; tags are a JSON object."""
    wire = wire_entry(entry)
    plain = [_cell(getattr(wire, name)) for name in ENTRY_COLUMNS[:7]]
    tags = msgspec.json.encode(wire.tags).decode() if wire.tags else ""
    cost = [_cell(wire.at), _cell(wire.booked_at), wire.cost_usd, wire.held_usd, *msgspec.structs.astuple(wire.usage)]
    expected = msgspec.structs.astuple(wire.estimate)
    return [*plain, tags, *cost, *expected, " ".join(wire.flags), wire.price_revision]


def _cell(value: object) -> object:
    return value.isoformat().replace("+00:00", "Z") if isinstance(value, datetime) else value
