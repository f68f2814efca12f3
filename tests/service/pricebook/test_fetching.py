"""What is asked for, how often, and what may come back."""

from __future__ import annotations

import asyncio
import gzip
from datetime import UTC, datetime
from email.utils import format_datetime
from typing import Any

import httpx
import pytest

from service.pricebook.fetching import Fetched, Fetcher, FetchFailed, FetchLimits, _Body, allowed_url
from service.pricebook.reading import TableRefused
from tests.service.pricebook.price_server import Answer, PriceServer

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
BODY = b'[{"id": "one"}]'


class Desk:
    """A fetcher of one url; ``pauses`` are the seconds it would have slept."""

    def __init__(self, url: str, transport: httpx.AsyncBaseTransport | None = None, **limits: Any) -> None:
        self.pauses: list[float] = []
        self._url = url
        self._transport = transport
        self._limits = FetchLimits(**limits)

    def fetch(self, etag: str | None = None) -> Fetched | None:
        async def ask() -> Fetched | None:
            async with httpx.AsyncClient(transport=self._transport, trust_env=False) as client:
                fetcher = Fetcher(
                    client, self._url, self._limits, clock=lambda: NOW, sleep=self._pause, random=lambda: 0.5
                )
                return await fetcher.fetch(etag)

        return asyncio.run(ask())

    def failure(self) -> tuple[str, str]:
        with pytest.raises(FetchFailed) as caught:
            self.fetch()
        return caught.value.reason, caught.value.detail

    def refusal(self) -> str:
        with pytest.raises(TableRefused) as caught:
            self.fetch()
        return caught.value.reason

    async def _pause(self, seconds: float) -> None:
        self.pauses.append(seconds)


def unused() -> httpx.MockTransport:
    """A transport over which nothing may be sent."""

    def refuse(request: httpx.Request) -> httpx.Response:
        raise AssertionError("a connection was made")

    return httpx.MockTransport(refuse)


@pytest.mark.parametrize(
    "url",
    [
        "http://prices.test/data.json",
        "http://192.0.2.1/data.json",
        "http://127.0.0.1.prices.test/",
        "http://localhost.prices.test/",
        "http://0.0.0.0/",
        "http://[::2]/",
        "http://127.0.0.1@prices.test/",
        "ftp://127.0.0.1/data.json",
        "file:///data.json",
        "https://",
        "//prices.test/data.json",
        "prices.test",
        "http://[::1",
        "",
    ],
)
def test_an_address_that_is_not_allowed_is_refused_before_any_connection(url: str) -> None:
    desk = Desk(url, unused())
    assert not allowed_url(url)
    assert desk.failure() == ("url_refused", "")
    assert desk.pauses == []


@pytest.mark.parametrize(
    "url",
    ["https://prices.test/x", "http://127.0.0.1:81/", "http://127.9.9.9/", "http://[::1]:81/", "http://localhost/"],
)
def test_https_and_loopback_are_allowed(url: str) -> None:
    assert allowed_url(url)


def test_it_says_what_it_takes_and_which_copy_it_has() -> None:
    with PriceServer(Answer(BODY, headers={"etag": 'W/"2"'}), Answer(status=304)) as server:
        desk = Desk(server.url)
        assert desk.fetch() == Fetched(BODY, 'W/"2"')
        assert desk.fetch('W/"2"') is None
    (path, first), (_, second) = server.requests
    assert path == "/data.json"
    assert (first["accept-encoding"], first.get("if-none-match")) == ("gzip", None)
    assert second["if-none-match"] == 'W/"2"'


@pytest.mark.parametrize("etag", ["", '"\xe9"', '"' + "x" * 255 + '"', "\t"])
def test_a_tag_that_cannot_be_sent_back_is_dropped(etag: str) -> None:
    with PriceServer(Answer(BODY, headers={"etag": etag})) as server:
        desk = Desk(server.url)
        assert desk.fetch() == Fetched(BODY, None)
        assert desk.fetch(etag) == Fetched(BODY, None)
    assert all("if-none-match" not in headers for _, headers in server.requests)


