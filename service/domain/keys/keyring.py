"""The keys in force, in memory: who a request comes from, and whether a request needs a key at all.

Keys are on as soon as the database holds one that is not revoked. Where nobody can tell whether it does, because it
was never read, nothing passes.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum
from functools import cached_property

from service.domain.keys.access import Caller
from service.domain.keys.errors import InvalidKey
from service.domain.keys.keys import Key, KeyList, Keys, KeySpec, id_of, new_id, new_text
from service.domain.keys.rates import RateLimit
from service.domain.keys.secret import Secret
from service.domain.spending.errors import LedgerNotOpened, LedgerUnavailable
from service.domain.spending.ledger import Once

_LABEL = "keys"
_NOTE_USE_EVERY = timedelta(minutes=1)
_TRY_EVERY_SECONDS = 1.0
_NO_DIGEST = bytes(32)

REFRESH_SECONDS = 2.0
"""Time between two looks at the database: a key that another process revoked opens nothing five seconds later."""


class Reach(Enum):
    """Who can reach the service: programs on this machine, others because somebody said so, or others."""

    LOOPBACK = "loopback"
    INSECURE = "insecure"
    EXPOSED = "exposed"


class Gate(Enum):
    """Whether a request passes: without a key, with one, or not at all, as nobody knows which."""

    OPEN = "open"
    KEYS = "keys"
    CLOSED = "closed"


@dataclass(frozen=True, slots=True)
class InForce:
    """A key that opens: who asks with it, and how often it may."""

    key: Key
    caller: Caller
    rate_limit: RateLimit | None


@dataclass(frozen=True, slots=True)
class Issued:
    """A key and its text, which is never shown again."""

    key: Key
    text: str


class KeyRing:
    """``store`` keeps the keys; ``may_hold`` says whether there could be any in a database that was not read yet.

    ``admin`` is the text of an admin key that was set: it is stored once the database can be read. ``rate_limit`` is
    that of keys without one of their own.
    """

    def __init__(
        self,
        store: Keys,
        secret: Secret,
        clock: Callable[[], datetime],
        *,
        admin: str = "",
        may_hold: Callable[[], bool] = lambda: False,
        rate_limit: RateLimit | None = None,
    ) -> None:
        self.store = store
        self._secret = secret
        self._clock = clock
        self._admin = admin
        self.admin_revoked = False
        self._may_hold = may_hold
        self._rate_limit = rate_limit
        self._reach = Reach.LOOPBACK
        self._version: int | None = None
        self._keys: dict[str, InForce] = {}
        self._used: dict[str, datetime] = {}
        self._noted: dict[str, datetime] = {}
        self._turn = asyncio.Lock()
        self._tried = 0.0
        self.gate = Gate.CLOSED
        self._decide()

    # What requests ask

    def find(self, text: bytes) -> InForce | None:
        """The key whose text that is, if it opens now."""
        digest = self.digest(text)
        found = self._keys.get(id_of(text, digest))
        if found is None:
            hmac.compare_digest(_NO_DIGEST, digest)  # an unknown id takes as long as a wrong text
            return None
        now = self._clock()
        if not found.key.opens(digest, now):
            return None
        self._used[found.key.id] = now
        return found

    @property
    def any_host(self) -> bool:
        """Whether the service answers under any name: it does where keys, or the operator's word, keep others out."""
        return self.gate is not Gate.OPEN or self._reach is not Reach.LOOPBACK

    def reached_by(self, reach: Reach) -> None:
        """Say who can reach the service."""
        self._reach = reach
        self._decide()

    @property
    def any_keys(self) -> bool:
        """Whether there is a key that is not revoked."""
        return bool(self._keys)

    @property
    def known(self) -> bool:
        """Whether the keys were read since the start."""
        return self._version is not None

    # Taking up what the database holds

    async def refresh(self) -> None:
        """Take up what has changed. Raises ``LedgerUnavailable``, ``LedgerNotOpened``."""
        async with self._turn:
            try:
                await self._read()
            except (LedgerUnavailable, LedgerNotOpened):
                self._decide()
                raise
            await self._note_use()

    async def try_again(self) -> None:
        """``refresh`` where the keys were never read, now and then; what goes wrong leaves the gate closed."""
        now = time.monotonic()
        if self._turn.locked() or now - self._tried < _TRY_EVERY_SECONDS:
            return
        self._tried = now
        with contextlib.suppress(LedgerUnavailable, LedgerNotOpened):
            await self.refresh()

    async def keep_up(self, say: Callable[[str], None], interval_seconds: float = REFRESH_SECONDS) -> None:
        """Until cancelled: refresh. While the database is down the keys in memory go on."""
        said = ""
        while True:
            told = ""
            try:
                await self.refresh()
            except LedgerUnavailable:
                told = said  # the ledger's own upkeep says so
            except Exception as error:
                told = str(error) if isinstance(error, LedgerNotOpened) else type(error).__name__
            if told != said and told:
                say(f"the keys cannot be refreshed, those in memory go on: {told}")
            said = told
            await asyncio.sleep(interval_seconds)

    # Changing keys; each change is in force here at once

    async def create(self, spec: KeySpec, *, by: str, once: Once | None = None) -> Issued:
        """A new key. Raises ``InvalidKey``, and as ``Keys.create``."""
        if spec.expires_at is not None and spec.expires_at <= self._clock():
            raise InvalidKey("expires_at", "The time at which a key expires lies ahead.")
        key_id = new_id()
        text = new_text(key_id)
        async with self._changing():
            self._put(await self.store.create(key_id, spec, self.digest(text.encode()), by=by, once=once))
            return Issued(self._keys[key_id].key, text)

    async def rotate(self, key_id: str, *, overlap_seconds: float, by: str, once: Once | None = None) -> Issued:
        """The key with a new text; the one before stays valid so long. Raises as ``Keys.rotate``."""
        text = new_text(key_id)
        digest = self.digest(text.encode())
        async with self._changing():
            key = await self.store.rotate(key_id, digest, overlap_seconds=overlap_seconds, by=by, once=once)
            self._put(key)
            return Issued(key, text)

    async def revoke(self, key_id: str, *, force: bool, by: str) -> Key:
        """The key, which opens nothing any more. Raises as ``Keys.revoke``."""
        async with self._changing():
            key = await self.store.revoke(key_id, force=force, by=by)
            self._keys.pop(key.id, None)
            with contextlib.suppress(LedgerUnavailable, LedgerNotOpened):
                await self._read()  # whether any key is left, and so whether one is needed, the database knows
            return key

    @contextlib.asynccontextmanager
    async def _changing(self) -> AsyncIterator[None]:
        async with self._turn:
            if not self.known:
                await self._read()
            yield

    async def _read(self) -> None:
        found = await self.store.changed(self._version, self._secret.key("fingerprint"))
        if self._admin:
            text = self._admin.encode()
            digest = self.digest(text)
            key = await self.store.set_admin(id_of(text, digest), digest)
            self._admin, self.admin_revoked = "", key.revoked_at is not None
            found = await self.store.changed(None, self._secret.key("fingerprint"))
        if found is not None:
            self._take_up(found)

    def digest(self, text: bytes) -> bytes:
        """The keyed hash of a key's text, 32 bytes."""
        return hmac.digest(self._hashing, text, "sha256")

    @cached_property
    def _hashing(self) -> bytes:
        return self._secret.key(_LABEL)

    async def _note_use(self) -> None:
        """Write when keys were last used, once a minute each."""
        never = datetime.min.replace(tzinfo=self._clock().tzinfo)
        due = {name: at for name, at in self._used.items() if at - self._noted.get(name, never) >= _NOTE_USE_EVERY}
        if due:
            await self.store.used(due)
            self._noted |= due

    def _put(self, key: Key) -> None:
        self._keys[key.id] = self._in_force(key)
        self._decide()

    def _take_up(self, found: KeyList) -> None:
        self._version = found.version
        if found.whole:
            self._keys = {}
        for key in found.keys:
            if key.revoked_at is None:
                self._keys[key.id] = self._in_force(key)
            else:
                self._keys.pop(key.id, None)
        self._used = {name: at for name, at in self._used.items() if name in self._keys}
        self._noted = {name: at for name, at in self._noted.items() if name in self._keys}
        self._decide()

    def _in_force(self, key: Key) -> InForce:
        return InForce(key, key.caller, key.spec.rate_limit or self._rate_limit)

    def _decide(self) -> None:
        exposed = self._reach is Reach.EXPOSED
        if self._version is None:
            self.gate = Gate.CLOSED if exposed or self._admin or self._may_hold() else Gate.OPEN
        else:
            self.gate = Gate.KEYS if exposed or self._keys else Gate.OPEN
