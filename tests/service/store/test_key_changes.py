"""Keys that change: rotated, revoked, listed, set in a setting; by several processes at once."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest

from service.domain.keys.access import KeyScope
from service.domain.keys.errors import FirstKeyNotAdmin, KeyRevoked, LastAdminKey, SecretDiffers, UnknownKey
from service.domain.keys.keyring import Gate, KeyRing, Reach
from service.domain.keys.keys import new_text
from service.domain.keys.secret import Secret
from service.domain.spending.errors import KeyReused, Replayed
from service.domain.spending.ledger import Once
from service.store.key_operations import SETTING
from tests.service.store.keyrings import ADMIN, COUNTER, SECRET, Process, run
from tests.service.store.places import START

__all__ = ["run"]


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
