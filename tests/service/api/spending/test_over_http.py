"""Spending over real HTTP, by two processes that share one ledger."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

import httpx

CALLS = 40


def test_two_processes_admit_no_more_than_the_limit_and_settle_once(serve) -> None:
    servers = [serve(vocabularies="o200k_base", log="off") for _ in range(2)]
    urls = [server.url for server in servers]

    async def run() -> None:
        async with httpx.AsyncClient(timeout=60) as client:

            async def post(number: int, path: str, body: Any, key: str | None = None) -> httpx.Response:
                headers = {} if key is None else {"idempotency-key": key}
                return await client.post(f"{urls[number % 2]}{path}", json=body, headers=headers)

            await post(0, "/v1/budgets", {"name": "team-a", "limit_usd": "1"})
            tenth = {"amount_usd": "0.1"}
            made = await asyncio.gather(*(post(number, "/v1/reservations", tenth) for number in range(CALLS)))
            assert Counter(answer.status_code for answer in made) == {201: 10, 402: CALLS - 10}
            path = f"/v1/reservations/{next(a for a in made if a.status_code == 201).json()['id']}/settle"
            body = {"model": "gpt-4o", "usage": {"prompt_tokens": 1000, "completion_tokens": 100}}
            done = await asyncio.gather(*(post(number, path, body, "same") for number in range(CALLS)))
            settled = [answer for answer in done if answer.status_code == 200]
            assert {answer.status_code for answer in done} <= {200, 409}  # 409: the first is still under way
            assert len({answer.content for answer in settled}) == 1
            assert all(a.json()["code"] == "idempotency_in_flight" for a in done if a.status_code == 409)
            left = (await client.get(f"{urls[0]}/v1/budgets/team-a")).json()
            assert (left["spent_usd"], left["held_usd"], left["open_holds"]) == ("0.0035", "0.9", 9)

    asyncio.run(run())