def test_not_modified_without_a_tag_sent_is_a_failure() -> None:
    with PriceServer(Answer(status=304)) as server:
        assert Desk(server.url).failure() == ("http_status", "304")


def test_a_server_error_is_asked_again() -> None:
    with PriceServer(Answer(status=500), Answer(BODY)) as server:
        desk = Desk(server.url)
        assert desk.fetch() == Fetched(BODY, None)
    assert desk.pauses == [1.0]


def test_it_gives_up_after_the_third_attempt() -> None:
    with PriceServer(Answer(status=503)) as server:
        desk = Desk(server.url)
        assert desk.failure() == ("http_status", "503")
    assert len(server.requests) == 3
    assert desk.pauses == [1.0, 2.0]


@pytest.mark.parametrize(
    ("header", "pause"),
    [
        ("7", 7.0),
        ("0", 0.0),
        ("31", 30.0),
        ("9" * 500, 30.0),
        (format_datetime(datetime(2026, 11, 20, 12, 0, 20, tzinfo=UTC), usegmt=True), 20.0),
        (format_datetime(datetime(2027, 1, 1, tzinfo=UTC), usegmt=True), 30.0),
        (format_datetime(datetime(2025, 1, 1, tzinfo=UTC), usegmt=True), 0.0),
        ("Fri, 20 Nov 2026 12:00:05 -0000", 5.0),
        ("-1", 1.0),
        ("soon", 1.0),
        ("", 1.0),
    ],
)
def test_retry_after_is_heeded_up_to_half_a_minute(header: str, pause: float) -> None:
    with PriceServer(Answer(status=429, headers={"retry-after": header}), Answer(BODY)) as server:
        desk = Desk(server.url)
        assert desk.fetch() == Fetched(BODY, None)
    assert desk.pauses == [pause]


def test_a_lost_connection_is_asked_for_again() -> None:
    with PriceServer(Answer(BODY, part=3, reset=True), Answer(BODY, part=3), Answer(BODY)) as server:
        desk = Desk(server.url)
        assert desk.fetch() == Fetched(BODY, None)
    assert len(server.requests) == 3


def test_nobody_listening_is_a_transport_failure() -> None:
    with PriceServer(Answer(BODY)) as server:
        url = server.url
    assert Desk(url).failure() == ("transport", "")


def test_a_wait_that_is_too_long_is_a_timeout() -> None:
    with PriceServer(Answer(BODY, part=1, hang=True)) as server:
        desk = Desk(server.url, wait_seconds=0.05)
        assert desk.failure() == ("timeout", "")
    assert len(desk.pauses) == 2


def test_a_trickle_is_cut_off_when_the_attempt_takes_too_long() -> None:
    with PriceServer(Answer(b" ", length=False, endless=True)) as server:
        desk = Desk(server.url, attempt_seconds=0.05, attempts=1, max_bytes=10**9)
        assert desk.failure() == ("timeout", "")


@pytest.mark.parametrize("status", [400, 401, 403, 404, 410, 418, 201, 206])
def test_any_other_status_fails_at_once(status: int) -> None:
    with PriceServer(Answer(BODY, status=status)) as server:
        desk = Desk(server.url)
        assert desk.failure() == ("http_status", str(status))
    assert desk.pauses == []


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_one_redirect_on_the_same_origin_is_followed(status: int) -> None:
    with PriceServer(Answer(status=status, headers={"location": "/moved?to=1"}), Answer(BODY)) as server:
        assert Desk(server.url).fetch('"1"') == Fetched(BODY, None)
    assert [path for path, _ in server.requests] == ["/data.json", "/moved?to=1"]
    assert server.requests[1][1]["if-none-match"] == '"1"'


def test_a_second_redirect_is_refused() -> None:
    with PriceServer(Answer(status=302, headers={"location": "/again"})) as server:
        assert Desk(server.url).failure() == ("redirect_refused", "")
    assert len(server.requests) == 2


