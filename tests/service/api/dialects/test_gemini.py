"""Gemini's generateContent form, in both spellings."""

from __future__ import annotations

from typing import Any

import pytest

from service.api.errors import ApiError
from service.domain.request import (
    Audio,
    Document,
    Image,
    Reasoning,
    Text,
    ToolCall,
    ToolChoice,
    ToolResult,
    Unseen,
    Video,
)
from tests.service.api.dialects.reading import png, read


def parts(*given: dict[str, Any], **body: Any) -> tuple[Any, ...]:
    return read({"contents": [{"role": "user", "parts": list(given)}], **body}).messages[0].parts


def test_contents_and_system_in_either_spelling() -> None:
    for key in ("systemInstruction", "system_instruction"):
        request = read({"contents": [{"parts": [{"text": "hi"}]}], key: {"parts": [{"text": "be brief"}]}})
        assert [(m.role, [p.text for p in m.parts]) for m in request.messages] == [  # type: ignore[union-attr]
            ("system", ["be brief"]),
            ("user", ["hi"]),
        ]


def test_the_wrapper_of_count_tokens_is_taken_off() -> None:
    inner = {"model": "models/gemini-2.5-flash", "contents": [{"role": "model", "parts": [{"text": "hi"}]}]}
    request = read({"generateContentRequest": inner})
    assert request.model == "gemini-2.5-flash"
    assert request.messages[0].role == "assistant"
    assert request.messages[0].parts == (Text("hi", "generateContentRequest.contents[0].parts[0]"),)


def test_files_by_their_media_type() -> None:
    path = "contents[0].parts"
    assert parts(
        {"inlineData": {"mimeType": "image/png", "data": png(800, 600)}},
        {"inline_data": {"mime_type": "audio/wav", "data": "AAAA"}},
        {"inlineData": {"mimeType": "application/pdf", "data": "JVBERi0xLjcK"}},
        {"fileData": {"mimeType": "video/mp4", "fileUri": "gs://x"}, "videoMetadata": {"endOffset": "12.5s", "fps": 2}},
        {"fileData": {"mimeType": "image/jpeg", "fileUri": "https://example.test"}},
        {"text": "thought", "thought": True, "thoughtSignature": "abcd"},
    ) == (
        Image(f"{path}[0]", 800, 600),
        Audio(f"{path}[1]", bytes=3),
        Document(f"{path}[2]", 5, 9),
        Video(f"{path}[3]", 12.5, fps=2.0, source="remote"),
        Image(f"{path}[4]", source="remote"),
        Reasoning("thought", f"{path}[5]", 4),
    )


def test_resolution_comes_from_the_part_or_from_the_request() -> None:
    image = {"inlineData": {"mimeType": "image/png", "data": png(800, 600)}}
    own = {**image, "mediaResolution": {"level": "MEDIA_RESOLUTION_HIGH"}}
    found = parts(image, own, generationConfig={"mediaResolution": "MEDIA_RESOLUTION_LOW"})
    assert [part.detail for part in found] == ["media_resolution_low", "media_resolution_high"]


def test_calls_and_their_answers() -> None:
    call, answer = parts(
        {"functionCall": {"name": "f", "args": {"a": 1}}},
        {"functionResponse": {"name": "f", "response": {"b": 2}}},
    )
    assert call == ToolCall("f", '{"a":1}', path="contents[0].parts[0]")
    assert answer == ToolResult(
        (Text('{"b":2}', "contents[0].parts[1].functionResponse.response"),), "", "f", "contents[0].parts[1]"
    )


def test_tools_choice_schema_and_cached_content() -> None:
    request = read(
        {
            "contents": [{"parts": [{"text": "hi"}]}],
            "tools": [
                {
                    "functionDeclarations": [
                        {"name": "f", "parameters": {"type": "OBJECT"}},
                        {"name": "g", "parametersJsonSchema": {}},
                    ]
                },
                {"google_search": {}},
            ],
            "toolConfig": {"functionCallingConfig": {"mode": "ANY"}},
            "generationConfig": {"responseSchema": {"type": "OBJECT"}, "maxOutputTokens": 5},
            "cachedContent": "cachedContents/1",
        }
    )
    assert [(tool.name, tool.kind) for tool in request.tools] == [
        ("f", "function"),
        ("g", "function"),
        ("googleSearch", "googleSearch"),
    ]
    assert request.tool_choice == ToolChoice("required", path="toolConfig.functionCallingConfig")
    assert request.response_schema is not None
    assert request.max_output_tokens == 5
    assert request.messages[0].parts == (Unseen("cache_not_included", "cachedContent"),)


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"contents": [{"role": "robot", "parts": []}]}, "contents[0].role"),
        ({"contents": [{"parts": [{"text": 5}]}]}, "contents[0].parts[0].text"),
        ({"contents": [5]}, "contents[0]"),
        (
            {"contents": [{"parts": [{"inlineData": {"mimeType": "image/png"}}]}]},
            "contents[0].parts[0].inlineData.data",
        ),
    ],
)
def test_a_wrong_shape_is_refused_with_its_path(body: dict[str, Any], path: str) -> None:
    with pytest.raises(ApiError) as refused:
        read(body)
    assert (refused.value.status, refused.value.path) == (422, path)
