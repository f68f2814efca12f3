"""A process of its own over a ledger that is there: ``python -m tests.service.store.child URL FOLDER WHAT NUMBER``.

``reserve`` makes so many reservations of one dollar at once, and prints how many were admitted. ``pairs`` reserves and
settles without end, so many at a time, and prints each id once it was acknowledged.
"""

from __future__ import annotations

import asyncio
import sys
from datetime import UTC, datetime
from pathlib import Path

from service.domain.spending.errors import BudgetExceeded, LedgerUnavailable
from service.store.ledger import SqlLedger, sql_ledger
from tests.service.store.places import asked, cost


def say(*words: object) -> None:
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


async def reserve(ledger: SqlLedger, number: int) -> None:
    done = await asyncio.gather(*(one_reserve(ledger) for _ in range(number)))
    say(sum(done))


async def one_reserve(ledger: SqlLedger) -> bool:
    """Whether it was admitted; one that came to no turn in time is tried again, as a caller would."""
    while True:
        try:
            await ledger.reserve(asked("1"))
        except BudgetExceeded:
            return False
        except LedgerUnavailable:
            continue
        return True


async def pairs(ledger: SqlLedger, number: int) -> None:
    async def forever() -> None:
        while True:
            hold = await ledger.reserve(asked("0.002"))
            say("held", hold.id)
            done = await ledger.settle("p", hold.id, cost("0.001"))
            say("booked", done.entry.id)

    await asyncio.gather(*(forever() for _ in range(number)))


async def main(url: str, folder: str, what: str, number: str) -> None:
    ledger = sql_ledger(url, Path(folder), lambda: datetime.now(UTC))
    await ledger.open()
    say("ready")
    sys.stdin.readline()
    await {"reserve": reserve, "pairs": pairs}[what](ledger, int(number))
    await ledger.close()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
