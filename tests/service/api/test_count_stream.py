"""``POST /v1/count`` of plain text, counted as it arrives."""

from __future__ import annotations

import asyncio
import gzip
import random
import threading
import tracemalloc
from collections.abc import AsyncIterator, Iterator

import httpx
import pytest
import zstandard

from service.app import build_app, build_services
from service.settings import Settings
from tests.fuzz import long_string, strings
from tests.service.api.test_limits import _client, _small_service, _until

PLAIN = "text/plain; charset=utf-8"
MIB = 1 << 20


def send(api, body: bytes | Iterator[bytes], model: str | None = "gpt-4o", **headers: str) -> httpx.Response:
    names = {f"weighbridge-{name.replace('_', '-')}": value for name, value in headers.items() if name != "encoding"}
    names |= {"content-type": PLAIN} | ({"weighbridge-model": model} if model else {})
    if "encoding" in headers:
        names["content-encoding"] = headers["encoding"]
    return api.request("POST", "/v1/count", content=body, headers=names)


def in_parts(data: bytes, seed: int) -> AsyncIterator[bytes]:
    draw = random.Random(seed)

    async def parts() -> AsyncIterator[bytes]:
        start = 0
        while start < len(data):
            size = draw.choice([1, 3, 100, 65_536, 300_000])
            yield data[start : start + size]
            start += size

    return parts()


@pytest.mark.parametrize("tokenizer", ["o200k_base", "qwen", "claude_legacy", "mistral_v1", "deepseek"])
def test_the_answer_is_the_one_that_json_gets(api, tokenizer):
    for text in ["", "Hello, World!", "地磅<|im_end|>", *strings(30, seed=3, surrogates=False)]:
        answer = send(api, text.encode(), None, tokenizer=tokenizer)
        assert answer.json() == api.count(tokenizer=tokenizer, text=text)


def test_a_large_body_in_any_parts_has_the_count_of_the_whole(api):
    text = long_string(300_000, seed=4) + "<|im_end|> A truck is weighed; 地磅。\n" * 60_000
    data = text.encode()
    assert len(data) > 2 * MIB
    expected = api.count(model="gpt-4o", text=text)
    assert [w["occurrences"] for w in expected["warnings"] if "im_end" in w["message"]] >= [60_000]
    for seed in range(2):
        assert send(api, in_parts(data, seed)).json() == expected


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.ZstdCompressor().compress])
def test_a_compressed_body_is_unpacked_as_it_arrives(api, pack):
    text = "A truck is weighed; 地磅。\n" * 80_000
    encoding = "gzip" if pack is gzip.compress else "zstd"
    packed = pack(text.encode())
    assert send(api, packed, encoding=encoding).json() == api.count(model="gpt-4o", text=text)
    damaged = send(api, packed[:-9], encoding=encoding)
    assert (damaged.status_code, damaged.json()["code"]) == (400, "request_body_encoding_invalid")


def test_special_tokens_and_strict_are_headers(api):
    text = b"<|endoftext|> and <|endoftext|>"
    parsed = send(api, text, None, tokenizer="cl100k_base", special_tokens="parse").json()
    assert parsed == api.count(tokenizer="cl100k_base", text=text.decode(), special_tokens="parse")
    assert parsed["tokens"] == 4
    refused = send(api, text, "claude-sonnet-4-5", strict="true")
    assert (refused.status_code, refused.json()["code"]) == (422, "inexact")


def test_a_stand_in_has_bounds_that_hold_those_of_the_whole(api):
    text = "WEIGH trucks 👍 ===== and    more, " * 60_000
    whole = api.count(model="claude-sonnet-4-5", text=text)
    parts = send(api, in_parts(text.encode(), 1), "claude-sonnet-4-5").json()
    assert (parts["tokens"], parts["characters"]) == (whole["tokens"], whole["characters"])
    assert whole["low"] * 0.99 < parts["low"] <= whole["low"]
    assert whole["high"] <= parts["high"] < whole["high"] * 1.01


@pytest.mark.parametrize(
    ("body", "model", "headers", "status", "code"),
    [
        (b"a", None, {}, 415, "unsupported_media_type"),
        (b"a", "gpt-4o", {"tokenizer": "qwen"}, 422, "invalid_request"),
        (b"a", "no-such-model", {}, 422, "unknown_model"),
        (b"a", None, {"tokenizer": "none"}, 422, "unknown_tokenizer"),
        (b"a", "", {}, 422, "invalid_request"),
        (b"a", "gpt-4o", {"special_tokens": "maybe"}, 422, "invalid_request"),
        (b"a", "gpt-4o", {"encoding": "br"}, 415, "request_body_encoding_unsupported"),
        (b"a\xff", "gpt-4o", {}, 400, "text_not_utf8"),
        (b"a" * (2 * MIB) + b"\xe4\xbd", "gpt-4o", {}, 400, "text_not_utf8"),
    ],
)
def test_what_cannot_be_counted_is_a_problem(api, body, model, headers, status, code):
    names = {"content-type": PLAIN} | ({"weighbridge-model": model} if model is not None else {})
    names |= {f"weighbridge-{k.replace('_', '-')}": v for k, v in headers.items() if k != "encoding"}
    names |= {"content-encoding": headers["encoding"]} if "encoding" in headers else {}
    refused = api.request("POST", "/v1/count", content=body, headers=names)
    assert (refused.status_code, refused.json()["code"]) == (status, code)
    assert refused.headers["content-type"] == "application/problem+json"


