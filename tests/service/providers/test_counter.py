"""Asking a vendor to count, against a real server that behaves well and badly."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

import pytest

from service.domain.remote import REMOTE_FAILURES, RemoteAsk, RemoteFailed, RemoteTokens
from service.domain.request import Message, Request, Text, user_message
from service.providers import Limits, VendorCounter
from service.providers.endpoints import FORMS, Endpoint
from tests.service.providers.vendor_server import Answer, VendorServer, counted

KEY = "sk-never-shown"
SECRET = "what the caller wrote"


class Clock:
    """Monotonic seconds that move when a test says so."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def ask(provider: str = "anthropic", text: str = SECRET) -> RemoteAsk:
    return RemoteAsk(provider, "a-model", user_message(text))


def counter(server: VendorServer, **options: object) -> VendorCounter:
    limits = options.pop("limits", Limits(seconds=20))
    return VendorCounter({name: Endpoint(form, KEY, server.url) for name, form in FORMS.items()}, limits, **options)


def run(work: Callable[[], Awaitable[object]]) -> object:
    async def whole() -> object:
        return await work()

    return asyncio.run(whole())


def reason(vendor: VendorCounter, question: RemoteAsk) -> str:
    with pytest.raises(RemoteFailed) as failure:
        run(lambda: vendor.tokens(question))
    return failure.value.reason


@pytest.mark.parametrize(
    ("provider", "field", "path", "header", "value"),
    [
        ("openai", "input_tokens", "/v1/responses/input_tokens", "authorization", f"Bearer {KEY}"),
        ("anthropic", "input_tokens", "/v1/messages/count_tokens", "x-api-key", KEY),
        ("google", "totalTokens", "/v1beta/models/a-model:countTokens", "x-goog-api-key", KEY),
    ],
)
def test_each_vendor_is_asked_at_its_path_with_its_header(provider, field, path, header, value):
    with VendorServer(counted(14, field)) as server:
        assert run(lambda: counter(server).tokens(ask(provider))) == RemoteTokens(14)
    (seen,) = server.seen
    assert (seen.path, seen.headers[header]) == (path, value)
    assert sum(KEY in text for text in seen.headers.values()) == 1
    assert seen.headers["content-type"] == "application/json"


def test_anthropic_is_told_the_version_of_its_form():
    with VendorServer(counted(14)) as server:
        run(lambda: counter(server).tokens(ask()))
    assert server.seen[0].headers["anthropic-version"] == "2023-06-01"


def test_a_base_address_keeps_its_path():
    with VendorServer(counted(3)) as server:
        vendor = VendorCounter({"openai": Endpoint(FORMS["openai"], KEY, f"{server.url}/proxy/")})
        run(lambda: vendor.tokens(ask("openai")))
    assert server.seen[0].path == "/proxy/v1/responses/input_tokens"


def test_the_same_question_is_asked_once_an_hour():
    clock = Clock()
    with VendorServer(counted(5), counted(6)) as server:
        vendor = counter(server, clock=clock)
        first = run(lambda: vendor.tokens(ask()))
        again = run(lambda: vendor.tokens(ask()))
        clock.now += 3600
        later = run(lambda: vendor.tokens(ask()))
    assert (first, again, later) == (RemoteTokens(5), RemoteTokens(5, remembered=True), RemoteTokens(6))
    assert len(server.seen) == 2


def test_another_text_model_or_vendor_is_another_question():
    with VendorServer(counted(5)) as server:
        vendor = counter(server)
        for question in (ask(), ask(text="other"), RemoteAsk("anthropic", "b-model", ask().request), ask("openai")):
            assert run(lambda q=question: vendor.tokens(q)).remembered is False


def test_nothing_of_what_was_asked_is_kept():
    with VendorServer(counted(5)) as server:
        vendor = counter(server)
        run(lambda: vendor.tokens(ask()))
    (key,) = vendor._memory._counts
    assert len(key) == 32
    assert SECRET not in repr(vars(vendor)) + repr(vars(vendor._memory)) + repr(ask())
    assert KEY not in repr(vars(vendor))


