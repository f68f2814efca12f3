"""``limit``: whether a text surely has at most so many tokens."""

from __future__ import annotations

import pytest

STOPPED = ("tokens", "low", "high", "tokens_per_character", "characters_per_token", "breakdown")


def test_a_text_of_exactly_the_limit_fits_and_is_counted(api):
    plain = api.count(model="gpt-4o", text="Hello, World!")
    assert api.count(model="gpt-4o", text="Hello, World!", limit=4) == plain | {"limit": 4, "fits": True}


def test_a_text_beyond_the_limit_does_not_fit_and_shows_no_number_that_is_not_its_count(api):
    answer = api.count(model="gpt-4o", text="Hello, World!", limit=3)
    assert (answer["limit"], answer["fits"], answer["characters"], answer["utf8_bytes"]) == (3, False, 13, 13)
    assert [answer[name] for name in STOPPED] == [None] * len(STOPPED)
    assert answer["accuracy"] == "exact"


def test_without_a_limit_the_answer_has_no_word_of_one(api):
    assert not {"limit", "fits"} & set(api.count(model="gpt-4o", text="Hello"))


@pytest.mark.parametrize("tokenizer", ["o200k_base", "qwen", "mistral_v1", "deepseek", "bert_uncased"])
def test_every_family_decides_at_its_own_count(api, tokenizer):
    text = "A weighbridge weighs trucks, 地磅. " * 20
    tokens = api.count(tokenizer=tokenizer, text=text)["tokens"]
    answers = [api.count(tokenizer=tokenizer, text=text, limit=tokens + step) for step in (-1, 0, 1)]
    assert [answer["fits"] for answer in answers] == [False, True, True]
    assert [answer["tokens"] for answer in answers] == [None, tokens, tokens]


def test_a_stand_in_fits_only_where_its_upper_bound_does(api):
    plain = api.count(model="claude-sonnet-4-5", text="A weighbridge weighs trucks. " * 10)
    body = {"model": "claude-sonnet-4-5", "text": "A weighbridge weighs trucks. " * 10}
    assert plain["low"] < plain["tokens"] < plain["high"]
    assert api.count(**body, limit=plain["high"])["fits"] is True
    may = api.count(**body, limit=plain["high"] - 1)
    assert (may["fits"], may["tokens"], may["high"]) == (False, plain["tokens"], plain["high"])
    assert api.count(**body, limit=5)["tokens"] is None


def test_an_empty_text_fits_into_nothing(api):
    assert api.count(model="gpt-4o", text="", limit=0)["fits"] is True
    assert api.count(model="gpt-4o", text="a", limit=0)["fits"] is False


def test_literals_are_warned_of_and_parsed_with_a_limit_too(api):
    text = "<|endoftext|>" * 3
    assert api.count(tokenizer="cl100k_base", text=text, limit=1)["warnings"][0]["occurrences"] == 3
    parsed = api.count(tokenizer="cl100k_base", text=text, limit=2, special_tokens="parse")
    assert (parsed["fits"], parsed["tokens"], parsed["warnings"]) == (False, 3, [])
    assert api.count(tokenizer="cl100k_base", text=text, limit=3, special_tokens="parse")["fits"] is True


@pytest.mark.parametrize("body", [{"texts": ["a"]}, {"texts": ["a"], "as": "message"}, {}])
def test_a_limit_goes_with_one_text_or_request(api, body):
    refused = api.post("/v1/count", {"model": "gpt-4o", "limit": 3} | body)
    assert (refused.status_code, refused.json()["code"], refused.json()["path"]) == (422, "invalid_request", "limit")


@pytest.mark.parametrize("limit", [-1, 2**53 + 1, 1.5, "3", True])
def test_a_limit_that_is_no_number_of_tokens_is_refused(api, limit):
    refused = api.post("/v1/count", {"model": "gpt-4o", "text": "a", "limit": limit})
    assert (refused.status_code, refused.json()["code"]) == (422, "invalid_request")
