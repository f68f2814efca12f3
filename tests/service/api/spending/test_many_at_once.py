"""Several services on one ledger, asked by hundreds of connections at once, and killed meanwhile."""

from __future__ import annotations

import asyncio
import contextlib
import csv
import io
import signal
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import httpx
import pytest

from tests.service.api.spending.connections import Answer, Connection, connected, post_all
from tests.service.conftest import ServerProcess
from tests.service.store.conftest import place, postgres
from tests.service.store.places import Place, audited

__all__ = ["place", "postgres"]

pytestmark = pytest.mark.xdist_group("server")

Services = Callable[[int], list[ServerProcess]]
SECRET = "0123456789abcdef" * 4
ENDED = (ConnectionError, asyncio.IncompleteReadError)


@pytest.fixture
def services_of(place: Place, serve: Callable[..., ServerProcess]) -> Services:
    """So many services on the ledger of ``place``."""
    settings = {"vocabularies": "o200k_base", "log": "off", "database_url": place.url, "data_dir": str(place.folder)}

    def start(number: int) -> list[ServerProcess]:
        servers = [serve(ready=False, secret=SECRET, **settings) for _ in range(number)]
        for server in servers:
            server.wait_until_ready()
        return servers

    return start


def budget_of(server: ServerProcess) -> dict[str, Any]:
    answer: dict[str, Any] = httpx.get(f"{server.url}/v1/budgets/team-a", timeout=60).json()
    return answer


def booked(server: ServerProcess) -> Decimal:
    """The sum of all entries, read one by one."""
    answer = httpx.get(f"{server.url}/v1/spend/entries", params={"format": "csv"}, timeout=60)
    return sum((Decimal(row["cost_usd"]) for row in csv.DictReader(io.StringIO(answer.text))), Decimal(0))


def reported(server: ServerProcess) -> Decimal:
    """The sum that reports are made of."""
    return sum((Decimal(row["spend_usd"]) for row in httpx.get(f"{server.url}/v1/spend").json()["rows"]), Decimal(0))


def test_of_ten_thousand_reservations_as_many_are_admitted_as_fit(place: Place, services_of: Services) -> None:
    servers = services_of(2 if place.url else 4)
    urls = [server.url for server in servers]
    httpx.post(f"{urls[0]}/v1/budgets", json={"name": "team-a", "limit_usd": "1000"}).raise_for_status()
    one = ("/v1/reservations", {"budget": "team-a", "amount_usd": "1"})

    async def run() -> None:
        async with connected(urls, 400 // len(urls)) as connections:
            asked = await post_all(connections, [one] * 10_000)
            assert Counter(answer.status for answer in asked) == {201: 1000, 402: 9000}
            ids = [answer.body["id"] for answer in asked if answer.status == 201]
            full = budget_of(servers[1])
            assert (full["held_usd"], full["remaining_usd"], full["open_holds"]) == ("1000", "0", 1000)
            cost = {"cost_usd": "0.333333333"}
            settled = await post_all(connections, [(f"/v1/reservations/{number}/settle", cost) for number in ids])
            assert Counter(answer.status for answer in settled) == {200: 1000}

    asyncio.run(run())
    left = budget_of(servers[0])
    assert (left["spent_usd"], left["held_usd"], left["open_holds"]) == ("333.333333", "0", 0)
    assert booked(servers[1]) == reported(servers[1]) == Decimal("333.333333")


def test_a_service_that_is_killed_loses_nothing_it_acknowledged(place: Place, services_of: Services) -> None:
    killed, other = services_of(2)
    httpx.post(f"{other.url}/v1/budgets", json={"name": "team-a", "limit_usd": "1000"}).raise_for_status()
    held: dict[str, Answer] = {}
    settled: dict[str, Answer] = {}

    async def pairs(connection: Connection) -> None:
        with contextlib.suppress(*ENDED):
            while len(settled) < 600:
                made = await connection.post("/v1/reservations", {"budget": "team-a", "amount_usd": "0.5"})
                if made.status != 201:
                    continue  # the ledger was busy
                number = made.body["id"]
                held[number] = made
                done = await connection.post(f"/v1/reservations/{number}/settle", {"cost_usd": "0.333333333"})
                if done.status == 200:
                    settled[number] = done
                if len(settled) == 300:
                    killed.process.send_signal(signal.SIGKILL)

    async def run() -> None:
        async with connected([killed.url, other.url], 20) as connections:
            await asyncio.gather(*map(pairs, connections))

    asyncio.run(run())
    assert killed.process.wait(60) == -signal.SIGKILL
    assert len(settled) >= 600
    with httpx.Client(base_url=other.url, timeout=60) as client:
        for number in held:
            found = client.get(f"/v1/reservations/{number}")
            assert found.status_code == 200, found.text
            if number in settled:
                assert (found.json()["state"], found.json()["entry_id"]) == (
                    "settled",
                    settled[number].body["entry_id"],
                )
    left = budget_of(other)
    assert Decimal(left["spent_usd"]) == booked(other) == reported(other)
    assert Decimal(left["spent_usd"]) >= len(settled) * Decimal("0.333333333")
    assert Decimal(left["held_usd"]) == left["open_holds"] * Decimal("0.5")
    place.run(audited)
