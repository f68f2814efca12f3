"""``POST /v1/count`` as clients see it."""

from __future__ import annotations

import pytest

# The six strings of the comparison, and their counts (tiktoken 0.14, tokenizers and mistral-common, run apart).
SIX = (
    "Hello, World!",
    "你好，世界！",
    "function fibonacci(n) {",
    "console.log(result)",
    "const x = arr.map(i => i * 2)",
    "📧 Email: user@example.com",
)
SIX_COUNTS = {
    "o200k_base": [4, 4, 5, 4, 12, 7],
    "cl100k_base": [4, 7, 5, 4, 12, 8],
    "qwen": [4, 4, 5, 4, 12, 6],
    "tekken": [4, 4, 6, 4, 12, 9],
}


def test_the_answer_has_the_documented_shape(api):
    assert api.count(model="gpt-4o", text="Hello, World!") == {
        "model": "gpt-4o",
        "provider": "openai",
        "rule": "exact",
        "tokenizer": {
            "name": "o200k_base",
            "family": "tiktoken",
            "engine": "native",
            "sha256": "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
            "added_tokens": 0,
        },
        "tokens": 4,
        "low": 4,
        "high": 4,
        "accuracy": "exact",
        "accuracy_reasons": [],
        "characters": 13,
        "utf8_bytes": 13,
        "tokens_per_character": 0.3076923076923077,
        "characters_per_token": 3.25,
        "breakdown": {"text": 4, "framing": 0, "tools": 0, "images": 0},
        "warnings": [],
    }


@pytest.mark.parametrize("tokenizer", SIX_COUNTS)
def test_six_strings_give_their_known_counts(api, tokenizer):
    answer = api.count(tokenizer=tokenizer, texts=list(SIX))
    assert [item["tokens"] for item in answer["items"]] == SIX_COUNTS[tokenizer]
    assert answer["tokens"] == sum(SIX_COUNTS[tokenizer])


def test_empty_text_has_no_tokens_and_no_ratios(api):
    answer = api.count(model="gpt-4o", text="")
    assert (answer["tokens"], answer["low"], answer["high"], answer["characters"]) == (0, 0, 0, 0)
    assert answer["tokens_per_character"] is None
    assert answer["characters_per_token"] is None


def test_no_texts_are_an_empty_answer(api):
    assert api.count(model="gpt-4o", texts=[]) == {"items": [], "tokens": 0, "low": 0, "high": 0, "accuracy": "exact"}


def test_characters_are_code_points_not_utf16_units_or_bytes(api):
    family = "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466"
    answer = api.count(tokenizer="cl100k_base", text=family)
    assert (answer["characters"], answer["utf8_bytes"], answer["tokens"]) == (7, 25, 18)
    assert answer["tokens_per_character"] == 18 / 7


def test_a_tokenizer_alone_answers_without_a_model(api):
    answer = api.count(tokenizer="cl100k_base", text="llo")
    assert (answer["model"], answer["provider"], answer["rule"]) == (None, None, None)
    assert answer["tokens"] == 2


# S01, S03, S04 of the reported cases: literals are ordinary text, and as one token only where asked.
@pytest.mark.parametrize(
    ("text", "ordinary", "parsed"),
    [
        ("Hello there <|endoftext|> and <|im_start|>user", 15, 11),
        ("<|endoftext|>\n", 7, 2),
        ("<|im_start|>user\nHi<|im_end|>", 15, 15),
        ("<|fim_prefix|>", 7, 1),
    ],
)
def test_a_special_token_literal_is_one_token_only_where_asked(api, text, ordinary, parsed):
    assert api.count(tokenizer="cl100k_base", text=text)["tokens"] == ordinary
    assert api.count(tokenizer="cl100k_base", text=text, special_tokens="parse")["tokens"] == parsed


def test_a_literal_is_warned_of_with_its_name_and_place(api):
    warnings = api.count(model="gpt-4o", text="Hi <|im_end|> and <|im_end|> and <|endoftext|>")["warnings"]
    assert [(w["code"], w["path"], w["offset"], w["occurrences"]) for w in warnings] == [
        ("special_token_literal", "text", 3, 2),
        ("special_token_literal", "text", 33, 1),
    ]
    assert "<|im_end|>" in warnings[0]["message"]


def test_a_literal_that_was_parsed_is_not_warned_of(api):
    answer = api.count(tokenizer="cl100k_base", text="<|endoftext|><|im_end|>", special_tokens="parse")
    assert [w["offset"] for w in answer["warnings"]] == [13]


def test_a_mark_of_another_format_that_looks_like_html_is_not_warned_of(api):
    assert api.count(model="gpt-4o", text="<s>struck</s> [INST] <b>")["warnings"] == []
    assert api.count(tokenizer="mistral_v3", text="<s>")["warnings"] != []


@pytest.mark.parametrize("mark", ["<|eot_id|>", "<|start|>", "<|begin_of_text|>", "<｜User｜>", "<|observation|>"])
def test_a_control_mark_of_any_shipped_format_is_warned_of_whatever_the_model(api, mark):
    warnings = api.count(model="gpt-4o", texts=["clean", "x" + mark])["items"][1]["warnings"]
    assert [(w["code"], w["path"], w["offset"]) for w in warnings] == [("special_token_literal", "texts[1]", 1)]


def test_a_mark_that_a_vocabulary_always_reads_as_one_token_is_said_to_be(api):
    answer = api.count(tokenizer="deepseek", text="<｜User｜>")
    assert answer["tokens"] == 1
    assert "reads it as one token" in answer["warnings"][0]["message"]


