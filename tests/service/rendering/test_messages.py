"""Messages are put into the form that a template takes."""

from typing import Any

import pytest

from service.rendering.messages import Form, messages_in

CALL = {"id": "1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}


def one(form: Form, **message: Any) -> dict[str, Any]:
    [changed] = messages_in(form, [{"role": "assistant", **message}])
    return changed


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("x", "x"),
        (None, ""),
        ([], ""),
        ([{"type": "text", "text": "a"}, {"type": "image"}, "b", {"type": "text", "text": "c"}], "a\nb\nc"),
        ([{"type": "text", "text": None}, {"type": "text"}], ""),
    ],
)
def test_a_template_of_texts_gets_one_string(content: Any, text: str) -> None:
    assert one(Form(), content=content)["content"] == text


def test_a_template_of_parts_gets_them_as_they_are() -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "image"}]
    assert one(Form("parts"), content=parts)["content"] == parts
    assert one(Form("parts"), content=None)["content"] == ""


@pytest.mark.parametrize(
    ("sent", "as_object", "as_text"),
    [
        ('{"a": "é"}', {"a": "é"}, '{"a": "é"}'),
        ({"a": "é"}, {"a": "é"}, '{"a": "é"}'),
        ("", {}, ""),
        (None, {}, "{}"),
        ("no json", "no json", "no json"),
        ("[" * 100_000, "[" * 100_000, "[" * 100_000),
    ],
)
def test_arguments_are_an_object_or_json_text(sent: Any, as_object: Any, as_text: str) -> None:
    call = {"function": {"name": "f", "arguments": sent}}
    for form, expected in ((Form(), as_object), (Form(arguments="text"), as_text)):
        assert one(form, content="", tool_calls=[call])["tool_calls"][0]["function"]["arguments"] == expected


def test_results_are_text_or_what_they_are_json_of() -> None:
    message = {"role": "tool", "content": '{"t": 20}'}
    assert one(Form(), **message)["content"] == '{"t": 20}'
    assert one(Form(results="object"), **message)["content"] == {"t": 20}
    assert one(Form(results="object"), role="tool", content="sunny")["content"] == "sunny"
    assert one(Form(results="object"), role="user", content="5")["content"] == "5"


def test_missing_content_beside_calls_is_empty_or_none() -> None:
    assert one(Form(), content=None, tool_calls=[CALL])["content"] == ""
    assert one(Form(missing="none"), content="", tool_calls=[CALL])["content"] is None
    assert one(Form(missing="none"), content="x", tool_calls=[CALL])["content"] == "x"
    assert one(Form(missing="none"), content="")["content"] == ""


def test_no_calls_are_no_key() -> None:
    assert "tool_calls" not in one(Form(), content="x", tool_calls=[])
    assert "tool_calls" not in one(Form(), content="x", tool_calls=None)


@pytest.mark.parametrize("name", ["reasoning_content", "reasoning", "thinking"])
def test_thoughts_have_every_name_in_use(name: str) -> None:
    changed = one(Form(), content="x", **{name: "hm"})
    assert (changed["thinking"], changed["reasoning_content"]) == ("hm", "hm")


def test_what_was_sent_is_not_changed() -> None:
    message = {"role": "assistant", "content": None, "tool_calls": [CALL]}
    messages_in(Form(missing="none", results="object"), [message])
    assert message == {"role": "assistant", "content": None, "tool_calls": [CALL]}
    assert CALL["function"] == {"name": "f", "arguments": '{"a": 1}'}
