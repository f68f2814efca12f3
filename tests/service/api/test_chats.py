"""``/v1/count`` with messages, tools and whole requests."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from tests.service.conftest import Api

SIX = [
    {"role": "system", "content": "Turn jargon into plain words."},
    {"role": "user", "content": "Hello, how are you?"},
]
WEATHER = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": "The weather of a place",
        "parameters": {"type": "object", "properties": {"place": {"type": "string"}}, "required": ["place"]},
    },
}


def refusal(api: Api, **body: Any) -> dict[str, Any]:
    answer = api.post("/v1/count", body)
    assert answer.status_code == 422, answer.text
    return answer.json()


def test_role_marks_and_priming_are_counted(api: Api) -> None:
    """3 for the message, 1 for its role, 6 for the text, 3 to prime the answer."""
    answer = api.count(model="gpt-4o", messages=[{"role": "user", "content": "Hello, how are you?"}])
    assert answer["tokens"] == answer["low"] == answer["high"] == 13
    assert answer["breakdown"] == {"text": 6, "framing": 7, "tools": 0, "images": 0}
    assert answer["accuracy"] == "exact"
    assert answer["characters"] == 19
    assert answer["tokens_per_character"] == 6 / 19


def test_a_conversation_adds_up_message_by_message(api: Api) -> None:
    turns = [
        {"role": "user", "content": "Hello world"},
        {"role": "assistant", "content": "How may I assist you today?"},
    ]
    assert api.count(model="gpt-4", messages=turns)["tokens"] == 20
    assert api.count(model="gpt-4o", messages=turns)["tokens"] == 20
    # gpt-5 is primed by one token less, and an answer in the history takes two more
    assert api.count(model="gpt-5", messages=turns)["tokens"] == 21


def test_a_text_as_a_message_is_counted_like_that_message(api: Api) -> None:
    text = api.count(model="gpt-4o", text="Hello, how are you?", **{"as": "message"})
    chat = api.count(model="gpt-4o", messages=[{"role": "user", "content": "Hello, how are you?"}])
    assert text == chat
    both = api.count(model="gpt-4o", texts=["Hello, how are you?", "hello"], **{"as": "message"})
    assert [item["tokens"] for item in both["items"]] == [13, 8]
    assert both["tokens"] == 21


def test_system_is_a_message_of_its_own(api: Api) -> None:
    apart = api.count(model="gpt-4o", system="Be brief.", messages=[{"role": "user", "content": "hi"}])
    listed = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "hi"}]
    assert apart["tokens"] == api.count(model="gpt-4o", messages=listed)["tokens"]


def test_tools_cost_what_their_definition_and_choice_take(api: Api) -> None:
    bare = api.count(model="gpt-4o", messages=SIX)
    auto = api.count(model="gpt-4o", messages=SIX, tools=[WEATHER])
    none = api.count(model="gpt-4o", messages=SIX, tools=[WEATHER], tool_choice="none")
    named = {"type": "function", "function": {"name": "weather"}}
    forced = api.count(model="gpt-4o", messages=SIX, tools=[WEATHER], tool_choice=named)
    assert auto["breakdown"]["tools"] == auto["tokens"] - bare["tokens"] > 0
    assert none["tokens"] - auto["tokens"] == 1
    assert forced["tokens"] - auto["tokens"] == 7 + 1  # 7, and the name
    assert auto["accuracy"] == "close"
    assert auto["accuracy_reasons"] == ["tools_reconstructed"]


def test_older_functions_take_three_less_by_name(api: Api) -> None:
    body = {"messages": SIX, "functions": [WEATHER["function"]]}
    auto = api.count(model="gpt-4", request=body)
    named = api.count(model="gpt-4", request=body | {"function_call": {"name": "weather"}})
    assert named["tokens"] - auto["tokens"] == 4 + 1


def test_older_functions_stand_beside_messages_too(api: Api) -> None:
    """8 for the message; 23 for the empty function; 4 and the name where it has to be called."""
    body: dict[str, Any] = {"model": "gpt-4o", "messages": [{"role": "user", "content": "hello"}]}
    function = {"name": "foo", "parameters": {"type": "object", "properties": {}}}
    assert api.count(**body, functions=[function])["tokens"] == 31
    assert api.count(**body, functions=[function], function_call={"name": "foo"})["tokens"] == 36
    estimate = api.post("/v1/estimate", {**body, "functions": [function], "max_output_tokens": 1}).json()
    assert estimate["input_tokens"] == 31
    refused = api.post("/v1/count", {"model": "gpt-4o", "text": "hello", "functions": [function]})
    assert (refused.status_code, refused.json()["path"]) == (422, "functions")


def test_integers_of_an_enumeration_are_counted(api: Api) -> None:
    def tools(values: list[int]) -> int:
        schema = {"type": "object", "properties": {"n": {"type": "integer", "enum": values}}}
        tool = {"type": "function", "function": {"name": "pick", "parameters": schema}}
        return api.count(model="gpt-4o", messages=SIX, tools=[tool])["breakdown"]["tools"]

    assert tools([-1, 1]) - tools([1]) == 3  # " |", " " and "-1" beside "1"


def test_array_parameters_are_counted(api: Api) -> None:
    def tools(schema: dict[str, Any]) -> int:
        tool = {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": schema}}}
        return api.count(model="gpt-4o", messages=SIX, tools=[tool])["breakdown"]["tools"]

    rows = {"type": "array", "items": {"type": "object", "properties": {"deep": {"type": "string"}}}}
    assert tools({"rows": rows}) > tools({"rows": {"type": "array"}}) > tools({})


def test_arguments_of_calls_are_never_free(api: Api) -> None:
    long = "x " * 500
    legacy = {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": long}}
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": long}}
    for message in (legacy, {"role": "assistant", "content": None, "tool_calls": [call]}):
        assert api.count(model="gpt-4o", messages=[*SIX, message])["low"] >= 500


def test_thirty_tools_are_counted_in_full(api: Api) -> None:
    tools = [
        {"type": "function", "function": {"name": f"tool_{n}", "description": "Looks up one thing of many. " * 50}}
        for n in range(30)
    ]
    assert api.count(model="gpt-4o", messages=[{"role": "user", "content": "foo"}], tools=tools)["low"] > 9_000


def test_an_unknown_block_counts_as_its_json_and_is_named(api: Api) -> None:
    block = {"type": "hologram", "scene": ["a", {"b": 1}]}
    answer = api.count(model="gpt-4o", messages=[{"role": "user", "content": [block]}])
    assert (
        answer["breakdown"]["text"]
        == api.count(model="gpt-4o", text='{"type":"hologram","scene":["a",{"b":1}]}')["tokens"]
    )
    assert answer["accuracy"] == "approximate"
    assert [(w["code"], w["path"]) for w in answer["warnings"]] == [("unsupported_part", "messages[0].content[0]")]


def test_warnings_without_end_are_counted_instead(api: Api) -> None:
    blocks = [{"type": "hologram"}] * 1000
    warnings = api.count(model="gpt-4o", messages=[{"role": "user", "content": blocks}])["warnings"]
    assert len(warnings) == 201
    assert (warnings[-1]["code"], warnings[-1]["message"].split()[0]) == ("warnings_omitted", "800")


def test_reasoning_and_films_do_not_fail_the_count(api: Api) -> None:
    blocks = [
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "thought about it"}]},
        {"type": "video_url", "video_url": {"url": "https://example.test/v.mp4"}},
        {"type": "input_audio", "input_audio": {"data": "AAAA" * 1000, "format": "wav"}},
        {"type": "text", "text": "hello"},
    ]
    answer = api.count(model="gpt-4o", messages=[{"role": "user", "content": blocks}])
    assert answer["low"] <= answer["tokens"] <= answer["high"] == 128_000  # only the window bounds the film
    assert {"reasoning_history", "remote_media", "media_length_unknown"} <= set(answer["accuracy_reasons"])
    assert [w["path"] for w in answer["warnings"]] == ["messages[0].content[1]", "messages[0].content[2]"]


def test_special_token_literals_are_named_with_their_path(api: Api) -> None:
    messages = [*SIX, {"role": "user", "content": [{"type": "text", "text": "so <|endoftext|> it is"}]}]
    warning = api.count(model="gpt-4o", messages=messages)["warnings"][0]
    assert (warning["code"], warning["path"], warning["offset"]) == (
        "special_token_literal",
        "messages[2].content[0]",
        3,
    )


def test_strict_takes_a_plain_chat_and_refuses_an_estimate(api: Api) -> None:
    assert api.count(model="gpt-4o", messages=SIX, strict=True)["accuracy"] == "exact"
    problem = refusal(api, model="gpt-4o", messages=SIX, tools=[WEATHER], strict=True)
    assert problem["code"] == "inexact"


def test_a_limit_holds_for_the_whole_request_tools_included(api: Api) -> None:
    whole = api.count(model="gpt-4o", messages=SIX, tools=[WEATHER])
    fits = api.count(model="gpt-4o", messages=SIX, tools=[WEATHER], limit=whole["high"])
    assert fits == whole | {"limit": whole["high"], "fits": True}
    assert api.count(model="gpt-4o", messages=SIX, tools=[WEATHER], limit=whole["high"] - 1)["fits"] is False
    assert api.count(model="gpt-4o", text="hello", limit=7, **{"as": "message"})["fits"] is False  # 8 with its frame
    assert refusal(api, model="gpt-4o", texts=["hello"], limit=7, **{"as": "message"})["path"] == "limit"


def test_a_request_may_name_its_own_model(api: Api) -> None:
    body = {"model": "gpt-4o", "messages": [{"role": "user", "content": "hello"}]}
    assert api.count(request=body)["model"] == "gpt-4o"
    assert api.count(request=body, model="gpt-5")["tokens"] == 7
    del body["model"]
    assert refusal(api, request=body)["path"] == "model"


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"messages": [{"role": "user", "content": 5}]}, "messages[0].content"),
        ({"messages": [{"role": "user", "content": [5]}]}, "messages[0].content[0]"),
        ({"messages": [{"content": "no role"}]}, "messages[0].role"),
        ({"messages": [{"role": "wizard", "content": ""}]}, "messages[0].role"),
        ({"messages": ["hello"]}, "messages[0]"),
        ({"messages": []}, "messages"),
        ({"messages": [{"role": "user", "content": [{"type": "text"}]}]}, "messages[0].content[0].text"),
        ({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, "messages[0].content[0].image_url"),
        (
            {"messages": [{"role": "assistant", "tool_calls": [{"function": {}}]}]},
            "messages[0].tool_calls[0].function.name",
        ),
        ({"messages": SIX, "tools": [{"type": "function", "function": {}}]}, "tools[0].function.name"),
        ({"messages": SIX, "tools": [{"function": {"name": "f", "parameters": []}}]}, "tools[0].function.parameters"),
        ({"messages": SIX, "tool_choice": "sometimes"}, "tool_choice"),
        ({"messages": SIX, "text": "both"}, "text"),
        ({"text": "x", "tools": []}, "tools"),
        ({"text": "x", "dialect": "openai_chat"}, "dialect"),
        ({"messages": SIX, "as": "message"}, "as"),
        ({"messages": SIX, "special_tokens": "parse"}, "special_tokens"),
        ({"request": {"messages": SIX, "tools": {}}}, "request.tools"),
    ],
)
def test_a_wrong_shape_is_refused_with_its_path(api: Api, body: dict[str, Any], path: str) -> None:
    problem = refusal(api, model="gpt-4o", **body)
    assert (problem["code"], problem["path"]) == ("invalid_request", path)


def test_a_refusal_never_repeats_what_was_sent(api: Api) -> None:
    secret = "s3cret"
    for body in (
        {"messages": [{"role": secret, "content": ""}]},
        {"messages": SIX, "tool_choice": secret},
        {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": [secret]}]}]},
        {"request": {secret: 1}},
    ):
        answer = api.post("/v1/count", {"model": "gpt-4o"} | body)
        assert answer.status_code == 422
        assert secret not in answer.text


def test_messages_without_a_model_have_no_frame(api: Api) -> None:
    assert refusal(api, tokenizer="o200k_base", messages=SIX)["path"] == "tokenizer"


def test_a_request_in_no_known_form_says_how_to_name_it(api: Api) -> None:
    problem = refusal(api, model="gpt-4o", request={"prompt": "hello"})
    assert problem["code"] == "unknown_dialect"
    assert "`dialect`: openai_chat" in problem["detail"]


def test_fields_that_no_rule_reads_are_pointed_out(api: Api) -> None:
    body = {"messages": SIX, "temperature": 0.2, "mystery": "x" * 50}
    warnings = api.count(model="gpt-4o", request=body)["warnings"]
    assert [(w["code"], w["path"]) for w in warnings] == [("unknown_fields", "request")]


def test_a_deeply_nested_request_is_refused(api: Api) -> None:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(200):
        schema = {"type": "array", "items": schema}
    tool = {"function": {"name": "f", "parameters": {"type": "object", "properties": {"x": schema}}}}
    assert "nested" in refusal(api, model="gpt-4o", messages=SIX, tools=[tool])["detail"]


def test_an_estimate_of_a_chat_prices_all_its_tokens(api: Api) -> None:
    body = {"model": "gpt-4o", "messages": SIX, "max_output_tokens": 100, "at": "2026-11-29T12:00:00Z"}
    answer = api.post("/v1/estimate", body).json()
    assert answer["input_tokens"] == api.count(model="gpt-4o", messages=SIX)["tokens"] == 23
    assert answer["cost"]["components"][0]["tokens"] == 23
    assert answer["context"]["remaining"] == 128_000 - 23 - 100
    # nothing is left to be framed: high is the same input, all of it written to the cache at worst
    assert answer["warnings"] == []


def test_an_estimate_takes_model_and_output_limit_from_the_request(api: Api) -> None:
    request = {
        "model": "claude-sonnet-4-5",
        "max_tokens": 64,
        "system": "hi",
        "messages": [{"role": "user", "content": "x"}],
    }
    answer = api.post("/v1/estimate", {"request": request}).json()
    assert (answer["model"], answer["max_output_tokens"]) == ("claude-sonnet-4-5", 64)
    own = api.post("/v1/estimate", {"request": request, "max_output_tokens": 5}).json()
    assert own["max_output_tokens"] == 5


def test_an_estimate_of_texts_as_messages_includes_their_frame(api: Api) -> None:
    answer = api.post("/v1/estimate", {"model": "gpt-4o", "texts": ["hello", "hello"], "as": "message"}).json()
    assert [item["input_tokens"] for item in answer["items"]] == [8, 8]
    assert all(w["code"] != "framing_not_included" for item in answer["items"] for w in item["warnings"])


def test_a_comparison_frames_a_chat_as_each_model_does(api: Api) -> None:
    models = ["gpt-4o", "gpt-5", "mistral-large-latest", "claude-sonnet-4-5"]
    rows = {row["model"]: row for row in api.post("/v1/compare", {"messages": SIX, "models": models}).json()["rows"]}
    for model in ("gpt-4o", "gpt-5"):
        count = api.count(model=model, messages=SIX)
        assert (rows[model]["tokens"], rows[model]["accuracy"]) == (count["tokens"], count["accuracy"])
        assert sum(script["tokens"] for script in rows[model]["by_script"].values()) == count["breakdown"]["text"]
    assert rows["gpt-4o"]["tokens"] - rows["gpt-5"]["tokens"] == 1
    assert "rule_unproven" not in rows["gpt-4o"]["accuracy_reasons"]
    assert rows["claude-sonnet-4-5"]["low"] <= rows["claude-sonnet-4-5"]["tokens"] <= rows["claude-sonnet-4-5"]["high"]


def test_a_comparison_names_what_no_rule_covers_once(api: Api) -> None:
    messages = [{"role": "user", "content": [{"type": "hologram"}]}]
    answer = api.post("/v1/compare", {"messages": messages, "models": ["gpt-4o", "gpt-5"]}).json()
    assert [(w["code"], w["path"]) for w in answer["warnings"]] == [("unsupported_part", "messages[0].content[0]")]


def test_a_comparison_of_tokenizers_takes_texts_only(api: Api) -> None:
    answer = api.post("/v1/compare", {"messages": SIX, "tokenizers": ["o200k_base"]})
    assert (answer.status_code, answer.json()["path"]) == (422, "tokenizers")


def test_models_that_take_no_messages_say_so(api: Api) -> None:
    assert refusal(api, model="text-embedding-3-small", messages=SIX)["path"] == "model"
    assert refusal(api, model="text-embedding-3-small", text="x", **{"as": "message"})["path"] == "model"


def test_a_picture_at_a_url_is_never_fetched_and_counts_as_the_most(api: Api) -> None:
    url = {"type": "image_url", "image_url": {"url": "http://169.254.169.254/latest/meta-data"}}
    answer = api.count(model="gpt-4o", messages=[{"role": "user", "content": [url]}])
    assert answer["breakdown"]["images"] == 85 + 170 * 8
    assert answer["high"] == answer["tokens"] == 3 + 1 + 3 + 1445
    assert answer["low"] == 3 + 1 + 3 + 255
    assert "remote_image" in answer["accuracy_reasons"]
    low = {"type": "image_url", "image_url": {"url": "https://example.test/x.png", "detail": "low"}}
    assert api.count(model="gpt-4o-mini", messages=[{"role": "user", "content": [low]}])["breakdown"]["images"] == 2833


def test_base64_is_never_counted_as_text(api: Api) -> None:
    """2.6 MB of picture are bounded by the picture's rule, in every form a picture takes."""
    data = "A" * 3_500_000
    bodies: list[tuple[str, dict[str, Any]]] = [
        (
            "gpt-4o",
            {
                "messages": [
                    {
                        "role": "user",
                        "content": [{"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}}],
                    }
                ]
            },
        ),
        (
            "claude-sonnet-4-5",
            {
                "messages": [
                    {
                        "role": "user",
                        "content": [
                            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}
                        ],
                    }
                ]
            },
        ),
        ("gemini-2.5-flash", {"contents": [{"parts": [{"inlineData": {"mimeType": "image/png", "data": data}}]}]}),
    ]
    for model, body in bodies:
        assert 0 < api.count(model=model, request=body)["tokens"] <= 5_000


def test_sound_is_priced_by_its_own_rate(api: Api) -> None:
    """Gemini 2.5 Flash: 0.3 dollars for a million tokens of text, 1 for one of sound."""
    sound = {"inlineData": {"mimeType": "audio/wav", "data": "AAAA" * 4000}}
    body = {
        "contents": [{"role": "user", "parts": [{"text": "hello"}, sound]}],
        "generationConfig": {"maxOutputTokens": 1},
    }
    given = {"model": "gemini-2.5-flash", "request": body, "at": "2026-11-29T12:00:00Z"}
    answer = api.post("/v1/estimate", given).json()
    parts = {part["unit"]: part["tokens"] for part in answer["cost"]["components"]}
    assert parts["input_audio"] == answer["breakdown"]["images"] > 0
    assert parts["input"] == answer["tokens"] - parts["input_audio"]
    # at worst all input is sound, billed at the dearer rate
    assert Decimal(answer["cost"]["high"]) == (answer["high"] * Decimal(1) + Decimal("2.5")) / 10**6


def test_sound_without_a_rate_of_its_own_is_pointed_out(api: Api) -> None:
    part = {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "mp3"}}
    answer = api.post("/v1/estimate", {"model": "gpt-4o", "messages": [{"role": "user", "content": [part]}]}).json()
    assert "media_priced_as_text" in [warning["code"] for warning in answer["warnings"]]
