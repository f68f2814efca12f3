"""The rows that a group of operations works on: read and locked at once, changed in memory, written at once.

One transaction carries many operations. Each sees what those before it did; one that is refused has changed nothing.
Locks are taken in one order everywhere (answers, holds, budgets), each kind by its key, so none waits in a ring.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any, TypeVar

from sqlalchemy import ColumnElement, Connection, Row, or_, select, text, tuple_

from service.domain.spending.budgets import Balance, Budget, Period, Totals
from service.domain.spending.errors import InvalidAmount, KeyReused, Replayed, UnknownBudget, UnknownReservation
from service.domain.spending.ledger import Entry, HoldState, Once
from service.store.crossings import mark_crossings
from service.store.past_calls import count_entries
from service.store.rollups import Sums, add_up, is_large, require_room, write_rollups
from service.store.rows import (
    Charge,
    HeldRow,
    budget_of,
    budgets_of,
    entry_of,
    entry_values,
    held_of,
    held_values,
    micros,
    totals_of,
    totals_values,
)
from service.store.tables import ANSWERS, BUDGET_PERIODS, BUDGETS, ENTRIES, HOLDS
from service.store.writing import insert_many, put_many

ANSWERS_KEPT = timedelta(hours=24)

_MAX = 2**63 - 1
_NOTHING = Totals()
_LARGEST = "The budget has reached the largest sum that can be kept. Make a new one."
_V = TypeVar("_V")


@dataclass(frozen=True, slots=True)
class Needs:
    """What an operation has to read: holds by id, budgets by selector or by project and name.

    ``due`` asks for so many holds that are past their time, of those that no other process is ending just now.
    """

    holds: frozenset[str] = frozenset()
    selectors: frozenset[str] = frozenset()
    names: frozenset[tuple[str, str]] = frozenset()
    due: int = 0


class Working:
    """The rows of one transaction at the instant ``now``."""

    def __init__(self, connection: Connection, now: datetime) -> None:
        self.connection = connection
        self.now = now
        self._budgets: dict[int, Budget] = {}
        self._alive: set[int] = set()
        self._totals: dict[Charge, Totals] = {}
        self._holds: dict[str, HeldRow] = {}
        self._answers: dict[tuple[str, str, str], tuple[bytes, bytes]] = {}
        self._entries: dict[str, Entry] = {}
        self._changed_totals: set[Charge] = set()
        self._before: dict[Charge, Totals] = {}
        self._changed_holds: set[str] = set()
        self._new_answers: set[tuple[str, str, str]] = set()
        self._by_selector: dict[str, list[Budget]] = defaultdict(list)

    # Reading

    def load(self, needs: Sequence[Needs], onces: Sequence[Once]) -> None:
        """Read and lock the answers, holds and budgets that are needed."""
        self._load_answers(onces)
        holds = self._lock_holds({hold for need in needs for hold in need.holds} | self._due(sum(n.due for n in needs)))
        self._load_budgets(
            {budget for row in holds for budget in budgets_of(row)},
            {selector for need in needs for selector in need.selectors},
            {name for need in needs for name in need.names},
        )
        names = {number: budget.spec.name for number, budget in self._budgets.items()}
        self._holds = {row.id: held_of(row, names) for row in holds}

    def _load_answers(self, onces: Sequence[Once]) -> None:
        keys = sorted({(once.project, once.route, once.key) for once in onces})
        if not keys:
            return
        if self.connection.dialect.name == "postgresql":
            numbers = sorted(_number(key) for key in keys)
            lock = text("SELECT pg_advisory_xact_lock(k) FROM unnest(CAST(:numbers AS BIGINT[])) AS k")
            self.connection.execute(lock, {"numbers": numbers})
        columns = tuple_(ANSWERS.c.project, ANSWERS.c.route, ANSWERS.c.key)
        since = micros(self.now - ANSWERS_KEPT)
        for row in self.connection.execute(select(ANSWERS).where(columns.in_(padded(keys)), ANSWERS.c.at > since)):
            self._answers[row.project, row.route, row.key] = (row.fingerprint, row.answer)

    def _due(self, limit: int) -> set[str]:
        if not limit:
            return set()
        due = select(HOLDS.c.id).where(HOLDS.c.state == HoldState.HELD.value, HOLDS.c.expires_at <= micros(self.now))
        due = due.order_by(HOLDS.c.expires_at).limit(limit).with_for_update(skip_locked=True)
        return set(self.connection.execute(due).scalars())

    def _lock_holds(self, ids: set[str]) -> Sequence[Row[Any]]:
        if not ids:
            return ()
        query = select(HOLDS).where(HOLDS.c.id.in_(padded(sorted(ids)))).order_by(HOLDS.c.id).with_for_update()
        return self.connection.execute(query).all()

    def _load_budgets(self, ids: set[int], selectors: set[str], names: set[tuple[str, str]]) -> None:
        alive = BUDGETS.c.deleted_at.is_(None)
        found: list[ColumnElement[bool]] = []
        if ids:
            found.append(BUDGETS.c.id.in_(padded(sorted(ids))))
        if selectors:
            found.append(alive & BUDGETS.c.selector.in_(padded(sorted(selectors))))
        if names:
            found.append(alive & tuple_(BUDGETS.c.project, BUDGETS.c.name).in_(padded(sorted(names))))
        if not found:
            return
        query = select(BUDGETS).where(or_(*found)).order_by(BUDGETS.c.id).with_for_update()
        for row in self.connection.execute(query):
            budget = budget_of(row)
            self._budgets[budget.id] = budget
            if row.deleted_at is None:
                self._alive.add(budget.id)
                self._by_selector[row.selector].append(budget)

    def load_totals(self, charges: Iterable[Charge]) -> None:
        """Read the balances of budgets that are locked."""
        wanted = {charge for charge in charges if charge not in self._totals}
        if not wanted:
            return
        budgets = padded(sorted({budget for budget, _ in wanted}))
        starts = padded(sorted({start for _, start in wanted}))
        table = BUDGET_PERIODS.c
        query = select(BUDGET_PERIODS).where(table.budget_id.in_(budgets), table.start.in_(starts))
        self._totals |= dict.fromkeys(wanted, _NOTHING)
        self._totals |= {(row.budget_id, row.start): totals_of(row) for row in self.connection.execute(query)}

    def counting(self, selectors: frozenset[str]) -> list[Budget]:
        """The budgets that count a call with these selectors, by id."""
        found = [budget for selector in selectors for budget in self._by_selector.get(selector, ())]
        return sorted(found, key=lambda budget: budget.id)

    def named(self, project: str, name: str) -> Budget:
        """The budget of that name. Raises ``UnknownBudget``."""
        for number in self._alive:
            budget = self._budgets[number]
            if (budget.spec.project, budget.spec.name) == (project, name):
                return budget
        raise UnknownBudget

    def knows(self, project: str, name: str) -> bool:
        """Whether there is a budget of that name."""
        spec = (self._budgets[number].spec for number in self._alive)
        return any((item.project, item.name) == (project, name) for item in spec)

    def charges_of(self, hold_id: str) -> tuple[Charge, ...]:
        """What a hold is held of; nothing where there is no such hold."""
        held = self._holds.get(hold_id)
        return () if held is None else held.charges

    def balance(self, budget: Budget, period: Period) -> Balance:
        """The balance as it now stands; ``load_totals`` has read it."""
        return Balance(budget, period, self._totals[budget.id, micros(period.start)])

    def held(self, project: str, hold_id: str) -> HeldRow:
        """A hold of ``project``. Raises ``UnknownReservation``."""
        held = self._holds.get(hold_id)
        if held is None or held.hold.spender.project != project:
            raise UnknownReservation
        return held

    def all_held(self) -> list[HeldRow]:
        """Every hold that was read."""
        return list(self._holds.values())

    def entry(self, entry_id: str) -> Entry | None:
        """An entry that was booked before, in this transaction or an earlier one; ``None`` where it was pruned."""
        if entry_id in self._entries:
            return self._entries[entry_id]
        row = self.connection.execute(select(ENTRIES).where(ENTRIES.c.id == entry_id)).one_or_none()
        return None if row is None else entry_of(row)

    # Changing

    def hold(self, held: HeldRow) -> None:
        """Take up a new hold, and add it to what its budgets hold."""
        for charge in held.charges:
            now = self._totals[charge]
            changed = replace(
                now,
                held_nano=now.held_nano + held.hold.nano,
                held_tokens=now.held_tokens + (held.hold.tokens or 0),
                open_holds=now.open_holds + 1,
            )
            self._set(charge, changed)
        self.keep(held)

    def end(self, held: HeldRow, state: HoldState) -> HeldRow:
        """Take an open hold out of what its budgets hold, once."""
        if held.hold.state is not HoldState.HELD:
            raise AssertionError("a hold leaves `held` once")
        for charge in held.charges:
            now = self._totals[charge]
            changed = replace(
                now,
                held_nano=now.held_nano - held.hold.nano,
                held_tokens=now.held_tokens - (held.hold.tokens or 0),
                open_holds=now.open_holds - 1,
            )
            self._set(charge, changed)
        return self.keep(replace(held, hold=replace(held.hold, state=state)))

    def keep(self, held: HeldRow) -> HeldRow:
        """Write the hold as it now is."""
        self._holds[held.hold.id] = held
        self._changed_holds.add(held.hold.id)
        return held

    def require_room(self, charges: Iterable[Charge], nano: int, tokens: int) -> None:
        """Raise ``InvalidAmount`` where what a budget has spent would no longer be a 64-bit integer."""
        for charge in charges:
            now = self._totals[charge]
            if now.spent_nano + nano > _MAX or now.spent_tokens + tokens > _MAX:
                raise InvalidAmount(_LARGEST)

    def require_room_to_hold(self, charges: Iterable[Charge], nano: int, tokens: int) -> None:
        """As ``require_room``, of what is spent and held together: what is held can then be booked."""
        for charge in charges:
            now = self._totals[charge]
            self.require_room((charge,), now.held_nano + nano, now.held_tokens + tokens)

    def require_room_in_reports(self, entries: Sequence[Entry]) -> None:
        """Raise ``InvalidAmount`` where a sum of a day's spend would no longer be a 64-bit integer."""
        if any(is_large(entry) for entry in entries):  # all others together do not come so far in a day
            require_room(self.connection, [*self._entries.values(), *entries])

    def book(self, charges: Iterable[Charge], entry: Entry, tokens: int) -> None:
        """Add an entry, and what it says to what its budgets have spent."""
        for charge in charges:
            now = self._totals[charge]
            self._before.setdefault(charge, now)
            changed = replace(now, spent_nano=now.spent_nano + entry.nano, spent_tokens=now.spent_tokens + tokens)
            self._set(charge, changed)
        self._entries[entry.id] = entry

    def _set(self, charge: Charge, totals: Totals) -> None:
        self._totals[charge] = totals
        self._changed_totals.add(charge)

    # Idempotency

    def require_first(self, once: Once) -> None:
        """Raise ``Replayed`` or ``KeyReused`` where the key was seen within a day."""
        known = self._answers.get((once.project, once.route, once.key))
        if known is not None:
            fingerprint, answer = known
            raise Replayed(answer) if fingerprint == once.fingerprint else KeyReused

    def remember(self, once: Once, result: object) -> None:
        """Keep the answer with the effect."""
        key = (once.project, once.route, once.key)
        self._answers[key] = (once.fingerprint, once.answer(result))
        self._new_answers.add(key)

    # Writing

    def flush(self) -> None:
        """Write what has changed: a statement a table."""
        put = partial(put_many, self.connection)
        if self._new_answers:
            put(ANSWERS, [self._answer_values(key) for key in sorted(self._new_answers)])
        if self._changed_holds:
            put(HOLDS, [held_values(self._holds[hold]) for hold in sorted(self._changed_holds)])
        if self._changed_totals:
            put(BUDGET_PERIODS, [totals_values(c, self._totals[c]) for c in sorted(self._changed_totals)])
        if self._entries:
            insert_many(self.connection, ENTRIES, [entry_values(entry) for _, entry in sorted(self._entries.items())])
            sums: Sums = add_up(self._entries.values())
            write_rollups(self.connection, sums)
            count_entries(self.connection, self._entries.values())
            spent = [(self._budgets[c[0]], c, self._before[c], self._totals[c]) for c in sorted(self._before)]
            mark_crossings(self.connection, spent, self._entries.values(), self.now)

    def _answer_values(self, key: tuple[str, str, str]) -> Mapping[str, Any]:
        fingerprint, answer = self._answers[key]
        names = dict(zip(("project", "route", "key"), key, strict=True))
        return {**names, "fingerprint": fingerprint, "answer": answer, "at": micros(self.now)}


def padded(values: Sequence[_V]) -> list[_V]:
    """``values`` and their last one again, up to a power of two: few lengths, so statements stay prepared."""
    length = 1 << max(len(values) - 1, 0).bit_length()
    return [*values, *[values[-1]] * (length - len(values))]


def _number(key: tuple[str, str, str]) -> int:
    digest = hashlib.blake2b("\0".join(key).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)
