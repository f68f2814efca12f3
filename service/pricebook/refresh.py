"""Keeps prices current, where the operator asks for it: fetch, read strictly, weigh, keep, swap.

A list that is refused, late or lost changes nothing: the table in service stays, and the outcome says why. The last
good list is kept in a store, and at the next start serves again if it is newer than the bundled one.
"""

from __future__ import annotations

import asyncio
import hashlib
import random as _random
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from typing import Literal, TypeAlias

import httpx
from genai_prices.types import Provider

from service.domain.ports import Snapshot, SnapshotError, SnapshotStore
from service.pricebook import gates
from service.pricebook.fetching import Clock, Fetched, Fetcher, FetchFailed, FetchLimits, Random, Sleep
from service.pricebook.gates import Canary, Facts
from service.pricebook.reading import TableRefused, read_providers

MIN_INTERVAL_SECONDS = 3600.0
_JITTER = 0.1

Status = Literal["updated", "unchanged", "rejected", "failed"]
Accept: TypeAlias = Callable[[list[Provider], str, str, str], None]
"""Called with providers, source, revision and checked (a date, ``2026-11-10``), in a worker thread, one call at a time.

It builds what serves and then replaces one reference; if it raises, nothing may have changed.
"""


@dataclass(frozen=True, slots=True)
class RefreshOutcome:
    """How one refresh ended.

    ``revision`` is the hash of the fetched list now in service, ``None`` while the bundled one is. ``reason`` is a
    stable word. ``detail`` is an HTTP status or a name of our own lists.

    - ``updated``: ``accepted``, ``restored``
    - ``unchanged``: ``not_modified``, ``same_list``, ``no_copy``
    - ``rejected``: ``hash_mismatch``, ``too_large``, ``encoding``, the words of ``read_providers`` and of the gates,
      ``not_accepted``
    - ``failed``: ``url_refused``, ``redirect_refused``, ``timeout``, ``transport``, ``http_status``, ``unexpected``;
      of the kept copy ``unreadable``, ``damaged``, ``not_saved``
    """

    status: Status
    reason: str
    revision: str | None
    at: datetime
    detail: str = ""


@dataclass(frozen=True, slots=True)
class RefreshOptions:
    """Where the list comes from, what must be in it, and how often it is asked for. Raises ``ValueError``.

    ``sha256`` pins the one list to be accepted, in hex. ``interval_seconds`` is at least an hour.
    """

    url: str = field(repr=False)
    canaries: Sequence[Canary] = ()
    sha256: str | None = None
    interval_seconds: float = MIN_INTERVAL_SECONDS
    limits: FetchLimits = field(default_factory=FetchLimits)

    def __post_init__(self) -> None:
        if not MIN_INTERVAL_SECONDS <= self.interval_seconds < float("inf"):
            raise ValueError("Prices are refreshed once an hour at most: set an interval of 3600 seconds or more.")
        if self.sha256 is not None and not _is_sha256(self.sha256):
            raise ValueError("The hash of the price list must be 64 hexadecimal digits (SHA-256).")


@dataclass(frozen=True, slots=True)
class Bundled:
    """The list that came with the package, and the date on which its prices were checked, ``None`` if not known."""

    providers: Sequence[Provider]
    checked: date | None


@dataclass(frozen=True, slots=True)
class _Live:
    """What serves: its measure, and the copy it came from, ``None`` for the bundled list."""

    facts: Facts
    snapshot: Snapshot | None = None


