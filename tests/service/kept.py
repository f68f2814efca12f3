"""What of a service's parts is kept in a folder: its ledger, its secret, its keys; for tests that build the parts."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from service.domain.keys.keyring import KeyRing
from service.domain.keys.secret import Secret
from service.limiting import MemoryLimiter
from service.store.keys import SqlKeys
from service.store.ledger import sql_ledger


def kept(folder: Path) -> dict[str, Any]:
    """The parts by the names that ``Services`` has for them; nobody has a key."""
    ledger = sql_ledger("", folder, lambda: datetime.now(UTC))
    secret = Secret(lambda: b"of these tests")
    ring = KeyRing(SqlKeys(ledger), secret, lambda: datetime.now(UTC))
    return {"ledger": ledger, "secret": secret, "keyring": ring, "limiter": MemoryLimiter()}