def test_the_place_of_a_wrong_byte_is_its_place_in_the_whole_text(api):
    refused = send(api, in_parts("你".encode() * MIB + b"\xff" + b"a" * 100, 2))
    assert refused.json()["detail"] == f"The text is not UTF-8: see byte {3 * MIB}."


def test_another_charset_is_refused(api):
    headers = {"content-type": "text/plain; charset=latin-1", "weighbridge-model": "gpt-4o"}
    refused = api.request("POST", "/v1/count", content=b"a", headers=headers)
    assert (refused.status_code, refused.json()["code"]) == (415, "unsupported_media_type")


def test_other_routes_take_no_plain_text(api):
    refused = api.request("POST", "/v1/tokenize", content=b"a", headers={"content-type": PLAIN})
    assert (refused.status_code, refused.json()["code"]) == (415, "unsupported_media_type")


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    settings = Settings(
        data_dir=tmp_path_factory.mktemp("data"),
        log="off",
        vocabularies=("o200k_base", "mistral_v1"),
        max_body_bytes=100_000,
        max_stream_bytes=3 * MIB,
        body_timeout_seconds=0.2,
    )
    return build_services(settings)


class Own:
    def __init__(self, services):
        self.app = build_app(services)

    def request(self, method, path, **options):
        async def ask():
            transport = httpx.ASGITransport(app=self.app)
            async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
                return await client.request(method, path, **options)

        return asyncio.run(ask())


def test_the_limit_is_the_streams_own_and_not_that_of_json(small):
    api = Own(small)
    assert send(api, b"a " * (MIB + MIB // 2)).json()["utf8_bytes"] == 3 * MIB
    refused = send(api, in_parts(b"a " * (MIB + MIB // 2) + b"a", 1))
    assert (refused.status_code, refused.json()["code"]) == (413, "request_body_too_large")
    bomb = send(api, gzip.compress(b"a " * (2 * MIB)), encoding="gzip")
    assert (bomb.status_code, bomb.json()["code"]) == (413, "request_body_too_large_after_decoding")


def test_a_stretch_that_cannot_be_cut_is_held_up_to_the_limit_of_json(small):
    api = Own(small)
    assert send(api, b"x" * 100_000).json()["characters"] == 100_000
    refused = send(api, b"x" * 100_001)
    assert (refused.status_code, refused.json()["code"]) == (413, "text_too_long")
    refused = send(api, b"a " * 60_000, None, tokenizer="mistral_v1")
    assert (refused.status_code, refused.json()["code"]) == (413, "text_too_long")
    assert "mistral_v1" in refused.json()["detail"]


def test_a_body_that_stops_arriving_is_refused(small):
    async def stuck() -> AsyncIterator[bytes]:
        yield b"a truck "
        await asyncio.sleep(30)
        yield b"never"

    refused = send(Own(small), stuck())
    assert (refused.status_code, refused.json()["code"]) == (408, "request_body_timeout")


def test_memory_stays_bounded(small):
    api = Own(small)
    tracemalloc.start()
    send(api, in_parts("A truck is weighed; 地磅。\n".encode() * 90_000, 5))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 16 * MIB


async def _twice(block: bytes, counted: asyncio.Event, event: asyncio.Event) -> AsyncIterator[bytes]:
    yield block
    counted.set()
    await event.wait()
    yield block


def test_a_stream_that_is_under_way_waits_for_a_place_in_a_full_pool(tmp_path):
    gate, counted = threading.Event(), threading.Event()

    def during(_stop: object) -> None:
        counted.set()
        gate.wait(30)

    services = _small_service(during, tmp_path, workers=1, queue_limit=0)
    block = b"a " * (MIB // 2)

    async def ask() -> None:
        async for client in _client(services):
            first, both = asyncio.Event(), asyncio.Event()
            headers = {"content-type": PLAIN, "weighbridge-tokenizer": "words"}
            body = _twice(block, first, both)
            stream = asyncio.create_task(client.post("/v1/count", content=body, headers=headers))
            await _until(first.is_set)
            other = asyncio.create_task(client.post("/v1/count", json={"tokenizer": "words", "text": "one two"}))
            await _until(counted.is_set)
            both.set()
            await asyncio.sleep(0.05)
            assert not stream.done()
            gate.set()
            assert (await other).json()["tokens"] == 2
            assert (await stream).json()["tokens"] == MIB

    asyncio.run(ask())
