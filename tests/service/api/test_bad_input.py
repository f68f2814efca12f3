"""Bad input gets a clear 4xx that repeats nothing of it; never a 500."""

from __future__ import annotations

import json

import pytest

MARK = "zebra7secret"
DEEP = b"[" * 3_000_000
PROBLEMS = {
    "empty": (b"", 400, "invalid_json"),
    "not json": (b"text", 400, "invalid_json"),
    "cut short": (b'{"model": "gpt-4o", "text": "Hel', 400, "invalid_json"),
    "two values": (b'{"model": "gpt-4o", "text": ""} {}', 400, "invalid_json"),
    "a list": (b"[]", 422, "invalid_request"),
    "null": (b"null", 422, "invalid_request"),
    "deep list": (DEEP, 400, "invalid_json"),
    "deep object": (b'{"a":' * 1_000_000, 400, "invalid_json"),
    "deep text": (b'{"model": "gpt-4o", "text": ' + DEEP, 400, "invalid_json"),
    "invalid utf-8": (b'{"model": "gpt-4o", "text": "\xff"}', 400, "invalid_json"),
    "utf-16": ('{"model": "gpt-4o", "text": ""}'.encode("utf-16"), 400, "invalid_json"),
    "utf-8 mark": (b'\xef\xbb\xbf{"model": "gpt-4o", "text": ""}', 400, "invalid_json"),
    "raw nul": (b'{"model": "gpt-4o", "text": "\0"}', 400, "invalid_json"),
    "raw newline": (b'{"model": "gpt-4o", "text": "a\nb"}', 400, "invalid_json"),
    "nan": (b'{"model": "gpt-4o", "text": NaN}', 400, "invalid_json"),
    "infinity": (b'{"model": "gpt-4o", "text": -Infinity}', 400, "invalid_json"),
    "number beyond a double": (b'{"model": "gpt-4o", "text": 1e999}', 400, "invalid_json"),
    "100,000 digits": (b'{"model": "gpt-4o", "text": ' + b"9" * 100_000 + b"}", 400, "invalid_json"),
    "text is a number": (b'{"model": "gpt-4o", "text": 7}', 422, "invalid_request"),
    "text is null": (b'{"model": "gpt-4o", "text": null}', 422, "invalid_request"),
    "texts hold null": (b'{"model": "gpt-4o", "texts": ["a", null]}', 422, "invalid_request"),
    "no model": (b'{"text": "a"}', 422, "invalid_request"),
    "no text": (b'{"model": "gpt-4o"}', 422, "invalid_request"),
    "model and tokenizer": (b'{"model": "gpt-4o", "tokenizer": "qwen", "text": ""}', 422, "invalid_request"),
    "text and texts": (b'{"model": "gpt-4o", "text": "", "texts": []}', 422, "invalid_request"),
    "provider of a tokenizer": (b'{"provider": "openai", "tokenizer": "qwen", "text": ""}', 422, "invalid_request"),
    "empty model": (b'{"model": "", "text": ""}', 422, "invalid_request"),
    "blank model": (b'{"model": "  ", "text": ""}', 422, "unknown_model"),
    "model of 600 characters": (json.dumps({"model": "m" * 600, "text": ""}).encode(), 422, "invalid_request"),
    "model with a lone surrogate": (b'{"model": "\\ud83d", "text": ""}', 422, "unknown_model"),
    "lone surrogate in a key": (b'{"\\ud800": 1, "tokenizer": "o200k_base", "text": "a"}', 422, "invalid_request"),
    "lone surrogate in an enum": (
        b'{"tokenizer": "o200k_base", "text": "a", "special_tokens": "\\ud800"}',
        422,
        "invalid_request",
    ),
    "special_tokens other": (b'{"model": "gpt-4o", "text": "", "special_tokens": "all"}', 422, "invalid_request"),
    "strict is a string": (b'{"model": "gpt-4o", "text": "", "strict": "yes"}', 422, "invalid_request"),
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_a_bad_body_is_refused_with_its_code(api, name):
    body, status, code = PROBLEMS[name]
    answer = api.post("/v1/count", body)
    problem = answer.json()
    assert (answer.status_code, problem["code"], problem["status"]) == (status, code, status)
    assert answer.headers["content-type"] == "application/problem+json"
    assert problem["detail"]
    assert problem["title"]
    assert problem["request_id"] == answer.headers["x-request-id"]


@pytest.mark.parametrize(
    "body",
    [
        {"model": MARK, "text": "a"},
        {"tokenizer": MARK, "text": "a"},
        {"model": "gpt-4o", "provider": MARK, "text": "a"},
        {"model": "gpt-4o", "text": "a", MARK: 1},
        {"model": "gpt-4o", "text": "a", "special_tokens": MARK},
        {"model": "gpt-4o", "texts": MARK},
        {"model": "gpt-4o", "text": [MARK]},
        {"model": "claude-sonnet-4-5", "text": MARK, "strict": True},
    ],
)
def test_a_problem_repeats_no_value_and_no_name_of_the_callers(api, body):
    answer = api.post("/v1/count", body)
    assert answer.status_code == 422
    assert MARK not in answer.text
    assert MARK not in str(answer.headers)


@pytest.mark.parametrize("tokenizer", ["cl100k_base", "tekken", "deepseek", "bert_uncased", "mistral_v3"])
def test_an_id_outside_the_vocabulary_is_refused_without_being_repeated(api, tokenizer):
    answer = api.post("/v1/detokenize", {"tokenizer": tokenizer, "ids": [2_147_483_641]})
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid_ids")
    assert "2147483641" not in answer.text


def test_two_hosts_are_refused(api):
    answer = api.get("/v1/models", headers=[("host", "evil.example"), ("host", "localhost")])
    assert (answer.status_code, answer.json()["code"]) == (400, "bad_host")


@pytest.mark.parametrize("path", ["/livez", "/readyz", "/metrics"])
def test_probes_may_be_asked_for_their_head_alone(api, path):
    assert api.request("HEAD", path).status_code == 200


def test_malformed_json_is_named_with_its_place_but_not_its_text(api):
    answer = api.post("/v1/count", b'{"model": "gpt-4o",\n "text": "zebra7secret" oops}')
    assert "line 2, column 25" in answer.json()["detail"]
    assert MARK not in answer.text


def test_a_wrong_type_is_named_with_its_path(api):
    assert api.post("/v1/count", {"model": "gpt-4o", "texts": ["a", 5]}).json()["path"] == "texts[1]"


def test_an_unknown_field_is_answered_with_the_allowed_ones(api):
    detail = api.post("/v1/count", {"model": "gpt-4o", "text": "", "texxt": ""}).json()["detail"]
    assert "special_tokens" in detail
    assert "texxt" not in detail


@pytest.mark.parametrize("kind", ["", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data"])
def test_a_body_that_is_not_called_json_is_refused(api, kind):
    answer = api.request("POST", "/v1/count", content=b"{}", headers={"content-type": kind})
    assert (answer.status_code, answer.json()["code"]) == (415, "unsupported_media_type")


@pytest.mark.parametrize("kind", ["application/json", "Application/JSON; charset=utf-8", "application/vnd.x+json"])
def test_json_media_types_are_taken(api, kind):
    body = b'{"model": "gpt-4o", "text": ""}'
    assert api.request("POST", "/v1/count", content=body, headers={"content-type": kind}).status_code == 200


@pytest.mark.parametrize("path", ["/", "/v1", "/v1/counts", "/v1/count/", "/%00", "/v1/models/../../etc", "/\ud7ff"])
def test_an_unknown_path_is_a_problem(api, path):
    answer = api.get(path)
    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
    assert answer.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize(
    ("method", "path", "allow"),
    [
        ("GET", "/v1/count", "POST"),
        ("DELETE", "/v1/models", "GET"),
        ("PUT", "/v1/tokenize", "POST"),
        ("BREW", "/livez", "GET"),
    ],
)
def test_a_wrong_method_is_a_problem_that_names_the_right_one(api, method, path, allow):
    answer = api.request(method, path, headers={"content-type": "application/json"})
    assert (answer.status_code, answer.json()["code"]) == (405, "method_not_allowed")
    assert answer.headers["allow"] == allow


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example:8000", "", "[::2]", "a@localhost:x"]
)
def test_a_foreign_host_is_refused(api, host):
    answer = api.get("/v1/models", headers={"host": host})
    assert (answer.status_code, answer.json()["code"]) == (403, "bad_host")


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:8000", "127.0.0.1:8000", "[::1]:8000", "[::1]"])
def test_this_machines_names_are_taken(api, host):
    assert api.get("/v1/models", headers={"host": host}).status_code == 200


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "http://localhost:3000", "http://localhost.evil.example"]
)
def test_a_foreign_origin_is_refused(api, origin):
    answer = api.post(
        "/v1/count", {"model": "gpt-4o", "text": ""}, headers={"origin": origin, "host": "localhost:8000"}
    )
    assert (answer.status_code, answer.json()["code"]) == (403, "bad_origin")


def test_a_page_of_the_service_itself_may_ask(api):
    headers = {"origin": "http://localhost:8000", "host": "localhost:8000"}
    assert api.post("/v1/count", {"model": "gpt-4o", "text": ""}, headers=headers).status_code == 200


@pytest.mark.parametrize("path", ["/livez", "/readyz"])
def test_probes_answer_under_any_host(api, path):
    assert api.get(path, headers={"host": "10.1.2.3:8000"}).json()["status"] == "ok"


def test_a_request_id_is_given_back_and_a_strange_one_is_replaced(api):
    assert api.get("/livez", headers={"x-request-id": "abc-1:2.3_4"}).headers["x-request-id"] == "abc-1:2.3_4"
    strange = api.get("/livez", headers={"x-request-id": "a b\tc"}).headers["x-request-id"]
    assert len(strange) == 32
