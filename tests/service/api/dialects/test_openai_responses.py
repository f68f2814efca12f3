"""OpenAI's Responses form."""

from __future__ import annotations

from service.domain.request import (
    Audio,
    Document,
    Image,
    Reasoning,
    Text,
    ToolCall,
    ToolChoice,
    ToolResult,
    Unknown,
    Unseen,
)
from tests.service.api.dialects.reading import png, read


def test_input_text_is_one_user_message() -> None:
    request = read({"model": "gpt-5", "input": "hi", "instructions": "be brief", "max_output_tokens": 7})
    assert [(m.role, m.parts) for m in request.messages] == [
        ("developer", (Text("be brief", "instructions"),)),
        ("user", (Text("hi", "input"),)),
    ]
    assert (request.model, request.max_output_tokens, request.dialect) == ("gpt-5", 7, "openai_responses")


def test_items_keep_their_order_and_their_paths() -> None:
    request = read(
        {
            "input": [
                {"role": "user", "content": [{"type": "input_text", "text": "weather?"}]},
                {
                    "type": "reasoning",
                    "summary": [{"type": "summary_text", "text": "look it up"}],
                    "encrypted_content": "abcd",
                },
                {"type": "function_call", "call_id": "c1", "name": "weather", "arguments": '{"in":"Oslo"}'},
                {"type": "function_call_output", "call_id": "c1", "output": "rain"},
                {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Rain."}]},
                {"type": "item_reference", "id": "x"},
                {"type": "web_search_call", "id": "w"},
            ]
        }
    )
    user, answer, tool, text, referred, search = request.messages
    assert user.parts == (Text("weather?", "input[0].content[0]"),)
    assert answer.role == "assistant"
    assert answer.parts == (
        Reasoning("look it up", "input[1]", 4),
        ToolCall("weather", '{"in":"Oslo"}', "c1", "input[2]"),
    )
    assert tool.role == "tool"
    assert tool.parts == (ToolResult((Text("rain", "input[3].output"),), "c1", path="input[3]"),)
    assert text.parts == (Text("Rain.", "input[4].content[0]"),)
    assert referred.parts == (Unseen("history_not_included", "input[5]"),)
    assert search.parts == (Unknown('{"type":"web_search_call","id":"w"}', "input[6]", "web_search_call"),)


def test_files_and_pictures_are_measured_where_they_are_in_the_body() -> None:
    pdf = "data:application/pdf;base64,JVBERi0xLjcK"
    blocks = [
        {"type": "input_image", "image_url": f"data:image/png;base64,{png(640, 480)}", "detail": "low"},
        {"type": "input_image", "file_id": "f"},
        {"type": "input_file", "file_data": pdf, "filename": "a.pdf"},
        {"type": "input_file", "file_id": "f"},
        {"type": "input_file", "file_url": "https://example.test/a.pdf"},
        {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "mp3"}},
    ]
    parts = read({"input": [{"role": "user", "content": blocks}]}).messages[0].parts
    assert parts == (
        Image("input[0].content[0]", 640, 480, "low"),
        Image("input[0].content[1]", source="file"),
        Document("input[0].content[2]", 5, 9),
        Unseen("file_not_included", "input[0].content[3]"),
        Document("input[0].content[4]", source="remote"),
        Audio("input[0].content[5]", bytes=3),
    )


def test_what_the_vendor_keeps_is_named() -> None:
    body = {"input": "go on", "previous_response_id": "r1", "conversation": "c1", "prompt": {"id": "p"}}
    parts = read(body).messages[0].parts
    assert parts == (
        Unseen("history_not_included", "previous_response_id"),
        Unseen("history_not_included", "conversation"),
        Unseen("prompt_not_included", "prompt"),
    )


def test_flat_tools_choice_and_answer_schema() -> None:
    request = read(
        {
            "input": "hi",
            "tools": [
                {"type": "function", "name": "f", "description": "d", "parameters": {"type": "object"}, "strict": True},
                {"type": "web_search"},
            ],
            "tool_choice": {"type": "function", "name": "f"},
            "text": {"format": {"type": "json_schema", "name": "n", "schema": {"type": "object"}}},
        }
    )
    own, hosted = request.tools
    assert (own.name, own.description, own.parameters, own.kind) == ("f", "d", {"type": "object"}, "function")
    assert (hosted.kind, hosted.definition) == ("web_search", '{"type":"web_search"}')
    assert request.tool_choice == ToolChoice("named", "f", "tool_choice")
    assert request.response_schema is not None
    assert request.response_schema.schema == {"type": "object"}
