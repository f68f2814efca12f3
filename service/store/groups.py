"""One transaction's work: a group of operations, each with its own outcome."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, TypeAlias

from sqlalchemy import Connection

from service.domain.errors import DomainError
from service.domain.spending.errors import Replayed
from service.store.operations import Operation
from service.store.working import Working

Outcome: TypeAlias = object
"""What an operation returned, or the error of the domain that it raised."""


def carry_out(connection: Connection, operations: Sequence[Operation[Any]], now: datetime) -> list[Outcome]:
    """Carry out ``operations``, in order, in the open transaction; their outcomes are true once it is committed.

    Each is all or nothing by itself: it is checked before it changes the rows in memory, and what is written at the
    end is what the admitted ones left. An error that is not of the domain spoils the transaction, and is raised.
    """
    working = Working(connection, now)
    onces = [operation.once for operation in operations if operation.once is not None]
    working.load([operation.needs() for operation in operations], onces)
    working.load_totals([charge for operation in operations for charge in operation.charges(working)])
    outcomes = [_carry_out(working, operation) for operation in operations]
    working.flush()
    return outcomes


def _carry_out(working: Working, operation: Operation[Any]) -> Outcome:
    once = operation.once
    try:
        if once is not None:
            working.require_first(once)
        result = operation.apply(working)
    except (DomainError, Replayed) as refused:
        return refused
    if once is not None:
        working.remember(once, result)
    return result
