"""Asking the service about a ledger of a test's own, and asking that ledger itself."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import replace
from typing import Any, TypeVar

import httpx

from service.api.exchange import App, Exchange, Message, Receive, Scope, Send
from service.api.services import Services
from service.app import layered
from service.app.assembly import inner_app
from service.app.observing import ObservedLedger
from service.domain.keys.access import ANYONE, Caller
from service.domain.spending.health import LedgerHealth
from service.metrics import Metrics
from tests.service.conftest import Api
from tests.service.store.places import Place

T = TypeVar("T")


class LedgerApi(Api):
    """The routes over the ledger of ``place``, whose clock is the service's. ``caller`` is who asks."""

    def __init__(self, services: Services, place: Place) -> None:
        self.place = place
        self.ledger = place.ledger()
        self.caller = ANYONE
        self.health = LedgerHealth(lambda _line: None)
        metrics = Metrics()
        metrics.ledger.watch(lambda: self.health.word == "up")
        observed = ObservedLedger(self.ledger, metrics.ledger, self.health, lambda: services.weigher.catalog)
        parts = {"ledger": observed, "ledger_health": self.health, "metrics": metrics, "now": place.clock}
        self.services = replace(services, **parts)  # type: ignore[arg-type]
        super().__init__(layered(self._named(inner_app(self.services)), self.services))

    def _named(self, app: App) -> App:
        async def ask(scope: Scope, receive: Receive, send: Send) -> None:
            Exchange.of(scope).caller = self.caller
            await app(scope, receive, send)

        return ask

    def asked_by(self, caller: Caller) -> LedgerApi:
        """This, once ``caller`` asks."""
        self.caller = caller
        return self

    def patch(self, path: str, body: bytes | object, **options: Any) -> httpx.Response:
        return self.request("PATCH", path, json=body, **options)

    def delete(self, path: str) -> httpx.Response:
        return self.request("DELETE", path)

    def messages(self, path: str) -> list[Message]:
        """What the application sends for a GET, as a server would see it."""
        sent: list[Message] = []
        route, _, query = path.partition("?")
        scope = {"type": "http", "method": "GET", "path": route, "query_string": query.encode(), "root_path": ""}

        async def receive() -> Message:
            await asyncio.Event().wait()  # nothing more is sent, and the connection stays open
            raise AssertionError

        async def send(message: Message) -> None:
            sent.append(message)

        asyncio.run(self.app(scope | {"headers": [(b"host", b"localhost")]}, receive, send))
        return sent

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """What the ledger itself answers."""
        return asyncio.run(work)


def code(answer: httpx.Response) -> tuple[int, str, str]:
    """Status, code and path of a problem."""
    body = answer.json()
    assert answer.headers["content-type"] == "application/problem+json"
    return answer.status_code, body["code"], body.get("path", "")
