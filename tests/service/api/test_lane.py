"""The fast lane answers as the layers do, and leaves to them what they have to decide."""

from __future__ import annotations

import asyncio
import json
import re

import httpx
import pytest

from service.api.lane import FastLane
from service.api.lines import RequestLines
from service.app import build_app
from tests.service.api.test_limits import _small_service, _until

BODY = json.dumps({"model": "gpt-4o", "text": "Hello, World! 地磅"}).encode()
JSON = {"content-type": "application/json"}


def ask(app, body=BODY, headers=JSON, method="POST", path="/v1/count", host="localhost") -> httpx.Response:
    async def send() -> httpx.Response:
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url=f"http://{host}") as client:
            return await client.request(method, path, content=body, headers=headers)

    return asyncio.run(send())


class Watched:
    """The layers, and how many requests came to them."""

    def __init__(self, layers) -> None:
        self.layers = layers
        self.asked = 0

    async def __call__(self, scope, receive, send) -> None:
        self.asked += 1
        await self.layers(scope, receive, send)

    def __getattr__(self, name: str):
        return getattr(self.layers, name)


@pytest.fixture
def lane(services) -> FastLane:
    app = build_app(services)
    app._layers = Watched(app._layers)
    return app


BODIES = [
    BODY,
    b'{"tokenizer": "qwen", "texts": ["a", "<|im_end|>"]}',
    b'{"model": "gpt-4o", "text": "a\\ud83d"}',
    b'{"model": "gpt-4o", "text": "a", "limit": 0}',
    b'{"model": "gpt-4oo", "text": "a"}',
    b'{"model": "gpt-4o", "text": "a", "odd": 1}',
    b'{"model": "claude-sonnet-4-5", "text": "a", "strict": true}',
    b'{"model": "gpt-4o", "text": ',
    b"\xff",
    b"",
]


@pytest.mark.parametrize("body", BODIES)
def test_the_answer_is_the_one_of_the_layers(lane, body):
    headers = JSON | {"x-request-id": "id-7", "content-length": str(len(body))}
    fast = ask(lane, body, headers)
    assert lane._layers.asked == 0
    slow = ask(lane._layers, body, headers)
    assert (fast.status_code, fast.content) == (slow.status_code, slow.content)
    assert dict(fast.headers) == dict(slow.headers)
    assert fast.headers["x-request-id"] == "id-7"


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"content-type": "application/json; charset=utf-8"}, 200),
        ({"content-type": "application/vnd.own+json"}, 200),
        ({"content-type": "text/html"}, 415),
        ({}, 415),
        (JSON | {"host": "example.com"}, 403),
        (JSON | {"host": "localhost.example.com"}, 403),
        (JSON | {"origin": "http://example.com"}, 403),
        (JSON | {"origin": "http://localhost"}, 200),
        (JSON | {"content-encoding": "br"}, 415),
        (JSON | {"content-encoding": "identity"}, 200),
        ([("host", "localhost"), ("host", "localhost"), *JSON.items()], 400),
    ],
)
def test_what_a_layer_has_to_decide_is_left_to_it(lane, headers, status):
    for _ in range(2):  # what was refused once is not remembered as allowed
        assert ask(lane, headers=headers).status_code == status
    assert lane._layers.asked == 2


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:80", "127.0.0.1:8000", "[::1]:1"])
def test_every_spelling_of_this_machine_is_taken(lane, host):
    assert [ask(lane, headers=JSON | {"host": host}).status_code for _ in range(2)] == [200, 200]
    assert lane._layers.asked == 0


def test_other_methods_routes_and_large_bodies_go_through_the_layers(lane):
    assert ask(lane, method="GET").status_code == 405
    assert ask(lane, path="/v1/tokenize").status_code == 200
    large = json.dumps({"model": "gpt-4o", "text": "a " * 10_000}).encode()
    assert ask(lane, large).json()["tokens"] == 10_001
    assert lane._layers.asked == 3


def test_a_body_of_unknown_length_goes_through_the_layers(lane):
    async def body():
        yield BODY

    assert ask(lane, body()).status_code == 200
    assert lane._layers.asked == 1


def test_a_body_in_parts_is_put_together(lane):
    async def body():
        for byte in BODY:
            yield bytes([byte])

    answer = ask(lane, body(), JSON | {"content-length": str(len(BODY))})
    assert answer.json() == ask(lane).json()
    assert lane._layers.asked == 0


