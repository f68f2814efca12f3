"""A cancellation, wherever it comes, leaves no hold behind that could be ended."""

from __future__ import annotations

import asyncio

import httpx
import pytest

from service.client import AsyncWeighbridge
from tests.service.client.script import Script, holding

HELD, SETTLE, RELEASE = ("POST /v1/reservations", "POST /v1/reservations/r1/settle", "POST /v1/reservations/r1/release")


class Gate(httpx.AsyncBaseTransport):
    """Answers as ``holding`` does; ``at`` a path it first says that it was reached, and waits until it may go on."""

    def __init__(self, at: str) -> None:
        self.at = at
        self.reached = asyncio.Event()
        self.open = asyncio.Event()
        self.script = Script()

    async def handle_async_request(self, request):
        if request.url.path.endswith(self.at) and not self.open.is_set():
            self.reached.set()
            await self.open.wait()
        self.script.seen.append(request)
        return holding(request)


def _use(at, work):
    """Run ``work`` with a client until it is ``at`` a path, cancel it, let it go on, and see what was asked."""

    async def run():
        gate = Gate(at)
        async with AsyncWeighbridge(transport=gate) as client:
            task = asyncio.create_task(work(client, gate))
            await gate.reached.wait()
            task.cancel()
            await asyncio.sleep(0)  # the cancellation arrives while the request is under way
            gate.open.set()
            with pytest.raises(asyncio.CancelledError):
                await task
        return gate.script

    return asyncio.run(run())


def test_in_the_block_after_the_request():
    async def work(client, gate):
        async with client.hold(amount_usd="1") as hold:
            hold.sent()
            gate.reached.set()
            await asyncio.Event().wait()

    script = _use("never", work)
    assert script.paths == [HELD, SETTLE]
    assert script.body() == {"partial": True}


def test_in_the_block_before_the_request():
    async def work(client, gate):
        async with client.hold(amount_usd="1"):
            gate.reached.set()
            await asyncio.Event().wait()

    assert _use("never", work).paths == [HELD, RELEASE]


def test_while_it_is_held_for():
    async def work(client, gate):
        async with client.hold(amount_usd="1"):
            raise AssertionError("the block is not entered")

    assert _use("reservations", work).paths == [HELD, RELEASE]


def test_while_it_is_released():
    async def work(client, gate):
        async with client.hold(amount_usd="1"):
            pass

    assert _use("release", work).paths == [HELD, RELEASE]


def test_while_it_is_settled_in_the_block():
    """The settlement is sent again at the end: the same, with the same key."""

    async def work(client, gate):
        async with client.hold(amount_usd="1") as hold:
            await hold.settle(cost_usd="0.5")

    script = _use("settle", work)
    assert script.paths == [HELD, SETTLE]
    assert script.body() == {"cost_usd": "0.5"}


def test_a_scope_that_cancels_again_and_again_does_not_keep_it_from_happening():
    """As the cancel scopes of web frameworks do; what is left is done by the time the client is closed."""

    async def run():
        gate = Gate("settle")
        async with AsyncWeighbridge(transport=gate) as client:

            async def work():
                async with client.hold(amount_usd="1") as hold:
                    hold.sent()
                    gate.reached.set()
                    await asyncio.Event().wait()

            task = asyncio.create_task(work())
            await gate.reached.wait()
            while not task.done():
                task.cancel()
                await asyncio.sleep(0)
            assert gate.script.paths == [HELD]
            gate.open.set()
        assert gate.script.paths == [HELD, SETTLE]

    asyncio.run(run())
