"""``/v1/count`` with the vendor's own count: a real server plays the vendor."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import httpx
import jsonschema
import pytest

from service.api.services import Services
from service.app import build_app
from service.metrics import Metrics
from service.providers import vendor_counter
from tests.service.conftest import Api
from tests.service.providers.vendor_server import Answer, VendorServer, counted

HELLO = [{"role": "user", "content": "Hello, how are you?"}]
PICTURE = {"type": "image", "source": {"type": "url", "url": "https://example.invalid/a.png"}}
CLAUDE, GPT, GEMINI = "claude-sonnet-4-5", "gpt-4o", "gemini-2.5-flash"

Start = Callable[..., tuple[Api, VendorServer]]


@pytest.fixture
def start(services: Services) -> Iterator[Start]:
    """The service, with the keys of all vendors, and the server that it asks."""
    servers = []

    def begin(*answers: Answer, **options: Any) -> tuple[Api, VendorServer]:
        server = VendorServer(*answers)
        servers.append(server)
        server.__enter__()
        keys: dict[str, Any] = {f"{name}_api_key": "sk-secret" for name in ("anthropic", "gemini", "openai")}
        keys |= {f"{name}_url": server.url for name in ("anthropic", "gemini", "openai")}
        settings = replace(services.settings, **(keys | options))
        metrics = Metrics()
        remote = vendor_counter(settings, metrics.remote_counted)
        return Api(build_app(replace(services, settings=settings, metrics=metrics, remote=remote))), server

    yield begin
    for server in servers:
        server.__exit__(None, None, None)


def test_an_inexact_count_gives_way_to_the_vendors(start):
    api, server = start(counted(17))
    local = api.count(model=CLAUDE, messages=HELLO)
    answer = api.count(model=CLAUDE, messages=HELLO, remote="when_inexact")
    assert (answer["tokens"], answer["low"], answer["high"]) == (17, 17, 17)
    assert (answer["accuracy"], answer["accuracy_reasons"]) == ("close", ["remote_estimate"])
    assert answer["remote"] == {"provider": "anthropic", "remembered": False, "local_tokens": local["tokens"]}
    assert sum(answer["breakdown"].values()) == 17
    again = api.count(model=CLAUDE, messages=HELLO, remote="when_inexact")
    assert (again["tokens"], again["remote"]["remembered"]) == (17, True)
    assert len(server.seen) == 1
    assert server.seen[0].body["messages"] == HELLO
    assert "remote" not in local


def test_an_exact_count_is_not_asked_for_unless_always(start):
    api, server = start(counted(13))
    assert api.count(model=GPT, messages=HELLO, remote="when_inexact")["accuracy"] == "exact"
    assert server.seen == []
    answer = api.count(model=GPT, messages=HELLO, remote="always", strict=True)
    assert (answer["tokens"], answer["accuracy"], answer["warnings"]) == (13, "exact", [])
    assert server.seen[0].body == {"model": GPT, "input": HELLO}


def test_an_exact_count_that_the_vendor_does_not_share_is_no_longer_exact(start):
    api, _ = start(counted(20))
    answer = api.count(model=GPT, messages=HELLO, remote="always")
    assert (answer["tokens"], answer["low"], answer["high"], answer["accuracy"]) == (20, 13, 20, "close")
    assert [warning["code"] for warning in answer["warnings"]] == ["remote_differs"]
    assert answer["breakdown"] == {"text": 6, "framing": 14, "tools": 0, "images": 0}
    strict = api.post("/v1/count", {"model": GPT, "messages": HELLO, "remote": "always", "strict": True})
    assert (strict.status_code, strict.json()["code"]) == (422, "inexact")


def test_with_pictures_the_bounds_of_the_count_here_stay(start):
    api, server = start(counted(200))
    request = {"messages": [{"role": "user", "content": [PICTURE]}], "max_tokens": 9, "model": CLAUDE}
    local = api.count(model=CLAUDE, request=request)
    answer = api.count(model=CLAUDE, request=request, remote="always")
    assert (answer["tokens"], answer["low"]) == (200, min(200, local["low"]))
    assert answer["high"] == max(200, local["high"]) > 200
    assert server.seen[0].body == {"model": CLAUDE, "messages": request["messages"]}


def test_the_name_that_is_sold_is_the_one_asked_for(start):
    api, server = start(counted(9, "totalTokens"))
    api.count(model=f"google/{GEMINI}", messages=HELLO, remote="always")
    assert server.seen[0].path == f"/v1beta/models/{GEMINI}:countTokens"
    api.count(model="gpt-4o-2024-08-06", messages=HELLO, remote="always")
    assert server.seen[1].body["model"] == "gpt-4o-2024-08-06"


def test_a_text_as_a_message_can_be_counted_by_the_vendor(start):
    api, server = start(counted(13))
    api.count(model=GPT, text="Hello, how are you?", remote="always", **{"as": "message"})
    assert server.seen[0].body["input"] == HELLO


@pytest.mark.parametrize(
    ("answer", "word"),
    [
        (Answer(b"", 500), "http_status"),
        (Answer(b"", 429, {"retry-after": "120"}), "rate_limited"),
        (Answer(b"nonsense"), "malformed"),
        (Answer(reset=True), "transport"),
        (Answer(hang=True), "timeout"),
        (Answer(b" " * 4096, endless=True), "too_large"),
        (Answer(b"secret words", 400), "rejected"),
    ],
)
def test_where_the_vendor_fails_the_count_here_stands_with_a_warning(start, answer, word):
    api, _ = start(answer, remote_timeout_seconds=0.5 if answer.hang else 20)
    local = api.count(model=CLAUDE, messages=HELLO)
    failed = api.count(model=CLAUDE, messages=HELLO, remote="always")
    (warning,) = [w for w in failed["warnings"] if w not in local["warnings"]]
    assert (warning["code"], warning["path"]) == ("remote_failed", "remote")
    assert f"({word})" in warning["message"]
    assert failed | {"warnings": local["warnings"]} == local
    metrics = api.get("/metrics").text
    assert f'weighbridge_remote_counts_total{{outcome="{word}",provider="anthropic"}} 1.0' in metrics


def test_a_seller_of_a_vendors_model_is_not_the_vendor(start):
    api, server = start(counted(1))
    answer = api.count(model="azure/gpt-4o", messages=HELLO, remote="always")
    assert "unconfigured" in answer["warnings"][-1]["message"]
    assert server.seen == []


def test_what_has_no_form_at_the_vendor_is_counted_here(start):
    api, server = start(counted(1))
    answer = api.count(model=CLAUDE, messages=[{"role": "user", "name": "n", "content": "hi"}], remote="always")
    assert "remote" in answer
    answer = api.count(model=GPT, messages=[{"role": "user", "name": "n", "content": "hi"}], remote="always")
    assert "not_translatable" in answer["warnings"][-1]["message"]
    assert len(server.seen) == 1


def test_the_setting_decides_where_the_request_does_not(start):
    api, server = start(counted(17), remote="when_inexact")
    assert api.count(model=CLAUDE, messages=HELLO)["tokens"] == 17
    assert "remote" not in api.count(model=CLAUDE, messages=HELLO, remote="never")
    assert "remote" not in api.count(model=CLAUDE, text="Hello")
    azure = api.count(
        model="azure/gpt-4o", messages=[*HELLO, {"role": "assistant", "content": "a", "audio": {"id": "1"}}]
    )
    assert "remote_failed" not in [warning["code"] for warning in azure["warnings"]]
    assert len(server.seen) == 1


def test_without_a_key_nothing_is_asked_and_the_answer_says_so(api):
    assert "remote_failed" in [w["code"] for w in api.count(model=GPT, messages=HELLO, remote="always")["warnings"]]
    assert "warnings" in api.count(model=GPT, messages=HELLO)


@pytest.mark.parametrize(
    "body",
    [
        {"model": GPT, "text": "bare", "remote": "always"},
        {"model": GPT, "texts": ["a", "b"], "as": "message", "remote": "when_inexact"},
        {"model": GPT, "messages": HELLO, "remote": "perhaps"},
    ],
)
def test_only_a_whole_request_can_be_counted_by_a_vendor(start, body):
    api, server = start(counted(1))
    answer = api.post("/v1/count", body)
    assert (answer.status_code, answer.json()["code"], answer.json()["path"]) == (422, "invalid_request", "remote")
    assert server.seen == []


def test_a_large_body_is_counted_in_the_pool_and_then_by_the_vendor(start):
    api, server = start(counted(90_000), inline_bytes=0)
    text = "word " * 20_000
    answer = api.count(model=CLAUDE, messages=[{"role": "user", "content": text}], remote="always")
    assert answer["tokens"] == 90_000
    assert server.seen[0].body["messages"][0]["content"] == text


def test_an_estimate_is_of_the_vendors_count(start):
    api, server = start(counted(17))
    body = {"model": CLAUDE, "messages": HELLO, "max_output_tokens": 0, "at": "2026-11-29T12:00:00Z"}
    local = api.post("/v1/estimate", body).json()
    answer = api.post("/v1/estimate", body | {"remote": "when_inexact"}).json()
    assert (answer["tokens"], answer["input_tokens"], answer["accuracy"]) == (17, 17, "close")
    assert answer["remote"] == {"provider": "anthropic", "remembered": False, "local_tokens": local["tokens"]}
    assert [(part["unit"], part["tokens"]) for part in answer["cost"]["components"]] == [("input", 17)]
    assert answer["cost"]["low"] == answer["cost"]["expected"] == answer["cost"]["high"] == "0.000051"
    assert "remote" not in local
    assert len(server.seen) == 1


def test_an_estimate_stands_without_the_vendor(start):
    api, _ = start(Answer(b"", 500))
    body = {"model": CLAUDE, "messages": HELLO, "at": "2026-11-29T12:00:00Z"}
    local = api.post("/v1/estimate", body).json()
    failed = api.post("/v1/estimate", body | {"remote": "always"}).json()
    codes, more = ([w["code"] for w in answer.pop("warnings")] for answer in (local, failed))
    assert sorted(more) == sorted([*codes, "remote_failed"])
    assert failed == local
    refused = api.post("/v1/estimate", {"model": CLAUDE, "text": "bare", "remote": "always"})
    assert (refused.status_code, refused.json()["path"]) == (422, "remote")


def test_answers_with_the_vendors_count_fit_the_document(start):
    api, _ = start(counted(17))
    document = api.get("/openapi.json").json()
    for path in ("/v1/count", "/v1/estimate"):
        answer = api.post(path, {"model": CLAUDE, "messages": HELLO, "remote": "always"}).json()
        schema = document["paths"][path]["post"]["responses"]["200"]["content"]["application/json"]["schema"]
        jsonschema.validate(answer, schema | {"components": document["components"]})
        assert "remote" in answer


def test_what_must_be_exact_is_refused_before_the_vendor_is_asked(start):
    api, server = start(counted(17))
    for path in ("/v1/count", "/v1/estimate"):
        answer = api.post(path, {"model": CLAUDE, "messages": HELLO, "remote": "always", "strict": True})
        assert (answer.status_code, answer.json()["code"]) == (422, "inexact")
    assert server.seen == []


def test_a_served_process_asks_logs_nothing_of_it_and_ends_cleanly(serve):
    words = "a sentence that nobody may keep"
    with VendorServer(counted(21)) as vendor:
        service = serve(anthropic_api_key="sk-secret", anthropic_url=vendor.url, log="json", vocabularies="")
        body = {"model": CLAUDE, "messages": [{"role": "user", "content": words}], "remote": "always"}
        answer = httpx.post(f"{service.url}/v1/count", json=body).json()
        assert service.stop() == 0
    assert (answer["tokens"], answer["remote"]["provider"]) == (21, "anthropic")
    log = service.log.read_text()
    assert "/v1/count" in log
    assert words not in log
    assert "sk-secret" not in log
