"""The application under a server of another make: what runs beside requests begins and ends with its lifespan."""

from __future__ import annotations

import asyncio
from collections.abc import MutableMapping
from pathlib import Path
from typing import Any

import httpx
import pytest

from service.app import create_app
from service.app.upkeep import lasting
from service.domain.keys.access import KeyScope
from service.domain.keys.keyring import Gate, KeyRing
from service.domain.keys.keys import KeySpec
from service.store.keys import SqlKeys
from service.store.ledger import sql_ledger


def test_a_key_made_elsewhere_is_taken_up_and_the_end_leaves_no_task(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WEIGHBRIDGE_DATA_DIR", str(tmp_path))
    monkeypatch.setenv("WEIGHBRIDGE_VOCABULARIES", "o200k_base")
    monkeypatch.setenv("WEIGHBRIDGE_LOG", "off")
    app: Any = create_app()
    services = app._assembly.services

    async def make() -> None:
        ledger = sql_ledger("", tmp_path, services.now)
        spec = KeySpec("default", "ops", frozenset({KeyScope.ADMIN}))
        await KeyRing(SqlKeys(ledger), services.secret, services.now).create(spec, by="another process")
        await ledger.close()

    async def main() -> None:
        told: asyncio.Queue[MutableMapping[str, Any]] = asyncio.Queue()
        said: asyncio.Queue[MutableMapping[str, Any]] = asyncio.Queue()
        life = asyncio.create_task(app({"type": "lifespan"}, told.get, said.put))
        await told.put({"type": "lifespan.startup"})
        assert (await said.get())["type"] == "lifespan.startup.complete"
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://localhost") as client:
            assert (await client.get("/v1/models")).status_code == 200
            await make()
            async with asyncio.timeout(60):
                while services.keyring.gate is not Gate.KEYS:  # noqa: ASYNC110 - the database tells
                    await asyncio.sleep(0.05)
            assert (await client.get("/v1/models")).status_code == 401
        await told.put({"type": "lifespan.shutdown"})
        assert (await said.get())["type"] == "lifespan.shutdown.complete"
        await life
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(main())


def test_work_that_fails_unforeseen_goes_on_and_says_so_once() -> None:
    told: list[str] = []
    begun = 0

    async def work() -> None:
        nonlocal begun
        begun += 1
        if begun < 4:
            raise KeyError("zebra7secret")
        if begun == 4:
            raise RuntimeError("zebra7secret")

    asyncio.run(lasting("the work", work, told.append, pause=0))
    assert begun == 5
    assert [line.rpartition(":")[0] for line in told] == [
        "the work failed and is begun anew: KeyError in test_upkeep.py",
        "the work failed and is begun anew: RuntimeError in test_upkeep.py",
    ]
    assert "zebra7secret" not in "".join(told)


def test_work_that_is_cancelled_ends() -> None:
    async def main() -> None:
        begun = asyncio.Event()

        async def work() -> None:
            begun.set()
            await asyncio.Event().wait()

        task = asyncio.create_task(lasting("the work", work, lambda _line: None, pause=0))
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
