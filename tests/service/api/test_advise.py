"""``/v1/advise``: each saving is what two counts differ by, and money is exact."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from adapters.port import DeadlineExceeded, Stop
from service.api.saving.advise import advise_work
from service.api.saving.schemas import AdviceCode, NoAdvice
from service.api.saving.wire import EXPLAINED
from service.api.services import Services
from service.domain.advise import MOST_CHARACTERS, advise
from service.domain.errors import DomainError
from tests.service.conftest import Api

AT = "2026-11-29T12:00:00Z"
DATA = {"rows": [{"id": n, "name": f"truck {n}", "kg": 1000 * n} for n in range(5)]}
PASSAGE = "The weighbridge stands at the gate of the yard and weighs each truck before it is charged. " * 3
CONTENT = ("minified_json", "white_space", "spaced_cjk", "repeated_context")


def advised(api: Api, **body: Any) -> dict[str, Any]:
    answer = api.post("/v1/advise", {"at": AT, **body})
    assert answer.status_code == 200, answer.text
    return answer.json()


def items(answer: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {item["code"]: item for item in answer["advice"]}


def user(text: Any) -> dict[str, Any]:
    return {"role": "user", "content": text}


def test_each_saving_is_the_difference_of_two_counts(api: Api) -> None:
    pretty, compact = json.dumps(DATA, indent=4), json.dumps(DATA, separators=(",", ":"))
    text = f"Sum up.   \n\n\n\n{pretty}\n你 好 ， 世 界 ！"
    answer = advised(api, model="gpt-4o", text=text)
    said = items(answer)
    expected = {
        "minified_json": text.replace(pretty, compact),
        "white_space": text.replace("   \n\n\n\n", "\n\n"),
        "spaced_cjk": text.replace("你 好 ， 世 界 ！", "你好，世界！"),
    }
    before = api.count(model="gpt-4o", text=text)["tokens"]
    for code, short in expected.items():
        after = api.count(model="gpt-4o", text=short)["tokens"]
        assert (said[code]["tokens_before"], said[code]["tokens_after"]) == (before, after), code
        assert said[code]["tokens_saved"] == before - after
        assert said[code]["applies"] is (after < before)
        assert Decimal(said[code]["usd_saved"]) == (before - after) * Decimal("2.5") / 10**6
        assert said[code]["path"] == "text"
    together = f"Sum up.\n\n{compact}\n你好，世界！"
    assert answer["combined"]["codes"] == [code for code in expected if said[code]["applies"]]
    assert answer["combined"]["tokens_after"] == api.count(model="gpt-4o", text=together)["tokens"]
    assert said["minified_json"]["places"] == [
        {"path": "text", "offset": text.index("{") + 1, "length": len(pretty) - 2}
    ]


def test_what_saves_nothing_says_so(api: Api) -> None:
    answer = advised(api, model="gpt-4o", text="Hello, World!")
    for code in CONTENT:
        item = items(answer)[code]
        assert (item["applies"], item["reason"], item["tokens_saved"], item["usd_saved"]) == (
            *(False, "nothing_found", 0, "0"),
        )
    assert answer["combined"] == {
        "codes": [],
        "tokens_before": 4,
        "tokens_after": 4,
        "tokens_saved": 0,
        "usd_before": "0.00001",
        "usd_after": "0.00001",
        "usd_saved": "0",
    }
    blanks = items(advised(api, model="gpt-4o", text="a\n\n\n\nb"))["white_space"]  # each run of line feeds is a token
    assert (blanks["applies"], blanks["reason"], blanks["found"]) == (False, "no_saving", 1)


def test_a_repeated_passage_is_named_with_its_first_place(api: Api) -> None:
    turns = [user(PASSAGE + "What is it?"), {"role": "assistant", "content": "A scale."}, user("Again: " + PASSAGE)]
    item = items(advised(api, model="gpt-4o", messages=turns))["repeated_context"]
    short = [*turns[:2], user("Again: ")]
    # the passage is three times one sentence, which is also cut within the first message
    assert item["applies"]
    assert item["tokens_after"] <= api.count(model="gpt-4o", messages=short)["tokens"]
    assert item["places"][-1]["path"] == "messages[2].content"
    assert item["places"][-1]["first_path"] == "messages[0].content"


def test_the_caller_s_request_is_measured_with_all_that_frames_it(api: Api) -> None:
    call = {"id": "a", "type": "function", "function": {"name": "f", "arguments": '{ "a": 1,  "b": 2 }'}}
    turns = [
        user("Go."),
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "a", "content": json.dumps(DATA, indent=2)},
    ]
    short = json.loads(json.dumps(turns))
    short[1]["tool_calls"][0]["function"]["arguments"] = '{"a":1,"b":2}'
    short[2]["content"] = json.dumps(DATA, separators=(",", ":"))
    item = items(advised(api, model="gpt-5", request={"messages": turns}))["minified_json"]
    assert item["tokens_before"] == api.count(model="gpt-5", messages=turns)["tokens"]
    assert item["tokens_after"] == api.count(model="gpt-5", messages=short)["tokens"]
    assert [place["path"] for place in item["places"]] == [
        "request.messages[1].tool_calls[0]",
        "request.messages[2].content",
    ]


def test_a_cached_beginning_saves_on_each_further_call_what_reads_cost_less(api: Api) -> None:
    system = " ".join(f"rule {n}" for n in range(700))
    turns = [user("first question"), {"role": "assistant", "content": "yes"}, user("What now?")]
    answer = advised(api, model="claude-sonnet-4-5", system=system, messages=turns, cache={"write": "1h"})
    plain = advised(api, model="claude-sonnet-4-5", system=system, messages=turns)
    item = items(plain)["cacheable_prefix"]
    caching = item["caching"]
    cached = caching["cached_tokens"]
    assert (item["applies"], caching["minimum_tokens"], caching["automatic"]) == (True, 1024, False)
    assert 1024 <= cached == caching["prefix_tokens"] < plain["tokens"]
    assert Decimal(item["usd_saved"]) == cached * Decimal("2.7") / 10**6  # read at 0.3 in place of 3 dollars
    assert Decimal(caching["usd_write_surcharge"]) == cached * Decimal("0.75") / 10**6
    assert caching["break_even_calls"] == 1
    an_hour = items(answer)["cacheable_prefix"]["caching"]
    assert Decimal(an_hour["usd_write_surcharge"]) == cached * Decimal(3) / 10**6


def test_a_cache_works_in_steps_and_from_a_minimum_on(api: Api) -> None:
    long = [{"role": "system", "content": "word " * 1500}, user("x")]
    item = items(advised(api, model="gpt-4o", messages=long))["cacheable_prefix"]
    caching = item["caching"]
    assert (caching["cached_tokens"] % 128, caching["automatic"], caching["usd_write_surcharge"]) == (0, True, "0")
    assert caching["cached_tokens"] <= caching["prefix_tokens"] < caching["cached_tokens"] + 128
    assert Decimal(item["usd_saved"]) == caching["cached_tokens"] * Decimal("1.25") / 10**6
    short = [{"role": "system", "content": "word " * 900}, user("x")]
    for body, reason in (
        ({"model": "gpt-4o", "messages": short}, "below_cache_minimum"),
        ({"model": "gpt-4o", "messages": [user("x")]}, "no_stable_prefix"),
        ({"model": "gpt-4o", "text": "word " * 1500}, "no_stable_prefix"),
        ({"model": "openrouter/openai/gpt-4o", "messages": long}, "cache_minimum_unknown"),
        ({"model": "gpt-4o", "messages": long, "cache": {"read_tokens": 1505}}, "no_saving"),
    ):
        found = items(advised(api, **body))["cacheable_prefix"]
        assert (found["applies"], found["reason"]) == (False, reason)


def test_cheaper_tiers_price_the_output_too(api: Api) -> None:
    answer = advised(api, model="gpt-5", text="Hello, World!", expected_output_tokens=1000)
    batch, flex = items(answer)["batch_tier"], items(answer)["service_tier"]
    usd = (4 * Decimal("1.25") + 1000 * 10) / 10**6
    assert Decimal(answer["usd"]) == usd
    assert [Decimal(item["usd_saved"]) for item in (batch, flex)] == [usd / 2, usd / 2]
    assert (batch["service_tier"], flex["service_tier"], batch["tokens_saved"]) == ("batch", "flex", 0)
    dear = advised(api, model="gpt-5", text="Hello, World!", service_tier="priority")
    tiers = {item["service_tier"] for item in dear["advice"] if item["code"] in ("batch_tier", "service_tier")}
    assert tiers == {"batch", "standard", "flex"}
    assert items(advised(api, model="gpt-4o", text="a"))["service_tier"]["reason"] == "no_saving"


def test_an_unknown_price_is_null_and_tokens_are_measured_all_the_same(api: Api) -> None:
    answer = advised(api, model="qwen3-8b", text="a   b   c   d   e   f")
    assert (answer["usd"], answer["price"]) == (None, None)
    said = items(answer)
    assert said["white_space"]["tokens_saved"] > 0
    assert said["white_space"]["usd_saved"] is None
    assert answer["combined"]["usd_after"] is None
    assert said["batch_tier"]["reason"] == said["service_tier"]["reason"] == "price_unknown"


def test_an_alternative_is_measured_in_place_of_the_text(api: Api) -> None:
    item = items(advised(api, model="gpt-4o", text="Hello, World!", alternative_text="Hello, how are you?"))
    assert (item["alternative_text"]["applies"], item["alternative_text"]["tokens_saved"]) == (False, -2)
    assert item["alternative_text"]["usd_saved"] == "-0.000005"
    turns = [{"role": "system", "content": "请简短回答所有的问题。"}, user("Hello, World!")]
    for of, place in (("user", 1), ("system", 0)):
        changed = json.loads(json.dumps(turns))
        changed[place]["content"] = "Be brief."
        found = items(advised(api, model="gpt-4o", messages=turns, alternative_text="Be brief.", alternative_of=of))[
            "alternative_text"
        ]
        assert found["tokens_after"] == api.count(model="gpt-4o", messages=changed)["tokens"]
    assert "alternative_text" not in items(advised(api, model="gpt-4o", text="x"))


PIXELS = "iVBORw0KGgoAAAANSUhEUgAABAAAAAQACAIAAADwf7zUAAAAAElFTkSuQmCC"  # the header of a picture of 1024 x 1024


def test_pictures_are_measured_in_low_detail(api: Api) -> None:
    def turns(detail: str) -> list[dict[str, Any]]:
        image = {"url": f"data:image/png;base64,{PIXELS}", "detail": detail}
        return [user([{"type": "text", "text": "What is it?"}, {"type": "image_url", "image_url": image}])]

    item = items(advised(api, model="gpt-4o", messages=turns("high")))["low_image_detail"]
    assert item["tokens_before"] == api.count(model="gpt-4o", messages=turns("high"))["tokens"]
    assert item["tokens_after"] == api.count(model="gpt-4o", messages=turns("low"))["tokens"]
    assert (item["applies"], item["tokens_saved"]) == (True, 680)  # four tiles of 170
    assert item["places"] == [{"path": "messages[0].content[1]"}]
    low = items(advised(api, model="gpt-4o", messages=turns("low")))["low_image_detail"]
    assert (low["applies"], low["reason"]) == (False, "no_saving")
    none = items(advised(api, model="claude-sonnet-4-5", dialect="openai_chat", messages=turns("high")))
    assert none["low_image_detail"]["reason"] == "nothing_found"
    assert "low_image_detail" not in items(advised(api, model="gpt-4o", text="x"))


def test_literals_of_special_tokens_are_named_with_their_place(api: Api) -> None:
    item = items(advised(api, model="gpt-4o", messages=[user("so <|im_end|> it is <|im_end|>")]))
    found = item["special_token_literal"]
    assert (found["applies"], found["found"], found["tokens_saved"]) == (True, 2, 0)
    assert found["places"] == [{"path": "messages[0].content", "offset": 3}]


def test_no_answer_holds_the_caller_s_text(api: Api) -> None:
    text = f'zebra7secret {{"zebra7secret":  1}} {PASSAGE}zebra7secret {PASSAGE}'
    answer = api.post("/v1/advise", {"model": "gpt-4o", "text": text, "alternative_text": "zebra7secret"})
    assert answer.status_code == 200
    assert "zebra7secret" not in answer.text
    assert "weighbridge stands" not in answer.text


def test_codes_and_reasons_are_those_that_the_document_lists(services: Services) -> None:
    assert set(EXPLAINED) == set(get_args(AdviceCode))
    source = (Path(advise.__code__.co_filename)).read_text("utf-8")
    reasons = set(get_args(NoAdvice))
    assert {reason for reason in reasons if f'"{reason}"' in source} == reasons


def test_json_that_is_sent_twice_is_compact_and_sent_once(api: Api) -> None:
    pretty = json.dumps(DATA, indent=4)
    answer = advised(api, model="gpt-4o", messages=[user(pretty), user(pretty)])
    assert answer["combined"]["codes"] == ["minified_json", "repeated_context"]
    least = min(items(answer)[code]["tokens_after"] for code in answer["combined"]["codes"])
    assert answer["combined"]["tokens_after"] < least


words = st.lists(
    st.sampled_from(['{"a": [1,  2]}', "你 好", "  ", "\n\n\n", "word", "<|im_end|>", PASSAGE, "[ ]", "```\n", "é"]),
    max_size=8,
).map(" ".join)


@pytest.mark.parametrize("model", ["gpt-4o", "claude-sonnet-4-5", "qwen3-8b", "gemini-2.5-flash"])
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=st.lists(words, min_size=1, max_size=4))
def test_what_applies_saves_and_the_whole_is_measured(services: Services, model: str, texts: list[str]) -> None:
    turns = [user(text) for text in texts]
    body = {"model": model, "messages": turns, "at": AT, "expected_output_tokens": 50}
    answer = json.loads(advise_work(services, json.dumps(body).encode(), None))
    for item in answer["advice"]:
        assert item["tokens_before"] == answer["tokens"]
        assert item["tokens_saved"] == item["tokens_before"] - item["tokens_after"]
        assert item["applies"] == (item["reason"] is None)
        if item["usd_saved"] is not None:
            assert Decimal(item["usd_before"]) - Decimal(item["usd_after"]) == Decimal(item["usd_saved"])
        if item["code"] in CONTENT:
            assert item["applies"] == (item["tokens_saved"] > 0)
    codes = [item["code"] for item in answer["advice"] if item["applies"] and item["code"] in CONTENT]
    assert answer["combined"]["codes"] == codes
    if len(codes) == 1:
        assert answer["combined"]["tokens_after"] == items(answer)[codes[0]]["tokens_after"]
    assert answer["combined"]["tokens_after"] <= answer["tokens"]


@pytest.mark.parametrize(
    "text",
    [
        "[" * 300_000,
        '{"a": ' * 50_000,
        '["' * 150_000,
        "[]" * 150_000,
        "a \n" * 100_000,
        "你 " * 150_000,
        "\n" * 300_000,
    ],
    ids=["open", "nested", "quotes", "closed", "lines", "cjk", "empty"],
)
def test_hostile_texts_are_answered(api: Api, text: str) -> None:
    assert advised(api, model="gpt-4o", text=text)["tokens"] == api.count(model="gpt-4o", text=text)["tokens"]


def test_the_deadline_is_looked_at(services: Services) -> None:
    body = json.dumps({"model": "gpt-4o", "text": '{"a": 1} ' * 20_000}).encode()
    with pytest.raises(DeadlineExceeded):
        advise_work(services, body, Stop(0.0))


@pytest.mark.parametrize(
    ("body", "status", "path"),
    [
        ({"text": "a"}, 422, "model"),
        ({"model": "gpt-4o"}, 422, "text"),
        ({"model": "gpt-4o", "text": "a", "messages": [user("a")]}, 422, "text"),
        ({"model": "gpt-4o", "texts": ["a"]}, 422, "texts"),
        ({"model": "gpt-4o", "text": "a", "at": "2026-11-29T12:00:00"}, 422, "at"),
        (
            {"model": "gpt-4o", "text": "a", "alternative_text": "b", "alternative_of": "system"},
            422,
            "alternative_text",
        ),
        ({"model": "gpt-4o", "text": "a", "service_tier": "slow"}, 422, "service_tier"),
        ({"model": "gpt-4o", "text": "a", "cache": {"read_tokens": 9}}, 422, None),
        ({"model": "gpt-4o", "text": "a", "max_output_tokens": 5, "expected_output_tokens": 6}, 422, None),
        ({"model": "text-embedding-3-small", "messages": [user("a")]}, 422, "model"),
        ({"model": "gpt-4o", "text": "a" * (MOST_CHARACTERS + 1)}, 413, "text"),
        ({"model": "gpt-4o", "messages": [user(5)]}, 422, "messages[0].content"),
    ],
)
def test_what_cannot_be_advised_on_is_refused_with_its_path(
    api: Api, body: dict[str, Any], status: int, path: str | None
) -> None:
    answer = api.post("/v1/advise", body)
    assert (answer.status_code, answer.json().get("path")) == (status, path), answer.text


def test_strict_refuses_a_count_that_is_not_exact(services: Services) -> None:
    body = {"model": "claude-sonnet-4-5", "text": "a", "strict": True}
    with pytest.raises(DomainError, match="not exact"):
        advise_work(services, json.dumps(body).encode(), None)


def test_half_a_surrogate_pair_is_counted_and_told(api: Api) -> None:
    answer = api.post("/v1/advise", b'{"model": "gpt-4o", "text": "a  \\ud800  b"}').json()
    assert [warning["code"] for warning in answer["warnings"]] == ["lone_surrogate"]
