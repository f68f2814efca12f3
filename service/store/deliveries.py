"""What is to be delivered to webhooks, until it was: a row for each alert and target, claimed by the minute."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Connection, and_, delete, select, update

from service.domain.spending.alerts import GIVEN_UP_AFTER, AlertKind, Delivery
from service.store.rows import micros, moment
from service.store.tables import DELIVERIES
from service.store.working import padded

__all__ = ["DELIVERIES", "GIVEN_UP_AFTER", "claim", "forget", "is_due", "new_row", "put_off", "remove"]

_CLAIMED = timedelta(minutes=1)
"""Longer than an attempt takes: whoever has claimed a delivery and is gone by then did not make it."""


def new_row(target: str, number: str, kind: AlertKind, body: bytes, now: datetime) -> dict[str, Any]:
    """A delivery that is due at once."""
    at = micros(now)
    row = {"target": target, "id": number, "kind": kind.value, "body": body}
    return {**row, "attempts": 0, "due_at": at, "created_at": at}


def is_due(connection: Connection, target: str, now: datetime) -> bool:
    """Whether anything is to be sent to ``target``."""
    return connection.execute(select(DELIVERIES.c.id).where(_due(target, now)).limit(1)).first() is not None


def claim(connection: Connection, target: str, limit: int, now: datetime) -> Sequence[Delivery]:
    """The deliveries that are due for the longest time, and that nobody else has claimed."""
    query = select(DELIVERIES).where(_due(target, now)).order_by(DELIVERIES.c.due_at, DELIVERIES.c.id).limit(limit)
    rows = list(connection.execute(query.with_for_update(skip_locked=True)))
    if rows:
        mine = and_(DELIVERIES.c.target == target, DELIVERIES.c.id.in_(padded([row.id for row in rows])))
        values = {"due_at": micros(now + _CLAIMED), "attempts": DELIVERIES.c.attempts + 1}
        connection.execute(update(DELIVERIES).where(mine).values(values))
    return [
        Delivery(row.id, row.target, AlertKind(row.kind), row.body, row.attempts + 1, moment(row.created_at))
        for row in rows
    ]


def remove(connection: Connection, delivery: Delivery) -> None:
    """It was delivered, or is given up."""
    connection.execute(delete(DELIVERIES).where(_this(delivery)))


def put_off(connection: Connection, delivery: Delivery, until: datetime, now: datetime) -> bool:
    """Let it be due at ``until``; False where it is too old, and was removed."""
    if now - delivery.created_at >= GIVEN_UP_AFTER:
        remove(connection, delivery)
        return False
    connection.execute(update(DELIVERIES).where(_this(delivery)).values(due_at=micros(until)))
    return True


def forget(connection: Connection, now: datetime) -> None:
    """Remove what was meant for targets that are not there any more."""
    connection.execute(delete(DELIVERIES).where(DELIVERIES.c.created_at < micros(now - 2 * GIVEN_UP_AFTER)))


def _due(target: str, now: datetime) -> ColumnElement[bool]:
    return and_(DELIVERIES.c.target == target, DELIVERIES.c.due_at <= micros(now))


def _this(delivery: Delivery) -> ColumnElement[bool]:
    return and_(DELIVERIES.c.target == delivery.target, DELIVERIES.c.id == delivery.id)
