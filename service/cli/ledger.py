"""``weighbridge ledger``: make the sums of spend anew, and remove old entries."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import TypeVar

import click

from service.cli.billing import moment
from service.cli.environment import environment
from service.cli.group import BadInput, Refusal
from service.domain.spending.errors import LedgerNotOpened, LedgerUnavailable
from service.store.ledger import SqlLedger, sql_ledger

T = TypeVar("T")


@click.group()
def ledger() -> None:
    """Look after the ledger: the file in the data directory, or the database that WEIGHBRIDGE_DATABASE_URL names.

    The service may go on running meanwhile.
    """


@ledger.command(short_help="Make the sums of spend anew from the entries.")
def rebuild() -> None:
    """Make the sums that spend is read from anew, from the single entries, a day at a time.

    Sums of the time before the last pruning stay as they are.
    """
    entries = _with_ledger(lambda opened: opened.rebuild())
    click.echo(f"{entries} entries added up")


@ledger.command(short_help="Remove single entries; spend stays what it was.")
@click.option("--before", required=True, type=moment, metavar="DATE", help="A date or a time.")
def prune(before: datetime) -> None:
    """Remove the single entries booked before DATE, the reservations that ended and the refusals before it.

    The sums that spend is read from stay, and so do budgets and their changes. What is removed cannot be brought back.
    """
    if before > datetime.now(UTC):
        raise BadInput("--before must not lie ahead: it would remove what is booked now.")
    entries = _with_ledger(lambda opened: opened.prune(before))
    click.echo(f"{entries} entries removed")


def _with_ledger(work: Callable[[SqlLedger], Awaitable[T]]) -> T:
    settings = environment().settings

    async def run() -> T:
        opened = sql_ledger(settings.database_url, settings.data_dir, lambda: datetime.now(UTC))
        try:
            await opened.open()
            return await work(opened)
        finally:
            await opened.close()

    try:
        return asyncio.run(run())
    except (LedgerUnavailable, LedgerNotOpened) as error:
        raise Refusal(str(error)) from None
