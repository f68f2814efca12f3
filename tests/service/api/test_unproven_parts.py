"""Parts of a request without a proven rule: never free, never surer than what is known, and with room."""

from __future__ import annotations

from typing import Any

from tests.service.api.dialects.reading import png
from tests.service.conftest import Api

ASKED = [{"role": "user", "content": "Hi"}]


def test_what_an_earlier_answer_holds_beside_its_content_is_not_free(api: Api) -> None:
    """A refusal of three tokens; a sound that the vendor keeps."""
    asked = {"role": "user", "content": "Hi"}
    answered: dict[str, Any] = {"role": "assistant", "content": None}
    bare = api.count(model="gpt-4o", messages=[asked, answered])
    refused = api.count(model="gpt-4o", messages=[asked, answered | {"refusal": "I cannot"}])
    assert (refused["tokens"], refused["accuracy"]) == (bare["tokens"] + 2, "exact")
    spoken = api.count(model="gpt-4o-audio-preview", messages=[asked, answered | {"audio": {"id": "audio_1"}}])
    assert [(w["code"], w["path"]) for w in spoken["warnings"]] == [("file_not_included", "messages[1].audio")]
    assert (spoken["accuracy"], spoken["high"]) == ("approximate", 128_000)


def test_an_unknown_block_has_room_on_both_sides(api: Api) -> None:
    """As around a compacted conversation, which was recorded 96 tokens above its text."""
    turns = [{"role": "user", "content": "x"}, {"type": "compaction", "encrypted_content": "AAAA"}]
    answer = api.count(model="gpt-5", request={"input": turns})
    assert answer["low"] == answer["breakdown"]["framing"] + 1
    assert answer["high"] >= answer["tokens"] + 96


def test_the_grammar_of_a_custom_tool_is_counted(api: Api) -> None:
    def count(**more: Any) -> dict[str, Any]:
        tools = [{"type": "custom", "custom": {"name": "f", "description": "d", **more}}]
        return api.count(model="gpt-4o", messages=ASKED, tools=tools)

    grammar = {"syntax": "lark", "definition": "start: WORD+ " * 20}
    told = count(format={"type": "grammar", "grammar": grammar})
    assert told["tokens"] - count()["tokens"] >= api.count(model="gpt-4o", text=grammar["definition"])["tokens"]
    assert (told["accuracy"], told["warnings"][0]["code"]) == ("approximate", "unsupported_tool")


def test_older_calls_and_results_are_no_surer_than_newer_with_other_vendors(api: Api) -> None:
    call = {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}}
    result = {"role": "function", "name": "f", "content": "42"}
    for model in ("gemini-2.5-flash", "claude-sonnet-4-5", "deepseek-chat"):
        answer = api.count(model=model, messages=[{"role": "user", "content": "Hi"}, call, result])
        assert answer["accuracy"] == "approximate", model
        assert "tool_turns_estimated" in answer["accuracy_reasons"], model
    own = api.count(model="gpt-4o", messages=[{"role": "user", "content": "Hi"}, call])
    assert own["accuracy_reasons"] == ["tool_turns_reconstructed"]


def test_a_picture_by_an_unproven_rule_says_why_it_is_no_surer(api: Api) -> None:
    url = {"url": f"data:image/png;base64,{png(1024, 1024)}"}
    messages = [{"role": "user", "content": [{"type": "image_url", "image_url": url}]}]
    answer = api.count(model="gpt-4.1-mini", messages=messages)
    assert (answer["accuracy"], answer["accuracy_reasons"]) == ("close", ["image_rule_unproven"])
    assert api.count(model="gpt-4o", messages=messages)["accuracy_reasons"] == []


def test_examples_of_a_tools_input_are_counted_with_room(api: Api) -> None:
    tool = {"name": "f", "description": "d", "input_schema": {"type": "object"}}
    examples = [{"place": "somewhere " * 30}]

    def count(**more: Any) -> dict[str, Any]:
        return api.count(model="claude-sonnet-4-5", request={"messages": ASKED, "tools": [tool | more]})

    told, bare = count(input_examples=examples), count()
    assert told["tokens"] >= bare["tokens"] + 30
    assert (told["accuracy"], bare["accuracy"]) == ("approximate", "close")
    assert [(w["code"], w["path"]) for w in told["warnings"]] == [("unsupported_tool", "request.tools[0]")]
