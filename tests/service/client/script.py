"""A service that answers as a test says, in this process, and both clients over it."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Callable
from typing import Any

import httpx

from service.client import AsyncWeighbridge, Patience, Weighbridge

RESERVATION = {
    "id": "r1",
    "amount_usd": "0.25",
    "tokens": 120,
    "state": "held",
    "created_at": "2026-11-30T08:00:00Z",
    "expires_at": "2026-11-30T08:10:00Z",
    "model": "gpt-4o",
    "provider": "openai",
    "tags": {},
    "budgets": ["team-a"],
    "estimate": {"input_tokens": 20, "output_tokens": 100, "usd": "0.25"},
}
SETTLED = {**RESERVATION, "state": "settled", "cost_usd": "0.1", "entry_id": "e1", "flags": ["partial"]}
RELEASED = {**RESERVATION, "state": "released"}


def answer(status: int, body: Any, **headers: str) -> httpx.Response:
    return httpx.Response(status, json=body, headers={"x-request-id": "q-1", **headers})


def problem(status: int, code: str, *, retry_after: int | None = None, **more: Any) -> httpx.Response:
    headers = {} if retry_after is None else {"retry-after": str(retry_after)}
    return answer(status, {"type": "t", "title": "T", "status": status, "code": code, "detail": "D", **more}, **headers)


def holding(request: httpx.Request) -> httpx.Response:
    """A service in which every hold is granted."""
    last = request.url.path.rsplit("/", 1)[-1]
    return {
        "reservations": lambda: answer(201, RESERVATION),
        "settle": lambda: answer(200, SETTLED),
        "release": lambda: answer(200, RELEASED),
        "extend": lambda: answer(200, {**RESERVATION, "expires_at": "2026-11-30T09:00:00Z"}),
        "count": lambda: answer(200, COUNT),
    }[last]()


COUNT = {
    "tokens": 7,
    "low": 7,
    "high": 7,
    "accuracy": "exact",
    "characters": 20,
    "utf8_bytes": 20,
    "tokenizer": {"name": "o200k_base", "family": "tiktoken", "engine": "native", "sha256": "", "added_tokens": 0},
    "breakdown": {"text": 7, "framing": 0, "tools": 0, "images": 0},
}


class Script:
    """Answers with each of ``outcomes`` in turn, then as ``then`` does. An exception is one of the transport."""

    def __init__(self, *outcomes: httpx.Response | Exception, then: Callable[..., httpx.Response] = holding) -> None:
        self.outcomes = list(outcomes)
        self.then = then
        self.seen: list[httpx.Request] = []
        self.pauses: list[float] = []
        self.now = 0.0

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.seen.append(request)
        outcome = self.outcomes.pop(0) if self.outcomes else self.then(request)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    @property
    def paths(self) -> list[str]:
        return [f"{request.method} {request.url.path}" for request in self.seen]

    @property
    def keys(self) -> list[str | None]:
        return [request.headers.get("idempotency-key") for request in self.seen]

    def body(self, index: int = -1) -> Any:
        return json.loads(self.seen[index].content)

    def patience(self, **changes: Any) -> Patience:
        return Patience(**{"clock": lambda: self.now, "chance": lambda _low, high: high, **changes})

    def client(self, **options: Any) -> Weighbridge:
        patience = options.pop("patience", None) or self.patience()

        def sleep(seconds: float) -> None:
            self._pass(seconds)

        return Weighbridge(transport=httpx.MockTransport(self), patience=patience, sleep=sleep, **options)

    def awaited(self, **options: Any) -> AsyncWeighbridge:
        patience = options.pop("patience", None) or self.patience()

        async def sleep(seconds: float) -> None:
            self._pass(seconds)

        return AsyncWeighbridge(transport=httpx.MockTransport(self), patience=patience, sleep=sleep, **options)

    def _pass(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.now += seconds


class Asker:
    """Runs one and the same use of either client."""

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def ask(self, script: Script, use: Callable[[Any], Any], **options: Any) -> Any:
        """What ``use`` of a client over ``script`` gives."""
        if self.kind == "waits":
            with script.client(**options) as client:
                return use(client)

        async def run() -> Any:
            async with script.awaited(**options) as client:
                found = use(client)
                return await found if inspect.isawaitable(found) else found

        return asyncio.run(run())
