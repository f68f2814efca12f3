"""What the ledger does within a group: reserve, settle, release, extend, record, expire.

An operation says what it needs, and is applied to rows that are read and locked. It raises before it changes anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import ClassVar, Protocol, TypeVar

from service.domain.spending.budgets import Budget, checked_tokens, held_nano, shortfalls
from service.domain.spending.errors import (
    AlreadySettled,
    BudgetExceeded,
    InvalidAmount,
    ReservationClosed,
)
from service.domain.spending.ledger import (
    Entry,
    Hold,
    HoldState,
    Once,
    ReserveRequest,
    Settled,
    Settlement,
    UsageRecord,
)
from service.domain.spending.settling import Booking, recorded, settled
from service.store.rows import Charge, HeldRow, micros, new_id
from service.store.working import Needs, Working

T_co = TypeVar("T_co", covariant=True)

MAX_TTL_SECONDS = 30 * 86_400
EXPIRED_AT_ONCE = 500
_AHEAD = timedelta(minutes=5)  # clocks of callers may differ from ours by so much


class Operation(Protocol[T_co]):
    """One thing to do in a transaction. One that is ``alone`` shares its transaction with no other."""

    alone: ClassVar[bool]

    @property
    def once(self) -> Once | None:
        """The Idempotency-Key that it came with."""
        ...

    def needs(self) -> Needs:
        """What it reads."""
        ...

    def charges(self, working: Working) -> Iterable[Charge]:
        """The balances that it reads, once its budgets are known."""
        ...

    def apply(self, working: Working) -> T_co:
        """Do it. Raises an error of the domain, and then nothing is changed."""
        ...


@dataclass(frozen=True, slots=True)
class Reserve:
    """Hold an amount of every budget that applies, or of none."""

    alone: ClassVar[bool] = False
    request: ReserveRequest
    once: Once | None = None

    def needs(self) -> Needs:
        request = self.request
        if request.budget is not None:
            return Needs(names=frozenset({(request.spender.project, request.budget)}))
        return Needs(selectors=request.spender.selectors())

    def charges(self, working: Working) -> Iterable[Charge]:
        return [] if self.request.budget is not None and not self._known(working) else self._charges(working)

    def _known(self, working: Working) -> bool:
        return working.knows(self.request.spender.project, self.request.budget or "")

    def _budgets(self, working: Working) -> list[Budget]:
        request = self.request
        if request.budget is not None:
            return [working.named(request.spender.project, request.budget)]
        return working.counting(request.spender.selectors())

    def _charges(self, working: Working) -> list[Charge]:
        return [(budget.id, micros(budget.period_at(working.now).start)) for budget in self._budgets(working)]

    def apply(self, working: Working) -> Hold:
        request, now = self.request, working.now
        nano = held_nano(request.usd)
        if request.tokens is not None:
            checked_tokens(request.tokens)
        budgets = self._budgets(working)
        balances = [working.balance(budget, budget.period_at(now)) for budget in budgets]
        missing = shortfalls(balances, nano, request.tokens)
        if missing:
            raise BudgetExceeded(missing)
        working.require_room_to_hold(self._charges(working), nano, request.tokens or 0)
        hold = Hold(
            id=new_id("h", now),
            spender=request.spender,
            state=HoldState.HELD,
            nano=nano,
            tokens=request.tokens,
            at=now,
            expires_at=now + _ttl(request.ttl_seconds),
            price_revision=request.price_revision,
            estimate=request.estimate,
            budgets=tuple(budget.spec.name for budget in budgets),
        )
        working.hold(HeldRow(hold, tuple(self._charges(working))))
        return hold


@dataclass(frozen=True, slots=True)
class Settle:
    """Book what a call cost, and end its hold."""

    alone: ClassVar[bool] = False
    project: str
    hold_id: str
    settlement: Settlement
    once: Once | None = None

    def needs(self) -> Needs:
        return Needs(holds=frozenset({self.hold_id}))

    def charges(self, working: Working) -> Iterable[Charge]:
        return working.charges_of(self.hold_id)

    def apply(self, working: Working) -> Settled:
        held = working.held(self.project, self.hold_id)
        digest = self.settlement.digest
        if held.hold.entry_id is not None:
            booked = working.entry(held.hold.entry_id) if held.digest == digest else None
            if booked is None:
                raise AlreadySettled
            return Settled(held.hold, booked, repeated=True)
        booking = settled(held.hold, self.settlement, working.now)
        working.require_room(held.charges, booking.nano, booking.tokens)
        entry = _entry_of_hold(held.hold, booking, working)
        working.require_room_in_reports([entry])
        if held.hold.state is HoldState.HELD:
            held = working.end(held, HoldState.SETTLED)
        working.book(held.charges, entry, booking.tokens)
        held = working.keep(HeldRow(replace(held.hold, entry_id=entry.id), held.charges, digest))
        return Settled(held.hold, entry)


@dataclass(frozen=True, slots=True)
class Release:
    """End a hold without a cost."""

    alone: ClassVar[bool] = False
    project: str
    hold_id: str
    once: Once | None = None

    def needs(self) -> Needs:
        return Needs(holds=frozenset({self.hold_id}))

    def charges(self, working: Working) -> Iterable[Charge]:
        return working.charges_of(self.hold_id)

    def apply(self, working: Working) -> Hold:
        held = working.held(self.project, self.hold_id)
        if held.hold.entry_id is not None:
            raise AlreadySettled
        if held.hold.state is HoldState.HELD:
            held = working.end(held, HoldState.RELEASED)
        return held.hold


@dataclass(frozen=True, slots=True)
class Extend:
    """Let a hold last longer, or shorter, from now."""

    alone: ClassVar[bool] = False
    project: str
    hold_id: str
    ttl_seconds: float
    once: Once | None = None

    def needs(self) -> Needs:
        return Needs(holds=frozenset({self.hold_id}))

    def charges(self, working: Working) -> Iterable[Charge]:
        del working
        return ()

    def apply(self, working: Working) -> Hold:
        held = working.held(self.project, self.hold_id)
        expires_at = working.now + _ttl(self.ttl_seconds)
        if held.hold.state is not HoldState.HELD:
            raise ReservationClosed(held.hold.state.value)
        if working.now >= held.hold.expires_at:  # it counts until it is swept, and is not revived
            raise ReservationClosed(HoldState.EXPIRED.value)
        return working.keep(replace(held, hold=replace(held.hold, expires_at=expires_at))).hold


@dataclass(frozen=True, slots=True)
class Record:
    """Book calls that were made without a hold: all of them or none."""

    alone: ClassVar[bool] = False
    records: tuple[UsageRecord, ...]
    once: Once | None = None

    def needs(self) -> Needs:
        return Needs(selectors=frozenset().union(*(record.spender.selectors() for record in self.records)))

    def charges(self, working: Working) -> Iterable[Charge]:
        return {charge for record in self.records for charge in _counted(record, working)}

    def apply(self, working: Working) -> Sequence[Entry]:
        if any(record.at > working.now + _AHEAD for record in self.records):
            raise InvalidAmount("A call that is recorded has been made: its time cannot lie ahead.")
        bookings = [recorded(record) for record in self.records]
        planned = [
            (record, booking, _counted(record, working)) for record, booking in zip(self.records, bookings, strict=True)
        ]
        nano, tokens = sum(b.nano for b in bookings), sum(b.tokens for b in bookings)
        working.require_room({charge for *_, charges in planned for charge in charges}, nano, tokens)
        entries = [_entry_of_record(record, booking, working) for record, booking, _ in planned]
        working.require_room_in_reports(entries)
        for entry, (_, booking, charges) in zip(entries, planned, strict=True):
            working.book(charges, entry, booking.tokens)
        return entries


@dataclass(frozen=True, slots=True)
class Expire:
    """End at most ``limit`` holds that are past their time; several processes may do so at once."""

    alone: ClassVar[bool] = True
    limit: int = EXPIRED_AT_ONCE
    once: Once | None = None

    def needs(self) -> Needs:
        return Needs(due=self.limit)

    def charges(self, working: Working) -> Iterable[Charge]:
        return {charge for held in working.all_held() for charge in held.charges}

    def apply(self, working: Working) -> int:
        due = [held for held in working.all_held() if held.hold.state is HoldState.HELD]
        due = [held for held in due if held.hold.expires_at <= working.now]
        for held in due:
            working.end(held, HoldState.EXPIRED)
        return len(due)


def _counted(record: UsageRecord, working: Working) -> list[Charge]:
    """The budgets that count a recorded call, in the period of its time; one made later does not."""
    budgets = working.counting(record.spender.selectors())
    return [(b.id, micros(b.period_at(record.at).start)) for b in budgets if record.at >= b.created_at]


def _entry_of_hold(hold: Hold, booking: Booking, working: Working) -> Entry:
    return Entry(
        id=new_id("e", working.now),
        spender=hold.spender,
        at=hold.at,
        booked_at=working.now,
        nano=booking.nano,
        metered=booking.metered,
        flags=booking.flags,
        price_revision=hold.price_revision,
        estimate=hold.estimate,
        hold_id=hold.id,
        held_nano=hold.nano,
    )


def _entry_of_record(record: UsageRecord, booking: Booking, working: Working) -> Entry:
    return Entry(
        id=new_id("e", working.now),
        spender=record.spender,
        at=record.at,
        booked_at=working.now,
        nano=booking.nano,
        metered=booking.metered,
        flags=booking.flags,
        price_revision=record.price_revision,
        estimate=record.estimate,
        hold_id=None,
        held_nano=None,
    )


def _ttl(seconds: float) -> timedelta:
    if not 0 < seconds <= MAX_TTL_SECONDS:
        raise InvalidAmount(f"A reservation lasts from 1 second to {MAX_TTL_SECONDS} seconds.")
    return timedelta(seconds=seconds)
