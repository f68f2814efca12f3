"""What runs beside the requests: the ledger and the keys looked after, errors shown, alerts sent."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine
from typing import Any

from service.api.exchange import App, Receive, Scope, Send
from service.api.middleware import places
from service.app.alerting import send_alerts
from service.app.assembly import Assembly
from service.app.learning import show_errors
from service.app.saying import say
from service.app.watching import watch_ledger
from service.domain.spending.errors import LedgerNotOpened, LedgerUnavailable

PAUSE_SECONDS = 2.0
"""Before work that failed is begun anew."""


def upkeep(assembly: Assembly) -> list[Coroutine[Any, Any, None]]:
    """The work of an assembly, each until it is cancelled."""
    work: dict[str, Callable[[], Coroutine[Any, Any, None]]] = {
        "the ledger's upkeep": lambda: keep_ledger(assembly),
        "the look at the ledger": lambda: watch_ledger(
            assembly.ledger, assembly.metrics.ledger, assembly.ledger_health
        ),
        "the metric of estimates' errors": lambda: show_errors(assembly),
        "the keys' upkeep": lambda: assembly.keyring.keep_up(say),
        "the sending of alerts": lambda: send_alerts(assembly),
    }
    return [lasting(name, begin, say) for name, begin in work.items()]


async def lasting(
    name: str, begin: Callable[[], Coroutine[Any, Any, None]], tell: Callable[[str], None], pause: float = PAUSE_SECONDS
) -> None:
    """Work that is begun anew where it fails in a way that nobody foresaw: without it holds would never end.

    ``tell`` is called with the error's class and place, once as long as it stays the same.
    """
    told = ""
    while True:
        try:
            await begin()
        except Exception as error:
            failure = f"{name} failed and is begun anew: {type(error).__name__} in {places(error)[-1]}"
            if failure != told:
                tell(failure)
            told = failure
            await asyncio.sleep(pause)
        else:
            return


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
