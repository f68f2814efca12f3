"""Many connections to running services, each with one request after the other: what a test's own client costs least."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit


@dataclass(frozen=True)
class Answer:
    """What a service answered."""

    status: int
    content: bytes

    @property
    def body(self) -> Any:
        return json.loads(self.content)


class Connection:
    """A connection that is kept; ``ConnectionError`` and ``asyncio.IncompleteReadError`` say that it has ended."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    async def post(self, path: str, body: Any, **headers: str) -> Answer:
        content = json.dumps(body).encode()
        rows = {"host": "localhost", "content-type": "application/json", "content-length": len(content), **headers}
        head = "".join(f"{name}: {value}\r\n" for name, value in rows.items())
        self._writer.write(f"POST {path} HTTP/1.1\r\n{head}\r\n".encode() + content)
        await self._writer.drain()
        lines = (await self._reader.readuntil(b"\r\n\r\n")).decode().lower().split("\r\n")
        length = next(int(line.split(":")[1]) for line in lines if line.startswith("content-length:"))
        return Answer(int(lines[0].split()[1]), await self._reader.readexactly(length))

    async def close(self) -> None:
        self._writer.close()
        with contextlib.suppress(ConnectionError):
            await self._writer.wait_closed()


@contextlib.asynccontextmanager
async def connected(urls: Sequence[str], to_each: int) -> AsyncIterator[list[Connection]]:
    """So many connections to each of ``urls``."""
    places = [urlsplit(url) for url in urls for _ in range(to_each)]
    made = [Connection(*await asyncio.open_connection(place.hostname, place.port)) for place in places]
    try:
        yield made
    finally:
        await asyncio.gather(*(connection.close() for connection in made))


async def post_all(
    connections: Sequence[Connection],
    requests: Iterable[tuple[str, Any]],
    answered: Callable[[int], None] | None = None,
) -> list[Answer]:
    """The answers to ``requests`` (paths and bodies), asked by all connections at once.

    What a busy ledger did not come to in time (503) is asked again, as a caller would, and so is what was asked on a
    connection that ended. ``answered`` is told how many answers there are.
    """
    waiting = deque(requests)
    answers: list[Answer] = []
    open_ones = {*connections}

    async def ask(connection: Connection) -> None:
        while waiting:
            path, body = waiting.popleft()
            try:
                while (answer := await connection.post(path, body)).status == 503:
                    pass
            except (ConnectionError, asyncio.IncompleteReadError):
                waiting.append((path, body))
                open_ones.discard(connection)
                return
            answers.append(answer)
            if answered is not None:
                answered(len(answers))

    while waiting:
        assert open_ones, "every connection has ended"
        await asyncio.gather(*map(ask, [*open_ones]))
    return answers
