"""Alerts in the ledger's database: raised once, in the transaction that also puts their deliveries on the way."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Protocol, TypeVar

from sqlalchemy import Connection, Row, and_, delete, insert, select, tuple_
from sqlalchemy.dialects.postgresql import insert as insert_new

from service.domain.money import canonical
from service.domain.past.calibration import Calibration
from service.domain.past.calls import CountedBy
from service.domain.spending.alerts import DRIFT_DAYS, AlertKind, Delivery, Target, Unit, drifts, reached
from service.domain.spending.budgets import Budget, Totals, dollars
from service.store import deliveries
from service.store.crossings import MarkKind, mark_lost
from service.store.past_calls import ALL, Read, day_of, read_calibrations
from service.store.rows import budget_of, json_text, micros, moment, new_id, totals_of
from service.store.tables import ALERT_MARKS, ALERTS, BUDGET_PERIODS, BUDGETS
from service.store.working import padded

T = TypeVar("T")

_AT_ONCE = 200
_DRIFT_PERIOD = 0
_REMEMBERED = timedelta(days=400)  # longer than any period but the one without an end, which is at 0


class Write(Protocol):
    """Carries out work in a transaction of its own, in the thread of the ledger that writes."""

    def __call__(self, work: Callable[[Connection], T], /) -> Awaitable[T]: ...


class SqlAlerts:
    """The port ``Alerts`` over the ledger's database."""

    def __init__(self, read: Read, write: Write, clock: Callable[[], datetime]) -> None:
        self._read = read
        self._write = write
        self._clock = clock

    async def raise_alerts(self, targets: Sequence[Target], known: Callable[[str, str], bool]) -> int:
        """Reads first: as a rule nothing has crossed anything, and the thread that writes is not asked."""
        now = self._clock()
        if not targets or not await self._read(_is_marked):
            return 0
        return await self._write(lambda c: _Raising(c, now, targets).marked(known))

    async def raise_drifts(self, targets: Sequence[Target], known: Callable[[CountedBy], bool]) -> int:
        now = self._clock()
        if not any(AlertKind.ESTIMATE_DRIFT in target.events for target in targets):
            return 0
        since = day_of(now) - DRIFT_DAYS
        found = await self._read(lambda c: read_calibrations(c, ALL, since))
        told = {counted_by: calibration for counted_by, calibration in found.items() if known(counted_by)}
        changed = await self._read(lambda c: _changed_drifts(c, told))
        return await self._write(lambda c: _Raising(c, now, targets).drifting(changed)) if changed else 0

    async def lost_prices(self, models: Collection[tuple[str, str]]) -> None:
        now = self._clock()
        await self._write(lambda c: mark_lost(c, models, now))

    async def claim(self, target: Target, limit: int) -> Sequence[Delivery]:
        now = self._clock()
        if not await self._read(lambda c: deliveries.is_due(c, target.key, now)):
            return ()
        return await self._write(lambda c: deliveries.claim(c, target.key, limit, now))

    async def delivered(self, delivery: Delivery) -> None:
        await self._write(lambda c: deliveries.remove(c, delivery))

    async def failed(self, delivery: Delivery, wait: timedelta) -> bool:
        now = self._clock()
        return await self._write(lambda c: deliveries.put_off(c, delivery, now + wait, now))

    async def forget(self) -> None:
        """Remove marks, alerts and deliveries that are too old to matter."""
        now = self._clock()
        await self._write(lambda c: _forget(c, now))


def _is_marked(connection: Connection) -> bool:
    return connection.execute(select(ALERT_MARKS.c.kind).limit(1)).first() is not None


def _changed_drifts(
    connection: Connection, found: Mapping[CountedBy, Calibration]
) -> list[tuple[CountedBy, Calibration, bool]]:
    """What drifts and was not told, and what was told and is right again."""
    told = set(connection.execute(select(ALERTS.c.subject).where(ALERTS.c.kind == AlertKind.ESTIMATE_DRIFT)).scalars())
    states = [(counted_by, calibration, drifts(calibration)) for counted_by, calibration in found.items()]
    return [
        (counted_by, calibration, state)
        for counted_by, calibration, state in states
        if state is not None and state != (_subject(counted_by) in told)
    ]


def _subject(counted_by: CountedBy) -> str:
    return json_text((counted_by.provider, counted_by.model, counted_by.tokenizer))


