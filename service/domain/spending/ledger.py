"""The ledger as the rest of the program sees it: what is asked of it, what it answers, and the port.

A hold goes from ``held`` to ``settled``, ``released`` or ``expired``, once. What was really spent is an entry, which
never changes. All money is integer nano-dollars once it is in the ledger.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from types import MappingProxyType
from typing import Generic, Protocol, TypeVar

from service.domain.spending.budgets import Balance, BudgetSpec, Spender, Terms

T = TypeVar("T")


class HoldState(StrEnum):
    """Where a hold stands."""

    HELD = "held"
    SETTLED = "settled"
    RELEASED = "released"
    EXPIRED = "expired"


class Flag(StrEnum):
    """What is unusual about an entry.

    ``overrun``: more than was held. ``late``: its hold had ended. ``unpriced`` and ``inconsistent_usage``: the held
    amount stands for a cost that nobody could tell. ``partial``: the call was cut short, and this is an estimate.
    """

    OVERRUN = "overrun"
    LATE = "late"
    UNPRICED = "unpriced"
    INCONSISTENT_USAGE = "inconsistent_usage"
    PARTIAL = "partial"


@dataclass(frozen=True, slots=True)
class Once:
    """An Idempotency-Key: within ``project`` and ``route`` the effect happens once, for one body.

    ``fingerprint`` is a keyed hash of the body. ``answer`` writes what the caller is sent, from what the ledger
    returns; it is kept with the effect for a day, and then raised as ``Replayed``.
    """

    project: str
    route: str
    key: str
    fingerprint: bytes
    answer: Callable[[object], bytes]


@dataclass(frozen=True, slots=True)
class Estimate:
    """What was expected of a call before it was made; ``None`` where nobody said."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    usd: Decimal | None = None


NO_ESTIMATE = Estimate()


@dataclass(frozen=True, slots=True)
class Metered:
    """Tokens of a call as it was billed, inclusive: input holds the cache's, output holds reasoning."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    reasoning_tokens: int = 0

    @property
    def total(self) -> int:
        """What a token limit counts."""
        return self.input_tokens + self.output_tokens


@dataclass(frozen=True, slots=True)
class ReserveRequest:
    """Hold ``usd`` dollars and ``tokens`` for ``ttl_seconds`` of every budget that counts ``spender``.

    With ``budget``, a name in the spender's project, of that budget alone. ``price_revision`` is the price list that
    ``usd`` comes from. ``tokens`` may be ``None`` where no budget with a token limit applies.
    """

    spender: Spender
    usd: Decimal
    tokens: int | None = None
    ttl_seconds: float = 600.0
    budget: str | None = None
    price_revision: str = ""
    estimate: Estimate = NO_ESTIMATE


@dataclass(frozen=True, slots=True)
class Hold:
    """A reservation. ``at`` is the time of the request, at which it is priced when settled.

    ``budgets`` are the names of the budgets it holds of. ``entry_id`` names what was booked, also where that came late.
    """

    id: str
    spender: Spender
    state: HoldState
    nano: int
    tokens: int | None
    at: datetime
    expires_at: datetime
    price_revision: str
    estimate: Estimate
    budgets: tuple[str, ...]
    entry_id: str | None = None


@dataclass(frozen=True, slots=True)
class Settlement:
    """What a call really cost. ``usd`` of ``None`` cannot be priced: then the held amount is booked, and flagged.

    ``metered`` of ``None`` says nothing of tokens: a token limit is then charged what was held. ``flags`` may be
    ``unpriced`` (assumed without ``usd``), ``inconsistent_usage`` and ``partial``. ``content`` tells two settlements
    apart: what the caller sent, not what was made of it; by default the other fields.
    """

    usd: Decimal | None
    metered: Metered | None = None
    flags: frozenset[Flag] = frozenset()
    content: str = ""

    @property
    def digest(self) -> str:
        """Equal for settlements of the same content."""
        said = self.content or f"{self.usd and self.usd.normalize()}|{self.metered}|{sorted(self.flags)}"
        return hashlib.sha256(said.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class UsageRecord:
    """A call that was made without a hold, at ``at``. Of ``usd`` ``None`` nothing is booked but the tokens, flagged."""

    spender: Spender
    usd: Decimal | None
    at: datetime
    metered: Metered | None = None
    flags: frozenset[Flag] = frozenset()
    price_revision: str = ""
    estimate: Estimate = NO_ESTIMATE


@dataclass(frozen=True, slots=True)
class Entry:
    """What was booked, never changed: the estimate and what it came to. ``at`` is the request's time."""

    id: str
    spender: Spender
    at: datetime
    booked_at: datetime
    nano: int
    metered: Metered
    flags: frozenset[Flag]
    price_revision: str
    estimate: Estimate
    hold_id: str | None
    held_nano: int | None


