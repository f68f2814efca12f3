"""Which wire form a body is taken for, and what is refused as doubtful."""

from __future__ import annotations

from typing import Any

import pytest

from service.api.dialects.registry import FORMS, recognise
from service.api.errors import ApiError
from tests.service.api.dialects.reading import read

HI = [{"role": "user", "content": "hi"}]
BODIES: list[tuple[str, dict[str, Any]]] = [
    ("openai_chat", {"messages": HI}),
    ("openai_chat", {"messages": [{"role": "developer", "content": "x"}, *HI], "thinking": {"type": "enabled"}}),
    ("openai_chat", {"messages": HI, "functions": []}),
    ("openai_chat", {"messages": HI, "tools": [{"type": "function", "function": {"name": "f"}}]}),
    ("openai_chat", {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}]}),
    ("openai_responses", {"input": "hi"}),
    ("openai_responses", {"model": "gpt-5", "previous_response_id": "r", "input": HI}),
    ("anthropic", {"system": "be brief", "messages": HI}),
    ("anthropic", {"messages": HI, "tools": [{"name": "f", "input_schema": {"type": "object"}}]}),
    ("anthropic", {"messages": HI, "thinking": {"type": "adaptive"}}),
    ("anthropic", {"messages": HI, "tool_choice": {"type": "any"}}),
    ("anthropic", {"messages": [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t"}]}]}),
    ("gemini", {"contents": [{"parts": [{"text": "hi"}]}]}),
    ("gemini", {"generateContentRequest": {"contents": []}}),
    ("bedrock", {"messages": [{"role": "user", "content": [{"text": "hi"}]}]}),
    ("bedrock", {"modelId": "m", "messages": [], "toolConfig": {"tools": []}}),
    ("vllm", {"messages": HI, "add_generation_prompt": False}),
    ("vllm", {"messages": HI, "chat_template_kwargs": {}, "tools": [{"type": "function", "function": {"name": "f"}}]}),
    ("litellm", {"messages": HI, "call_endpoint": True}),
]


@pytest.mark.parametrize(("dialect", "body"), BODIES)
def test_a_body_shows_its_wire_form(dialect: str, body: dict[str, Any]) -> None:
    assert recognise(body) == dialect


@pytest.mark.parametrize(
    "body",
    [
        {"messages": HI, "contents": []},
        {"messages": HI, "input": "hi", "system": "x"},
        {"messages": HI, "response_format": {}, "tools": [{"name": "f", "input_schema": {}}]},
    ],
)
def test_fields_of_two_forms_are_refused_until_one_is_named(body: dict[str, Any]) -> None:
    with pytest.raises(ApiError) as refused:
        recognise(body)
    assert refused.value.code == "ambiguous_dialect"
    assert "`dialect`" in refused.value.detail


def test_a_plain_chat_reads_the_same_in_every_form_that_could_be_meant() -> None:
    body = {"messages": [*HI, {"role": "assistant", "content": "hello"}]}
    assert read(body, "openai_chat").messages == read(body, "anthropic").messages == read(body, "litellm").messages


def test_every_form_has_an_example_above() -> None:
    assert {dialect for dialect, _ in BODIES} == set(FORMS)
