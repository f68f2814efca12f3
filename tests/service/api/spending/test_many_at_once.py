"""Several services on one ledger, asked by hundreds of connections at once; one of them is killed meanwhile."""

from __future__ import annotations

import asyncio
import csv
import io
import signal
from collections import Counter
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

import httpx
import pytest

from tests.service.api.spending.connections import Connection, connected, post_all
from tests.service.conftest import ServerProcess
from tests.service.store.conftest import place, postgres
from tests.service.store.places import Place, audited

__all__ = ["place", "postgres"]

pytestmark = pytest.mark.xdist_group("server")

SECRET = "0123456789abcdef" * 4
ONE = ("/v1/reservations", {"budget": "team-a", "amount_usd": "1"})
COST = {"cost_usd": "0.333333333"}


@pytest.fixture
def servers(place: Place, serve: Callable[..., ServerProcess]) -> list[ServerProcess]:
    """Services on the ledger of ``place``: four on one file, two on PostgreSQL."""
    settings = {"vocabularies": "o200k_base", "log": "off", "database_url": place.url, "data_dir": str(place.folder)}
    started = [serve(ready=False, secret=SECRET, **settings) for _ in range(2 if place.url else 4)]
    for server in started:
        server.wait_until_ready()
    return started


def budget_of(server: ServerProcess) -> dict[str, Any]:
    answer: dict[str, Any] = httpx.get(f"{server.url}/v1/budgets/team-a", timeout=60).json()
    return answer


def booked(server: ServerProcess) -> list[Decimal]:
    """What each entry cost."""
    answer = httpx.get(f"{server.url}/v1/spend/entries", params={"format": "csv"}, timeout=60)
    return [Decimal(row["cost_usd"]) for row in csv.DictReader(io.StringIO(answer.text))]


def reported(server: ServerProcess) -> Decimal:
    """The sum that reports are made of."""
    rows = httpx.get(f"{server.url}/v1/spend", timeout=60).json()["rows"]
    return sum((Decimal(row["spend_usd"]) for row in rows), Decimal(0))


async def settle_at_once(connections: Sequence[Connection], path: str) -> None:
    """The same request by many at once, with one key: one answer, or word that the first is still under way."""
    answers = await asyncio.gather(*(each.post(path, COST, **{"idempotency-key": "same"}) for each in connections))
    settled = [answer for answer in answers if answer.status == 200]
    assert {answer.status for answer in answers} <= {200, 409}
    assert len({answer.content for answer in settled}) == 1
    assert all(answer.body["code"] == "idempotency_in_flight" for answer in answers if answer.status == 409)


def test_ten_thousand_ask_for_what_a_thousand_get_and_a_service_is_killed_while_they_settle(
    place: Place, servers: list[ServerProcess]
) -> None:
    urls, killed = [server.url for server in servers], servers[0].process
    httpx.post(f"{urls[0]}/v1/budgets", json={"name": "team-a", "limit_usd": "1000"}).raise_for_status()

    def kill(answered: int) -> None:
        if answered == 300:
            killed.send_signal(signal.SIGKILL)

    async def run() -> None:
        async with connected(urls, 400 // len(urls)) as connections:
            asked = await post_all(connections, [ONE] * 10_000)
            assert Counter(answer.status for answer in asked) == {201: 1000, 402: 9000}
            full = budget_of(servers[1])
            assert (full["held_usd"], full["remaining_usd"], full["open_holds"]) == ("1000", "0", 1000)
            paths = [f"/v1/reservations/{answer.body['id']}/settle" for answer in asked if answer.status == 201]
            await settle_at_once(connections[::10], paths[0])
            settled = await post_all(connections, [(path, COST) for path in paths], kill)
            assert Counter(answer.status for answer in settled) == {200: 1000}
            said.update(answer.body["entry_id"] for answer in settled)

    said: set[str] = set()
    asyncio.run(run())
    assert killed.wait(60) == -signal.SIGKILL
    assert len(said) == 1000
    left = budget_of(servers[1])
    assert (left["spent_usd"], left["held_usd"], left["open_holds"]) == ("333.333333", "0", 0)
    assert booked(servers[1]) == [Decimal("0.333333333")] * 1000
    assert reported(servers[1]) == Decimal("333.333333")
    place.run(audited)
