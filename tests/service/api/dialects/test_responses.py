"""Whole responses and streams, however odd: they are read or refused, and a usage is found where it stands."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from service.api.dialects.usages.forms import in_units, read_usage, recognise
from service.api.dialects.usages.responses import read_response, stream_events
from service.api.errors import ApiError
from service.domain.prices import Unknown

NAMES = [
    *(
        "usage",
        "usageMetadata",
        "usage_metadata",
        "meta",
        "x_groq",
        "message",
        "response",
        "metadata",
        "delta",
        "result",
    ),
    *("body", "custom_id", "type", "id", "model", "output", "candidates", "choices", "service_tier", "action"),
    *("prompt_tokens", "completion_tokens", "input_tokens", "output_tokens", "billed_units", "groundingMetadata"),
]
WORDS = ["message", "response.completed", "web_search_call", "message_delta", "", "\ud800", "flex"]
values = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 10**13) | st.floats() | st.sampled_from(WORDS),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=4),
    max_leaves=12,
)
responses = st.dictionaries(st.sampled_from(NAMES), values, max_size=6) | st.lists(values, max_size=4)


def outcome(response: Any) -> str:
    try:
        served = read_response(response)
        dialect = recognise(served.usage, served.path, served.likely)
        _, reading = read_usage(served.usage, served.path, dialect=dialect, seller="", notices=[])
        in_units(reading, Unknown("model", ""), served.path)
    except ApiError as error:
        return f"{error.status}"
    assert served.path.startswith("response")
    return "read"


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(responses)
def test_no_response_does_anything_but_be_read_or_refused(response):
    assert outcome(response) in ("read", "422")


@pytest.mark.parametrize(
    ("response", "path"),
    [
        ({"usage": {"prompt_tokens": 1}}, "response.usage"),
        ({"usageMetadata": {}}, "response.usageMetadata"),
        ({"meta": {"billed_units": {"search_units": 1}}}, "response.meta"),
        ({"x_groq": {"usage": {}}}, "response.x_groq.usage"),
        ({"custom_id": "1", "response": {"body": {"usage": {}}}}, "response.response.body.usage"),
        ({"custom_id": "1", "result": {"message": {"usage": {}}}}, "response.result.message.usage"),
        ({"type": "response.completed", "response": {"usage": {}}}, "response.response.usage"),
        ({"result": {"usage": {}}}, "response.result.usage"),
        ([{}, {"usage": {}}, {}], "response[1].usage"),
        ([{"type": "message_start", "message": {"usage": {}}}], "response[0].message.usage"),
        ([{"metadata": {"usage": {}}}], "response[0].metadata.usage"),
        ([{"type": "message-end", "delta": {"usage": {}}}], "response[0].delta.usage"),
    ],
)
def test_the_usage_is_found_where_it_stands(response, path):
    assert read_response(response).path == path


EVENTS = st.lists(st.dictionaries(st.sampled_from(["a", "é"]), st.integers() | st.text(max_size=5), min_size=1))


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(EVENTS)
def test_a_stream_kept_as_text_is_its_events(events):
    sent = "".join(f"event: e\r\nid: 1\r\ndata: {json.dumps(event)}\r\n\r\n" for event in events)
    lines = "".join(json.dumps(event) + "\n" for event in events)
    assert stream_events(sent + "data: [DONE]\n\n") == stream_events(lines) == events


@pytest.mark.parametrize("text", ["words", "data: {", "{]", "data: words"])
def test_a_text_that_is_no_stream_is_refused(text):
    with pytest.raises(ValueError, match="Expecting"):
        stream_events(text)