def test_a_redirect_to_another_host_reaches_nobody() -> None:
    with PriceServer(Answer(BODY)) as other:
        for location in (other.url, f"//localhost:{other.port}/", f"http://localhost:{other.port}/"):
            with PriceServer(Answer(status=302, headers={"location": location})) as server:
                assert Desk(server.url).failure() == ("redirect_refused", "")
    assert other.requests == []


def redirecting(location: str | None) -> httpx.MockTransport:
    """One host sends on to ``location``; every other one has the list."""

    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.host == "prices.test":
            return httpx.Response(302, headers={} if location is None else {"location": location})
        return httpx.Response(200, stream=httpx.ByteStream(BODY))

    return httpx.MockTransport(answer)


@pytest.mark.parametrize(
    "location",
    [
        "http://prices.test/data.json",
        "https://prices.test:444/",
        "https://other.test/",
        "http://named.test/",
        "http://127.0.0.1/",
        "https://named.test.evil.test/",
        "file:///data.json",
        "https://[",
        None,
    ],
)
def test_a_redirect_that_is_not_allowed_is_refused(location: str | None) -> None:
    desk = Desk("https://prices.test/", redirecting(location), redirect_hosts=("named.test", "127.0.0.1"))
    assert desk.failure() == ("redirect_refused", "")


def test_a_redirect_to_a_host_that_was_named_is_followed() -> None:
    desk = Desk("https://prices.test/", redirecting("https://named.test/x"), redirect_hosts=("named.test",))
    assert desk.fetch() == Fetched(BODY, None)


def zipped(body: bytes) -> Answer:
    return Answer(gzip.compress(body), headers={"content-encoding": "gzip"})


@pytest.mark.parametrize(
    "exact",
    [Answer(b" " * 1000), Answer(b" " * 1000, length=False), zipped(b" " * 1000)],
    ids=["length", "none", "gzip"],
)
def test_exactly_the_cap_is_taken(exact: Answer) -> None:
    with PriceServer(exact) as server:
        assert Desk(server.url, max_bytes=1000).fetch() == Fetched(b" " * 1000, None)


NOTHING = gzip.compress(b"")[:10] + b"\0\0\0\xff\xff" * 300  # empty blocks, one after another


@pytest.mark.parametrize(
    "over",
    [
        Answer(b" " * 1001),
        Answer(b" " * 1001, length=False),
        Answer(b" " * 1001, length=False, endless=True),
        zipped(b" " * 1001),
        zipped(b" " * 50_000_000),
        Answer(NOTHING, headers={"content-encoding": "gzip"}, length=False),
    ],
    ids=["length", "no length", "endless", "gzip", "bomb", "gzip of nothing"],
)
def test_one_byte_above_the_cap_is_refused(over: Answer) -> None:
    with PriceServer(over) as server:
        desk = Desk(server.url, max_bytes=1000)
        assert desk.refusal() == "too_large"
    assert desk.pauses == []


def test_a_bomb_unfolds_no_further_than_the_cap() -> None:
    body = _Body(1000, unzip=True)
    with pytest.raises(TableRefused):
        body.feed(gzip.compress(b" " * 50_000_000))
    assert len(body._content) == 1001


def test_a_length_above_the_cap_is_refused_before_the_body_comes() -> None:
    with PriceServer(Answer(b" " * 1001, part=0, hang=True)) as server:
        assert Desk(server.url, max_bytes=1000).refusal() == "too_large"


@pytest.mark.parametrize(
    "answer",
    [
        Answer(BODY, headers={"content-encoding": "br"}),
        Answer(BODY, headers={"content-encoding": "gzip, gzip"}),
        Answer(BODY, headers={"content-encoding": "gzip"}),
        Answer(gzip.compress(BODY)[:-1], headers={"content-encoding": "gzip"}),
        Answer(gzip.compress(BODY) + b"more", headers={"content-encoding": "gzip"}),
    ],
)
def test_a_body_that_cannot_be_decompressed_whole_is_refused(answer: Answer) -> None:
    with PriceServer(answer) as server:
        assert Desk(server.url).refusal() == "encoding"
