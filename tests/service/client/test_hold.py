"""A hold ends settled or released, whichever way its block is left, and never hides the block's own error."""

from __future__ import annotations

import asyncio
import threading

import httpx
import pytest

from service.client import BudgetExceeded, Unavailable, WeighbridgeError
from tests.service.client.script import RESERVATION, SETTLED, Script, answer, holding, problem

MESSAGES = [{"role": "user", "content": "Hello"}]
HELD, SETTLE, RELEASE = ("POST /v1/reservations", "POST /v1/reservations/r1/settle", "POST /v1/reservations/r1/release")


class Broken(Exception):
    pass


class Block:
    """A ``with`` or ``async with`` block over a hold, and what is done in it."""

    def __init__(self, kind: str, script: Script) -> None:
        self.kind = kind
        self.script = script

    def run(self, *steps, **options):
        """Enter, do each step (a name and arguments of the hold's, or an exception to raise), and leave."""
        if self.kind == "waits":
            with self.script.client(**options) as client, client.budget("team-a").hold("gpt-4o", MESSAGES, 100) as hold:
                for step in steps:
                    self._raise(step)
                    getattr(hold, step[0])(*step[1:-1], **(step[-1] if len(step) > 1 else {}))
            return hold

        async def run():
            async with self.script.awaited(**options) as client:
                async with client.budget("team-a").hold("gpt-4o", MESSAGES, 100) as hold:
                    for step in steps:
                        self._raise(step)
                        found = getattr(hold, step[0])(*step[1:-1], **(step[-1] if len(step) > 1 else {}))
                        if found is not None:
                            await found
                return hold

        return asyncio.run(run())

    @staticmethod
    def _raise(step):
        if isinstance(step, BaseException):
            raise step


@pytest.fixture(params=["waits", "awaited"])
def block(request):
    return lambda script: Block(request.param, script)


def test_a_settled_hold_is_over(block):
    script = Script()
    hold = block(script).run(("sent",), ("settle", {"usage": {"input_tokens": 1, "output_tokens": 2}}))
    assert script.paths == [HELD, SETTLE]
    assert script.body(0) == {"budget": "team-a", "model": "gpt-4o", "messages": MESSAGES, "max_output_tokens": 100}
    assert script.body() == {"usage": {"input_tokens": 1, "output_tokens": 2}}
    assert hold.settled.entry_id == "e1"
    assert hold.id == "r1"


def test_without_a_request_nothing_was_spent(block):
    script = Script()
    block(script).run()
    assert script.paths == [HELD, RELEASE]


def test_an_error_before_the_request_releases(block):
    script = Script()
    with pytest.raises(Broken):
        block(script).run(Broken())
    assert script.paths == [HELD, RELEASE]


def test_an_error_after_the_request_settles_in_part(block):
    script = Script()
    with pytest.raises(Broken):
        block(script).run(("sent",), Broken())
    assert script.paths == [HELD, SETTLE]
    assert script.body() == {"partial": True}


def test_a_request_that_nobody_settled_is_settled_in_part(block):
    script = Script()
    hold = block(script).run(("sent",))
    assert script.paths == [HELD, SETTLE]
    assert script.body() == {"partial": True}
    assert hold.settled.flags == ("partial",)


@pytest.mark.parametrize("interruption", [KeyboardInterrupt, SystemExit, GeneratorExit])
def test_an_interruption_is_no_way_around_it(block, interruption):
    script = Script()
    with pytest.raises(interruption):
        block(script).run(("sent",), interruption())
    assert script.paths == [HELD, SETTLE]


def test_a_released_hold_is_over_also_after_the_request(block):
    script = Script()
    block(script).run(("sent",), ("release",))
    assert script.paths == [HELD, RELEASE]


def test_a_hold_can_last_longer(block):
    script = Script()
    hold = block(script).run(("extend", 3600, {}))
    assert script.paths == [HELD, "POST /v1/reservations/r1/extend", RELEASE]
    assert script.body(1) == {"ttl_seconds": 3600}
    assert hold.reservation.state == "released"


def test_what_may_not_be_held_is_not_entered(block):
    script = Script(problem(402, "budget_exceeded", shortfalls=[]))
    with pytest.raises(BudgetExceeded):
        block(script).run(Broken())
    assert script.paths == [HELD]


def _down(request):
    return holding(request) if request.url.path == "/v1/reservations" else problem(503, "ledger_unavailable")


@pytest.mark.parametrize("steps", [(), (("sent",),)])
def test_a_failure_at_the_end_does_not_hide_the_blocks_error(block, steps):
    with pytest.raises(Broken) as caught:
        block(Script(then=_down)).run(*steps, Broken("mine"))
    (note,) = caught.value.__notes__
    assert "r1 is still open (ledger_unavailable" in note


@pytest.mark.parametrize("steps", [(), (("sent",),)])
def test_a_failure_at_the_end_of_a_good_block_is_told(block, steps):
    with pytest.raises(Unavailable):
        block(Script(then=_down)).run(*steps)


def test_a_settlement_without_an_answer_is_sent_again_at_the_end_as_it_was(block):
    lost = [httpx.ReadError("lost")] * 4
    script = Script(answer(201, RESERVATION), *lost)
    with pytest.raises(Unavailable) as caught:
        block(script).run(("settle", {"cost_usd": "0.1"}))
    assert script.paths == [HELD, *[SETTLE] * 5]
    assert len(set(script.keys[1:])) == 1
    assert len({request.content for request in script.seen[1:]}) == 1
    assert not hasattr(caught.value, "__notes__")


def test_usage_that_the_service_does_not_take_is_settled_in_part(block):
    script = Script(answer(201, RESERVATION), problem(422, "invalid_request"))
    with pytest.raises(WeighbridgeError) as caught:
        block(script).run(("settle", {"usage": {"tokens": "?"}}))
    assert caught.value.code == "invalid_request"
    assert script.paths == [HELD, SETTLE, SETTLE]
    assert script.body() == {"partial": True}


def test_what_was_settled_otherwise_stays(block):
    script = Script(answer(201, RESERVATION), problem(409, "already_settled"))
    with pytest.raises(WeighbridgeError):
        block(script).run(("settle", {"cost_usd": "1"}))
    assert script.paths == [HELD, SETTLE]


def test_a_hold_is_for_one_block():
    script = Script()
    with script.client() as client:
        hold = client.hold(amount_usd="1")
        with pytest.raises(RuntimeError, match="with statement"):
            _ = hold.id
        with hold:
            pass
        with pytest.raises(RuntimeError, match="one call"), hold:
            pass
    assert script.paths == [HELD, RELEASE]


def test_threads_share_a_client():
    """Each hold of each thread is settled as its own, with keys of its own."""
    lock = threading.Lock()
    ids = iter(range(1000))

    def each(request):
        with lock:
            if request.url.path == "/v1/reservations":
                return answer(201, {**RESERVATION, "id": f"r{next(ids)}"})
        return answer(200, {**SETTLED, "id": request.url.path.split("/")[3]})

    script = Script(then=each)
    settled = []

    def work(client):
        for _ in range(20):
            with client.hold(amount_usd="1") as hold:
                settled.append((hold.id, hold.settle(cost_usd="1").id))

    with script.client() as client:
        threads = [threading.Thread(target=work, args=(client,)) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(settled) == 40
    assert all(held == booked for held, booked in settled)
    assert len(set(script.keys)) == 80