def test_a_lone_surrogate_counts_as_the_replacement_character(api):
    answer = api.post("/v1/count", b'{"model": "gpt-4o", "text": "a\\ud83d"}').json()
    expected = api.count(model="gpt-4o", text="a\ufffd")
    assert answer["tokens"] == expected["tokens"]
    assert answer["characters"] == 2
    assert [w["code"] for w in answer["warnings"]] == ["lone_surrogate"]


def test_an_escaped_surrogate_pair_is_one_character(api):
    answer = api.post("/v1/count", b'{"tokenizer": "cl100k_base", "text": "\\ud83d\\udc4d"}').json()
    assert (answer["tokens"], answer["characters"], answer["warnings"]) == (3, 1, [])


def test_nul_and_control_characters_are_counted(api):
    assert api.count(model="gpt-4o", text="a\0b\x01\x7f")["characters"] == 5


def test_a_model_without_a_public_vocabulary_has_bounds_and_is_not_called_exact(api, services):
    checked = 0
    for spec in services.weigher.catalog.models:
        if spec.tokenizer is None and spec.estimator is not None:
            answer = api.count(model=f"{spec.id}", provider=spec.provider, text="A short text, and 世界.")
            assert answer["accuracy"] in ("approximate", "close")
            assert answer["low"] <= answer["tokens"] <= answer["high"]
            assert answer["low"] < answer["high"]
            assert answer["accuracy_reasons"]
            checked += 1
    assert checked > 20


def test_a_stand_ins_special_tokens_are_not_the_models(api):
    """Its literals stay ordinary text: parsed as one token each they would make the bounds too low."""
    text = "[INST] hi [/INST]</s>" * 20
    as_text = api.count(model="grok-4", text=text)
    parsed = api.count(model="grok-4", text=text, special_tokens="parse")
    assert parsed == as_text
    assert "special_token_literal" in [w["code"] for w in parsed["warnings"]]


@pytest.mark.parametrize(("path", "body"), [("/v1/tokenize", {"text": "hi"}), ("/v1/detokenize", {"ids": [5]})])
def test_the_ids_of_a_stand_in_are_never_shown_as_the_models(api, path, body):
    refused = api.post(path, {"model": "grok-4"} | body)
    assert (refused.status_code, refused.json()["code"]) == (422, "no_tokenizer")
    assert api.post(path, {"model": "gpt-4o"} | body).json()["accuracy"] == "exact"


@pytest.mark.parametrize(("path", "body"), [("/v1/tokenize", {"text": "hi"}), ("/v1/detokenize", {"ids": [5]})])
@pytest.mark.parametrize("by", [{"model": "claude-sonnet-4-5"}, {"tokenizer": "claude_v4_8"}])
def test_a_vocabulary_that_only_counts_shows_no_ids_and_says_what_does(api, path, body, by):
    refused = api.post(path, by | body)
    assert (refused.status_code, refused.json()["code"]) == (422, "no_ids")
    assert "POST /v1/count" in refused.json()["detail"]


def test_a_reconstructed_vocabulary_counts_closely_with_bounds(api):
    answer = api.count(model="claude-opus-4-7", text="hello, world", special_tokens="parse")
    assert (answer["tokenizer"]["name"], answer["tokenizer"]["engine"]) == ("claude_v4_7", "native")
    assert (answer["low"], answer["tokens"], answer["high"]) == (1, 4, 7)
    assert (answer["accuracy"], answer["accuracy_reasons"]) == ("close", ["vocabulary_reconstructed"])


def test_strict_refuses_what_is_not_exact_and_says_why(api):
    refused = api.post("/v1/count", {"model": "claude-sonnet-4-5", "text": "Hello", "strict": True})
    assert (refused.status_code, refused.json()["code"]) == (422, "inexact")
    assert api.count(model="gpt-4o", text="Hello", strict=True)["tokens"] == 1


def test_an_unknown_model_is_refused_with_the_nearest_ids(api):
    refused = api.post("/v1/count", {"model": "gpt-4oo", "text": "Hello"})
    assert (refused.status_code, refused.json()["code"]) == (422, "unknown_model")
    assert "gpt-4o" in refused.json()["nearest"]
    assert refused.headers["content-type"] == "application/problem+json"


def test_an_unknown_tokenizer_is_refused_with_those_there_are(api):
    refused = api.post("/v1/count", {"tokenizer": "o300k", "text": "Hello"})
    assert (refused.status_code, refused.json()["code"]) == (422, "unknown_tokenizer")
    assert "o200k_base" in refused.json()["detail"]


# C08: counts do not add across a split, so texts are counted apart and a text is counted whole.
def test_a_text_is_counted_whole(api):
    answer = api.count(model="gpt-4o", texts=[" Infrast", "ructure", " Infrastructure"])
    assert [item["tokens"] for item in answer["items"]] == [3, 3, 1]


# C10: newer families are not counted with the vocabulary of older ones.
@pytest.mark.parametrize("model", ["gpt-4.1", "gpt-4.5-preview", "o4-mini", "ft:gpt-4.1-2025-04-14:org::id"])
def test_newer_families_use_their_own_vocabulary(api, model):
    assert api.count(model=model, text="你好世界")["tokens"] == 2


def test_a_large_text_is_counted_as_a_small_one_is(api):
    word = "weighbridge weighs 42 trucks, 你好; "
    small = api.count(model="gpt-4o", text=word * 400)
    large = api.count(model="gpt-4o", text=word * 40_000)
    assert abs(large["tokens"] - 100 * small["tokens"]) <= 200
