"""Every refusal on a vendor's path has that vendor's shape, whichever layer refuses."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import httpx
import pytest

from service.api.pool import CountPool
from service.api.services import Services
from service.app import build_app
from tests.service.conftest import Api

GEMINI = "/v1beta/models/gemini-2.5-flash:countTokens"
CLAUDE_VERTEX = "/v1/projects/p/locations/l/publishers/anthropic/models/count-tokens:rawPredict"
VERTEX = "/v1/projects/p/locations/l/publishers/google/models/gemini-2.5-flash:countTokens"


def openai(answer: httpx.Response) -> str:
    error = answer.json()["error"]
    assert set(error) == {"message", "type", "param", "code"}
    assert error["type"].endswith("_error")
    assert answer.headers["x-request-id"]
    return error["code"]


def anthropic(answer: httpx.Response) -> str:
    body = answer.json()
    assert (set(body), body["type"]) == ({"type", "error", "request_id"}, "error")
    assert body["request_id"] == answer.headers["request-id"]
    assert body["error"]["type"].endswith("_error") or body["error"]["type"] == "request_too_large"
    return body["error"]["details"]["error_code"]


def gemini(answer: httpx.Response) -> str:
    error = answer.json()["error"]
    assert set(error) == {"code", "message", "status", "details"}
    assert error["code"] == answer.status_code
    assert error["status"].isupper()
    return error["details"][0]["reason"].lower()


def tei(answer: httpx.Response) -> str:
    body = answer.json()
    assert set(body) == {"error", "error_type"}
    assert body["error_type"] in ("Validation", "Tokenizer", "Overloaded", "Backend")
    return ""


def server(answer: httpx.Response) -> str:
    error = answer.json()["error"]
    assert set(error) == {"message", "type", "param", "code"}
    assert error["code"] == answer.status_code
    return ""


def litellm(answer: httpx.Response) -> str:
    error = answer.json()["error"]
    assert set(error) == {"message", "type", "param", "code"}
    assert error["code"] == str(answer.status_code)
    return ""


Shape = Callable[[httpx.Response], str]
PATHS: Mapping[str, Shape] = {
    "/v1/responses/input_tokens": openai,
    "/v1/messages/count_tokens": anthropic,
    CLAUDE_VERTEX: anthropic,
    GEMINI: gemini,
    VERTEX: gemini,
    "/tokenize": server,
    "/detokenize": server,
    "/decode": tei,
    "/utils/token_counter": litellm,
    "/spend/calculate": litellm,
    "/cost/estimate": litellm,
}
each_path = pytest.mark.parametrize(("path", "shape"), PATHS.items())


def check(answer: httpx.Response, shape: Shape, status: int, code: str) -> None:
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/json"
    assert shape(answer) in ("", code)


@each_path
def test_a_method_that_is_not_taken(api: Api, path: str, shape: Shape) -> None:
    answer = api.get(path)
    check(answer, shape, 405, "method_not_allowed")
    assert answer.headers["allow"] == "POST"


@each_path
def test_a_content_type_that_is_not_json(api: Api, path: str, shape: Shape) -> None:
    check(api.post(path, b"{}", headers={"content-type": "text/plain"}), shape, 415, "unsupported_media_type")


@each_path
def test_another_host(api: Api, path: str, shape: Shape) -> None:
    check(api.post(path, {}, headers={"host": "example.com"}), shape, 403, "bad_host")


@each_path
def test_another_origin(api: Api, path: str, shape: Shape) -> None:
    check(api.post(path, {}, headers={"origin": "https://example.com"}), shape, 403, "bad_origin")


@each_path
def test_a_body_that_is_no_json(api: Api, path: str, shape: Shape) -> None:
    for body in (b"{", b'{"a": NaN}', b"\xff", b""):
        check(api.post(path, body), shape, 400, "invalid_json")


@each_path
def test_a_body_that_is_no_object(api: Api, path: str, shape: Shape) -> None:
    status = 422 if shape is tei else 400
    for body in (b"[]", b"3", b'"text"', b"null"):
        check(api.post(path, body), shape, status, "invalid_request")


@each_path
def test_a_body_that_is_too_large(services: Services, path: str, shape: Shape) -> None:
    small = Api(build_app(replace(services, settings=replace(services.settings, max_body_bytes=1024))))
    check(small.post(path, b" " * 1025), shape, 413, "request_body_too_large")


@each_path
def test_a_body_that_is_not_what_its_encoding_says(api: Api, path: str, shape: Shape) -> None:
    answer = api.post(path, b"no gzip", headers={"content-encoding": "gzip"})
    check(answer, shape, 400, "request_body_encoding_invalid")
    answer = api.post(path, b"{}", headers={"content-encoding": "br"})
    check(answer, shape, 415, "request_body_encoding_unsupported")


@each_path
def test_a_full_queue(services: Services, path: str, shape: Shape) -> None:
    pool = CountPool(workers=1, queue_limit=0, deadline_seconds=60)
    done = threading.Event()
    occupied = pool._executor.submit(done.wait)
    pool._taken = 1
    full = Api(build_app(replace(services, pool=pool, settings=replace(services.settings, inline_bytes=0))))
    answer = full.post(path, {"model": "gpt-4o"})
    done.set()
    occupied.result()
    pool.close()
    check(answer, shape, 503, "overloaded")
    assert answer.headers["retry-after"] == "1"


@each_path
def test_a_deadline_that_passes(services: Services, path: str, shape: Shape) -> None:
    pool = CountPool(workers=1, queue_limit=1, deadline_seconds=0)
    late = Api(build_app(replace(services, pool=pool, settings=replace(services.settings, inline_bytes=0))))
    answer = late.post(path, {"model": "gpt-4o"})
    pool.close()
    check(answer, shape, 503, "deadline_exceeded")


ASKED: Mapping[str, dict[str, Any]] = {
    "/v1/responses/input_tokens": {"input": "Hello"},
    "/v1/messages/count_tokens": {"messages": [{"role": "user", "content": "Hello"}]},
    CLAUDE_VERTEX: {"messages": [{"role": "user", "content": "Hello"}]},
    "/tokenize": {"prompt": "Hello"},
    "/detokenize": {"tokens": [1]},
    "/decode": {"ids": [1]},
    "/utils/token_counter": {"prompt": "Hello"},
    "/spend/calculate": {"messages": [{"role": "user", "content": "Hello"}]},
    "/cost/estimate": {"input_tokens": 1},
}


@pytest.mark.parametrize("path", ASKED)
def test_a_model_that_nobody_knows_is_not_found(api: Api, path: str) -> None:
    answer = api.post(path, {"model": "zebra-7", **ASKED[path]})
    check(answer, PATHS[path], 404, "model_not_found" if PATHS[path] is openai else "unknown_model")
    assert "zebra" not in answer.text


@pytest.mark.parametrize("path", [GEMINI, VERTEX])
def test_a_model_in_the_path_that_nobody_knows_is_not_found(api: Api, path: str) -> None:
    answer = api.post(path.replace("gemini-2.5-flash", "zebra-7"), {"contents": "Hello"})
    check(answer, gemini, 404, "unknown_model")
    assert answer.json()["error"]["status"] == "NOT_FOUND"
    assert "zebra" not in answer.text


def test_a_model_that_vertex_does_not_sell_is_not_found_there(api: Api) -> None:
    path = "/v1/publishers/google/models/gpt-4o:countTokens"
    check(api.post(path, {"contents": "Hello"}), gemini, 404, "unknown_model")
    body = {"model": "gemini-2.5-flash", "messages": [{"role": "user", "content": "Hello"}]}
    check(api.post(CLAUDE_VERTEX, body), anthropic, 404, "unknown_model")


@pytest.mark.parametrize(
    ("path", "shape"),
    [
        ("/v1/responses", openai),
        ("/v1/chat/completions", openai),
        ("/v1/messages", anthropic),
        ("/v1/messages/batches", anthropic),
        ("/v1/projects/p/locations/l/publishers/anthropic/models/claude-sonnet-4-5:rawPredict", anthropic),
        ("/v1beta/models/gemini-2.5-flash:generateContent", gemini),
        ("/v1/models/gemini-2.5-flash:generateContent", gemini),
        ("/v1/projects/p/locations/l/publishers/google/models/gemini-2.5-flash:generateContent", gemini),
    ],
)
def test_a_vendors_other_routes_are_not_found_in_its_shape(api: Api, path: str, shape: Shape) -> None:
    check(api.post(path, {}), shape, 404, "not_found")


@pytest.mark.parametrize("path", ["/v1/nowhere", "/v9/models/gemini-2.5-flash:countTokens", "/v1/tokenise"])
def test_any_other_path_is_not_found_as_a_problem(api: Api, path: str) -> None:
    answer = api.post(path, {})
    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
    assert answer.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize(
    ("body", "shape"),
    [({"inputs": "Hello"}, tei), ({"content": "Hello"}, server), ({"prompt": "Hello"}, server)],
)
def test_the_form_of_a_body_for_tokenize_chooses_the_shape_of_its_errors(
    api: Api, body: dict[str, Any], shape: Shape
) -> None:
    check(api.post("/tokenize", {"model": "zebra-7", **body}), shape, 404, "unknown_model")
    check(api.post("/tokenize", body, headers={"content-type": "text/plain"}), shape, 415, "unsupported_media_type")


@pytest.mark.parametrize(
    ("path", "body", "param"),
    [
        ("/v1/responses/input_tokens", {"model": "gpt-4o", "input": [{"role": "user", "content": [7]}]}, "input[0]"),
        ("/v1/responses/input_tokens", {"model": 7}, "model"),
        ("/v1/responses/input_tokens", {"model": "gpt-4o"}, "input"),
    ],
)
def test_what_is_wrong_is_named_by_its_place(api: Api, path: str, body: dict[str, Any], param: str) -> None:
    answer = api.post(path, body)
    check(answer, openai, 400, "invalid_request")
    assert answer.json()["error"]["param"].startswith(param)


@pytest.mark.parametrize("status", [401, 402, 403, 408, 409, 413, 429, 500, 503, 504])
def test_the_kind_of_an_error_is_the_vendors_word_for_its_status(status: int) -> None:
    from service.api.errors import Problem
    from service.api.vendors import anthropic as claude
    from service.api.vendors import gemini as google

    problem = Problem("urn:x", "title", status, "internal_error", "detail")
    kinds = {401: "authentication_error", 402: "billing_error", 403: "permission_error", 408: "timeout_error"}
    kinds |= {409: "conflict_error", 413: "request_too_large", 429: "rate_limit_error", 500: "api_error"}
    kinds |= {503: "overloaded_error", 504: "timeout_error"}
    assert claude.SHAPE.write(problem)[1].error.type == kinds[status]
    words = {401: "UNAUTHENTICATED", 402: "FAILED_PRECONDITION", 403: "PERMISSION_DENIED", 408: "DEADLINE_EXCEEDED"}
    words |= {409: "ABORTED", 413: "INVALID_ARGUMENT", 429: "RESOURCE_EXHAUSTED", 500: "INTERNAL"}
    words |= {503: "UNAVAILABLE", 504: "DEADLINE_EXCEEDED"}
    assert google.SHAPE.write(problem)[1].error.status == words[status]


def test_an_unforeseen_error_is_a_500_in_the_vendors_shape(services: Services) -> None:
    def fail(*_: Any) -> Any:
        raise RuntimeError("zebra")

    broken = Api(build_app(replace(services, now=fail)))
    answer = broken.post(
        "/v1/messages/count_tokens", {"model": "claude-sonnet-4-5", **ASKED["/v1/messages/count_tokens"]}
    )
    check(answer, anthropic, 500, "internal_error")
    assert "zebra" not in answer.text
