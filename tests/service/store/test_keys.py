"""Keys over both databases: made, rotated, revoked, expired; in force at once here, and soon in other processes."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy import select

from service.domain.keys.access import KeyScope
from service.domain.keys.errors import InvalidKey
from service.domain.keys.keyring import REFRESH_SECONDS, Gate, KeyRing, Reach
from service.domain.keys.keys import scopes_of
from service.domain.keys.rates import RateLimit
from service.domain.keys.secret import Secret
from service.domain.spending.errors import LedgerUnavailable
from service.store.tables import KEYS
from service.store.workers import WAIT_SECONDS
from tests.service.store.keyrings import ADMIN, COUNTER, SECRET, Process, run
from tests.service.store.places import START, read

__all__ = ["run"]


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
        monkeypatch.setattr("service.domain.keys.keys.hmac.compare_digest", compare)
        for text in (issued.text, issued.text[:-1] + "x", "wb_" + "0" * 16 + issued.text[19:], "", "another"):
            compared.clear()
            one.ring.find(text.encode())
            assert compared == [(32, 32)]

    run(work)


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
