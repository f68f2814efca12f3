"""Wire models of reservations and of recorded usage. Money enters and leaves as decimal strings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from service.api.pricing.schemas import Dollars, MadeCall, PlannedInput, Tags, Tokens
from service.domain.notices import Notice
from service.domain.spending.ledger import Metered

MOST_RECORDS = 1000

BudgetName = Annotated[str, Meta(pattern="^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]
Seconds = Annotated[float, Meta(ge=1, le=30 * 86_400)]


class HeldInput(PlannedInput, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What is about to be sent, and how it is held: of every budget that counts the call, or of ``budget`` alone."""

    budget: BudgetName | None = None
    ttl_seconds: Seconds = 600.0


class ReservationRequest(HeldInput, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What is about to be sent, or ``amount_usd`` in its place, or both: then the amount given is held.

    Without ``amount_usd`` the estimate's high cost is held, and its high input and all the output allowed as tokens.
    Every budget that counts the call is held of; with ``budget`` that one alone.
    """

    amount_usd: Dollars | None = None
    tokens: Tokens | None = None


class ReservedEstimate(msgspec.Struct, frozen=True):
    """What was expected of the call; ``null`` where nobody could say."""

    input_tokens: int | None
    output_tokens: int | None
    usd: str | None


class Reservation(msgspec.Struct, frozen=True, kw_only=True):
    """Dollars and tokens that are held for a call until ``expires_at``. ``budgets`` are the names of those held of.

    ``entry_id`` names what was booked. ``warnings`` are those of the estimate, told when the reservation is made.
    """

    id: str
    state: Literal["held", "settled", "released", "expired"]
    project: str
    amount_usd: str
    tokens: int | None
    created_at: str
    expires_at: str
    model: str | None
    provider: str | None
    tags: Mapping[str, str]
    budgets: Sequence[str]
    estimate: ReservedEstimate | None
    price_revision: str
    entry_id: str | None
    warnings: Sequence[Notice]


class SettleRequest(MadeCall, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What the call really cost: ``cost_usd``, or its ``usage`` or whole ``response`` to be priced; or both of these.

    ``partial`` says that the call was cut short: what its usage lacks is taken from the estimate. The model is the
    reservation's unless ``model`` names another, and so are the service tier and region unless the response says.
    """

    cost_usd: Dollars | None = None
    partial: bool = False


class SettledReservation(Reservation, frozen=True, kw_only=True):
    """A reservation and what was booked for it. ``cost_status`` is ``unknown`` where the held amount stands for a cost.

    ``usage`` is ``null`` where nothing was said of tokens. ``flags`` say what is unusual: ``overrun`` (more than was
    held), ``late`` (after its end), ``unpriced`` and ``inconsistent_usage`` (the held amount was booked), ``partial``.
    """

    cost_usd: str
    cost_status: Literal["known", "unknown"]
    flags: Sequence[str]
    usage: Metered | None
    booked_at: str


class ExtendRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How long the reservation lasts from now on."""

    ttl_seconds: Seconds


class ReleaseRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Nothing is to be said; the body may be left out."""


class CallRecord(MadeCall, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A call that was made without a reservation, at ``at`` (now where missing): what it used, or what it cost.

    With ``cost_usd`` beside a usage, the cost is the one given and the usage tells the tokens.
    """

    cost_usd: Dollars | None = None
    at: datetime | None = None
    tags: Tags = msgspec.field(default_factory=dict)
    partial: bool = False


class CallRecords(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Calls to record: all of them or none."""

    records: Annotated[list[CallRecord], Meta(min_length=1, max_length=MOST_RECORDS)]


class RecordedCall(msgspec.Struct, frozen=True, kw_only=True):
    """What was booked for a call, for good: a correction is an entry of its own.

    ``cost_usd`` is ``null`` where the price is not known: an unknown price is never $0. ``usage`` is ``null`` where
    nothing was said of tokens.
    """

    id: str
    project: str
    model: str | None
    provider: str | None
    at: str
    booked_at: str
    cost_usd: str | None
    cost_status: Literal["known", "unknown"]
    flags: Sequence[str]
    usage: Metered | None
    tags: Mapping[str, str]
    price_revision: str
    warnings: Sequence[Notice]


class RecordedCalls(msgspec.Struct, frozen=True):
    """The entries, in the order of the records."""

    entries: Sequence[RecordedCall]