@dataclass(frozen=True, slots=True)
class _Raising:
    """One transaction in which alerts are raised for ``targets``."""

    connection: Connection
    now: datetime
    targets: Sequence[Target]

    def marked(self, known: Callable[[str, str], bool]) -> int:
        """Look at what is marked, and remove the marks. Each lock is held until the end, so no other looks at them."""
        query = select(ALERT_MARKS).order_by(*ALERT_MARKS.primary_key).limit(_AT_ONCE)
        marks = list(self.connection.execute(query.with_for_update(skip_locked=True)))
        raised = self._budgets([mark for mark in marks if mark.kind == MarkKind.BUDGET])
        for mark in marks:
            provider, _, model = mark.subject.partition("/")
            if mark.kind == MarkKind.LOST or (mark.kind == MarkKind.UNPRICED and known(provider, model)):
                what = {"provider": provider, "model": model}
                raised += self._raise(AlertKind.PRICE_UNKNOWN, mark.subject, mark.period, what)
        if marks:
            key = tuple_(*ALERT_MARKS.primary_key)
            done = [(mark.kind, mark.subject, mark.period) for mark in marks]
            self.connection.execute(delete(ALERT_MARKS).where(key.in_(padded(done))))
        return raised

    def _budgets(self, marks: Sequence[Row[Any]]) -> int:
        raised = 0
        for mark in marks:
            periods = BUDGET_PERIODS.c
            this = and_(periods.budget_id == BUDGETS.c.id, periods.start == mark.period)
            query = select(BUDGETS, *[c for c in periods if c.name not in ("budget_id", "start")])
            query = query.select_from(BUDGETS.join(BUDGET_PERIODS, this)).where(BUDGETS.c.id == int(mark.subject))
            row = self.connection.execute(query.where(BUDGETS.c.deleted_at.is_(None))).one_or_none()
            if row is not None:
                raised += self._budget(budget_of(row), totals_of(row), mark.period)
        return raised

    def _budget(self, budget: Budget, totals: Totals, period: int) -> int:
        """Raise what a budget has reached, and let what it has not reached any more be raised again."""
        now = reached(budget.spec.terms, totals)
        raised = 0
        for kind in (AlertKind.BUDGET_WARNING, AlertKind.BUDGET_EXCEEDED):
            for unit in Unit:
                subject = f"{budget.id}:{unit}"
                if (kind, unit) in now:
                    raised += self._raise(kind, subject, period, _of_budget(budget, totals, unit, period))
                else:
                    self._lower(kind, subject, period)
        return raised

    def drifting(self, changed: Iterable[tuple[CountedBy, Calibration, bool]]) -> int:
        """Raise the drifts that are new, and let those that are over be raised again."""
        raised = 0
        for counted_by, calibration, state in changed:
            if state:
                what = _of_drift(counted_by, calibration)
                raised += self._raise(AlertKind.ESTIMATE_DRIFT, _subject(counted_by), _DRIFT_PERIOD, what)
            else:
                self._lower(AlertKind.ESTIMATE_DRIFT, _subject(counted_by), _DRIFT_PERIOD)
        return raised

    def _raise(self, kind: AlertKind, subject: str, period: int, what: Mapping[str, Any]) -> int:
        """1 where the alert is new: whoever writes its row first puts it on its way."""
        row = {"kind": kind.value, "subject": subject, "period": period, "at": micros(self.now)}
        if not self.connection.execute(insert_new(ALERTS).values(row).on_conflict_do_nothing()).rowcount:
            return 0
        number = new_id("evt", self.now)
        at = self.now.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        body = json_text({"id": number, "type": kind.value, "at": at, **what}).encode()
        rows = [
            deliveries.new_row(target.key, number, kind, body, self.now)
            for target in self.targets
            if kind in target.events
        ]
        if rows:
            self.connection.execute(insert(deliveries.DELIVERIES), rows)
        return 1

    def _lower(self, kind: AlertKind, subject: str, period: int) -> None:
        mine = and_(ALERTS.c.kind == kind.value, ALERTS.c.subject == subject, ALERTS.c.period == period)
        self.connection.execute(delete(ALERTS).where(mine))


def _of_budget(budget: Budget, totals: Totals, unit: Unit, period: int) -> dict[str, Any]:
    terms, times = budget.spec.terms, budget.period_at(moment(period))
    in_dollars = {
        "limit_usd": terms.limit_nano,
        "spent_usd": totals.spent_nano,
        "held_usd": totals.held_nano,
    }
    in_tokens = {
        "limit_tokens": terms.limit_tokens,
        "spent_tokens": totals.spent_tokens,
        "held_tokens": totals.held_tokens,
    }
    amounts = (
        {name: None if nano is None else canonical(dollars(nano)) for name, nano in in_dollars.items()}
        if unit is Unit.USD
        else in_tokens
    )
    return {
        "budget": budget.spec.name,
        "project": budget.spec.project,
        "unit": unit.value,
        **amounts,
        "warn_at": None if terms.warn_at is None else float(terms.warn_at),
        "period": budget.spec.period.value,
        "period_start": None if times.end is None else _instant(times.start),
        "period_end": None if times.end is None else _instant(times.end),
    }


def _of_drift(counted_by: CountedBy, calibration: Calibration) -> dict[str, Any]:
    return {
        "provider": counted_by.provider,
        "model": counted_by.model,
        "tokenizer": counted_by.tokenizer,
        "settles": calibration.settles,
        **{name: round(getattr(calibration, name), 4) for name in ("p5", "p50", "p95")},
    }


def _instant(at: datetime) -> str:
    return at.isoformat().replace("+00:00", "Z")


def _forget(connection: Connection, now: datetime) -> None:
    deliveries.forget(connection, now)
    connection.execute(delete(ALERT_MARKS).where(ALERT_MARKS.c.at < micros(now - deliveries.GIVEN_UP_AFTER)))
    connection.execute(delete(ALERTS).where(ALERTS.c.period > 0, ALERTS.c.at < micros(now - _REMEMBERED)))
