"""What once went wrong in counting whole requests stays right: known totals, and nothing that is free or fatal."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any

import pytest

from tests.service.api.dialects.reading import png
from tests.service.conftest import Api

HELLO = {"role": "user", "content": "Hello, how are you?"}
BOT = [{"role": "system", "content": "You are a bot."}]  # 12 tokens, with the 3 that prime the answer
MARKS = "Hello there <|endoftext|> and <|im_start|>user"
RAIN = {"type": "text", "text": "It rains."}
ODD = {"type": "hologram", "x": 1}


def tool(name: str, told: str, required: tuple[str, ...] = (), **fields: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": fields, "required": list(required)}
    return {"type": "function", "function": {"name": name, "description": told, "parameters": schema}}


def named(name: str) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name}}


def asked(api: Api, *content: dict[str, Any], model: str = "gpt-4o") -> dict[str, Any]:
    """The count of one user message with these blocks."""
    return api.count(model=model, messages=[{"role": "user", "content": list(content)}])


SEARCH = tool(
    "search_sources",
    "Look through the pages of our handbook",
    ("search_query",),
    search_query={"type": "string", "description": "The words to be found, for example: 'parental leave' here"},
)
SIGNS = tool("data_demonstration", "Shows which values can be taken", integer_enum={"type": "integer", "enum": [-1, 1]})
INNER = tool(
    "data_demonstration",
    "Shows which values can be taken",
    ("object_1",),
    object_1={
        "type": "object",
        "description": "An object that holds one more field",
        "properties": {"string1": {"type": "string"}},
    },
)
PLACES = tool(
    "get_coordinates",
    "Find where on the map all the houses are",
    ("addresses",),
    addresses={"type": "array", "description": "The houses that are looked for", "items": {"type": "string"}},
)


@pytest.mark.parametrize(
    ("model", "tokens"),
    [("gpt-3.5-turbo-0301", 127), ("gpt-3.5-turbo-0125", 129), ("gpt-4-0613", 129), ("gpt-4o", 124)],
)
def test_six_messages_with_names_have_the_total_of_their_model(api: Api, cases: Path, model: str, tokens: int) -> None:
    lines = map(json.loads, (cases / "vectors.jsonl").read_text().splitlines())
    chat = next(line["input"] for line in lines if line["kind"] == "openai_chat" and line["expected"] == 129)
    answer = api.count(model=model, request=chat)
    assert (answer["tokens"], answer["accuracy"]) == (tokens, "exact")


@pytest.mark.parametrize(
    ("model", "tokens"), [("gpt-3.5-turbo-0301", 14), ("gpt-4", 13), ("gpt-4o", 13), ("gpt-5", 12), ("o3-mini", 12)]
)
def test_the_frame_of_a_message_is_that_of_its_model(api: Api, model: str, tokens: int) -> None:
    """6 for the text; 4 and 3 in the oldest snapshot, then 3, 1 and 3, and one less to prime reasoning models."""
    assert api.count(model=model, messages=[HELLO])["tokens"] == tokens


@pytest.mark.parametrize("route", ["/v1/count", "/v1/estimate"])
def test_a_chat_for_a_model_that_nobody_knows_is_refused_and_never_counted_as_another(api: Api, route: str) -> None:
    answer = api.post(route, {"model": "zebra-chat-7", "messages": [HELLO]})
    assert (answer.status_code, answer.json()["code"]) == (422, "unknown_model")


def test_a_begin_of_sequence_is_told_beside_the_count(api: Api) -> None:
    """As a server of the model counts the bare text: 2, or 1 without what it adds."""
    answer = api.count(tokenizer="mistral_v3", text="test")
    assert (answer["tokens"], answer["tokenizer"]["added_tokens"]) == (1, 1)
    served = {"model": "open-mistral-7b", "prompt": "test"}
    assert api.post("/tokenize", served).json()["count"] == 2
    assert api.post("/tokenize", served | {"add_special_tokens": False}).json()["count"] == 1


def test_both_marks_of_a_text_are_told_beside_its_whole_count(api: Api) -> None:
    answer = api.count(tokenizer="bert_uncased", text="weigh " * 600)
    assert (answer["tokens"], answer["tokenizer"]["added_tokens"]) == (600, 2)


def test_ratios_are_of_the_text_that_was_sent_and_not_of_its_normal_form(api: Api) -> None:
    """The ligature is read as two letters by one vocabulary, which is no second character."""
    answer = api.count(tokenizer="mistral_v3", text="\ufb01")
    assert (answer["tokens"], answer["characters"], answer["utf8_bytes"]) == (2, 1, 3)
    assert answer["tokens_per_character"] == 2.0
    decomposed = api.count(tokenizer="bert_uncased", text="e\u0301")  # its accent is taken off before it is counted
    assert (decomposed["tokens"], decomposed["characters"]) == (1, 2)


@pytest.mark.parametrize("model", ["gpt-4o", "claude-sonnet-4-5"])
def test_blocks_within_a_tools_result_are_counted_and_an_unknown_one_is_named(api: Api, model: str) -> None:
    def count(*content: dict[str, Any]) -> dict[str, Any]:
        call = {"type": "tool_use", "id": "t1", "name": "weather", "input": {}}
        result = {"type": "tool_result", "tool_use_id": "t1", "content": list(content)}
        turns = [HELLO, {"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
        return api.count(model=model, messages=turns)

    none, rain, both = count(), count(RAIN), count(RAIN, ODD)
    sizes = [api.count(model=model, text=text)["tokens"] for text in ("It rains.", '{"type":"hologram","x":1}')]
    assert rain["breakdown"]["text"] - none["breakdown"]["text"] == sizes[0] > 0
    assert both["breakdown"]["text"] - rain["breakdown"]["text"] == sizes[1] > 0
    found = [(warning["code"], warning["path"]) for warning in both["warnings"]]
    assert found == [("unsupported_part", "messages[2].content[0].content[1]")]
    assert rain["warnings"] == []


@pytest.mark.parametrize(
    ("block", "codes"),
    [
        ({"type": "reasoning", "summary": [{"type": "summary_text", "text": "because"}]}, []),
        ({"type": "function_call", "name": "f", "arguments": "{}"}, ["unsupported_part"]),
        ({"type": "video_url", "video_url": {"url": "https://example.test/v.mp4"}}, ["remote_media"]),
        ({"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}}, ["media_length_unknown"]),
    ],
)
def test_a_block_that_is_no_plain_text_leaves_the_rest_counted(
    api: Api, block: dict[str, Any], codes: list[str]
) -> None:
    plain, more = asked(api, RAIN), asked(api, block, RAIN)
    assert more["tokens"] >= more["low"] >= plain["tokens"]
    assert more["high"] > plain["high"]
    assert more["accuracy"] == "approximate"
    assert [warning["code"] for warning in more["warnings"]] == codes


def test_a_tool_has_the_size_that_was_billed_for_its_like(api: Api) -> None:
    """System text and description as long as in the measured request: 66, one for `none`, 7 and the name's 2."""
    body: dict[str, Any] = {"model": "gpt-4", "messages": BOT, "tools": [SEARCH]}
    assert api.count(model="gpt-4", messages=BOT)["tokens"] == 12
    assert api.count(**body)["tokens"] == api.count(**body, tool_choice="auto")["tokens"] == 66
    assert api.count(**body, tool_choice="none")["tokens"] == 67
    assert api.count(**body, tool_choice=named("search_sources"))["tokens"] == 75


