"""What runs beside the requests: the ledger and the keys looked after, errors shown, alerts sent."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Coroutine
from typing import Any

from service.api.exchange import App, Receive, Scope, Send
from service.app.alerting import send_alerts
from service.app.assembly import Assembly
from service.app.learning import show_errors
from service.app.saying import say
from service.app.watching import watch_ledger
from service.domain.spending.errors import LedgerNotOpened, LedgerUnavailable


def upkeep(assembly: Assembly) -> list[Coroutine[Any, Any, None]]:
    """The work of an assembly, each until it is cancelled."""
    return [
        keep_ledger(assembly),
        watch_ledger(assembly.ledger, assembly.metrics.ledger, assembly.ledger_health),
        show_errors(assembly),
        assembly.keyring.keep_up(say),
        send_alerts(assembly),
    ]


async def close(assembly: Assembly) -> None:
    """Finish what was begun, and give back connections."""
    await assembly.ledger.close()
    await assembly.limiter.close()
    if assembly.remote is not None:
        await assembly.remote.close()


class Upkept:
    """Plain ASGI: ``app`` under a server of another make, which says by ASGI's lifespan when it begins and ends."""

    def __init__(self, app: App, assembly: Assembly) -> None:
        self._app = app
        self._assembly = assembly

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "lifespan":
            await self._app(scope, receive, send)
            return
        await receive()
        tasks = [asyncio.create_task(work) for work in upkeep(self._assembly)]
        await send({"type": "lifespan.startup.complete"})
        await receive()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await close(self._assembly)
        await send({"type": "lifespan.shutdown.complete"})


async def keep_ledger(assembly: Assembly) -> None:
    """Open the ledger and look after it until cancelled; where it cannot be opened the service counts all the same."""
    with contextlib.suppress(LedgerUnavailable, LedgerNotOpened):  # who looks at it says so
        await assembly.ledger.open()
    await assembly.ledger.keep_up()