BAD = [
    (Answer(b"", 401), "unauthorized", 1),
    (Answer(b"", 403), "unauthorized", 1),
    (Answer(SECRET.encode(), 400), "rejected", 1),
    (Answer(b"", 404), "rejected", 1),
    (Answer(b"", 413), "rejected", 1),
    (Answer(b"", 307, {"location": "/elsewhere"}), "http_status", 1),
    (Answer(b"", 204), "http_status", 1),
    (Answer(b"", 500), "http_status", 2),
    (Answer(b"", 529), "http_status", 2),
    (Answer(b"", 429, {"retry-after": "0"}), "rate_limited", 2),
    (Answer(b"", 429, {"retry-after": "3600"}), "rate_limited", 1),
    (Answer(b"", 429, {"retry-after": "9" * 400}), "rate_limited", 1),
    (Answer(b"", 503, {"retry-after": "a while"}), "http_status", 2),
    (Answer(reset=True), "transport", 2),
    (Answer(b"{"), "malformed", 1),
    (Answer(b"[" * 60_000), "malformed", 1),
    (Answer(b"[14]"), "malformed", 1),
    (Answer(b"{}"), "malformed", 1),
    (Answer(b'{"input_tokens": null}'), "malformed", 1),
    (Answer(b'{"input_tokens": true}'), "malformed", 1),
    (Answer(b'{"input_tokens": -1}'), "malformed", 1),
    (Answer(b'{"input_tokens": 14.5}'), "malformed", 1),
    (Answer(b'{"input_tokens": "14"}'), "malformed", 1),
    (Answer(b'{"input_tokens": 1e400}'), "malformed", 1),
    (Answer(b'{"input_tokens": 99999999999999}'), "malformed", 1),
    (Answer(b"\xff\xfe"), "malformed", 1),
    (Answer(b'{"input_tokens": 14}', headers={"content-encoding": "gzip"}), "malformed", 1),
    (Answer(b" " * 65_537 + b'{"input_tokens": 14}'), "too_large", 1),
    (Answer(b" " * 4096, endless=True), "too_large", 1),
]


@pytest.mark.parametrize(("answer", "word", "attempts"), BAD)
def test_a_bad_answer_is_told_by_a_word_and_asked_again_only_where_that_may_help(answer, word, attempts):
    with VendorServer(answer) as server:
        assert reason(counter(server), ask()) == word
    assert len(server.seen) == attempts
    assert word in REMOTE_FAILURES


@pytest.mark.parametrize("first", [Answer(b"", 500), Answer(b"", 429, {"retry-after": "0"}), Answer(reset=True)])
def test_a_second_attempt_may_succeed(first):
    with VendorServer(first, counted(9)) as server:
        assert run(lambda: counter(server).tokens(ask())) == RemoteTokens(9)


def test_a_vendor_that_says_nothing_is_left_after_the_time_limit():
    with VendorServer(Answer(hang=True)) as server:
        assert reason(counter(server, limits=Limits(seconds=0.2)), ask()) == "timeout"


def test_no_connection_is_a_failure_like_any_other():
    with VendorServer(counted(1)) as server:
        gone = counter(server)
    assert reason(gone, ask()) == "transport"


def test_a_vendor_without_a_key_is_not_asked():
    assert reason(VendorCounter({}), ask()) == "unconfigured"


def test_more_calls_than_are_allowed_at_once_do_not_wait():
    async def all_at_once(vendor: VendorCounter, server: VendorServer) -> list[object]:
        slow = [asyncio.create_task(vendor.tokens(ask(text=str(number)))) for number in range(2)]
        await asyncio.to_thread(server.wait_for, 2)
        with pytest.raises(RemoteFailed) as failure:
            await vendor.tokens(ask(text="third"))
        server.over.set()
        return [failure.value.reason, *await asyncio.gather(*slow, return_exceptions=True)]

    with VendorServer(Answer(hang=True)) as server:
        vendor = counter(server, limits=Limits(seconds=20, attempts=1, at_once=2))
        word, *others = asyncio.run(all_at_once(vendor, server))
        server.over.clear()
        server.answers[:] = [counted(4)]
        assert run(lambda: vendor.tokens(ask())) == RemoteTokens(4)  # the places are free again
    assert word == "busy"
    assert [type(other) for other in others] == [RemoteFailed] * 2


