"""Recorded and published counts, asked for on the vendors' own routes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx

from tests.service.conftest import Api
from tests.service.test_request_vectors import claude, vectors


def bounds(answer: httpx.Response, expected: int) -> bool:
    """Whether ``expected`` lies within the bounds that the headers state."""
    assert answer.status_code == 200, answer.text
    headers = answer.headers
    return int(headers["weighbridge-low"]) <= expected <= int(headers["weighbridge-high"])


def test_every_input_of_the_responses_api_counts_exactly(api: Api, cases: Path) -> None:
    for vector in vectors(cases, "openai_responses"):
        body = {"model": vector["model"], "input": vector["input"]["messages"]}
        answer = api.post("/v1/responses/input_tokens", body)
        assert answer.json() == {"object": "response.input_tokens", "input_tokens": vector["expected"]}, vector["id"]
        assert answer.headers["weighbridge-accuracy"] == "exact", vector["id"]


def test_claude_chats_lie_within_the_bounds_of_the_headers(api: Api, cases: Path) -> None:
    for vector in vectors(cases, "claude_chat", "claude_tools"):
        body = {**vector["input"], "model": claude(vector["model"])}
        answer = api.post("/v1/messages/count_tokens", body)
        assert bounds(answer, vector["expected"]), vector["id"]
        assert abs(answer.json()["input_tokens"] - vector["expected"]) <= max(3, 0.02 * vector["expected"])


def test_one_claude_message_lies_within_the_bounds_of_each_generation(api: Api, cases: Path) -> None:
    for vector in vectors(cases, "claude_text"):
        models = ("claude-sonnet-4-5", "claude-opus-4-7", "claude-opus-4-8")
        for model, expected in zip(models, vector["expected"], strict=True):
            body = {"model": model, "messages": [{"role": "user", "content": vector["input"]}]}
            assert bounds(api.post("/v1/messages/count_tokens", body), expected), model


def test_gemini_texts_lie_within_the_bounds_of_the_headers(api: Api, cases: Path) -> None:
    for vector in vectors(cases, "gemini_text"):
        body: dict[str, Any] = {"contents": [{"role": "user", "parts": [{"text": vector["input"]}]}]}
        vertex = "publishers/google/" if vector["formula"].endswith("+ 0") else ""
        path = f"/v1beta1/{vertex}models/{vector['model']}:countTokens"
        assert bounds(api.post(path, body), vector["expected"]), vector["id"]
