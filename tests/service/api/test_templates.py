"""``/v1/count`` of chats whose models have a chat template: rendered, and told apart from what hosts may add."""

from __future__ import annotations

from typing import Any

import pytest

from service.api.services import Services
from service.domain.chats import count_rendered
from tests.service.conftest import Api

HELLO = {"role": "user", "content": "Hello, how are you?"}
WEATHER = {"type": "function", "function": {"name": "weather", "parameters": {"type": "object", "properties": {}}}}


def test_a_template_frames_the_chat_as_its_model_was_trained(api: Api) -> None:
    """ChatML: 5 around the message, 3 to begin the answer; 6 for the text."""
    answer = api.count(model="qwen3-8b", messages=[HELLO])
    assert answer["breakdown"] == {"text": 6, "framing": 8, "tools": 0, "images": 0}
    assert (answer["low"], answer["high"], answer["accuracy_reasons"]) == (14, 18, ["host_may_add"])


@pytest.mark.parametrize("served", [{"provider": "hosted_vllm"}, {"dialect": "vllm"}])
def test_ones_own_server_adds_nothing(api: Api, served: dict[str, Any]) -> None:
    answer = api.count(model="qwen3-8b", messages=[HELLO], **served)
    assert (answer["tokens"], answer["high"], answer["accuracy"]) == (14, 14, "exact")


def test_what_shapes_the_request_shapes_the_count(api: Api) -> None:
    def tokens(**more: Any) -> int:
        return api.count(model="qwen3-8b", request={"messages": [HELLO], **more}, dialect="vllm")["tokens"]

    assert tokens() == 14
    assert tokens(add_generation_prompt=False) == 14 - 3
    assert (
        tokens(chat_template_kwargs={"enable_thinking": False}) == 14 + 4
    )  # an empty thought: <think>, </think>, breaks


def test_a_template_shows_tools_in_its_own_words(api: Api) -> None:
    bare = api.count(model="qwen3-8b", messages=[HELLO], dialect="vllm")
    tooled = api.count(model="qwen3-8b", messages=[HELLO], tools=[WEATHER], dialect="vllm")
    assert tooled["breakdown"]["tools"] == tooled["tokens"] - bare["tokens"] > 50
    assert tooled["accuracy"] == "exact"


def test_a_template_without_tools_does_not_make_them_free(api: Api) -> None:
    answer = api.count(model="deepseek-r1", messages=[HELLO], tools=[WEATHER])
    assert answer["breakdown"]["tools"] > 0
    assert [(w["code"], w["path"]) for w in answer["warnings"]] == [("tools_not_in_template", "tools[0]")]


def test_marks_that_a_sender_wrote_stay_text_within_bounds_of_both_readings(api: Api) -> None:
    answer = api.count(model="qwen3-8b", messages=[{"role": "user", "content": "so <|im_end|> it"}], dialect="vllm")
    plain = api.count(model="qwen3-8b", text="so <|im_end|> it")["tokens"]
    assert answer["breakdown"]["text"] == plain
    assert answer["low"] < answer["tokens"] == answer["high"]
    assert answer["accuracy"] == "close"
    assert answer["warnings"][0]["code"] == "special_token_literal"


def test_a_chat_that_the_template_refuses_is_still_bounded(api: Api) -> None:
    answer = api.count(model="qwen3.5-27b", messages=[{"role": "assistant", "content": "no question"}])
    assert answer["warnings"][0]["code"] == "chat_not_rendered"
    assert answer["accuracy"] == "approximate"
    assert answer["low"] <= answer["tokens"] <= answer["high"]


def test_a_text_that_a_template_leaves_out_is_named(api: Api) -> None:
    late = {"role": "system", "content": "Answer in French, always."}
    answer = api.count(model="gpt-oss-120b", messages=[HELLO, late], dialect="vllm")
    assert answer["tokens"] == api.count(model="gpt-oss-120b", messages=[HELLO], dialect="vllm")["tokens"]
    assert [(w["code"], w["path"]) for w in answer["warnings"]] == [("left_out_by_template", "messages[1].content")]
    assert answer["high"] > answer["tokens"]


def test_a_template_of_ones_own_is_refused_unless_allowed(api: Api) -> None:
    body = {"messages": [HELLO], "chat_template": "{{ messages }}"}
    answer = api.post("/v1/count", {"model": "qwen3-8b", "request": body})
    assert (answer.status_code, answer.json()["code"]) == (422, "chat_template_not_allowed")
    closed = api.count(model="gpt-4o", request=body)
    assert [w["code"] for w in closed["warnings"]] == ["template_ignored"]


@pytest.mark.parametrize("model", ["deepseek-v3", "deepseek-r1", "deepseek-v3.1"])
def test_stretches_between_special_tokens_count_as_in_the_whole(services: Services, model: str) -> None:
    """A Hugging Face vocabulary parts a text at special tokens first, so what stands between is counted apart."""
    found = services.weigher.catalog.resolve(model)
    spec, scale = found.model, services.weigher.scale_of(found)
    for text in ("Hello", " x ", "\n\nx\n", "你好，世界", "a\tb  c", "👍🏽", "12345678", "  ", "don't", "<b>x</b>"):
        messages = [{"role": role, "content": text * 2} for role in ("system", "user", "assistant", "user")]
        chat = services.renderer.render(spec, messages)
        whole = len(scale.tokenizer.encode(chat.text, parse_special=True))
        assert count_rendered(chat, scale.tokenizer).tokens == whole


def test_tools_of_a_vendors_own_are_no_sure_part_of_a_template(api: Api) -> None:
    answer = api.count(model="qwen3-32b", messages=[HELLO], tools=[{"type": "web_search_preview"}])
    assert answer["accuracy"] == "approximate"
    assert "unsupported_tool" in answer["accuracy_reasons"]
    assert answer["high"] >= answer["tokens"] + 5000  # as with any model without a template


def test_tools_in_an_assumed_vocabulary_have_its_bounds(api: Api) -> None:
    answer = api.count(model="mistral-large-latest", messages=[HELLO], tools=[WEATHER] * 20)
    assert "vocabulary_assumed" in answer["accuracy_reasons"]
    tools = answer["breakdown"]["tools"]
    assert answer["low"] < answer["tokens"] - tools // 10
    assert answer["high"] > answer["tokens"] + tools // 10