class Refresher:
    """Refreshes the table in service, one refresh at a time. ``listen`` is told every outcome and must not raise."""

    def __init__(
        self,
        client: httpx.AsyncClient,
        options: RefreshOptions,
        bundled: Bundled,
        *,
        store: SnapshotStore,
        accept: Accept,
        listen: Callable[[RefreshOutcome], None],
        clock: Clock,
        sleep: Sleep = asyncio.sleep,
        random: Random = _random.random,
    ) -> None:
        self._fetcher = Fetcher(client, options.url, options.limits, clock=clock, sleep=sleep, random=random)
        self._options = options
        self._bundled = _Live(gates.facts_of(bundled.providers, options.canaries))
        self._bundled_checked = bundled.checked or date.min
        self._store = store
        self._accept = accept
        self._listen = listen
        self._clock = clock
        self._sleep = sleep
        self._random = random
        self._live = self._bundled
        self._turn = asyncio.Lock()
        self._swap = threading.Lock()

    def restore(self) -> RefreshOutcome:
        """Put the kept copy in service if it is whole, sane and newer than the bundled list; call it at start.

        Where several replicas share a store, calling it again takes up what another one has fetched. Blocks while one
        list is read; the listener is not told.
        """
        try:
            with self._swap:
                return self._restore()
        except Exception as error:  # a copy is a convenience: whatever is wrong with it, the bundled list serves
            return self._failed(error)

    async def refresh(self) -> RefreshOutcome:
        """Ask for the list once and take it up if every gate lets it pass. Raises nothing but a cancellation."""
        async with self._turn:
            try:
                outcome = await self._refresh()
            except Exception as error:  # whatever went wrong, the table in service stays and serves
                outcome = self._failed(error)
        self._listen(outcome)
        return outcome

    async def run_forever(self) -> None:
        """Refresh at every interval, a little later by chance so that replicas do not ask all at once."""
        await self._sleep(self._first_pause())
        while True:
            await self.refresh()
            await self._sleep(self._pause())

    async def run_in_turn(self, may_refresh: Callable[[], bool], look_seconds: float = 60.0) -> None:
        """As ``run_forever``, among replicas that share the store: one refreshes, and all take up what it kept.

        ``may_refresh`` says whether it is this replica's turn; it may block.
        """
        waited = self._options.interval_seconds
        while True:
            await asyncio.to_thread(self.restore)
            due = not self._first_pause() and waited >= self._options.interval_seconds
            if due and await asyncio.to_thread(may_refresh):
                await self.refresh()
                waited = 0.0
            await self._sleep(look_seconds)
            waited += look_seconds

    def _first_pause(self) -> float:
        """Nothing, or what is left of the interval where a restart follows soon after a refresh."""
        snapshot = self._live.snapshot
        if snapshot is None or snapshot.url != self._options.url:
            return 0.0
        left = self._options.interval_seconds - (self._clock() - snapshot.checked_at).total_seconds()
        return min(max(left, 0.0), self._options.interval_seconds)

    def _pause(self) -> float:
        return self._options.interval_seconds * (1 + _JITTER * self._random())

    async def _refresh(self) -> RefreshOutcome:
        known = self._live.snapshot
        ours = known is not None and known.url == self._options.url and self._is_pinned(known.sha256)
        fetched = await self._fetcher.fetch(known.etag if known is not None and ours else None)
        return await asyncio.to_thread(self._take_up, fetched, known)

    def _take_up(self, fetched: Fetched | None, known: Snapshot | None) -> RefreshOutcome:
        """Decide on what arrived; ``None`` says that ``known`` is still current. Runs in a worker thread."""
        with self._swap:
            now, live = self._clock(), self._live.snapshot
            if fetched is None:
                if live is not None and live is known:
                    self._confirm(live, replace(live, checked_at=now))
                return self._outcome("unchanged", "not_modified")
            sha256 = hashlib.sha256(fetched.body).hexdigest()
            if not self._is_pinned(sha256):
                raise TableRefused("hash_mismatch")
            snapshot = Snapshot(fetched.body, sha256, fetched.etag, self._options.url, fetched_at=now, checked_at=now)
            if live is not None and live.sha256 == sha256:
                self._confirm(live, replace(snapshot, fetched_at=live.fetched_at))
                return self._outcome("unchanged", "same_list")
            providers = read_providers(snapshot.body)
            facts = self._weighed(providers, _day(now))
            self._install(providers, facts, snapshot)
            return self._outcome("updated", "accepted")

    def _weighed(self, providers: list[Provider], today: date) -> Facts:
        facts = gates.facts_of(providers, self._options.canaries)
        gates.require_complete(facts, self._live.facts)
        gates.require_canaries(facts, self._options.canaries)
        gates.require_no_older(facts, self._live.facts, today)
        gates.require_no_leap(facts, self._live.facts, today)
        return facts

    def _install(self, providers: list[Provider], facts: Facts, snapshot: Snapshot) -> None:
        """Keep, then swap: what serves is what a restart would serve. A list that cannot be built is not kept."""
        previous = self._live.snapshot
        self._store.save(snapshot)
        try:
            self._hand_over(providers, snapshot)
        except TableRefused:
            if previous is not None:
                self._store.save(previous)
            raise
        self._live = _Live(facts, snapshot)

    def _confirm(self, before: Snapshot, now: Snapshot) -> None:
        """The list in service is still the sender's: only the date of the check moves on."""
        if (now.etag, now.url) == (before.etag, before.url):
            self._touch(now)
        else:
            self._store.save(now)
        if _day(now.checked_at) != _day(before.checked_at):
            self._hand_over(read_providers(now.body), now)
        self._live = replace(self._live, snapshot=now)

    def _touch(self, snapshot: Snapshot) -> None:
        try:
            self._store.touch(snapshot.checked_at)
        except SnapshotError:
            self._store.save(snapshot)  # the copy on the disk was damaged meanwhile; the one in service is whole

    def _restore(self) -> RefreshOutcome:
        snapshot, live = self._store.load(), self._live.snapshot
        if snapshot is None:
            return self._outcome("unchanged", "no_copy")
        if live is not None and snapshot.sha256 == live.sha256:
            if _day(snapshot.checked_at) > _day(live.checked_at):
                self._hand_over(read_providers(snapshot.body), snapshot)
            self._live = replace(self._live, snapshot=snapshot)
            return self._outcome("unchanged", "same_list")
        if not self._is_pinned(snapshot.sha256):
            raise TableRefused("hash_mismatch")
        providers = read_providers(snapshot.body)
        facts = gates.facts_of(providers, self._options.canaries)
        gates.require_canaries(facts, self._options.canaries)
        gates.require_no_older(facts, self._bundled.facts, _day(self._clock()))
        if _day(snapshot.checked_at) < self._bundled_checked:
            raise TableRefused("older")
        self._hand_over(providers, snapshot)
        self._live = _Live(facts, snapshot)
        return self._outcome("updated", "restored")

    def _hand_over(self, providers: list[Provider], snapshot: Snapshot) -> None:
        try:
            source = f"genai-prices from {httpx.URL(snapshot.url).host}"  # the host alone: a url may hold a key
            self._accept(providers, source, snapshot.sha256, _day(snapshot.checked_at).isoformat())
        except Exception:  # its text may quote the list
            raise TableRefused("not_accepted") from None

    def _is_pinned(self, sha256: str) -> bool:
        return self._options.sha256 is None or self._options.sha256.lower() == sha256

    def _failed(self, error: Exception) -> RefreshOutcome:
        match error:
            case TableRefused():
                return self._outcome("rejected", error.reason, error.detail)
            case FetchFailed():
                return self._outcome("failed", error.reason, error.detail)
            case SnapshotError():
                return self._outcome("failed", error.reason)
            case _:
                return self._outcome("failed", "unexpected", type(error).__name__)

    def _outcome(self, status: Status, reason: str, detail: str = "") -> RefreshOutcome:
        snapshot = self._live.snapshot
        return RefreshOutcome(status, reason, None if snapshot is None else snapshot.sha256, self._clock(), detail)


def _day(at: datetime) -> date:
    return at.astimezone(UTC).date()


def _is_sha256(text: str) -> bool:
    return len(text) == 64 and set(text.lower()) <= set("0123456789abcdef")
