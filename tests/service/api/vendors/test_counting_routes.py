"""The vendors' counting routes answer in the vendors' own shapes, with the counts of /v1/count."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from service.api.application import build_api
from service.api.openapi import examples
from service.api.services import Services
from service.app import build_app, layered
from service.domain.remote import RemoteAsk, RemoteTokens
from tests.service.api.dialects.reading import png
from tests.service.conftest import Api

TOOL = {"name": "weather", "description": "The weather of a place"}
SCHEMA = {"type": "object", "properties": {"place": {"type": "string"}}, "required": ["place"]}
OPENAI = "/v1/responses/input_tokens"
ANTHROPIC = "/v1/messages/count_tokens"


def marks(answer: Any) -> tuple[str, int, int]:
    headers = answer.headers
    return (
        headers["weighbridge-accuracy"],
        int(headers["weighbridge-low"]),
        int(headers["weighbridge-high"]),
    )


def same_as_count(api: Api, answer: Any, tokens: int, dialect: str, request: dict[str, Any], **more: Any) -> None:
    """The route's count, its bounds and its accuracy are those of /v1/count."""
    assert answer.status_code == 200, answer.text
    counted = api.count(request=request, dialect=dialect, **more)
    assert tokens == counted["tokens"]
    assert marks(answer) == (counted["accuracy"], counted["low"], counted["high"])


def test_openai_counts_a_string_exactly_as_recorded(api: Api) -> None:
    answer = api.post(OPENAI, {"model": "gpt-4o", "input": "Hello, World!"})
    assert answer.json() == {"object": "response.input_tokens", "input_tokens": 11}
    assert marks(answer) == ("exact", 11, 11)
    assert re.fullmatch(r"[0-9a-f]{32}", answer.headers["x-request-id"])


@pytest.mark.parametrize(
    "more",
    [
        {"instructions": "Answer in one sentence."},
        {"tools": [{"type": "function", **TOOL, "parameters": SCHEMA, "strict": True}], "tool_choice": "auto"},
        {"text": {"format": {"type": "json_schema", "name": "answer", "schema": SCHEMA}}},
        {"previous_response_id": "resp_1"},
        {"personality": "friendly", "parallel_tool_calls": True, "truncation": "auto", "a_field_of_next_year": {}},
    ],
)
def test_openai_counts_what_a_responses_call_may_hold(api: Api, more: dict[str, Any]) -> None:
    body = {"model": "gpt-4o", "input": [{"role": "user", "content": "Hello"}], **more}
    answer = api.post(OPENAI, body)
    same_as_count(api, answer, answer.json().get("input_tokens"), "openai_responses", body)


def test_openai_counts_a_picture(api: Api) -> None:
    url = f"data:image/png;base64,{png(1024, 1024)}"
    content = [{"type": "input_text", "text": "?"}, {"type": "input_image", "image_url": url, "detail": "high"}]
    body = {"model": "gpt-4o", "input": [{"role": "user", "content": content}]}
    answer = api.post(OPENAI, body)
    assert answer.json()["input_tokens"] > 765
    same_as_count(api, answer, answer.json()["input_tokens"], "openai_responses", body)


def test_content_that_only_the_vendor_holds_is_named_in_a_header(api: Api) -> None:
    answer = api.post(OPENAI, {"model": "gpt-4o", "input": "Hello", "previous_response_id": "resp_1"})
    assert answer.headers["weighbridge-warnings"] == "history_not_included"
    accuracy, low, high = marks(answer)
    assert accuracy == "approximate"
    assert low < high


