"""Recorded and published counts of whole requests: exact where the rule is proven, within the bounds everywhere."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from tests.service.api.dialects.reading import png
from tests.service.conftest import Api

CHAT = ("openai_chat", "openai_chat_tools", "openai_chat_functions")


def vectors(cases: Path, *kinds: str) -> Iterator[dict[str, Any]]:
    lines = (json.loads(line) for line in (cases / "vectors.jsonl").read_text().splitlines())
    found = [vector for vector in lines if vector["kind"] in kinds]
    assert found, f"no vector of {kinds}"
    yield from found


def wrong(answer: dict[str, Any], expected: int) -> bool:
    """Whether the answer contradicts what was recorded, or itself."""
    inside = answer["low"] <= expected <= answer["high"]
    exact = answer["accuracy"] == "exact"
    summed = sum(answer["breakdown"].values()) == answer["tokens"]
    return not inside or not summed or (exact and answer["tokens"] != expected)


def test_texts_count_exactly(api: Api, cases: Path) -> None:
    for vector in vectors(cases, "text"):
        assert api.count(tokenizer=vector["model"], text=vector["input"])["tokens"] == vector["expected"], vector["id"]


@pytest.mark.parametrize("kind", CHAT)
def test_every_chat_completion_counts_as_recorded(api: Api, cases: Path, kind: str) -> None:
    for vector in vectors(cases, kind):
        whole = api.count(model=vector["model"], request=vector["input"])
        assert (whole["tokens"], wrong(whole, vector["expected"])) == (vector["expected"], False), vector["id"]
        tooled = "tools" in vector["input"] or "functions" in vector["input"]
        called = any(message["role"] == "function" for message in vector["input"]["messages"])
        assert (whole["accuracy"] == "exact") == (not tooled and not called), vector["id"]


def test_every_input_of_the_responses_api_counts_exactly(api: Api, cases: Path) -> None:
    for vector in vectors(cases, "openai_responses"):
        body = {"model": vector["model"], "input": vector["input"]["messages"]}
        answer = api.count(request=body)
        assert (answer["tokens"], answer["accuracy"]) == (vector["expected"], "exact"), vector["id"]


def claude(name: str) -> str:
    return {"claude (v3 family)": "claude-sonnet-4-5"}.get(name, name)


def test_claude_chats_come_out_as_recorded_and_closely(api: Api, cases: Path) -> None:
    for vector in vectors(cases, "claude_chat", "claude_tools"):
        answer = api.count(model=claude(vector["model"]), request=vector["input"], dialect="anthropic")
        assert not wrong(answer, vector["expected"]), vector["id"]
        assert (answer["tokens"], answer["accuracy"]) == (vector["expected"], "close"), vector["id"]


def test_one_claude_message_comes_out_as_published_for_each_generation(api: Api, cases: Path) -> None:
    for vector in vectors(cases, "claude_text"):
        for model, expected in zip(
            ("claude-sonnet-4-5", "claude-opus-4-7", "claude-opus-4-8"), vector["expected"], strict=True
        ):
            answer = api.count(model=model, text=vector["input"], **{"as": "message"})
            assert (answer["tokens"], wrong(answer, expected)) == (expected, False), model


def test_gemini_texts_lie_within_their_bounds(api: Api, cases: Path) -> None:
    for vector in vectors(cases, "gemini_text"):
        body = {"contents": [{"role": "user", "parts": [{"text": vector["input"]}]}]}
        seller = {"provider": "vertex_ai"} if vector["formula"].endswith("+ 0") else {}
        assert not wrong(api.count(model=vector["model"], request=body, **seller), vector["expected"]), vector["id"]


def test_mistral_and_deepseek_chats_come_out_as_recorded(api: Api, cases: Path) -> None:
    for vector in vectors(cases, "mistral_chat", "deepseek_chat"):
        answer = api.count(model=vector["model"].split(" ")[0], messages=vector["input"])
        assert (answer["tokens"], wrong(answer, vector["expected"])) == (vector["expected"], False), vector["id"]


def test_a_text_that_only_its_vendor_can_count_lies_within_its_bounds(api: Api, cases: Path) -> None:
    for vector in vectors(cases, "xai_text"):
        assert not wrong(api.count(model=vector["model"], text=vector["input"]), vector["expected"]["count"])


def picture(vector: dict[str, Any]) -> str:
    return f"data:image/png;base64,{png(vector['input']['width'], vector['input']['height'])}"


def test_pictures_of_openai_take_what_is_documented(api: Api, cases: Path) -> None:
    for vector in vectors(cases, "openai_image"):
        url = {"url": picture(vector), "detail": vector["input"]["detail"]}
        content = [{"type": "image_url", "image_url": url}]
        answer = api.count(model=vector["model"], messages=[{"role": "user", "content": content}])
        assert (answer["breakdown"]["images"], answer["accuracy"]) == (vector["expected"], "exact"), vector["id"]


def test_pictures_of_claude_take_what_is_documented(api: Api, cases: Path) -> None:
    for vector in vectors(cases, "claude_image"):
        model = "claude-opus-4-8" if "high-res" in vector["model"] else "claude-sonnet-4-5"
        source = {"type": "base64", "media_type": "image/png", "data": picture(vector).partition(",")[2]}
        messages = [{"role": "user", "content": [{"type": "image", "source": source}]}]
        answer = api.count(model=model, messages=messages)
        assert answer["breakdown"]["images"] == vector["expected"], vector["id"]


def test_patches_before_the_multiplier_are_as_documented(api: Api, cases: Path) -> None:
    """In the text of early 2026, with its budget of 1,536 patches: the picture's tokens are the patches times 1.62."""
    for vector in vectors(cases, "openai_image_patches"):
        content = [{"type": "image_url", "image_url": {"url": picture(vector)}}]
        body = {
            "model": "gpt-4.1-mini",
            "messages": [{"role": "user", "content": content}],
            "at": "2026-01-15T00:00:00Z",
        }
        answer = api.post("/v1/estimate", body).json()
        assert answer["breakdown"]["images"] == math.ceil(Decimal(vector["expected"]) * Decimal("1.62"))
