"""Bedrock's Converse, vLLM's and LiteLLM's forms."""

from __future__ import annotations

import pytest

from service.api.errors import ApiError
from service.domain.request import Document, Image, Reasoning, Text, Thinking, ToolCall, ToolChoice, ToolResult, Unknown
from tests.service.api.dialects.reading import png, read


def test_converse_blocks_go_by_their_key() -> None:
    content = [
        {"text": "hi"},
        {"image": {"format": "png", "source": {"bytes": png(30, 40)}}},
        {"document": {"format": "pdf", "name": "a", "source": {"bytes": "JVBERi0xLjcK"}}},
        {"cachePoint": {"type": "default"}},
        {"toolUse": {"toolUseId": "t", "name": "f", "input": {"a": 1}}},
        {"toolResult": {"toolUseId": "t", "content": [{"json": {"b": [2]}}, {"text": "x"}]}},
        {"reasoningContent": {"reasoningText": {"text": "hm", "signature": "s"}}},
        {"novelty": {"x": 1}},
    ]
    path = "messages[0].content"
    assert read({"messages": [{"role": "user", "content": content}]}).messages[0].parts == (
        Text("hi", f"{path}[0]"),
        Image(f"{path}[1].image", 30, 40),
        Document(f"{path}[2].document", 5, 9),
        ToolCall("f", '{"a":1}', "t", f"{path}[4].toolUse"),
        ToolResult(
            (Text('{"b":[2]}', f"{path}[5].toolResult.content[0]"), Text("x", f"{path}[5].toolResult.content[1]")),
            "t",
            path=f"{path}[5].toolResult",
        ),
        Reasoning("hm", f"{path}[6].reasoningContent"),
        Unknown('{"novelty":{"x":1}}', f"{path}[7]"),
    )


def test_converse_tools_and_settings() -> None:
    request = read(
        {
            "modelId": "anthropic.claude-sonnet-4-5",
            "system": [{"text": "be brief"}],
            "messages": [{"role": "user", "content": [{"text": "hi"}]}],
            "toolConfig": {
                "tools": [{"toolSpec": {"name": "f", "description": "d", "inputSchema": {"json": {"type": "object"}}}}],
                "toolChoice": {"tool": {"name": "f"}},
            },
            "inferenceConfig": {"maxTokens": 12},
            "additionalModelRequestFields": {"thinking": {"type": "enabled", "budget_tokens": 5}},
        }
    )
    assert request.messages[0].parts == (Text("be brief", "system[0]"),)
    assert [(tool.name, tool.description, tool.parameters) for tool in request.tools] == [
        ("f", "d", {"type": "object"})
    ]
    assert request.tool_choice == ToolChoice("named", "f", "toolConfig.toolChoice")
    assert (request.max_output_tokens, request.thinking) == (12, Thinking("enabled", 5))


def test_vllm_keeps_what_shapes_the_template() -> None:
    body = {"messages": [{"role": "user", "content": "hi"}], "add_generation_prompt": False}
    request = read(body | {"chat_template_kwargs": {"enable_thinking": False}})
    assert request.add_generation_prompt is False
    assert request.template_options == {"enable_thinking": False}
    assert read(body | {"continue_final_message": True}).continue_final_message is True


@pytest.mark.parametrize(
    "more",
    [{"prompt": "hi"}, {"continue_final_message": True, "add_generation_prompt": True}],
)
def test_vllm_refuses_what_it_cannot_count_as_asked(more: dict[str, object]) -> None:
    with pytest.raises(ApiError):
        read({"messages": [{"role": "user", "content": "hi"}], **more}, "vllm")


def test_litellm_takes_the_blocks_of_others() -> None:
    user = {"role": "user", "content": "hi"}
    mixed = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "x"}]}
    assert read({"messages": [user], "system": "s"}, "litellm").messages[0].parts == (Text("s", "system"),)
    assert isinstance(read({"messages": [mixed]}, "litellm").messages[0].parts[0], ToolResult)
    assert read({"contents": [{"parts": [{"text": "g"}]}]}, "litellm").messages[0].parts == (
        Text("g", "contents[0].parts[0]"),
    )


def test_binary_data_of_an_unknown_block_stays_out_of_its_text() -> None:
    blob = "QUJD" * 1000
    part = (
        read({"messages": [{"role": "user", "content": [{"type": "scan", "data": blob, "n": "kept"}]}]})
        .messages[0]
        .parts[0]
    )
    assert part == Unknown('{"type":"scan","data":"","n":"kept"}', "messages[0].content[0]", "scan", 3000)