@pytest.mark.parametrize("path", [ANTHROPIC, f"{ANTHROPIC}?beta=true"])
def test_anthropic_counts_with_its_id_in_its_own_header(api: Api, path: str) -> None:
    body = {
        "model": "claude-sonnet-4-5",
        "system": [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}],
        "messages": [{"role": "user", "content": "Hello"}],
        "tools": [{**TOOL, "input_schema": SCHEMA}],
        "thinking": {"type": "enabled", "budget_tokens": 1024},
        "speed": "fast",
    }
    answer = api.post(path, body, headers={"x-request-id": "id-7", "anthropic-version": "2099-01-01"})
    assert list(answer.json()) == ["input_tokens"]
    assert (answer.headers["request-id"], answer.headers["x-request-id"]) == ("id-7", "id-7")
    same_as_count(api, answer, answer.json()["input_tokens"], "anthropic", body)


GEMINI = {"contents": [{"role": "user", "parts": [{"text": "What is a weighbridge?"}]}]}


@pytest.mark.parametrize("version", ["v1", "v1beta", "v1beta1"])
def test_gemini_counts_on_every_version(api: Api, version: str) -> None:
    answer = api.post(f"/{version}/models/gemini-2.5-flash:countTokens?key=secret", GEMINI)
    tokens = answer.json()["totalTokens"]
    assert answer.json() == {
        "totalTokens": tokens,
        "promptTokensDetails": [{"modality": "TEXT", "tokenCount": tokens}],
    }
    same_as_count(api, answer, tokens, "gemini", GEMINI, model="gemini-2.5-flash")


VERTEX = "publishers/google/models/gemini-2.5-flash:countTokens"


@pytest.mark.parametrize("path", [f"/v1/{VERTEX}", f"/v1beta1/{VERTEX}", f"/v1/projects/p-1/locations/global/{VERTEX}"])
def test_vertex_counts_with_its_own_framing_and_the_characters_that_it_bills(api: Api, path: str) -> None:
    body = GEMINI | {"systemInstruction": {"parts": [{"text": "Be brief.\n\tÄ 世"}]}}
    answer = api.post(path, body)
    assert answer.json()["totalBillableCharacters"] == len("Whatisaweighbridge?Bebrief.Ä世")
    same_as_count(api, answer, answer.json()["totalTokens"], "gemini", body, model="vertex_ai/gemini-2.5-flash")


@pytest.mark.parametrize("name", ["generateContentRequest", "generate_content_request"])
def test_gemini_counts_a_whole_generate_content_request(api: Api, name: str) -> None:
    inner = {**GEMINI, "model": "models/gemini-2.5-flash", "system_instruction": {"parts": [{"text": "Be brief."}]}}
    answer = api.post("/v1beta/models/gemini-2.5-flash:countTokens", {name: inner})
    same_as_count(api, answer, answer.json()["totalTokens"], "gemini", inner)
    both = api.post("/v1beta/models/gemini-2.5-flash:countTokens", {name: inner, **GEMINI})
    assert (both.status_code, both.json()["error"]["status"]) == (400, "INVALID_ARGUMENT")


def test_gemini_tells_the_kinds_of_content_apart(api: Api) -> None:
    inline = {"mimeType": "image/png", "data": png(300, 300)}
    sound = {"fileData": {"mimeType": "audio/mp3", "fileUri": "https://example.com/a.mp3"}}
    parts = [{"text": "What is this?"}, {"inlineData": inline}, {"inlineData": inline}, sound]
    body = {"contents": [{"parts": parts}]}
    answer = api.post("/v1beta/models/gemini-2.5-flash:countTokens", body).json()
    counted = api.count(model="gemini-2.5-flash", request=body, dialect="gemini")
    told = {row["modality"]: row["tokenCount"] for row in answer["promptTokensDetails"]}
    assert told["IMAGE"] == 2 * 258
    assert sum(told.values()) == answer["totalTokens"] == counted["tokens"]
    assert told["TEXT"] == counted["tokens"] - counted["breakdown"]["images"]


def with_default(services: Services, model: str) -> Api:
    return Api(build_app(replace(services, settings=replace(services.settings, default_model=model))))


