"""Anthropic's Messages form."""

from __future__ import annotations

from typing import Any

import pytest

from service.api.errors import ApiError
from service.domain.request import (
    Document,
    Image,
    Reasoning,
    Text,
    Thinking,
    ToolCall,
    ToolChoice,
    ToolResult,
    Unknown,
    Unseen,
)
from tests.service.api.dialects.reading import png, read


def blocks(*content: dict[str, Any]) -> tuple[Any, ...]:
    return read({"messages": [{"role": "user", "content": list(content)}]}, "anthropic").messages[0].parts


def test_system_comes_first_whether_string_or_blocks() -> None:
    for system in ("be brief", [{"type": "text", "text": "be brief", "cache_control": {"type": "ephemeral"}}]):
        request = read({"system": system, "messages": [{"role": "user", "content": "hi"}]})
        assert [message.role for message in request.messages] == ["system", "user"]
        assert [part.text for part in request.messages[0].parts] == ["be brief"]  # type: ignore[union-attr]


def test_an_empty_system_is_none() -> None:
    assert len(read({"system": [], "messages": [{"role": "user", "content": "hi"}]}, "anthropic").messages) == 1


def test_a_tool_result_may_hold_blocks() -> None:
    """Nested blocks of a result are counted each by its own rule."""
    result = {
        "type": "tool_result",
        "tool_use_id": "t1",
        "content": [
            {"type": "text", "text": "rain"},
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": png(200, 100)}},
            {"type": "weird", "x": 1},
        ],
    }
    path = "messages[0].content[0].content"
    assert blocks(result) == (
        ToolResult(
            (
                Text("rain", f"{path}[0]"),
                Image(f"{path}[1]", 200, 100),
                Unknown('{"type":"weird","x":1}', f"{path}[2]", "weird"),
            ),
            "t1",
            path="messages[0].content[0]",
        ),
    )


def test_every_kind_of_source_is_told_apart() -> None:
    path = "messages[0].content"
    assert blocks(
        {"type": "image", "source": {"type": "url", "url": "http://169.254.169.254/x.png"}},
        {"type": "image", "source": {"type": "file", "file_id": "f"}},
        {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0xLjcK"}},
        {"type": "document", "source": {"type": "url", "url": "https://example.test"}},
        {"type": "document", "source": {"type": "file", "file_id": "f"}},
        {"type": "document", "title": "T", "source": {"type": "text", "media_type": "text/plain", "data": "plain"}},
        {"type": "container_upload", "file_id": "f"},
    ) == (
        Image(f"{path}[0]", source="remote"),
        Image(f"{path}[1]", source="file"),
        Document(f"{path}[2]", 5, 9),
        Document(f"{path}[3]", source="remote"),
        Unseen("file_not_included", f"{path}[4]"),
        Text("T", f"{path}[5].title"),
        Text("plain", f"{path}[5].source.data"),
        Unseen("file_not_included", f"{path}[6]"),
    )


def test_calls_and_thoughts_of_the_model() -> None:
    assert blocks(
        {"type": "thinking", "thinking": "hm", "signature": "s" * 40},
        {"type": "redacted_thinking", "data": "r" * 40},
        {"type": "tool_use", "id": "t1", "name": "f", "input": {"a": [1, "é"]}},
    ) == (
        Reasoning("hm", "messages[0].content[0]"),
        Reasoning("", "messages[0].content[1]", 40),
        ToolCall("f", '{"a":[1,"é"]}', "t1", "messages[0].content[2]"),
    )


def test_tools_choice_thinking_and_answer_schema() -> None:
    request = read(
        {
            "messages": [{"role": "user", "content": "hi"}],
            "tools": [
                {"name": "f", "input_schema": {"type": "object"}},
                {"type": "bash_20250124", "name": "bash"},
            ],
            "tool_choice": {"type": "tool", "name": "f", "disable_parallel_tool_use": True},
            "thinking": {"type": "enabled", "budget_tokens": 2000},
            "output_config": {"effort": "low", "format": {"type": "json_schema", "schema": {"type": "object"}}},
            "mcp_servers": [{"type": "url", "url": "https://example.test", "name": "m"}],
            "max_tokens": 99,
        }
    )
    assert [(tool.name, tool.kind) for tool in request.tools] == [("f", "function"), ("bash", "bash_20250124")]
    assert request.tool_choice == ToolChoice("named", "f", "tool_choice")
    assert request.thinking == Thinking("enabled", 2000)
    assert request.response_schema is not None
    assert request.messages[0].parts == (Unseen("tools_not_included", "mcp_servers[0]"),)
    assert request.max_output_tokens == 99
    assert request.notices == ()


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"messages": [{"role": "user"}]}, "messages[0].content"),
        ({"messages": [{"role": "user", "content": [{"type": "image"}]}]}, "messages[0].content[0].source"),
        ({"messages": [{"role": "user", "content": [{"type": "text", "text": 5}]}]}, "messages[0].content[0].text"),
        ({"messages": [{"role": "user", "content": "x"}], "tool_choice": {"type": "maybe"}}, "tool_choice.type"),
        ({"messages": [{"role": "user", "content": "x"}], "thinking": {"type": "loud"}}, "thinking.type"),
        ({"messages": [{"role": "user", "content": "x"}], "tools": [{"input_schema": {}}]}, "tools[0].name"),
        ({"messages": [{"role": "user", "content": "x"}], "system": [{"type": "image"}]}, "system[0].type"),
    ],
)
def test_a_wrong_shape_is_refused_with_its_path(body: dict[str, Any], path: str) -> None:
    with pytest.raises(ApiError) as refused:
        read(body, "anthropic")
    assert (refused.value.status, refused.value.path) == (422, path)
