"""From holds and entries to their wire form, and what of a request both are made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from service.api.errors import ApiError
from service.api.holding.schemas import RecordedCall, Reservation, ReservedEstimate, SettledReservation
from service.api.pricing.wire import instant
from service.domain.money import canonical
from service.domain.notices import Notice
from service.domain.pricemark import PriceMark
from service.domain.spending.budgets import dollars, is_label, spent_nano
from service.domain.spending.ledger import NO_ESTIMATE, Entry, Estimate, Flag, Hold, Metered, Settled

_NOTHING = Metered()
_NOT_PRICED = frozenset({Flag.UNPRICED, Flag.INCONSISTENT_USAGE})


def wire_hold(hold: Hold, warnings: Sequence[Notice] = ()) -> Reservation:
    """A reservation as it stands."""
    return Reservation(**_fields(hold), warnings=warnings)


def wire_settled(settled: Settled, warnings: Sequence[Notice] = ()) -> SettledReservation:
    """A reservation and its entry."""
    entry = settled.entry
    return SettledReservation(
        **_fields(settled.hold),
        warnings=warnings,
        cost_usd=canonical(dollars(entry.nano)),
        cost_status=_status(entry),
        flags=sorted(entry.flags),
        usage=_usage(entry),
        booked_at=str(instant(entry.booked_at)),
    )


def wire_recorded(entry: Entry, warnings: Sequence[Notice] = ()) -> RecordedCall:
    """The entry of a call without a reservation."""
    status, spender = _status(entry), entry.spender
    return RecordedCall(
        id=entry.id,
        project=spender.project,
        model=spender.model,
        provider=spender.provider,
        at=str(instant(entry.at)),
        booked_at=str(instant(entry.booked_at)),
        cost_usd=canonical(dollars(entry.nano)) if status == "known" else None,
        cost_status=status,
        flags=sorted(entry.flags),
        usage=_usage(entry),
        tags=dict(spender.tags),
        price_revision=PriceMark.read(entry.price_revision).revision,
        warnings=warnings,
    )


def checked_tags(tags: Mapping[str, str], path: str = "tags") -> Mapping[str, str]:
    """``tags`` where all are labels. Raises ``ApiError`` (422)."""
    if not all(is_label(text) for pair in tags.items() for text in pair):
        detail = "A tag's name and value have 1 to 256 characters, none of them a control character."
        raise ApiError(422, "invalid_request", detail, path=path)
    return tags


def _fields(hold: Hold) -> dict[str, Any]:
    spender = hold.spender
    return {
        "id": hold.id,
        "state": hold.state.value,
        "project": spender.project,
        "amount_usd": canonical(dollars(hold.nano)),
        "tokens": hold.tokens,
        "created_at": instant(hold.at),
        "expires_at": instant(hold.expires_at),
        "model": spender.model,
        "provider": spender.provider,
        "tags": dict(spender.tags),
        "budgets": hold.budgets,
        "estimate": _estimate(hold.estimate),
        "price_revision": PriceMark.read(hold.price_revision).revision,
        "entry_id": hold.entry_id,
    }


def _estimate(estimate: Estimate) -> ReservedEstimate | None:
    if estimate == NO_ESTIMATE:
        return None
    usd = None if estimate.usd is None else canonical(dollars(spent_nano(estimate.usd)))  # as it is kept
    return ReservedEstimate(estimate.input_tokens, estimate.output_tokens, usd)


def _usage(entry: Entry) -> Metered | None:
    return None if entry.metered == _NOTHING else entry.metered


def _status(entry: Entry) -> Literal["known", "unknown"]:
    return "unknown" if entry.flags & _NOT_PRICED else "known"