def test_an_endpoint_that_fails_again_and_again_is_left_alone_then_tried_once():
    clock = Clock()
    with VendorServer(Answer(b"", 500)) as server:
        vendor = counter(server, clock=clock, limits=Limits(attempts=1))
        assert [reason(vendor, ask()) for _ in range(7)] == ["http_status"] * 5 + ["circuit_open"] * 2
        clock.now += 30
        assert [reason(vendor, ask()) for _ in range(2)] == ["http_status", "circuit_open"]
        clock.now += 30
        server.answers[:] = [counted(7)]
        assert run(lambda: vendor.tokens(ask())) == RemoteTokens(7)
        server.answers[:] = [Answer(b"", 500)]
        assert reason(vendor, ask(text="other")) == "http_status"  # closed again, and counting anew
        assert reason(vendor, ask("openai")) == "http_status"  # each vendor has a circuit of its own
    assert len(server.seen) == 9


def test_a_wait_that_is_asked_for_is_kept():
    clock = Clock()
    with VendorServer(Answer(b"", 429, {"retry-after": "60"})) as server:
        vendor = counter(server, clock=clock)
        assert [reason(vendor, ask()) for _ in range(2)] == ["rate_limited", "circuit_open"]
        clock.now += 59
        assert reason(vendor, ask()) == "circuit_open"
        clock.now += 1
        server.answers[:] = [counted(7)]
        assert run(lambda: vendor.tokens(ask())) == RemoteTokens(7)


def test_requests_that_the_vendor_does_not_take_say_nothing_against_it():
    with VendorServer(Answer(b"", 400)) as server:
        vendor = counter(server)
        assert [reason(vendor, ask()) for _ in range(9)] == ["rejected"] * 9


def test_a_caller_who_goes_away_frees_its_place_and_the_circuit():
    clock = Clock()

    async def go_away(vendor: VendorCounter, server: VendorServer) -> None:
        task = asyncio.create_task(vendor.tokens(ask()))
        await asyncio.to_thread(server.wait_for, 1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    with VendorServer(Answer(b"", 429, {"retry-after": "60"})) as server:
        vendor = counter(server, clock=clock, limits=Limits(seconds=20, at_once=1))
        reason(vendor, ask())
        clock.now += 60
        server.seen.clear()
        server.answers[:] = [Answer(hang=True)]
        asyncio.run(go_away(vendor, server))  # while it was being tried
        server.answers[:] = [counted(2)]
        assert run(lambda: vendor.tokens(ask())) == RemoteTokens(2)


def test_each_call_is_told_with_its_outcome():
    told = []
    with VendorServer(Answer(b"", 401), counted(3)) as server:
        vendor = counter(
            server, listen=lambda provider, outcome, seconds: told.append((provider, outcome, seconds >= 0))
        )
        reason(vendor, ask())
        for _ in range(2):
            run(lambda: vendor.tokens(ask()))
    assert told == [("anthropic", word, True) for word in ("unauthorized", "counted", "remembered")]


def test_what_has_no_form_there_is_not_sent():
    request = Request((Message("user", (Text(SECRET),), name="a name"),))
    with VendorServer(counted(3)) as server:
        assert reason(counter(server), RemoteAsk("openai", "m", request)) == "not_translatable"
    assert server.seen == []


def test_nothing_of_the_text_or_the_key_is_logged_or_in_an_error(caplog):
    caplog.set_level(logging.DEBUG)
    with VendorServer(Answer(SECRET.encode(), 500)) as server:
        vendor = counter(server)
        with pytest.raises(RemoteFailed) as failure:
            run(lambda: vendor.tokens(ask()))
    said = caplog.text + repr(failure.value) + repr(failure.value.__cause__) + repr(failure.value.__context__)
    assert SECRET not in said
    assert KEY not in said


def test_connections_are_closed_with_the_counter():
    async def whole(vendor: VendorCounter) -> bool:
        await vendor.tokens(ask())
        client = vendor._client
        await vendor.close()
        return client is not None and client.is_closed

    with VendorServer(counted(3)) as server:
        assert asyncio.run(whole(counter(server)))
