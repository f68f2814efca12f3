"""What a settlement books: the cost where it is known, else what was held, and what is unusual about it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from service.domain.spending.budgets import checked_tokens, spent_nano
from service.domain.spending.ledger import Flag, Hold, HoldState, Metered, Settlement, UsageRecord

_NOT_PRICED = frozenset({Flag.UNPRICED, Flag.INCONSISTENT_USAGE})
_GIVEN = _NOT_PRICED | {Flag.PARTIAL}
_NOTHING = Metered()


@dataclass(frozen=True, slots=True)
class Booking:
    """What an entry says, and ``tokens``: what token limits are charged."""

    nano: int
    tokens: int
    metered: Metered
    flags: frozenset[Flag]


def settled(hold: Hold, settlement: Settlement, now: datetime) -> Booking:
    """What settling ``hold`` books at ``now``.

    A cost above the hold is booked in full, as ``overrun``; one that comes when the hold has ended, or is past its
    time, as ``late``. What cannot be priced books the held amount. Raises ``InvalidAmount``.
    """
    flags = settlement.flags & _GIVEN
    if settlement.usd is None and not flags & _NOT_PRICED:
        flags |= {Flag.UNPRICED}
    priced = None if flags & _NOT_PRICED else settlement.usd
    nano = hold.nano if priced is None else spent_nano(priced)
    metered = _checked(settlement.metered)
    told = settlement.metered is not None and Flag.INCONSISTENT_USAGE not in flags
    tokens = metered.total if told else hold.tokens or 0
    if nano > hold.nano or (hold.tokens is not None and tokens > hold.tokens):
        flags |= {Flag.OVERRUN}
    if hold.state is not HoldState.HELD or now >= hold.expires_at:
        flags |= {Flag.LATE}
    return Booking(nano, tokens, metered, flags)


def recorded(record: UsageRecord) -> Booking:
    """What a call without a hold books: without a price its tokens alone, flagged. Raises ``InvalidAmount``."""
    flags = record.flags & _GIVEN
    if record.usd is None and not flags & _NOT_PRICED:
        flags |= {Flag.UNPRICED}
    priced = None if flags & _NOT_PRICED else record.usd
    metered = _checked(record.metered)
    return Booking(0 if priced is None else spent_nano(priced), metered.total, metered, flags)


def _checked(metered: Metered | None) -> Metered:
    metered = metered or _NOTHING
    for tokens in (
        metered.input_tokens,
        metered.output_tokens,
        metered.cache_read_tokens,
        metered.cache_write_tokens,
        metered.reasoning_tokens,
    ):
        checked_tokens(tokens)
    return metered
