"""The keys of one process: where they are kept, and whether it may listen where it was told to."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from service.domain.keys.errors import SecretDiffers
from service.domain.keys.keyring import Gate, KeyRing, Reach
from service.domain.keys.secret import Secret
from service.domain.spending.errors import LedgerNotOpened, LedgerUnavailable
from service.settings import InvalidSetting, Settings, secret_text
from service.store.keys import SqlKeys
from service.store.ledger import SqlLedger
from service.store.sqlite import FILE_NAME

LOOPBACK = ("127.0.0.1", "::1", "localhost")

_SHORTEST_ADMIN_KEY = 16
_START_SECONDS = 5.0  # longest time that a start waits for the database


def key_ring(settings: Settings, ledger: SqlLedger, secret: Secret) -> KeyRing:
    """The keys in the ledger's database, and the admin key that was set. Raises ``InvalidSetting``."""
    admin = secret_text(settings, "admin_key")
    if admin and len(admin) < _SHORTEST_ADMIN_KEY:
        raise InvalidSetting(
            f"WEIGHBRIDGE_ADMIN_KEY has at least {_SHORTEST_ADMIN_KEY} characters, best 64 random hex digits."
        )
    file = settings.data_dir / FILE_NAME
    return KeyRing(
        SqlKeys(ledger),
        secret,
        lambda: datetime.now(UTC),
        admin=admin,
        may_hold=lambda: bool(settings.database_url) or _may_exist(file),
        rate_limit=settings.rate_limit,
    )


def reach_of(host: str, *, insecure: bool) -> Reach:
    """Who can reach a service that listens on ``host``."""
    if host in LOOPBACK:
        return Reach.LOOPBACK
    return Reach.INSECURE if insecure else Reach.EXPOSED


def open_keys(ring: KeyRing, ledger: SqlLedger, reach: Reach, say: Callable[[str], None]) -> None:
    """Read the keys before the first request.

    Raises ``InvalidSetting`` where there are none and others can reach the service, and where the database was written
    with another secret. Where it cannot be read, requests are refused until it was.
    """
    ring.reached_by(reach)
    try:
        asyncio.run(_read(ring, ledger))
    except SecretDiffers as error:
        raise InvalidSetting(str(error)) from None
    except (LedgerUnavailable, LedgerNotOpened, TimeoutError) as error:
        if ring.gate is Gate.CLOSED:
            why = str(error) or "the database does not answer"
            say(f"the keys could not be read, and every request is refused until they are: {why}")
        return
    if ring.admin_revoked:
        say("the admin key of the settings was revoked and stays so: set another one")
    if reach is Reach.EXPOSED and not ring.any_keys:
        raise InvalidSetting(
            f"Without keys the service listens on this machine only ({', '.join(LOOPBACK)}). "
            "Set WEIGHBRIDGE_ADMIN_KEY, or make a key with `weighbridge keys create`. "
            "Behind a wall of your own, --insecure lets it listen elsewhere without one."
        )


async def _read(ring: KeyRing, ledger: SqlLedger) -> None:
    async with asyncio.timeout(_START_SECONDS):
        await ledger.open()
        await ring.refresh()


def _may_exist(file: Path) -> bool:
    """Whether there is, or could be, such a file."""
    try:
        file.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    return True
