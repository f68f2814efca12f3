"""What a process looks at for alerts: prices that a new configuration lacks, calls, estimates; the ledger down."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pytest

from service.app.alerting import Rounds
from service.app.assembly import Assembly
from service.domain.spending.budgets import Spender
from service.domain.spending.errors import LedgerUnavailable
from service.domain.spending.ledger import Estimate, Metered, UsageRecord
from service.settings import Settings

PRICED = """
[[model]]
provider = "local"
id = "own"
tokenizer = "o200k_base"

[[price]]
provider = "local"
model = "own"
input_mtok = "1"
output_mtok = "1"
"""
HOOK = """
[[webhook]]
url = "https://hook.example/"
secret_file = "hook"
"""


def assembled(folder: Path, **settings: object) -> Assembly:
    (folder / "hook").write_text("0123456789abcdef")
    (folder / "weighbridge.toml").write_text(PRICED + HOOK)
    return Assembly(Settings(data_dir=folder, log="off", vocabularies=("o200k_base",), **settings))


async def told(assembly: Assembly) -> list[tuple[str, str, str]]:
    await assembly.services.ledger.status()
    await Rounds(assembly).once()
    found = await assembly.alerts.claim(assembly.webhooks[0], 8)
    bodies = [json.loads(delivery.body) for delivery in found]
    return sorted((body["type"], body["provider"], body["model"]) for body in bodies)


def test_a_price_that_a_reload_loses_and_one_that_a_call_lacks_are_told_with_drift(tmp_path):
    assembly = assembled(tmp_path)
    assembly.reload()
    assert assembly.lost_prices == set()
    (tmp_path / "weighbridge.toml").write_text(PRICED[: PRICED.index("[[price]]")] + HOOK)
    assembly.reload()
    assert assembly.lost_prices == {("local", "own")}

    async def work() -> None:
        now = datetime.now(UTC)
        spender = Spender("default", None, "openai", "gpt-4o", "o200k_base")
        made_up = Spender("default", None, "openai", "gpt-4o-made-up", "o200k_base")
        ledger = assembly.ledger
        await ledger.record([UsageRecord(who, None, now, Metered(1, 1)) for who in (spender, made_up)])
        off = UsageRecord(spender, Decimal(1), now, Metered(150, 1), estimate=Estimate(100))
        await ledger.record([off] * 50)
        assert await told(assembly) == [
            ("estimate.drift", "openai", "gpt-4o"),
            ("price.unknown", "local", "own"),
            ("price.unknown", "openai", "gpt-4o"),
        ]
        assert assembly.lost_prices == set()
        assert await told(assembly) == []
        await ledger.close()

    asyncio.run(work())


def test_while_the_ledger_is_down_a_lost_price_is_remembered(tmp_path):
    assembly = assembled(tmp_path, database_url="postgresql://nobody@127.0.0.1:1/none", secret="0123456789abcdef")
    assembly.lost_prices.add(("local", "own"))

    async def work() -> None:
        with pytest.raises(LedgerUnavailable):
            await Rounds(assembly).once()
        await assembly.ledger.close()

    asyncio.run(work())
    assert assembly.lost_prices == {("local", "own")}