@dataclass(frozen=True, slots=True)
class Settled:
    """The hold as it now stands, and what was booked. ``repeated``: it was booked before, by a settlement like this."""

    hold: Hold
    entry: Entry
    repeated: bool = field(default=False, compare=False)


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """Some items in order; ``cursor`` asks for the next ones, ``None`` at the end."""

    items: Sequence[T]
    cursor: str | None = None


@dataclass(frozen=True, slots=True)
class BudgetVersion:
    """One change of a budget: what its terms became, when and by whom. Deleting it is a change without terms."""

    version: int
    terms: Terms | None
    at: datetime
    by: str


@dataclass(frozen=True, slots=True)
class SpendQuery:
    """Spend from ``start`` to ``end``, of one project or of all, by ``interval`` and ``group_by``.

    ``group_by`` is ``model``, ``provider``, ``project``, ``key``, ``tokenizer`` or ``tag.NAME``; ``None`` adds up all.
    ``interval`` is ``hour``, ``day``, ``week``, ``month``, or ``None`` for the whole time. ``timezone`` says where a
    day begins. ``start`` and ``end`` count by the quarter of an hour.
    """

    start: datetime
    end: datetime
    project: str | None = None
    group_by: str | None = None
    interval: str | None = None
    timezone: str = "UTC"
    cursor: str | None = None
    limit: int = 1000


@dataclass(frozen=True, slots=True)
class SpendRow:
    """Spend of one group in one interval. ``group`` is ``None`` for calls that have none."""

    start: datetime
    group: str | None
    nano: int
    entries: int
    input_tokens: int
    output_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int
    reasoning_tokens: int
    flagged: int


@dataclass(frozen=True, slots=True)
class EntryQuery:
    """Entries booked from ``start`` to ``end``, the last first."""

    start: datetime | None = None
    end: datetime | None = None
    project: str | None = None
    model: str | None = None
    provider: str | None = None
    tags: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    cursor: str | None = None
    limit: int = 100


@dataclass(frozen=True, slots=True)
class Refusal:
    """A request that was refused: for which ``reason`` (a code), by which budget, for which model of the catalog."""

    project: str
    reason: str
    budget: str | None = None
    model: str | None = None


@dataclass(frozen=True, slots=True)
class RefusalCount:
    """How often a refusal occurred within one minute."""

    minute: datetime
    refusal: Refusal
    count: int


@dataclass(frozen=True, slots=True)
class LedgerStatus:
    """How the ledger stands: holds that are open, and by how much the oldest of them is past its time."""

    open_holds: int
    overdue_seconds: float


