"""Keys over both databases: made, rotated, revoked, expired; in force at once here, and soon in other processes."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TypeVar

import pytest
from sqlalchemy import select

from service.domain.access import KeyScope
from service.domain.key_errors import FirstKeyNotAdmin, InvalidKey, KeyRevoked, LastAdminKey, SecretDiffers, UnknownKey
from service.domain.keyring import REFRESH_SECONDS, Gate, Issued, KeyRing, Reach
from service.domain.keys import KeySpec, new_text, scopes_of
from service.domain.ledger import Once
from service.domain.ledger_errors import KeyReused, LedgerUnavailable, Replayed
from service.domain.rates import RateLimit
from service.domain.secret import Secret
from service.store.key_operations import SETTING
from service.store.keys import SqlKeys
from service.store.ledger import SqlLedger
from service.store.tables import KEYS
from service.store.workers import WAIT_SECONDS
from tests.service.store.places import START, Place, read

T = TypeVar("T")
ADMIN = KeySpec("default", "first", frozenset({KeyScope.ADMIN}))
COUNTER = KeySpec("search", "counter", frozenset({KeyScope.COUNT}))
SECRET = Secret(lambda: b"the secret of these tests")


@dataclass
class Process:
    """What one process has: its ledger, and the keys it keeps in memory."""

    ledger: SqlLedger
    store: SqlKeys
    ring: KeyRing

    async def make(self, spec: KeySpec = ADMIN, **options) -> Issued:
        return await self.ring.create(spec, by="me", **options)

    def project(self, text: str) -> str | None:
        found = self.ring.find(text.encode())
        return None if found is None else found.caller.project


@contextlib.asynccontextmanager
async def process(place: Place, secret: Secret = SECRET) -> AsyncIterator[Process]:
    async with place.opened() as ledger:
        store = SqlKeys(ledger)
        ring = KeyRing(store, secret, place.clock, may_hold=lambda: True)
        yield Process(ledger, store, ring)


@pytest.fixture
def run(place: Place) -> Callable[..., None]:
    """Run a test in as many processes as it has arguments."""

    def start(work: Callable[..., Awaitable[None]], processes: int = 1) -> None:
        async def main() -> None:
            async with contextlib.AsyncExitStack() as stack:
                here = [await stack.enter_async_context(process(place)) for _ in range(processes)]
                for one in here:
                    await one.ring.refresh()
                await work(*here)

        asyncio.run(main())

    return start


def test_a_key_opens_for_its_project_and_scopes_once_it_is_made(run, place):
    async def work(one: Process) -> None:
        assert one.ring.gate is Gate.OPEN
        admin = await one.make()
        assert one.ring.gate is Gate.KEYS
        limited = replace(COUNTER, rate_limit=RateLimit(7, 60))
        counter = await one.make(limited)
        found = one.ring.find(counter.text.encode())
        assert found is not None
        assert (found.caller.project, found.caller.key_id) == ("search", counter.key.id)
        assert (found.caller.may(KeyScope.COUNT), found.caller.may(KeyScope.ADMIN)) == (True, False)
        assert found.rate_limit == RateLimit(7, 60)
        assert one.project(admin.text) == "default"
        kept = await one.store.key(counter.key.id)
        assert kept == counter.key
        assert (kept.spec, kept.created_at, kept.created_by) == (limited, START, "me")

    run(work)


def test_the_text_has_256_random_bits_and_is_kept_as_a_keyed_hash_alone(run, place):
    async def work(one: Process) -> None:
        made = [await one.make() for _ in range(3)]
        for issued in made:
            prefix, key_id, rest = issued.text.split("_")
            assert (prefix, key_id, len(bytes.fromhex(rest))) == ("wb", issued.key.id, 32)
        assert len({issued.text.split("_")[2] for issued in made}) == 3
        rows = await read(one.ledger, lambda c: c.execute(select(KEYS)).all())
        digests = {row.digest for row in rows}
        assert digests == {one.ring.digest(issued.text.encode()) for issued in made}
        secrets = [issued.text.split("_")[2] for issued in made]
        assert not [text for text in secrets if text in str(rows)]
        assert KeyRing(one.store, Secret(lambda: b"another"), place.clock).digest(made[0].text.encode()) not in digests

    run(work)


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text[:-1] + ("0" if text[-1] != "0" else "1"),
        lambda text: text[:-1],
        lambda text: text + "0",
        lambda text: text.upper(),
        lambda text: "wb_" + "0" * 16 + text[19:],
        lambda text: "",
        lambda text: "wb_",
        lambda text: text[19:],
        lambda text: "ÿ" + text[1:],
        lambda text: "\0" * len(text),
    ],
)
def test_no_other_text_opens(run, change):
    async def work(one: Process) -> None:
        issued = await one.make()
        assert one.project(issued.text) == "default"
        assert one.ring.find(change(issued.text).encode("latin-1")) is None

    run(work)


def test_every_look_compares_hashes_in_constant_time(run, monkeypatch):
    compared = []

    def compare(kept: bytes, given: bytes) -> bool:
        compared.append((len(kept), len(given)))
        return kept == given

    async def work(one: Process) -> None:
        issued = await one.make()
        monkeypatch.setattr("service.domain.keys.hmac.compare_digest", compare)
        for text in (issued.text, issued.text[:-1] + "x", "wb_" + "0" * 16 + issued.text[19:], "", "another"):
            compared.clear()
            one.ring.find(text.encode())
            assert compared == [(32, 32)]

    run(work)


def test_a_revocation_acts_at_once_here_and_with_the_next_look_elsewhere(run):
    async def work(here: Process, there: Process) -> None:
        admin, counter = await here.make(), await here.make(COUNTER)
        await there.ring.refresh()
        assert there.project(counter.text) == "search"
        await here.ring.revoke(counter.key.id, force=False, by="me")
        assert here.project(counter.text) is None
        assert there.project(counter.text) == "search"
        await there.ring.refresh()
        assert there.project(counter.text) is None
        assert there.project(admin.text) == "default"
        with pytest.raises(KeyRevoked):
            await there.ring.rotate(counter.key.id, overlap_seconds=0, by="me")
        again = await there.ring.revoke(counter.key.id, force=False, by="other")
        assert (again.revoked_by, again.revoked_at) == ("me", START)
        what = [(change.what, change.by) for change in await here.store.changes(counter.key.id)]
        assert what == [("created", "me"), ("revoked", "me")]

    run(work, processes=2)


def test_another_process_knows_of_a_change_within_five_seconds() -> None:
    assert REFRESH_SECONDS + WAIT_SECONDS < 5


def test_keys_that_others_make_are_taken_up_by_the_upkeep(run):
    async def work(here: Process, there: Process) -> None:
        task = asyncio.create_task(there.ring.keep_up(lambda _: None, 0.02))
        issued = await here.make()
        async with asyncio.timeout(30):
            while there.project(issued.text) is None:  # noqa: ASYNC110 - the database tells
                await asyncio.sleep(0.02)
        assert there.ring.gate is Gate.KEYS
        task.cancel()
        await asyncio.wait([task])

    run(work, processes=2)


def test_a_key_expires_at_its_time_and_keys_stay_on(run, place):
    async def work(one: Process) -> None:
        issued = await one.make(replace(ADMIN, expires_at=START + timedelta(hours=1)))
        place.clock.pass_(minutes=59, seconds=59)
        assert one.project(issued.text) == "default"
        place.clock.pass_(seconds=1)
        assert one.project(issued.text) is None
        await one.ring.refresh()
        assert one.ring.gate is Gate.KEYS
        with pytest.raises(InvalidKey, match="lies ahead"):
            await one.make(replace(ADMIN, expires_at=place.clock.now))

    run(work)


def test_a_rotation_gives_a_new_text_and_the_old_one_lasts_as_long_as_asked(run, place):
    async def work(here: Process, there: Process) -> None:
        first = await here.make()
        second = await here.ring.rotate(first.key.id, overlap_seconds=60, by="me")
        await there.ring.refresh()
        assert second.key.id == first.key.id
        for one in (here, there):
            assert [one.project(issued.text) for issued in (first, second)] == ["default", "default"]
        place.clock.pass_(seconds=60)
        for one in (here, there):
            assert [one.project(issued.text) for issued in (first, second)] == [None, "default"]
        third = await here.ring.rotate(first.key.id, overlap_seconds=0, by="me")
        assert [here.project(issued.text) for issued in (first, second, third)] == [None, None, "default"]
        with pytest.raises(UnknownKey):
            await here.ring.rotate("0" * 16, overlap_seconds=0, by="me")

    run(work, processes=2)


def test_the_first_key_is_an_admins_and_the_last_one_stays(run, place):
    async def work(one: Process) -> None:
        with pytest.raises(FirstKeyNotAdmin):
            await one.make(COUNTER)
        assert one.ring.gate is Gate.OPEN
        admin, counter = await one.make(), await one.make(COUNTER)
        with pytest.raises(LastAdminKey):
            await one.ring.revoke(admin.key.id, force=False, by="me")
        await one.make(replace(ADMIN, expires_at=START + timedelta(hours=1)))
        place.clock.pass_(hours=1)
        with pytest.raises(LastAdminKey):  # the other one has expired
            await one.ring.revoke(admin.key.id, force=False, by="me")
        second = await one.make()
        await one.ring.revoke(admin.key.id, force=False, by="me")
        await one.ring.revoke(second.key.id, force=True, by="me")
        assert one.project(counter.text) == "search"
        assert one.ring.gate is Gate.KEYS

    run(work)


def test_two_processes_that_revoke_the_last_two_admin_keys_leave_one(run):
    async def work(here: Process, there: Process) -> None:
        keys = [await here.make(), await here.make()]
        done = await asyncio.gather(
            here.ring.revoke(keys[0].key.id, force=False, by="me"),
            there.ring.revoke(keys[1].key.id, force=False, by="me"),
            return_exceptions=True,
        )
        assert sum(isinstance(one, LastAdminKey) for one in done) == 1
        assert len((await here.store.keys(None)).items) == 1

    run(work, processes=2)


@pytest.mark.parametrize(
    ("reach", "gate"), [(Reach.LOOPBACK, Gate.OPEN), (Reach.INSECURE, Gate.OPEN), (Reach.EXPOSED, Gate.KEYS)]
)
def test_without_any_key_only_what_others_cannot_reach_is_open(run, reach, gate):
    async def work(one: Process) -> None:
        issued = await one.make()
        one.ring.reached_by(reach)
        await one.ring.revoke(issued.key.id, force=True, by="me")
        assert one.ring.gate is gate
        assert one.project(issued.text) is None

    run(work)


def test_a_key_made_elsewhere_keeps_the_gate_when_the_last_one_here_is_revoked(run):
    async def work(here: Process, there: Process) -> None:
        first = await here.make()
        second = await there.make()
        await here.ring.revoke(first.key.id, force=True, by="me")
        assert here.ring.gate is Gate.KEYS
        assert here.project(second.text) == "default"

    run(work, processes=2)


def test_an_idempotent_creation_is_carried_out_once_and_its_text_never_kept(run):
    async def work(one: Process) -> None:
        def once(fingerprint: bytes = b"same") -> Once:
            return Once("default", "POST /v1/keys", "k", fingerprint, lambda key: key.id.encode())

        issued = await one.make(once=once())
        with pytest.raises(Replayed) as before:
            await one.make(once=once())
        assert before.value.answer == issued.key.id.encode()
        with pytest.raises(KeyReused):
            await one.make(once=once(b"other"))
        assert len((await one.store.keys(None)).items) == 1

    run(work)


def test_keys_are_listed_page_by_page_in_the_order_they_were_made(run, place):
    async def work(one: Process) -> None:
        made = [(await one.make(replace(ADMIN, project=f"p{number % 2}"))).key for number in range(5)]
        place.clock.pass_(seconds=1)
        made.append((await one.make()).key)
        same = sorted(made[:5], key=lambda key: key.id)
        first = await one.store.keys(None, limit=3)
        rest = await one.store.keys(None, limit=3, cursor=first.cursor)
        assert [key.id for key in (*first.items, *rest.items)] == [key.id for key in (*same, made[5])]
        assert rest.cursor is None
        mine = await one.store.keys("p1")
        assert {key.id for key in mine.items} == {made[1].id, made[3].id}
        await one.ring.revoke(made[1].id, force=False, by="me")
        assert len((await one.store.keys("p1")).items) == 1
        assert len((await one.store.keys("p1", revoked=True)).items) == 2
        assert (await one.store.keys("elsewhere")).items == []
        assert len((await one.store.keys(None, cursor="zebra")).items) == 5

    run(work)


def test_the_last_use_is_written_once_a_minute(run, place):
    async def work(one: Process) -> None:
        issued = await one.make()

        async def last_used():
            await one.ring.refresh()
            return (await one.store.key(issued.key.id)).last_used_at

        assert await last_used() is None
        one.project(issued.text)
        assert await last_used() == START
        place.clock.pass_(seconds=59)
        one.project(issued.text)
        assert await last_used() == START
        place.clock.pass_(seconds=1)
        one.project(issued.text)
        assert await last_used() == START + timedelta(minutes=1)
        await one.store.used({issued.key.id: START})  # of a replica that is late
        assert await last_used() == START + timedelta(minutes=1)

    run(work)


def test_the_admin_key_of_the_settings_is_kept_once_and_replaced_by_another(run, place):
    async def started(one: Process, text: str) -> KeyRing:
        """The keys of a process that starts with that setting."""
        ring = KeyRing(one.store, SECRET, place.clock, admin=text)
        assert ring.gate is Gate.CLOSED
        await ring.refresh()
        return ring

    def opened(ring: KeyRing, *texts: str) -> list[bool]:
        return [ring.find(text.encode()) is not None for text in texts]

    async def work(one: Process) -> None:
        text, other, shaped = "an-admin-key-that-was-set", "another-admin-key", new_text("0123456789abcdef")
        rings = [await started(one, text) for _ in range(3)]
        assert [opened(ring, text, other) for ring in rings] == [[True, False]] * 3
        assert len((await one.store.keys(None, revoked=True)).items) == 1
        later = await started(one, other)
        await rings[0].refresh()
        assert [opened(ring, text, other, shaped) for ring in (rings[0], later)] == [[False, True, False]] * 2
        assert opened(await started(one, shaped), text, other, shaped) == [False, False, True]
        restored = await started(one, text)
        assert opened(restored, text, other, shaped) == [True, False, False]
        (key,) = (await one.store.keys(None)).items
        assert (key.spec.scopes, key.created_by) == ({KeyScope.ADMIN}, SETTING)
        assert [change.what for change in await one.store.changes(key.id)] == ["created", "replaced", "restored"]
        made = await one.make()
        await one.ring.revoke(key.id, force=False, by="key x")
        again = await started(one, text)
        assert again.admin_revoked
        assert opened(again, text, made.text) == [False, True]

    run(work)


def test_a_process_with_another_secret_is_refused(run, place):
    async def work(one: Process) -> None:
        await one.make()
        other = KeyRing(one.store, Secret(lambda: b"another secret"), place.clock, may_hold=lambda: True)
        with pytest.raises(SecretDiffers):
            await other.refresh()
        assert (other.gate, other.known) == (Gate.CLOSED, False)
        assert await one.store.start_anew(by="me", now=place.clock.now) == 1
        await other.refresh()
        assert other.gate is Gate.OPEN
        with pytest.raises(SecretDiffers):
            await KeyRing(one.store, SECRET, place.clock).refresh()

    run(work)


class Down:
    """A store whose database does not answer."""

    async def changed(self, since: int | None, fingerprint: bytes) -> None:
        raise LedgerUnavailable("it is down")


@pytest.mark.parametrize(
    ("reach", "may_hold", "gate"),
    [
        (Reach.LOOPBACK, False, Gate.OPEN),
        (Reach.LOOPBACK, True, Gate.CLOSED),
        (Reach.INSECURE, False, Gate.OPEN),
        (Reach.INSECURE, True, Gate.CLOSED),
        (Reach.EXPOSED, False, Gate.CLOSED),
        (Reach.EXPOSED, True, Gate.CLOSED),
    ],
)
def test_nothing_passes_where_keys_may_exist_that_were_never_read(reach, may_hold, gate):
    ring = KeyRing(Down(), SECRET, lambda: START, may_hold=lambda: may_hold)
    ring.reached_by(reach)
    asyncio.run(ring.try_again())
    assert ring.gate is gate
    assert ring.any_host is (gate is Gate.CLOSED or reach is not Reach.LOOPBACK)


def test_keys_in_memory_go_on_while_the_database_is_down(run):
    async def work(one: Process) -> None:
        issued = await one.make()
        one.ring.store = Down()
        with pytest.raises(LedgerUnavailable):
            await one.ring.refresh()
        assert (one.ring.gate, one.project(issued.text)) == (Gate.KEYS, "default")

    run(work)


@pytest.mark.parametrize(
    ("part", "field"),
    [
        ({"project": ""}, "project"),
        ({"project": "a b"}, "project"),
        ({"name": ""}, "name"),
        ({"name": "a" * 101}, "name"),
        ({"name": "a\n"}, "name"),
    ],
)
def test_a_key_that_cannot_be_is_refused(part, field):
    with pytest.raises(InvalidKey) as refused:
        replace(ADMIN, **part)
    assert refused.value.field == field
    replace(ADMIN, name="a" * 100)


def test_scopes_are_known_ones_and_at_least_one():
    assert scopes_of(["count", "admin", "count"]) == {KeyScope.COUNT, KeyScope.ADMIN}
    for names in ([], ["all"], ["count", "Count"]):
        with pytest.raises(InvalidKey):
            scopes_of(names)
