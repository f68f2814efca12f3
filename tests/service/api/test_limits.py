"""Limits of size, time and number: what arrives beyond them is refused in memory that stays bounded."""

from __future__ import annotations

import asyncio
import gzip
import json
import threading
import tracemalloc
from collections.abc import AsyncIterator, Callable

import httpx
import pytest
import zstandard

from adapters.port import Stop
from service.api.body import BodyLimit
from service.api.exchange import Exchange
from service.api.pool import CountPool
from service.api.services import Services
from service.app import build_app
from service.domain.catalog import Catalog
from service.domain.counting import Weigher
from service.domain.prices import PriceBook
from service.domain.pricing import Pricer
from service.metrics import Metrics
from service.settings import Settings
from tests.fakes import WordTokenizer
from tests.service.kept import kept

LIMIT = 16 * 1024 * 1024
BODY = {"model": "gpt-4o", "text": "Hello, World!"}


def _packed(encoding: str, data: bytes) -> bytes:
    return gzip.compress(data) if encoding == "gzip" else zstandard.ZstdCompressor().compress(data)


def _of_size(size: int) -> bytes:
    frame = b'{"model": "gpt-4o", "text": ""}'
    return frame[:-2] + b"a " * ((size - len(frame)) // 2) + b"a" * ((size - len(frame)) % 2) + frame[-2:]


@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
def test_a_compressed_body_counts_like_a_plain_one(api, encoding):
    packed = _packed(encoding, json.dumps(BODY).encode())
    answer = api.post("/v1/count", packed, headers={"content-encoding": encoding})
    assert answer.json()["tokens"] == 4


@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
def test_several_members_or_frames_are_one_body(api, encoding):
    data = json.dumps(BODY).encode()
    packed = _packed(encoding, data[:10]) + _packed(encoding, data[10:])
    assert api.post("/v1/count", packed, headers={"content-encoding": encoding}).json()["tokens"] == 4


@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
def test_a_bomb_is_refused_in_bounded_memory(api, encoding):
    bomb = _packed(encoding, b"\0" * (64 * 1024 * 1024))
    tracemalloc.start()
    answer = api.post("/v1/count", bomb, headers={"content-encoding": encoding})
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (answer.status_code, answer.json()["code"]) == (413, "request_body_too_large_after_decoding")
    assert peak < 3.5 * LIMIT


@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
@pytest.mark.parametrize("damage", [lambda b: b[:-3], lambda b: b"x" + b, lambda b: b + b"tail", lambda _: b""])
def test_a_damaged_body_is_refused(api, encoding, damage):
    packed = damage(_packed(encoding, json.dumps(BODY).encode()))
    answer = api.post("/v1/count", packed, headers={"content-encoding": encoding})
    assert answer.status_code == 400
    assert answer.json()["code"] in ("request_body_encoding_invalid", "invalid_json")


@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
def test_a_body_of_very_many_parts_is_refused(api, encoding):
    packed = _packed(encoding, b"") * 5000 + _packed(encoding, json.dumps(BODY).encode())
    answer = api.post("/v1/count", packed, headers={"content-encoding": encoding})
    assert (answer.status_code, answer.json()["code"]) == (400, "request_body_encoding_invalid")


@pytest.mark.parametrize("encoding", ["br", "deflate", "gzip, gzip", "x"])
def test_another_encoding_is_refused_with_those_that_are_taken(api, encoding):
    answer = api.post("/v1/count", b"{}", headers={"content-encoding": encoding})
    assert (answer.status_code, answer.json()["code"]) == (415, "request_body_encoding_unsupported")
    assert answer.headers["accept-encoding"] == "gzip, zstd"


def test_a_body_of_exactly_the_limit_is_taken(api):
    assert api.post("/v1/count", _of_size(LIMIT)).status_code == 200


def test_a_body_one_byte_over_the_limit_is_refused(api):
    answer = api.post("/v1/count", _of_size(LIMIT + 1))
    assert (answer.status_code, answer.json()["code"]) == (413, "request_body_too_large")


def test_a_body_without_a_length_is_cut_off_while_it_streams(services):
    """The reader stops taking chunks into memory at the limit, and stops reading at all at four times the limit."""
    taken = 0

    async def receive() -> dict[str, object]:
        nonlocal taken
        taken += 1
        return {"type": "http.request", "body": b"x" * 1000, "more_body": True}

    async def ask() -> None:
        limit = BodyLimit(_never, limit=10_000, timeout=5, pool=services.pool)
        scope = {"type": "http", "method": "POST", "path": "/v1/count", "headers": []}
        Exchange(scope)
        with pytest.raises(Exception, match="At most 10000 bytes") as refusal:
            await limit(scope, receive, _never)
        assert refusal.value.code == "request_body_too_large"

    asyncio.run(ask())
    assert taken <= 42


def test_a_body_that_does_not_arrive_in_time_is_refused(services):
    async def receive() -> dict[str, object]:
        if first:
            return first.pop()
        await asyncio.sleep(60)
        raise AssertionError

    async def ask() -> None:
        limit = BodyLimit(_never, limit=10_000, timeout=0.05, pool=services.pool)
        scope = {"type": "http", "method": "POST", "path": "/v1/count", "headers": []}
        Exchange(scope)
        with pytest.raises(Exception, match=r"longer than 0\.05 s") as refusal:
            await limit(scope, receive, _never)
        assert refusal.value.code == "request_body_timeout"

    for arrived in ([{"type": "http.request", "body": b"{", "more_body": True}], []):
        first = arrived
        asyncio.run(ask())


async def _until(condition: Callable[[], bool]) -> None:
    for _ in range(10_000):
        if condition():
            return
        await asyncio.sleep(0.001)
    raise TimeoutError


async def _never(*_args: object) -> None:
    raise AssertionError


def _small_service(during, tmp_path, **settings) -> Services:
    """A service over a tokenizer that does ``during`` at each count, everything counted in the pool."""
    chosen = Settings(data_dir=tmp_path, log="off", inline_bytes=0, **settings)
    pool = CountPool(workers=chosen.workers, queue_limit=chosen.queue_limit, deadline_seconds=chosen.deadline_seconds)
    weigher = Weigher(Catalog((), ()), {"words": WordTokenizer(during=during)}, frozenset())
    metrics = Metrics()
    pricer = Pricer(weigher.catalog, PriceBook([]))
    metrics.watch_pool(lambda: pool.depth)
    return Services(
        settings=chosen,
        weigher=weigher,
        metrics=metrics,
        pool=pool,
        specs={},
        pricer=pricer,
        **kept(tmp_path),
        version="0",
    )


async def _post(client: httpx.AsyncClient) -> httpx.Response:
    return await client.post("/v1/count", json={"tokenizer": "words", "text": "one two"})


async def _client(services: Services) -> AsyncIterator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(app=build_app(services))
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        yield client


def test_a_full_pool_refuses_at_once_and_probes_still_answer(tmp_path):
    gate = threading.Event()
    services = _small_service(lambda _stop: gate.wait(30), tmp_path, workers=1, queue_limit=2)

    async def ask() -> None:
        async for client in _client(services):
            waiting = [asyncio.create_task(_post(client)) for _ in range(3)]
            await _until(lambda: services.pool.depth == 3)
            refused = await _post(client)
            assert (refused.status_code, refused.json()["code"]) == (503, "overloaded")
            assert refused.headers["retry-after"] == "1"
            assert (await client.get("/livez")).status_code == 200
            assert (await client.get("/readyz")).status_code == 200
            assert b"weighbridge_pool_depth 3.0" in (await client.get("/metrics")).content
            gate.set()
            assert [answer.json()["tokens"] for answer in await asyncio.gather(*waiting)] == [2, 2, 2]
            assert (await _post(client)).status_code == 200

    asyncio.run(ask())
    assert services.pool.depth == 0


def test_work_that_heeds_the_deadline_is_answered_503(tmp_path):
    def until_stopped(stop: Stop | None) -> None:
        while stop is not None:
            stop.check()

    services = _small_service(until_stopped, tmp_path, workers=1, deadline_seconds=0.05)

    async def ask() -> None:
        async for client in _client(services):
            late = await _post(client)
            assert (late.status_code, late.json()["code"]) == (503, "deadline_exceeded")
            assert late.headers["retry-after"] == "1"

    asyncio.run(ask())


def test_work_that_cannot_stop_keeps_its_place_but_its_caller_is_answered(tmp_path):
    gate = threading.Event()
    services = _small_service(lambda _stop: gate.wait(30), tmp_path, workers=1, queue_limit=0, deadline_seconds=0.05)

    async def ask() -> None:
        async for client in _client(services):
            assert (await _post(client)).json()["code"] == "deadline_exceeded"
            assert (await _post(client)).json()["code"] == "overloaded"
            gate.set()
            await _until(lambda: services.pool.depth == 0)

    asyncio.run(ask())


def test_an_unforeseen_failure_is_a_problem_without_the_text_and_the_next_request_is_served(tmp_path):
    def fail_once(_stop: Stop | None) -> None:
        if failures:
            raise RuntimeError(failures.pop())

    failures = ["the text: zebra7secret"]
    services = _small_service(fail_once, tmp_path)

    async def ask() -> None:
        async for client in _client(services):
            failed = await _post(client)
            assert (failed.status_code, failed.json()["code"]) == (500, "internal_error")
            assert "zebra7secret" not in failed.text
            assert (await _post(client)).json()["tokens"] == 2

    asyncio.run(ask())
