"""Processes over one database, each with the keys that it keeps in memory."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

import pytest

from service.domain.keys.access import KeyScope
from service.domain.keys.keyring import Issued, KeyRing
from service.domain.keys.keys import KeySpec
from service.domain.keys.secret import Secret
from service.store.keys import SqlKeys
from service.store.ledger import SqlLedger
from tests.service.store.places import Place

T = TypeVar("T")
ADMIN = KeySpec("default", "first", frozenset({KeyScope.ADMIN}))
COUNTER = KeySpec("search", "counter", frozenset({KeyScope.COUNT}))
SECRET = Secret(lambda: b"the secret of these tests")


@dataclass
class Process:
    """What one process has: its ledger, and the keys it keeps in memory."""

    ledger: SqlLedger
    store: SqlKeys
    ring: KeyRing

    async def make(self, spec: KeySpec = ADMIN, **options) -> Issued:
        return await self.ring.create(spec, by="me", **options)

    def project(self, text: str) -> str | None:
        found = self.ring.find(text.encode())
        return None if found is None else found.caller.project


@contextlib.asynccontextmanager
async def process(place: Place, secret: Secret = SECRET) -> AsyncIterator[Process]:
    async with place.opened() as ledger:
        store = SqlKeys(ledger)
        ring = KeyRing(store, secret, place.clock, may_hold=lambda: True)
        yield Process(ledger, store, ring)


@pytest.fixture
def run(place: Place) -> Callable[..., None]:
    """Run a test in as many processes as it has arguments."""

    def start(work: Callable[..., Awaitable[None]], processes: int = 1) -> None:
        async def main() -> None:
            async with contextlib.AsyncExitStack() as stack:
                here = [await stack.enter_async_context(process(place)) for _ in range(processes)]
                for one in here:
                    await one.ring.refresh()
                await work(*here)

        asyncio.run(main())

    return start
