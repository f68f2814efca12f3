"""Vendors' usage becomes ours: what each form means, what is refused, and what is said. Bodies are our own."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from service.api.dialects.usages.forms import in_units, read_usage, recognise
from service.api.errors import ApiError
from service.api.pricing.wire import wire_usage
from service.domain.notices import Notice
from service.domain.prices import Unknown

NO_PRICE = Unknown("model", "")


def read(values: dict[str, Any], dialect: str = "", seller: str = "") -> tuple[str, dict[str, int | str], list[Notice]]:
    """The form, the usage without its zeros, and the notices."""
    notices: list[Notice] = []
    dialect = dialect or recognise(values, "usage")
    form, reading = read_usage(values, "usage", dialect=dialect, seller=seller, notices=notices)
    usage = wire_usage(in_units(reading, NO_PRICE, "usage"))
    return form, {name: count for name, count in usage.items() if count}, notices


def refused(values: dict[str, Any], dialect: str = "", seller: str = "") -> tuple[str, str]:
    with pytest.raises(ApiError) as error:
        read(values, dialect, seller)
    assert error.value.status == 422
    return error.value.code, error.value.path


USAGES = [
    ("weighbridge", {"input_tokens": 9, "cache_read_tokens": 4}, {"input_tokens": 9, "cache_read_tokens": 4}),
    ("weighbridge", {"input_tokens": 9, "output_tokens": 4}, {"input_tokens": 9, "output_tokens": 4}),
    (  # Chat Completions: the cache inside the prompt, reasoning inside the completion
        "openai_chat",
        {
            "prompt_tokens": 2006,
            "completion_tokens": 300,
            "total_tokens": 2306,
            "prompt_tokens_details": {"cached_tokens": 1920, "audio_tokens": 0},
            "completion_tokens_details": {
                "reasoning_tokens": 64,
                "audio_tokens": 0,
                "accepted_prediction_tokens": 12,
                "rejected_prediction_tokens": 3,
            },
        },
        {"input_tokens": 2006, "output_tokens": 300, "cache_read_tokens": 1920, "reasoning_tokens": 64},
    ),
    (  # spoken in and out
        "openai_chat",
        {
            "prompt_tokens": 120,
            "completion_tokens": 90,
            "total_tokens": 210,
            "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 100, "text_tokens": 20},
            "completion_tokens_details": {"reasoning_tokens": 0, "audio_tokens": 70, "text_tokens": 20},
        },
        {"input_tokens": 120, "output_tokens": 90, "input_audio_tokens": 100, "output_audio_tokens": 70},
    ),
    ("openai_chat", {"prompt_tokens": 8, "total_tokens": 8}, {"input_tokens": 8}),  # embeddings
    (  # K12: writes to OpenAI's cache are named and are inside the input
        "openai_responses",
        {
            "input_tokens": 2600,
            "input_tokens_details": {"cached_tokens": 2000, "cache_write_tokens": 400},
            "output_tokens": 10,
            "output_tokens_details": {"reasoning_tokens": 4},
            "total_tokens": 2610,
        },
        {
            "input_tokens": 2600,
            "output_tokens": 10,
            "cache_read_tokens": 2000,
            "cache_write_tokens": 400,
            "reasoning_tokens": 4,
        },
    ),
    (
        "openai_responses",
        {"input_tokens": 5, "output_tokens": 7, "total_tokens": 12},
        {"input_tokens": 5, "output_tokens": 7},
    ),
    (  # an image route: pictures out, a picture and text in
        "openai_responses",
        {
            "input_tokens": 250,
            "input_tokens_details": {"text_tokens": 50, "image_tokens": 200},
            "output_tokens": 1056,
            "output_tokens_details": {"image_tokens": 1056, "text_tokens": 0},
            "total_tokens": 1306,
        },
        {"input_tokens": 250, "output_tokens": 1056, "input_image_tokens": 200, "output_image_tokens": 1056},
    ),
    (  # Realtime: what the cache gave is split by modality
        "openai_responses",
        {
            "total_tokens": 253,
            "input_tokens": 132,
            "output_tokens": 121,
            "input_token_details": {
                "text_tokens": 119,
                "audio_tokens": 13,
                "cached_tokens": 64,
                "cached_tokens_details": {"text_tokens": 56, "audio_tokens": 8},
            },
            "output_token_details": {"text_tokens": 30, "audio_tokens": 91},
        },
        {
            "input_tokens": 132,
            "output_tokens": 121,
            "cache_read_tokens": 64,
            "input_audio_tokens": 13,
            "cache_audio_read_tokens": 8,
            "output_audio_tokens": 91,
        },
    ),
    (  # xAI's tools are counted in its usage
        "openai_responses",
        {
            "input_tokens": 8000,
            "input_tokens_details": {"cached_tokens": 3000},
            "output_tokens": 2000,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": 10000,
            "num_sources_used": 0,
            "num_server_side_tools_used": 6,
            "cost_in_usd_ticks": 31000,
            "server_side_tool_usage_details": {"web_search_calls": 2, "x_search_calls": 4, "mcp_calls": 0},
        },
        {
            "input_tokens": 8000,
            "output_tokens": 2000,
            "cache_read_tokens": 3000,
            "web_searches": "2",
            "social_searches": "4",
        },
    ),
    (  # K10: input_tokens is what the cache had no part in
        "anthropic",
        {
            "input_tokens": 5,
            "cache_read_input_tokens": 128_955,
            "cache_creation_input_tokens": 1253,
            "cache_creation": {"ephemeral_5m_input_tokens": 253, "ephemeral_1h_input_tokens": 1000},
            "output_tokens": 40,
            "output_tokens_details": {"thinking_tokens": 30},
            "server_tool_use": {"web_search_requests": 2, "web_fetch_requests": 1},
            "service_tier": "standard",
            "inference_geo": "not_available",
        },
        {
            "input_tokens": 130_213,
            "output_tokens": 40,
            "cache_read_tokens": 128_955,
            "cache_write_tokens": 1253,
            "cache_write_1h_tokens": 1000,
            "reasoning_tokens": 30,
            "web_searches": "2",
        },
    ),
    (
        "anthropic",
        {"input_tokens": 5, "output_tokens": 7, "service_tier": "standard"},
        {"input_tokens": 5, "output_tokens": 7},
    ),
    (  # a compaction is billed and stands in the iterations alone
        "anthropic",
        {
            "input_tokens": 100,
            "output_tokens": 20,
            "iterations": [
                {"type": "compaction", "input_tokens": 5000, "output_tokens": 300},
                {"type": "message", "input_tokens": 100, "output_tokens": 20},
            ],
        },
        {"input_tokens": 5100, "output_tokens": 320},
    ),
    (  # R02: thoughts stand beside the candidates
        "gemini",
        {
            "promptTokenCount": 7477,
            "candidatesTokenCount": 2060,
            "thoughtsTokenCount": 1939,
            "totalTokenCount": 11_476,
            "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 7477}],
        },
        {"input_tokens": 7477, "output_tokens": 3999, "reasoning_tokens": 1939},
    ),
    (  # tool use stands beside the prompt; pictures are sold as text, sound is not
        "gemini",
        {
            "promptTokenCount": 1000,
            "toolUsePromptTokenCount": 50,
            "cachedContentTokenCount": 600,
            "totalTokenCount": 1050,
            "promptTokensDetails": [
                {"modality": "TEXT", "tokenCount": 100},
                {"modality": "IMAGE", "tokenCount": 258},
                {"modality": "DOCUMENT", "tokenCount": 242},
                {"modality": "AUDIO", "tokenCount": 400},
            ],
            "cacheTokensDetails": [{"modality": "AUDIO", "tokenCount": 100}, {"modality": "TEXT", "tokenCount": 500}],
            "toolUsePromptTokensDetails": [{"modality": "TEXT", "tokenCount": 50}],
            "trafficType": "ON_DEMAND",
        },
        {
            "input_tokens": 1050,
            "cache_read_tokens": 600,
            "input_audio_tokens": 400,
            "cache_audio_read_tokens": 100,
        },
    ),
    (
        "gemini",
        {"prompt_token_count": 10, "candidates_token_count": 4, "thoughts_token_count": 2, "total_token_count": 16},
        {"input_tokens": 10, "output_tokens": 6, "reasoning_tokens": 2},
    ),
    (
        "bedrock",
        {
            "inputTokens": 11,
            "outputTokens": 50,
            "totalTokens": 1361,
            "cacheReadInputTokens": 1100,
            "cacheWriteInputTokens": 200,
            "cacheDetails": [{"ttl": "1h", "inputTokens": 150}, {"ttl": "5m", "inputTokens": 50}],
        },
        {
            "input_tokens": 1311,
            "output_tokens": 50,
            "cache_read_tokens": 1100,
            "cache_write_tokens": 200,
            "cache_write_1h_tokens": 150,
        },
    ),
    (  # a preamble is counted and not billed
        "cohere",
        {
            "billed_units": {"input_tokens": 1, "output_tokens": 9.0},
            "tokens": {"input_tokens": 496, "output_tokens": 9},
        },
        {"input_tokens": 1, "output_tokens": 9},
    ),
    ("cohere", {"billed_units": {"search_units": 3}}, {"rerank_searches": "3"}),
    (
        "openai_chat",
        {
            "prompt_tokens": 100,
            "completion_tokens": 20,
            "total_tokens": 120,
            "prompt_cache_hit_tokens": 64,
            "prompt_cache_miss_tokens": 36,
            "prompt_tokens_details": {"cached_tokens": 64},
        },
        {"input_tokens": 100, "output_tokens": 20, "cache_read_tokens": 64},
    ),
    (  # times and the vendor's own sums are not tokens
        "openai_chat",
        {
            "prompt_tokens": 40,
            "completion_tokens": 8,
            "total_tokens": 48,
            "num_cached_tokens": 32,
            "queue_time": 0.04,
            "prompt_time": 0.001,
            "completion_time": 0.02,
            "total_time": 0.021,
            "prompt_audio_seconds": 12.5,
        },
        {"input_tokens": 40, "output_tokens": 8, "cache_read_tokens": 32, "input_audio_seconds": "12.5"},
    ),
    (  # a proxy that adds Anthropic's names to OpenAI's form: the prompt is inclusive
        "openai_chat",
        {
            "prompt_tokens": 130,
            "completion_tokens": 6,
            "total_tokens": 136,
            "cache_read_input_tokens": 100,
            "cache_creation_input_tokens": 20,
            "server_tool_use": {"web_search_requests": 2, "web_fetch_requests": 5},
            "prompt_tokens_details": {
                "web_search_requests": 2,
                "cached_tokens": 100,
                "cache_creation_tokens": 20,
                "cache_creation_token_details": {"ephemeral_5m_input_tokens": 15, "ephemeral_1h_input_tokens": 5},
            },
        },
        {
            "input_tokens": 130,
            "output_tokens": 6,
            "cache_read_tokens": 100,
            "cache_write_tokens": 20,
            "cache_write_1h_tokens": 5,
            "web_searches": "2",
        },
    ),
    (  # reasoning beside the completion, as the total shows
        "xai",
        {
            "prompt_tokens": 32,
            "completion_tokens": 9,
            "total_tokens": 135,
            "prompt_tokens_details": {"text_tokens": 32, "audio_tokens": 0, "image_tokens": 0, "cached_tokens": 6},
            "completion_tokens_details": {"reasoning_tokens": 94, "audio_tokens": 0},
            "num_sources_used": 0,
        },
        {"input_tokens": 32, "output_tokens": 103, "cache_read_tokens": 6, "reasoning_tokens": 94},
    ),
    (  # reasoning and citations beside both
        "perplexity",
        {
            "prompt_tokens": 33,
            "completion_tokens": 700,
            "total_tokens": 733,
            "citation_tokens": 2000,
            "num_search_queries": 18,
            "reasoning_tokens": 7000,
            "search_context_size": "low",
        },
        {
            "input_tokens": 33,
            "output_tokens": 9700,
            "reasoning_tokens": 7000,
            "output_citation_tokens": 2000,
            "web_searches": "18",
        },
    ),
]


@pytest.mark.parametrize(("form", "values", "usage"), USAGES)
def test_a_vendors_usage_is_known_by_its_names_and_becomes_inclusive(form, values, usage):
    assert read(values) == (form, usage, [])


@pytest.mark.parametrize(("form", "values", "usage"), USAGES)
def test_naming_the_form_changes_nothing_where_it_can_be_told(form, values, usage):
    assert read(values, dialect=form) == (form, usage, [])


@pytest.mark.parametrize("seller", ["mistral", "deepseek", "groq", "xai", "perplexity"])
def test_a_sellers_flavour_of_openais_form_is_its_own(seller):
    assert read({"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7}, seller=seller)[0] == seller


def test_reasoning_is_inside_the_completion_unless_the_seller_counts_it_beside():
    values = {
        "prompt_tokens": 14_746,
        "completion_tokens": 1944,
        "total_tokens": 16_690,
        "completion_tokens_details": {"reasoning_tokens": 1360},
    }
    inside = {"input_tokens": 14_746, "output_tokens": 1944, "reasoning_tokens": 1360}
    assert read(values)[1] == inside
    assert read(values, seller="xai")[1] == inside  # its total says so
    beside = values | {"total_tokens": 18_050}
    assert read(beside, seller="xai")[1]["output_tokens"] == 3304
    assert refused(beside) == ("inconsistent_usage", "usage.total_tokens")


CONTRADICTIONS = [
    # K14: more from the cache than there is; a negative count
    ({"prompt_tokens": 10, "completion_tokens": 1, "prompt_tokens_details": {"cached_tokens": 20}}, "cached tokens"),
    ({"prompt_tokens": 10, "completion_tokens": -100}, "completion_tokens"),
    # R08: a total that adds reasoning again
    (
        {
            "prompt_tokens": 64,
            "completion_tokens": 135,
            "total_tokens": 277,
            "completion_tokens_details": {"reasoning_tokens": 78},
        },
        "total_tokens",
    ),
    (
        {"prompt_tokens": 64, "completion_tokens": 5, "completion_tokens_details": {"reasoning_tokens": 6}},
        "completion_tokens",
    ),
    (
        {"prompt_tokens": 9, "completion_tokens": 1, "prompt_cache_hit_tokens": 4, "prompt_cache_miss_tokens": 4},
        "prompt_cache_miss_tokens",
    ),
    (
        {
            "prompt_tokens": 9,
            "completion_tokens": 1,
            "cached_tokens": 4,
            "prompt_tokens_details": {"cached_tokens": 5},
        },
        "cached_tokens",
    ),
    (
        {"input_tokens": 10, "output_tokens": 1, "input_tokens_details": {"cached_tokens": 11}},
        "input_tokens_details.cached_tokens",
    ),
    (
        {"input_tokens": 10, "output_tokens": 1, "output_tokens_details": {"reasoning_tokens": 2}, "total_tokens": 11},
        "output_tokens_details.reasoning_tokens",
    ),
    ({"input_tokens": 10, "output_tokens": 1, "total_tokens": 12}, "total_tokens"),
    (
        {
            "input_tokens": 1,
            "output_tokens": 1,
            "cache_creation_input_tokens": 7,
            "cache_creation": {"ephemeral_5m_input_tokens": 3, "ephemeral_1h_input_tokens": 3},
        },
        "cache_creation_input_tokens",
    ),
    ({"input_tokens": 1, "output_tokens": 1, "cache_read_input_tokens": -1}, "cache_read_input_tokens"),
    ({"promptTokenCount": 5, "candidatesTokenCount": 5, "totalTokenCount": 11}, "totalTokenCount"),
    (
        {"promptTokenCount": 5, "cachedContentTokenCount": 6, "totalTokenCount": 5},
        "cachedContentTokenCount",
    ),
    (
        {
            "promptTokenCount": 5,
            "totalTokenCount": 5,
            "promptTokensDetails": [{"modality": "AUDIO", "tokenCount": 6}],
        },
        "promptTokensDetails",
    ),
    ({"inputTokens": 5, "outputTokens": 5, "totalTokens": 11}, "totalTokens"),
    (
        {
            "inputTokens": 5,
            "outputTokens": 5,
            "cacheWriteInputTokens": 9,
            "cacheDetails": [{"ttl": "5m", "inputTokens": 8}],
        },
        "cacheDetails",
    ),
]


@pytest.mark.parametrize(("values", "name"), CONTRADICTIONS)
def test_what_contradicts_itself_is_refused_with_its_place(values, name):
    assert refused(values) == ("inconsistent_usage", f"usage.{name}")


@pytest.mark.parametrize(
    ("values", "name"),
    [
        ({"prompt_tokens": 5}, "completion_tokens"),
        ({"prompt_tokens": None, "completion_tokens": 5}, "prompt_tokens"),
        ({"prompt_tokens": 5, "completion_tokens": None, "total_tokens": 9}, "completion_tokens"),
        ({"input_tokens": 5, "output_tokens": None, "input_tokens_details": None}, "output_tokens"),
        ({"input_tokens": 5, "output_tokens": None, "server_tool_use": None}, "output_tokens"),
        ({"promptTokenCount": 5}, "candidatesTokenCount"),
        ({"inputTokens": 5}, "outputTokens"),
        ({"billed_units": None}, "billed_units"),
    ],
)
def test_a_count_that_is_not_there_is_not_zero(values, name):
    assert refused(values) == ("usage_missing", f"usage.{name}")


def test_a_part_that_is_null_is_named():
    values = {
        "prompt_tokens": 5,
        "completion_tokens": 1,
        "prompt_tokens_details": {"cached_tokens": None, "audio_tokens": 0},
        "completion_tokens_details": None,
    }
    usage, notices = read(values)[1:]
    assert usage == {"input_tokens": 5, "output_tokens": 1}
    assert [(n.code, n.path) for n in notices] == [("usage_unreported", "usage.prompt_tokens_details.cached_tokens")]


def test_a_null_that_stands_elsewhere_as_a_number_is_known():
    values = {
        "prompt_tokens": 5,
        "completion_tokens": 1,
        "prompt_tokens_details": {"cached_tokens": None},
        "cache_read_input_tokens": 3,
    }
    assert read(values)[1:] == ({"input_tokens": 5, "output_tokens": 1, "cache_read_tokens": 3}, [])


def test_numbers_under_unknown_names_are_named_and_zeros_and_words_are_not():
    values = {
        "prompt_tokens": 5,
        "completion_tokens": 1,
        "hologram_tokens": 7,
        "idle_tokens": 0,
        "note": "words",
        "prompt_tokens_details": {"cached_tokens": 0, "smell": {"tokens": 2}},
        "a name of the caller's": 3,
    }
    notices = read(values)[2]
    assert {(n.code, n.path) for n in notices} == {
        ("usage_field_unknown", "usage.hologram_tokens"),
        ("usage_field_unknown", "usage"),
        ("usage_field_unknown", "usage.prompt_tokens_details.smell"),
    }
    assert "caller" not in "".join(n.message for n in notices)


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ({"prompt_tokens": 1, "promptTokenCount": 1}, "gemini, openai_chat"),
        ({"input_tokens": 1, "cache_read_tokens": 1, "cache_read_input_tokens": 1}, "anthropic, weighbridge"),
        ({"inputTokens": 1, "billed_units": {}}, "bedrock, cohere"),
        ({"input_tokens": 1, "input_tokens_details": {}, "cache_creation": {}}, "anthropic, openai_responses"),
    ],
)
def test_names_of_two_forms_are_an_error_that_says_how_to_go_on(values, named):
    with pytest.raises(ApiError) as error:
        read(values)
    assert (error.value.code, error.value.path) == ("ambiguous_dialect", "usage")
    assert f": {named}. Name the right one with `dialect`: weighbridge, openai_chat," in error.value.detail


@pytest.mark.parametrize(
    "values",
    [
        {"prompt_tokens": "5", "completion_tokens": 1},
        {"prompt_tokens": 5.5, "completion_tokens": 1},
        {"prompt_tokens": True, "completion_tokens": 1},
        {"prompt_tokens": 10**13, "completion_tokens": 1},
        {"prompt_tokens": [5], "completion_tokens": 1},
        {"prompt_tokens": 5, "completion_tokens": 1, "prompt_tokens_details": 5},
        {"promptTokenCount": 5, "totalTokenCount": 5, "promptTokensDetails": {"TEXT": 5}},
        {"promptTokenCount": 5, "totalTokenCount": 5, "promptTokensDetails": [5]},
        {"prompt_tokens": 5, "completion_tokens": 1, "prompt_audio_seconds": "12"},
        {"input": 5},
    ],
)
def test_another_shape_is_refused(values):
    assert refused(values)[0] == "invalid_request"


@pytest.mark.parametrize("seconds", [5e-324, 1e-200, 9.9e-13, -1e-300, 1e12 + 1])
def test_a_quantity_that_exact_sums_have_no_room_for_is_refused(seconds):
    values = {"prompt_tokens": 5, "completion_tokens": 1, "prompt_audio_seconds": seconds}
    assert refused(values) == ("inconsistent_usage", "usage.prompt_audio_seconds")
    assert read(values | {"prompt_audio_seconds": 1e-12})[1]["input_audio_seconds"] == "0.000000000001"


def test_writes_without_their_time_to_live_are_said_to_be_priced_as_short_ones():
    usage, notices = read({"input_tokens": 3, "output_tokens": 1, "cache_creation_input_tokens": 12_304})[1:]
    assert (usage["input_tokens"], usage["cache_write_tokens"]) == (12_307, 12_304)
    assert [n.code for n in notices] == ["cache_ttl_unreported"]
    assert [n.code for n in read({"inputTokens": 3, "outputTokens": 1, "cacheWriteInputTokens": 4})[2]] == [
        "cache_ttl_unreported"
    ]


def test_another_models_part_of_a_call_is_named():
    values = {
        "input_tokens": 1,
        "output_tokens": 1,
        "iterations": [{"type": "advisor_message", "model": "another", "input_tokens": 9, "output_tokens": 9}],
    }
    usage, notices = read(values)[1:]
    assert usage == {"input_tokens": 1, "output_tokens": 1}
    assert [(n.code, n.path) for n in notices] == [("usage_field_unknown", "usage.iterations")]


counts = st.integers(0, 10**9)


@settings(deadline=None)
@given(plain=counts, cached=counts, short=counts, hour=counts, output=counts)
def test_the_same_call_is_the_same_usage_in_every_form(plain, cached, short, hour, output):
    written, whole = short + hour, plain + cached + short + hour
    spans = {"ephemeral_5m_input_tokens": short, "ephemeral_1h_input_tokens": hour}
    forms = [
        {
            "input_tokens": plain,
            "cache_read_input_tokens": cached,
            "cache_creation_input_tokens": written,
            "cache_creation": spans,
            "output_tokens": output,
        },
        {
            "inputTokens": plain,
            "cacheReadInputTokens": cached,
            "cacheWriteInputTokens": written,
            "cacheDetails": [{"ttl": "1h", "inputTokens": hour}, {"ttl": "5m", "inputTokens": short}],
            "outputTokens": output,
            "totalTokens": whole + output,
        },
        {
            "prompt_tokens": whole,
            "prompt_tokens_details": {
                "cached_tokens": cached,
                "cache_creation_tokens": written,
                "cache_creation_token_details": spans,
            },
            "completion_tokens": output,
            "total_tokens": whole + output,
        },
        {
            "input_tokens": whole,
            "cache_read_tokens": cached,
            "cache_write_tokens": written,
            "cache_write_1h_tokens": hour,
            "output_tokens": output,
        },
    ]
    answers = [read(values)[1:] for values in forms]
    assert all(answer == answers[0] for answer in answers)


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**15), 10**15)
    | st.floats()
    | st.sampled_from(["", "5", "\ud800", "flex"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["tokenCount", "ttl", "x", "\ud800"]), inner, max_size=3)
    ),
    max_leaves=8,
)
NAMES = sorted({name for _, values, _ in USAGES for name in values})


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.dictionaries(st.sampled_from(NAMES), json_values | counts, max_size=6))
def test_no_usage_whatever_its_values_does_anything_but_answer_or_refuse(values):
    try:
        usage = read(values)[1]
    except ApiError as error:
        usage = {"status": str(error.status)}
    assert usage.get("status", "422") == "422"
    assert all(isinstance(count, str) or count > 0 for count in usage.values())
