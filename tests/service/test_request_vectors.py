"""Recorded and published counts of whole requests: exact where the rule is proven, within the bounds everywhere."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

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