def run(app, receive) -> list[dict]:
    sent = []

    async def send(message) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "POST", "path": "/v1/count", "query_string": b""}
    scope["headers"] = [(b"host", b"localhost"), (b"content-type", b"application/json"), (b"content-length", b"50")]
    asyncio.run(app(scope, receive, send))
    return sent


@pytest.mark.parametrize("drips", [0, 1, 10_000])
def test_a_body_that_does_not_arrive_in_time_is_refused(tmp_path, drips):
    left = iter(range(drips))

    async def receive() -> dict:
        await asyncio.sleep(30 if next(left, None) is None else 0.01)
        return {"type": "http.request", "body": b" ", "more_body": True}

    app = build_app(_small_service(lambda _stop: None, tmp_path, body_timeout_seconds=0.05))
    app._largest = 1_000
    start, body = run(app, receive)
    assert (start["status"], json.loads(body["body"])["code"]) == (408, "request_body_timeout")
    assert b'status="408"} 1.0' in app._layers._metrics.render()


def test_a_sender_that_is_gone_is_no_failure(lane):
    async def receive() -> dict:
        await asyncio.sleep(0)
        return {"type": "http.disconnect"}

    start, body = run(lane, receive)
    assert (start["status"], json.loads(body["body"])["code"]) == (400, "invalid_json")


def test_an_unforeseen_failure_is_a_problem_without_the_text(tmp_path):
    def fail(_stop) -> None:
        raise RuntimeError("zebra7secret")

    app = build_app(_small_service(fail, tmp_path))
    app._largest = 1_000
    failed = ask(app, b'{"tokenizer": "words", "text": "zebra7secret"}')
    assert (failed.status_code, failed.json()["code"]) == (500, "internal_error")
    assert "zebra7secret" not in failed.text


def test_requests_are_recorded_as_the_layers_record_them(lane, services):
    series = b'weighbridge_http_requests_total{method="POST",route="/v1/count",status="200"}'

    def value() -> float:
        found = re.search(re.escape(series) + rb" (\S+)", services.metrics.render())
        return float(found.group(1)) if found else 0.0

    before = value()
    ids = [ask(lane).headers["x-request-id"] for _ in range(3)]
    assert value() == before + 3
    assert lane._layers.asked == 0
    assert len(set(ids)) == 3
    assert all(re.fullmatch(r"[0-9a-f]{32}", own) for own in ids)
    assert re.fullmatch(r"[0-9a-f]{32}", ask(lane, headers=JSON | {"x-request-id": "a b"}).headers["x-request-id"])


def test_lines_are_written_together_and_in_order(capsys):
    lines = RequestLines("json")

    async def work() -> str:
        for number in range(3):
            lines.request("POST", "/v1/count", 200, 0.0125, f"id-{number}")
        assert capsys.readouterr().err == ""
        lines.error({"error": "RuntimeError"})
        lines.request("BR_EW", "unmatched", 404, 1, "id-3")
        written = [capsys.readouterr().err]
        await _until(lambda: bool(written.append(capsys.readouterr().err) or written[-1]))
        return "".join(written)

    written = [json.loads(line) for line in asyncio.run(work()).splitlines()]
    assert [line.get("request_id") for line in written] == ["id-0", "id-1", "id-2", None, "id-3"]
    assert written[0] | {"time": ""} == {
        "time": "",
        "method": "POST",
        "route": "/v1/count",
        "status": 200,
        "ms": 12.5,
        "request_id": "id-0",
        "project": "default",
    }
    assert (written[3]["level"], written[4]["method"]) == ("error", "other")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", written[0]["time"])


def test_lines_do_not_pile_up(capsys):
    lines = RequestLines("text")

    async def work() -> None:
        for _ in range(1_000):
            lines.request("GET", "/livez", 200, 0, "id")

    asyncio.run(work())
    written = capsys.readouterr().err
    assert 744 <= written.count("\n") < 1_000
    lines.flush()
    written += capsys.readouterr().err
    assert written.count("\n") == written.count("route=/livez status=200") == 1_000


def test_without_a_loop_a_line_is_written_at_once_and_off_writes_none(capsys):
    RequestLines("off").request("GET", "/livez", 200, 0, "id")
    RequestLines("off").error({"error": "x"})
    assert capsys.readouterr().err == ""
    RequestLines("json").request("GET", "/livez", 200, 0, "id")
    assert json.loads(capsys.readouterr().err)["route"] == "/livez"