def test_a_list_of_texts_has_the_size_that_was_billed_for_its_like(api: Api) -> None:
    assert api.count(model="gpt-4", messages=BOT, tools=[PLACES], tool_choice="none")["tokens"] == 59


@pytest.mark.parametrize(("given", "billed"), [(SIGNS, 54), (INNER, 65)], ids=["integers", "inner object"])
def test_what_a_tool_is_billed_lies_below_the_count_by_three_at_most_and_within_the_bounds(
    api: Api, given: dict[str, Any], billed: int
) -> None:
    body: dict[str, Any] = {"model": "gpt-4", "messages": BOT, "tools": [given]}
    none = api.count(**body, tool_choice="none")
    forced = api.count(**body, tool_choice=named("data_demonstration"))
    for answer, expected in ((none, billed), (forced, billed - 1 + 7 + 4)):  # the name is 4 tokens
        assert answer["low"] <= expected <= answer["tokens"] <= expected + 3
        assert answer["accuracy"] == "close"


def test_tools_alone_can_exceed_a_limit(api: Api) -> None:
    """The message is 13 tokens; 250 fields are more than two each."""
    wide = tool("wide", "Takes much", (), **{f"field_{number}": {"type": "string"} for number in range(250)})
    body: dict[str, Any] = {"model": "gpt-4o", "messages": [HELLO], "limit": 500}
    assert api.count(**body)["fits"] is True
    assert api.count(**body, tools=[wide])["fits"] is False


