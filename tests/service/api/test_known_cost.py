"""``POST /v1/cost`` of vendors' usage and whole responses. Prices are made up, or those of the case."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest

from service.app import build_app, build_services
from service.settings import Settings
from tests.service.conftest import Api

PRICES = {  # model: rates by unit; one row each, but for `tiered`
    "k01": "input 2.5 cache_read 1.25 output 10",
    "k03": "input 3 cache_write 3.75 output 15",
    "k02": "input 1.25 cache_read 0.125 output 10",
    "k06": "input 0.5 cache_read 0.05 output 3",
    "k07": "input 5 cache_write 6.25 cache_write_1h 10",
    "k12": "input 2 cache_read 0.2 cache_write 2.5",
    "k16": "input 2.5 cache_read 1.25 output 10",
    "r01": "input 30 output 180",
    "r02": "input 1.25 output 10",
    "sound": "input 1 output 2",
    "heard": "input 1 input_audio 3 output 2",
    "ticks": "input 1.25 cache_read 0.2 output 2.5 social_searches_kcount 5",
    "fast-ticks": "input 0.2 cache_read 0.05 output 0.5",
    "routed": "input 5 output 25",
    "searched": "input 1 output 2 web_searches_kcount 10",
}
TIERS = """
[[model]]
provider = "openai"
id = "case-k05"
[[price]]
provider = "openai"
model = "case-k05"
input_mtok = "1.25"
cache_read_mtok = "0.3125"
output_mtok = "10"
tiers = [{above_input = 200000, input_mtok = "2.5", cache_read_mtok = "0.625", output_mtok = "15"}]
[[model]]
provider = "openai"
id = "case-served"
[[price]]
provider = "openai"
model = "case-served"
input_mtok = "2"
output_mtok = "8"
[[price]]
provider = "openai"
model = "case-served"
service_tier = "priority"
input_mtok = "4"
output_mtok = "16"
[[price]]
provider = "openai"
model = "case-served"
service_tier = "batch"
input_mtok = "1"
output_mtok = "4"
[[multiplier]]
provider = "openai"
models = ["case-served"]
match = {region = "us"}
factor = "1.1"
"""


def _rows() -> str:
    text = []
    for name, rates in PRICES.items():
        words = rates.split()
        price = "".join(
            f'{unit if unit.endswith("_kcount") else unit + "_mtok"} = "{rate}"\n'
            for unit, rate in zip(words[::2], words[1::2], strict=True)
        )
        provider = 'provider = "openai"\n'
        text.append(f'[[model]]\n{provider}id = "case-{name}"\n[[price]]\n{provider}model = "case-{name}"\n{price}')
    return "".join(text) + TIERS


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> Api:
    folder = tmp_path_factory.mktemp("cases")
    (folder / "weighbridge.toml").write_text(_rows())
    return Api(build_app(build_services(Settings(data_dir=folder, log="off", vocabularies=("cl100k_base",)))))


def _ask(api: Api, **body: Any) -> dict[str, Any]:
    answer = api.post("/v1/cost", body)
    assert answer.status_code == 200, answer.text
    return answer.json()


def _refused(api: Api, **body: Any) -> dict[str, Any]:
    answer = api.post("/v1/cost", body)
    assert answer.status_code == 422, answer.text
    return answer.json()


def _codes(answer: dict[str, Any]) -> list[str]:
    return [warning["code"] for warning in answer["warnings"]]


CASES = [
    (
        "k01",
        {"prompt_tokens": 2006, "completion_tokens": 300, "prompt_tokens_details": {"cached_tokens": 1920}},
        "0.005615",
    ),
    (
        "k03",
        {
            "input_tokens": 3,
            "cache_creation_input_tokens": 12_304,
            "cache_creation": {"ephemeral_5m_input_tokens": 12_304},
            "output_tokens": 550,
        },
        "0.054399",
    ),
    (
        "k02",
        {"prompt_tokens": 9126, "completion_tokens": 3197, "prompt_tokens_details": {"cached_tokens": 4864}},
        "0.0379055",
    ),
    (  # the whole prompt selects the tier, cached tokens included
        "k05",
        {
            "promptTokenCount": 262_960,
            "cachedContentTokenCount": 257_955,
            "candidatesTokenCount": 1744,
            "totalTokenCount": 264_704,
        },
        "0.199894375",
    ),
    (
        "k06",
        {
            "input_tokens": 20_212,
            "output_tokens": 931,
            "input_tokens_details": {"cached_tokens": 16_298},
            "total_tokens": 21_143,
        },
        "0.0055649",
    ),
    (
        "k07",
        {
            "input_tokens": 0,
            "output_tokens": 0,
            "cache_creation_input_tokens": 344_139,
            "cache_creation": {"ephemeral_1h_input_tokens": 344_139, "ephemeral_5m_input_tokens": 0},
        },
        "3.44139",
    ),
    (
        "k12",
        {
            "input_tokens": 2600,
            "output_tokens": 0,
            "input_tokens_details": {"cached_tokens": 2000, "cache_write_tokens": 400},
        },
        "0.0018",
    ),
    (
        "k16",
        {"prompt_tokens": 3625, "completion_tokens": 158, "prompt_tokens_details": {"cached_tokens": 2560}},
        "0.0074425",
    ),
    (
        "r01",
        {
            "prompt_tokens": 14_746,
            "completion_tokens": 1944,
            "completion_tokens_details": {"reasoning_tokens": 1360},
        },
        "0.7923",
    ),
    (
        "r02",
        {
            "promptTokenCount": 7477,
            "candidatesTokenCount": 2060,
            "thoughtsTokenCount": 1939,
            "totalTokenCount": 11_476,
        },
        "0.04933625",
    ),
]


@pytest.mark.parametrize(("name", "usage", "usd"), CASES, ids=[case[0] for case in CASES])
def test_a_vendors_usage_costs_what_the_published_case_says(cases, name, usage, usd):
    answer = _ask(cases, model=f"case-{name}", usage=usage)
    assert (answer["cost"]["low"], answer["cost"]["expected"], answer["cost"]["high"]) == (usd, usd, usd)


@pytest.mark.parametrize(
    ("tokens", "cached", "output", "reasoning", "searches", "ticks"),
    [
        (8237, 3072, 2023, 0, 4, 321_281_500),
        (35_139, 16_320, 2922, 0, 11, 890_927_500),
        (21_996, 11_904, 2387, 0, 10, 709_633_000),
        (10_992, 3072, 2394, 0, 4, 364_994_000),
        (35_683, 832, 1176, 731, 0, 466_701_500),
    ],
)
def test_the_sum_is_the_one_that_xai_itself_put_into_its_answers(
    cases, tokens, cached, output, reasoning, searches, ticks
):
    """Recorded answers with their ``cost_in_usd_ticks``, ten billion to the dollar."""
    usage = {
        "input_tokens": tokens,
        "input_tokens_details": {"cached_tokens": cached},
        "output_tokens": output,
        "output_tokens_details": {"reasoning_tokens": reasoning},
        "total_tokens": tokens + output,
        "num_server_side_tools_used": searches,
        "cost_in_usd_ticks": ticks,
        "server_side_tool_usage_details": {"web_search_calls": 0, "x_search_calls": searches},
    }
    assert Decimal(_ask(cases, model="case-ticks", usage=usage)["cost"]["expected"]) == Decimal(ticks).scaleb(-10)


def test_the_sums_that_vendors_state_in_openais_form(cases):
    details = {"text_tokens": 199, "audio_tokens": 0, "image_tokens": 0, "cached_tokens": 163}
    usage = {
        "prompt_tokens": 199,
        "completion_tokens": 1,
        "total_tokens": 200,
        "prompt_tokens_details": details,
        "num_sources_used": 0,
        "cost_in_usd_ticks": 158_500,
    }
    assert _ask(cases, model="case-fast-ticks", usage=usage)["cost"]["expected"] == "0.00001585"
    usage = {"prompt_tokens": 95, "completion_tokens": 790, "total_tokens": 885, "cost": 0.020225, "is_byok": False}
    assert _ask(cases, model="case-routed", usage=usage)["cost"]["expected"] == "0.020225"


def test_pictures_are_text_to_gemini_and_sound_without_a_rate_is_unknown(cases):
    details = [{"modality": "IMAGE", "tokenCount": 600}]
    usage = {"promptTokenCount": 1000, "totalTokenCount": 1000, "promptTokensDetails": details}
    assert _ask(cases, model="case-sound", usage=usage)["cost"]["expected"] == "0.001"
    details[0]["modality"] = "AUDIO"
    unknown = _ask(cases, model="case-sound", usage=usage)["cost"]
    assert (unknown["status"], unknown["expected"], unknown["missing"]) == ("unknown", None, "input_audio")
    assert _ask(cases, model="case-heard", usage=usage)["cost"]["expected"] == "0.0022"


def test_what_the_cache_gave_is_inside_the_prompt(cases):  # K11
    usage = {"prompt_tokens": 117_231, "completion_tokens": 225, "prompt_tokens_details": {"cached_tokens": 115_584}}
    parts = {c["unit"]: c["tokens"] for c in _ask(cases, model="case-k01", usage=usage)["cost"]["components"]}
    assert parts == {"input": 1647, "cache_read": 115_584, "output": 225}


CHAT = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "model": "case-served",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "hi"}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 1000, "completion_tokens": 100, "total_tokens": 1100},
    "service_tier": "default",
}


@pytest.mark.parametrize(
    ("served", "asked", "tier", "usd", "codes"),
    [
        ("default", None, "standard", "0.0028", []),
        ("default", "priority", "standard", "0.0028", ["service_tier_differs"]),  # B03
        ("priority", "standard", "priority", "0.0056", ["service_tier_differs"]),
        ("priority", "priority", "priority", "0.0056", []),
        (None, "priority", "priority", "0.0056", ["service_tier_not_served"]),
        ("auto", "priority", "priority", "0.0056", ["service_tier_not_served"]),
        (None, None, "standard", "0.0028", []),
        ("default", "batch", "batch", "0.0014", ["service_tier_not_served"]),  # this form cannot say batch
    ],
)
def test_the_tier_that_served_goes_before_the_one_asked_for(cases, served, asked, tier, usd, codes):
    body = {"response": CHAT | {"service_tier": served}} | ({"service_tier": asked} if asked else {})
    answer = _ask(cases, **body)
    assert (answer["service_tier"], answer["cost"]["expected"], _codes(answer)) == (tier, usd, codes)


@pytest.mark.parametrize("word", ["scale", "never heard of"])
def test_a_tier_without_a_public_price_is_unknown(cases, word):
    answer = _ask(cases, response=CHAT | {"service_tier": word})
    assert (answer["cost"]["status"], answer["cost"]["missing"]) == ("unknown", "service_tier")
    assert (answer["service_tier"], _codes(answer)) == ("other", ["service_tier_unpriced", "price_unknown"])


MESSAGE = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "case-served",
    "content": [{"type": "text", "text": "hi"}],
    "usage": {
        "input_tokens": 1000,
        "output_tokens": 100,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
        "cache_creation": {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 0},
        "server_tool_use": None,
        "service_tier": "batch",
        "inference_geo": "us",
        "speed": "standard",
    },
}


def test_tier_and_region_inside_the_usage_are_the_served_ones(cases):
    answer = _ask(cases, response=MESSAGE, region="eu")
    assert (answer["dialect"], answer["service_tier"]) == ("anthropic", "batch")
    assert (answer["cost"]["expected"], _codes(answer)) == ("0.00154", ["region_differs"])
    fast = MESSAGE | {"usage": MESSAGE["usage"] | {"speed": "fast", "inference_geo": "global"}}
    assert _ask(cases, response=fast)["service_tier"] == "fast"


def test_a_line_of_a_batchs_results_is_priced_as_batch(cases):
    for line in (
        {"id": "b", "custom_id": "1", "response": {"status_code": 200, "body": CHAT}},  # says default
        {"custom_id": "1", "result": {"type": "succeeded", "message": MESSAGE}},
    ):
        assert _ask(cases, response=line)["service_tier"] == "batch"


def test_the_callers_model_decides_and_another_one_in_the_response_is_said(cases):
    answer = _ask(cases, model="case-r02", response=CHAT)
    assert (answer["model"], _codes(answer)) == ("case-r02", ["model_differs"])
    assert _codes(_ask(cases, model="case-served", response=CHAT | {"model": "a deployment's name"})) == []
    assert _codes(_ask(cases, model="openai/case-served", response=CHAT)) == []


def test_a_response_with_a_dated_name_is_resolved_by_its_date(cases):
    answer = _ask(cases, response=CHAT | {"model": "gpt-4o-2024-08-06"}, at="2026-11-29T12:00:00Z")
    assert (answer["model"], answer["cost"]["expected"]) == ("gpt-4o", "0.0035")


def test_a_response_without_a_model_asks_for_it(cases):
    converse = {"output": {"message": {}}, "usage": {"inputTokens": 3, "outputTokens": 1, "totalTokens": 4}}
    problem = _refused(cases, response=converse)
    assert (problem["code"], problem["path"]) == ("invalid_request", "model")
    answer = _ask(cases, model="case-served", response=converse | {"serviceTier": {"type": "priority"}})
    assert (answer["dialect"], answer["service_tier"], answer["cost"]["expected"]) == (
        "bedrock",
        "priority",
        "0.000028",
    )


RESPONSES = {
    "id": "resp_1",
    "object": "response",
    "model": "case-searched",
    "output": [
        {"type": "web_search_call", "action": {"type": "search", "query": "q"}},
        {"type": "web_search_call", "action": {"type": "open_page", "url": "u"}},
        {"type": "code_interpreter_call"},
        {"type": "message", "content": []},
    ],
    "usage": {
        "input_tokens": 1000,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": 100,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 1100,
    },
}


def test_searches_in_the_output_are_fees_and_other_calls_are_named(cases):
    answer = _ask(cases, response=RESPONSES)
    assert (answer["usage"]["web_searches"], answer["cost"]["expected"]) == ("1", "0.0112")
    assert [(w["code"], w["path"]) for w in answer["warnings"]] == [("fee_not_included", "response.output[2]")]


def test_grounding_is_named(cases):
    response = {
        "modelVersion": "case-r02",
        "candidates": [{"finishReason": "STOP", "groundingMetadata": {"webSearchQueries": ["q"]}}],
        "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 1, "totalTokenCount": 11},
    }
    answer = _ask(cases, response=response)
    assert (answer["dialect"], _codes(answer)) == ("gemini", ["fee_not_included"])


def _chunk(**fields: Any) -> dict[str, Any]:
    return {
        "id": "c1",
        "object": "chat.completion.chunk",
        "model": "case-served",
        "choices": [],
        "usage": None,
    } | fields


START = {
    "type": "message_start",
    "message": MESSAGE | {"usage": MESSAGE["usage"] | {"input_tokens": 25, "output_tokens": 1}},
}
STREAMS = {
    "openai_chat": (
        [
            _chunk(choices=[{"delta": {"content": "h"}}]),
            _chunk(choices=[{"delta": {}, "finish_reason": "stop"}]),
            _chunk(usage={"prompt_tokens": 25, "completion_tokens": 15, "total_tokens": 40}),
        ],
        (25, 15),
    ),
    "usage beside choices": (  # M04
        [
            _chunk(
                choices=[{"delta": {}, "finish_reason": "stop"}],
                usage={"prompt_tokens": 25, "completion_tokens": 15, "prompt_tokens_details": {"cached_tokens": 9}},
            )
        ],
        (25, 15),
    ),
    "anthropic": (  # M01: the last number counts and is not added
        [
            START,
            {"type": "content_block_delta"},
            {"type": "message_delta", "delta": {}, "usage": {"output_tokens": 15}},
        ],
        (25, 15),
    ),
    "anthropic, all again": (
        [
            START,
            {
                "type": "message_delta",
                "delta": {"stop_reason": "end_turn"},
                "usage": {"input_tokens": 27, "output_tokens": 47, "cache_read_input_tokens": None},
            },
            {"type": "message_stop"},
        ],
        (27, 47),
    ),
    "openai_responses": (
        [
            {"type": "response.created", "response": RESPONSES | {"usage": None, "output": []}},
            {"type": "response.output_text.delta", "delta": "h"},
            {"type": "response.completed", "response": RESPONSES | {"output": []}},
        ],
        (1000, 100),
    ),
    "gemini": (
        [
            {
                "responseId": "g",
                "modelVersion": "case-r02",
                "usageMetadata": {"promptTokenCount": 9, "totalTokenCount": 9},
            },
            {
                "responseId": "g",
                "candidates": [{"finishReason": "STOP"}],
                "usageMetadata": {
                    "promptTokenCount": 9,
                    "candidatesTokenCount": 4,
                    "thoughtsTokenCount": 2,
                    "totalTokenCount": 15,
                },
            },
        ],
        (9, 6),
    ),
    "groq": (
        [
            {"id": "c", "model": "case-served", "choices": [{"delta": {}, "finish_reason": "stop"}]},
            {"id": "c", "x_groq": {"usage": {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7}}},
        ],
        (5, 2),
    ),
    "bedrock": (
        [
            {"messageStart": {"role": "assistant"}},
            {
                "metadata": {
                    "usage": {"inputTokens": 3, "outputTokens": 2, "totalTokens": 5},
                    "metrics": {"latencyMs": 9},
                }
            },
        ],
        (3, 2),
    ),
    "cohere": (
        [
            {"type": "message-start", "id": "x", "delta": {"message": {}}},
            {"type": "message-end", "delta": {"usage": {"billed_units": {"input_tokens": 8, "output_tokens": 3}}}},
        ],
        (8, 3),
    ),
    "cohere, first version": (
        [
            {"event_type": "text-generation", "text": "h"},
            {
                "event_type": "stream-end",
                "response": {"meta": {"billed_units": {"input_tokens": 8, "output_tokens": 3}}},
            },
        ],
        (8, 3),
    ),
}


@pytest.mark.parametrize(("events", "tokens"), STREAMS.values(), ids=STREAMS)
def test_of_a_stream_the_last_word_counts(cases, events, tokens):
    answer = _ask(cases, model="case-served", response=events)
    assert (answer["usage"]["input_tokens"], answer["usage"]["output_tokens"]) == tokens
    assert "usage_partial" not in _codes(answer)


def test_a_stream_that_stops_early_is_marked(cases):
    answer = _ask(cases, response=[START, {"type": "content_block_delta"}])
    assert (answer["usage"]["output_tokens"], _codes(answer)) == (1, ["usage_partial"])


def test_events_of_two_responses_are_not_one(cases):
    problem = _refused(cases, response=[_chunk(), _chunk(id="c2", usage=CHAT["usage"])])
    assert (problem["code"], problem["path"]) == ("invalid_request", "response")


@pytest.mark.parametrize(
    ("body", "code", "path"),
    [
        ({"model": "case-k01"}, "invalid_request", "usage"),
        ({"model": "case-k01", "usage": {}, "response": {}}, "invalid_request", "usage"),
        ({"model": "case-k01", "usage": {}}, "usage_missing", "usage"),
        ({"usage": {"input_tokens": 1}}, "invalid_request", "model"),
        ({"response": {"model": "case-k01"}}, "usage_missing", "response"),
        ({"response": CHAT | {"usage": None}}, "usage_missing", "response"),
        ({"response": []}, "usage_missing", "response"),
        ({"response": ["x"]}, "invalid_request", "response[0]"),
        ({"response": CHAT | {"usage": {"prompt_tokens": 1}}}, "usage_missing", "response.usage.completion_tokens"),
        ({"response": CHAT | {"model": "gpt-99"}}, "unknown_model", ""),
        (
            {"response": [_chunk(), _chunk(usage={"prompt_tokens": 2, "completion_tokens": 1, "total_tokens": 9})]},
            "inconsistent_usage",
            "response[1].usage.total_tokens",
        ),
        (
            {"model": "case-k01", "usage": {"prompt_tokens": 1, "inputTokens": 1}},
            "ambiguous_dialect",
            "usage",
        ),
        ({"model": "case-k01", "usage": {"input_tokens": 1}, "dialect": "esperanto"}, "invalid_request", "dialect"),
        (
            {"model": "case-k01", "usage": {"prompt_tokens": 9, "completion_tokens": 1}, "dialect": "anthropic"},
            "usage_missing",
            "usage.input_tokens",
        ),
        (
            {
                "model": "case-k01",
                "usage": {
                    "prompt_tokens": 100,
                    "completion_tokens": 1,
                    "prompt_tokens_details": {"audio_tokens": 90, "cached_tokens": 50},
                },
            },
            "inconsistent_usage",
            "usage",
        ),
    ],
)
def test_what_cannot_be_priced_says_why_and_where(cases, body, code, path):
    problem = _refused(cases, **body)
    assert (problem["code"], problem.get("path", "")) == (code, path)


def test_no_word_of_the_response_comes_back(cases):
    secret = "xyzzy-plugh"
    response = CHAT | {"choices": [{"message": {"content": secret}}], secret: 5, "service_tier": secret}
    response["usage"] = CHAT["usage"] | {"a " + secret: 7}
    answer = cases.post("/v1/cost", {"model": "case-served", "response": response})
    assert answer.status_code == 200
    assert secret not in answer.text
    assert secret not in cases.post("/v1/cost", {"response": response | {"model": secret}}).text


def test_surrogates_in_a_response_are_no_failure(cases):
    body = json.dumps({"response": CHAT | {"choices": ["\ud83d"]}}).encode()
    assert cases.post("/v1/cost", body).status_code == 200