class Ledger(Protocol):
    """Holds budgets, exactly, under concurrency and across processes.

    What a call has returned survives a crash. Every call raises ``LedgerUnavailable``, within a few seconds, where
    the database cannot answer; nothing is admitted then. A call with ``once`` raises ``Replayed`` where it was carried
    out before, ``KeyReused`` or ``InFlight``. A project's own objects only: another's are unknown.
    """

    async def create_budget(self, spec: BudgetSpec, *, by: str, once: Once | None = None) -> Balance:
        """A new budget, which counts from now. Raises ``BudgetExists``."""
        ...

    async def change_budget(
        self, project: str, name: str, change: Callable[[Terms], Terms], *, by: str, once: Once | None = None
    ) -> Balance:
        """The budget with the terms that ``change`` makes of its own. Raises ``UnknownBudget``, ``InvalidBudget``."""
        ...

    async def delete_budget(self, project: str, name: str, *, by: str) -> None:
        """Delete a budget; its entries stay. Raises ``UnknownBudget``, ``BudgetHasHolds``."""
        ...

    async def budget(self, project: str, name: str) -> Balance:
        """A budget in its present period. Raises ``UnknownBudget``."""
        ...

    async def budgets(self, project: str | None, *, cursor: str | None = None, limit: int = 100) -> Page[Balance]:
        """The budgets of a project, or of all, in the order they were made."""
        ...

    async def exported_budgets(self, limit: int) -> Sequence[Balance]:
        """The budgets of all projects that are shown in the metrics, those made first."""
        ...

    async def budget_versions(self, project: str, name: str) -> Sequence[BudgetVersion]:
        """How the budget came to its terms, the first first. Raises ``UnknownBudget``."""
        ...

    async def balances(self, *spenders: Spender) -> Sequence[Balance]:
        """Every budget that counts calls of one of ``spenders``, in its present period."""
        ...

    async def reserve(self, request: ReserveRequest, *, once: Once | None = None) -> Hold:
        """Hold the amount of every budget that applies, or of none.

        Raises ``BudgetExceeded``, ``TokensRequired``, ``UnknownBudget``, ``InvalidAmount``.
        """
        ...

    async def hold(self, project: str, hold_id: str) -> Hold:
        """A hold as it stands. Raises ``UnknownReservation``."""
        ...

    async def settle(self, project: str, hold_id: str, settlement: Settlement, *, once: Once | None = None) -> Settled:
        """Book what was spent in the hold's budgets and periods. The same content again gives the same entry.

        Raises ``UnknownReservation``, ``AlreadySettled``, ``InvalidAmount``.
        """
        ...

    async def release(self, project: str, hold_id: str, *, once: Once | None = None) -> Hold:
        """End a hold without a cost; one that has ended stays as it is. Raises as ``settle``."""
        ...

    async def extend(self, project: str, hold_id: str, ttl_seconds: float, *, once: Once | None = None) -> Hold:
        """Let a hold last so long from now. Raises ``UnknownReservation``, ``ReservationClosed``."""
        ...

    async def record(self, records: Sequence[UsageRecord], *, once: Once | None = None) -> Sequence[Entry]:
        """Book calls made without a hold, all of them or none, in every budget that counts them, whatever its limit."""
        ...

    async def expire(self) -> int:
        """End some holds that are past their time; how many there were."""
        ...

    async def spend(self, query: SpendQuery) -> Page[SpendRow]:
        """Spend by interval and group, in that order; what is nothing is left out. Raises ``InvalidQuery``."""
        ...

    async def entries(self, query: EntryQuery) -> Page[Entry]:
        """Single entries."""
        ...

    def refused(self, refusal: Refusal) -> None:
        """Note a refusal; it is written a moment later, off the caller's path, and lost where the ledger is down."""
        ...

    async def refusals(
        self, project: str | None, start: datetime, end: datetime, *, limit: int = 1000
    ) -> Sequence[RefusalCount]:
        """Refusals by the minute, the last first."""
        ...

    async def status(self) -> LedgerStatus:
        """Raises ``LedgerUnavailable`` where the ledger is down."""
        ...

    async def prune(self, before: datetime) -> int:
        """Remove entries booked before then, their holds, and refusals; how many entries. Spend stays what it was."""
        ...

    async def rebuild(self) -> int:
        """Make the rollups anew from the entries, but for what was pruned; how many entries were read."""
        ...
