"""Rate limits: in memory and in a real Redis, shared by processes, and on without it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator

import pytest

from service.domain.keys.rates import Allowance, RateLimit
from service.domain.keys.secret import Secret
from service.limiting import MemoryLimiter, rate_limiter, shared
from service.limiting.shared import RedisLimiter
from tests.service.redis_server import RedisServer, is_installed

SECRET = Secret(lambda: b"of these tests")
DAY = RateLimit(5, 86_400)


@pytest.fixture(scope="module")
def redis() -> Iterator[RedisServer]:
    if not is_installed():
        pytest.skip("Redis is not installed: apt-get install redis-server")
    server = RedisServer()
    yield server
    server.stop()


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait for Redis as long as it takes: on a busy machine it may take longer than a request may wait."""
    monkeypatch.setattr(shared, "REDIS_SECONDS", 30)


def run(url: str, work: Callable[..., Awaitable[None]], processes: int = 1) -> list[int]:
    """Give ``work`` so many limiters; how often each counted by itself as Redis did not answer."""
    fallbacks = [0] * processes

    def fell_back(number: int) -> Callable[[], None]:
        def note() -> None:
            fallbacks[number] += 1

        return note

    async def main() -> None:
        limiters = [RedisLimiter(url, SECRET, fell_back(number)) for number in range(processes)]
        try:
            await work(*limiters)
        finally:
            for limiter in limiters:
                await limiter.close()

    asyncio.run(main())
    return fallbacks


async def taken(limiter, key: str, limit: RateLimit, times: int) -> list[Allowance]:
    return [await limiter.take(key, limit) for _ in range(times)]


@pytest.mark.parametrize(
    ("text", "requests", "seconds"),
    [("1/second", 1, 1), ("600/minute", 600, 60), ("5/hour", 5, 3600), ("9/day", 9, 86_400)],
)
def test_a_limit_is_read_and_written(text, requests, seconds):
    assert RateLimit.parse(text) == RateLimit(requests, seconds)
    assert str(RateLimit(requests, seconds)) == text


@pytest.mark.parametrize(
    "text",
    ["", "0/minute", "01/minute", "1/week", "1/minutes", "-1/day", "1.5/day", "1 / day", "1/day\n", "1" * 10 + "/day"],
)
def test_what_is_no_limit_is_refused(text):
    with pytest.raises(ValueError, match="600/minute"):
        RateLimit.parse(text)


def check(done: list[Allowance]) -> None:
    assert [one.passes for one in done] == [True] * 5 + [False] * 2
    assert [one.remaining for one in done] == [4, 3, 2, 1, 0, 0, 0]
    assert all(1 <= one.reset_seconds <= 86_400 for one in done)


def test_in_memory_as_many_pass_as_may_and_each_key_has_its_own_count():
    async def work() -> None:
        limiter = rate_limiter("", SECRET, lambda: None)
        assert isinstance(limiter, MemoryLimiter)
        check(await taken(limiter, "k1", DAY, 7))
        check(await taken(limiter, "k2", DAY, 7))
        both = await asyncio.gather(*(limiter.take("k3", DAY) for _ in range(20)))
        assert sum(one.passes for one in both) == 5
        await limiter.close()

    asyncio.run(work())


def test_a_window_that_is_over_lets_more_pass(monkeypatch):
    now = [1_000_000 * 60.0]
    monkeypatch.setattr(time, "time", lambda: now[0])

    async def work() -> None:
        limiter, limit = MemoryLimiter(), RateLimit(4, 60)
        done = await taken(limiter, "k", limit, 5)
        assert [one.passes for one in done] == [True] * 4 + [False]
        now[0] += 119.9  # the window after next is not there yet; of the four in the one before almost nothing counts
        assert [one.passes for one in await taken(limiter, "k", limit, 5)] == [True] * 4 + [False]
        now[0] += 1000
        assert [one.passes for one in await taken(limiter, "k", limit, 5)] == [True] * 4 + [False]

    asyncio.run(work())


def test_processes_share_one_count_in_redis(redis, patient):
    async def work(one: RedisLimiter, two: RedisLimiter) -> None:
        redis.ask(b"FLUSHDB")
        done = [await limiter.take("k", DAY) for limiter in (one, two, one, two, one, two, one)]
        check(done)
        racing = await asyncio.gather(*(limiter.take("r", DAY) for limiter in (one, two) for _ in range(20)))
        assert sum(one.passes for one in racing) == 5

    assert run(redis.url, work, processes=2) == [0, 0]


def test_redis_holds_hashes_of_ids_that_end_and_nothing_else(redis, patient):
    key_id = "0123456789abcdef"

    async def work(limiter: RedisLimiter) -> None:
        redis.ask(b"FLUSHDB")
        await taken(limiter, key_id, RateLimit(5, 60), 2)

    run(redis.url, work)
    names = [line for line in redis.ask(b"KEYS *").split(b"\r\n") if line and line[:1] not in b"*$"]
    assert names
    assert all(name.startswith(b"weighbridge") for name in names)
    assert not [name for name in names if key_id.encode() in name]
    for name in names:
        assert 0 < int(redis.ask(b"TTL " + name)[1:].strip()) <= 120


def test_a_redis_that_is_silent_is_waited_for_once_and_then_left_alone(redis, monkeypatch):
    monkeypatch.setattr(shared, "PAUSE_SECONDS", 3600)
    connected = asyncio.Event()

    async def work(limiter: RedisLimiter) -> None:
        await limiter.take("k", DAY)
        redis.freeze()
        connected.set()
        check(await taken(limiter, "silent", DAY, 7))

    try:
        (fallbacks,) = run(redis.url, work)
    finally:
        redis.thaw()
    assert fallbacks in (7, 8)  # the first, while it connects, may take too long on a busy machine


def test_redis_counts_again_once_it_is_back(redis, patient, monkeypatch):
    monkeypatch.setattr(shared, "PAUSE_SECONDS", 0)

    async def work(limiter: RedisLimiter) -> None:
        redis.ask(b"FLUSHDB")
        await taken(limiter, "k", DAY, 2)
        redis.stop()
        assert [one.passes for one in await taken(limiter, "k", DAY, 6)] == [True] * 5 + [False]
        redis.start()
        check(await taken(limiter, "k", DAY, 7))

    assert run(redis.url, work) == [6]


def test_without_any_redis_each_process_counts_by_itself():
    async def work(limiter: RedisLimiter) -> None:
        check(await taken(limiter, "k", DAY, 7))

    assert run("redis://127.0.0.1:1/0", work) == [7]