@pytest.mark.parametrize(
    ("model", "size", "detail", "tokens"),
    [
        ("gpt-4o", (4096, 4096), None, 765),
        ("gpt-4o", (1, 1), "high", 255),
        ("gpt-4o-mini", (1024, 1024), "low", 2833),
        ("gpt-4o-mini", (1024, 1024), "high", 25501),
    ],
)
def test_a_picture_is_sized_by_its_header_and_its_detail(
    api: Api, model: str, size: tuple[int, int], detail: str | None, tokens: int
) -> None:
    url = {"url": f"data:image/png;base64,{png(*size)}"} | ({"detail": detail} if detail else {})
    answer = asked(api, {"type": "image_url", "image_url": url}, model=model)
    assert (answer["breakdown"]["images"], answer["accuracy"]) == (tokens, "exact")


def test_a_picture_in_another_vendors_block_is_counted_wherever_it_is_asked_for(api: Api) -> None:
    def block(data: str) -> dict[str, Any]:
        return {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}

    text = {"type": "text", "text": "Describe this picture:"}
    whole = asked(api, text, block(png(1, 1)))
    assert (whole["tokens"], whole["accuracy"]) == (3 + 1 + 4 + 255 + 3, "exact")
    damaged = asked(api, text, block("AAAA"))
    assert (damaged["low"], damaged["high"]) == (266, 11 + 85 + 170 * 8)
    body = {"model": "gpt-4o", "messages": [{"role": "user", "content": [text, block(png(1, 1))]}]}
    assert api.post("/v1/estimate", body).json()["input_tokens"] == 266


def test_no_address_in_a_request_is_called(api: Api) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        url = f"http://127.0.0.1:{server.getsockname()[1]}/x.png"
        for block in (
            {"type": "image_url", "image_url": {"url": url}},
            {"type": "image", "source": {"type": "url", "url": url}},
            {"type": "video_url", "video_url": {"url": url}},
        ):
            assert asked(api, block)["accuracy"] == "approximate"
        remote = {"fileData": {"mimeType": "image/png", "fileUri": url}}
        api.count(model="gemini-2.5-flash", request={"contents": [{"parts": [remote]}]})
        with pytest.raises(BlockingIOError):  # nobody is waiting to be let in
            server.accept()


def test_a_mark_in_an_earlier_turn_is_ordinary_text_and_stops_no_later_one(api: Api) -> None:
    """15 for the text with marks, 1 for each `hello`; 4 around each message, 3 to prime the answer."""
    turns = [("user", MARKS), ("assistant", "hello"), ("user", "hello")]
    answer = api.count(model="gpt-4", messages=[{"role": role, "content": text} for role, text in turns])
    assert answer["tokens"] == 15 + 1 + 1 + 3 * 4 + 3
    assert answer["accuracy"] == "exact"
    assert {warning["path"] for warning in answer["warnings"]} == {"messages[0].content"}


@pytest.mark.parametrize("tokenizer", ["cl100k_base", "o200k_base"])
def test_marks_of_a_chat_format_are_no_tokens_of_a_vocabulary_without_them(api: Api, tokenizer: str) -> None:
    for special in ("text", "parse"):
        text = "<|im_start|>user\nHi<|im_end|>"
        assert api.count(tokenizer=tokenizer, text=text, special_tokens=special)["tokens"] == 15


def chunk(**more: Any) -> dict[str, Any]:
    return {"id": "c", "object": "chat.completion.chunk", "model": "gpt-4o", "choices": [], **more}


def test_what_the_cache_gave_is_read_from_a_last_chunk_that_has_choices(api: Api) -> None:
    usage = {"prompt_tokens": 25, "completion_tokens": 15, "prompt_tokens_details": {"cached_tokens": 9}}
    last = chunk(choices=[{"index": 0, "delta": {}, "finish_reason": "stop"}], usage=usage)
    answer = api.post("/v1/cost", {"response": [chunk(), last], "at": "2026-11-29T12:00:00Z"}).json()
    parts = {part["unit"]: part["tokens"] for part in answer["cost"]["components"]}
    assert parts == {"input": 25 - 9, "cache_read": 9, "output": 15}


def test_a_stream_that_ended_without_usage_never_costs_nothing(api: Api) -> None:
    begun = chunk(choices=[{"index": 0, "delta": {"content": "It rains"}, "finish_reason": None}])
    answer = api.post("/v1/cost", {"response": [begun]})
    assert (answer.status_code, answer.json()["code"]) == (422, "usage_missing")