@pytest.mark.parametrize(
    ("path", "body"),
    [
        (OPENAI, {"input": "Hello"}),
        (ANTHROPIC, {"messages": [{"role": "user", "content": "Hello"}]}),
        ("/utils/token_counter", {"prompt": "Hello"}),
        ("/tokenize", {"prompt": "Hello"}),
        ("/tokenize", {"inputs": "Hello"}),
        ("/tokenize", {"content": "Hello"}),
        ("/detokenize", {"tokens": [9707]}),
        ("/decode", {"ids": [9707]}),
        ("/cost/estimate", {"input_tokens": 1}),
    ],
)
def test_a_body_without_a_model_is_answered_by_the_default_one_or_names_the_setting(
    api: Api, services: Services, path: str, body: dict[str, Any]
) -> None:
    refused = api.post(path, body)
    assert (refused.status_code, "WEIGHBRIDGE_DEFAULT_MODEL" in refused.text) == (400, True)
    model = "gpt-4o" if path == "/cost/estimate" else "qwen3-8b"
    answered = with_default(services, model).post(path, body)
    assert answered.status_code == 200, answered.text
    assert answered.content == api.post(path, {"model": model, **body}).content
    assert answered.headers["weighbridge-accuracy"] in ("exact", "close")


class Vendor:
    """Stands in the place of a vendor's endpoint, and counts 4711."""

    def serves(self, provider: str) -> bool:
        return provider == "anthropic"

    async def tokens(self, ask: RemoteAsk) -> RemoteTokens:
        assert ask.sent is not None
        return RemoteTokens(4711, remembered=False)


def test_where_the_operator_chose_so_the_vendor_is_asked_and_its_count_answered(services: Services) -> None:
    settings = replace(services.settings, remote="when_inexact")
    asking = Api(build_app(replace(services, settings=settings, remote=Vendor())))
    body = {"model": "claude-sonnet-4-5", "messages": [{"role": "user", "content": "Hello"}]}
    answer = asking.post(ANTHROPIC, body)
    assert answer.json() == {"input_tokens": 4711}
    assert marks(answer) == ("close", 4711, 4711)
    plain = Api(build_app(replace(services, remote=Vendor())))
    assert plain.post("/utils/token_counter", body).json()["total_tokens"] < 100
    assert plain.post("/utils/token_counter?call_endpoint=true", body).json()["total_tokens"] == 4711


def test_a_large_body_is_counted_in_the_pool_with_the_same_answer(api: Api) -> None:
    body = {"model": "gpt-4o", "input": "a truck, weighed; " * 4000}
    answer = api.post(OPENAI, body)
    same_as_count(api, answer, answer.json()["input_tokens"], "openai_responses", body)


def test_a_lone_surrogate_is_counted_and_named(api: Api) -> None:
    answer = api.post(OPENAI, b'{"model": "gpt-4o", "input": "Hi \\ud83d"}')
    assert answer.status_code == 200
    assert answer.headers["weighbridge-warnings"] == "lone_surrogate"


def test_metrics_name_the_route_by_its_template_and_hold_no_key(api: Api, services: Services) -> None:
    api.post("/v1beta/models/gemini-2.5-flash:countTokens?key=topsecret7", GEMINI)
    api.post("/v1beta/models/zebra7:countTokens", GEMINI)
    text = services.metrics.render().decode()
    route = 'route="/{version}/models/{model}:countTokens"'
    assert f'weighbridge_http_requests_total{{method="POST",{route},status="200"}}' in text
    assert f'weighbridge_http_requests_total{{method="POST",{route},status="404"}}' in text
    assert "topsecret7" not in text
    assert "zebra7" not in text


@pytest.mark.parametrize("name", [name for name, example in examples().items() if "route" in example])
def test_the_frameworks_own_route_answers_as_the_hot_one(api: Api, services: Services, name: str) -> None:
    framework = Api(layered(build_api(services), services))
    example = examples()[name]
    answers = [each.post(example["route"], example["request"]) for each in (framework, api)]
    assert answers[0].content == answers[1].content
    told = [{key: value for key, value in answer.headers.items() if "id" not in key} for answer in answers]
    assert told[0] == told[1]
