"""Reserves and settles as fast as a server answers, by bare sockets: a client library would cost more than the server.

``python -m tests.benchmarks.pairs '{"port": 8000, ...}'`` prints what came of it; see ``Plan``.
"""

from __future__ import annotations

import asyncio
import json
import re
import statistics
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import cast

import uvloop

_ID = re.compile(rb'"id": ?"?([^",}]+)')
_LENGTH = re.compile(rb"content-length: (\d+)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Plan:
    """What is asked: each of ``clients`` reserves with one of ``bodies`` and settles, for ``seconds``.

    ``settle`` is a path in which ``{id}`` stands for what was reserved.
    """

    port: int
    reserve: str
    bodies: Sequence[str]
    settle: str
    settlement: str
    headers: Mapping[str, str] = field(default_factory=dict)
    clients: int = 32
    seconds: float = 5.0


@dataclass(frozen=True, slots=True)
class Pairs:
    """What came of it; half and all but a hundredth of the answers arrived within so many seconds."""

    pairs: int
    seconds: float
    reserve_half: float
    reserve_most: float
    settle_half: float
    settle_most: float


class Client(asyncio.Protocol):
    """One connection, which is never idle: reserve, settle, reserve, ..."""

    def __init__(self, plan: Plan, number: int, end: float, done: asyncio.Future[None]) -> None:
        self._bodies = [
            _post(plan, plan.reserve, plan.bodies[n]) for n in range(number, len(plan.bodies), plan.clients)
        ]
        self._bodies = self._bodies or [_post(plan, plan.reserve, plan.bodies[number % len(plan.bodies)])]
        self._settle = _post(plan, plan.settle, plan.settlement).split(b"{id}")
        self._end = end
        self._done = done
        self._read = b""
        self._reserving = True
        self._begun = 0.0
        self.times: tuple[list[float], list[float]] = ([], [])

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._send(self._bodies[0])

    def data_received(self, data: bytes) -> None:
        self._read += data
        head, found, body = self._read.partition(b"\r\n\r\n")
        if not found or len(body) < int(_LENGTH.search(head)[1]):  # type: ignore[index]  # both servers send it
            return
        self._read = b""
        now = time.perf_counter()
        if head[9:10] != b"2":
            self._done.set_exception(RuntimeError(f"refused: {head[:40]!r} {body[:300]!r}"))
            self._transport.close()
            return
        self.times[not self._reserving].append(now - self._begun)
        if self._reserving:
            self._reserving = False
            self._send(_ID.search(body)[1].join(self._settle))  # type: ignore[index]
        elif now < self._end:
            self._reserving = True
            self._send(self._bodies[len(self.times[0]) % len(self._bodies)])
        else:
            self._done.set_result(None)
            self._transport.close()

    def connection_lost(self, error: Exception | None) -> None:
        if not self._done.done():
            self._done.set_exception(error or RuntimeError("the server closed a connection"))

    def _send(self, request: bytes) -> None:
        self._begun = time.perf_counter()
        self._transport.write(request)


def _post(plan: Plan, path: str, body: str) -> bytes:
    headers = {"host": "localhost", "content-type": "application/json", **plan.headers, "content-length": len(body)}
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"POST {path} HTTP/1.1\r\n{lines}\r\n{body}".encode()


async def run(plan: Plan) -> Pairs:
    """Carry ``plan`` out. Raises ``RuntimeError`` where a request is refused."""
    loop = asyncio.get_running_loop()
    start = time.perf_counter()
    clients, ends = [], []
    for number in range(plan.clients):
        done = loop.create_future()
        client = Client(plan, number, start + plan.seconds, done)
        await loop.create_connection(lambda client=client: client, "127.0.0.1", plan.port)  # type: ignore[misc]
        clients.append(client)
        ends.append(done)
    await asyncio.gather(*ends)
    taken = time.perf_counter() - start
    reserves, settles = ([t for client in clients for t in client.times[which]] for which in (0, 1))
    cuts = [statistics.quantiles(times, n=100) for times in (reserves, settles)]
    return Pairs(len(settles), taken, cuts[0][49], cuts[0][98], cuts[1][49], cuts[1][98])


if __name__ == "__main__":
    print(json.dumps(asdict(uvloop.run(run(Plan(**json.loads(sys.argv[1])))))))
