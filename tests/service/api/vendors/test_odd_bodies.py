"""Odd bodies are counted or refused on every vendor's route: never a 500, and always in the vendor's shape."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.service.api.vendors.test_refusals import GEMINI, PATHS, VERTEX
from tests.service.conftest import Api

NAMES = st.sampled_from(
    (
        *("messages", "role", "content", "type", "text", "input", "instructions", "tools", "system", "contents"),
        *("parts", "inlineData", "functionDeclarations", "generateContentRequest", "generationConfig", "prompt"),
        *("inputs", "tokens", "ids", "completion_response", "usage", "input_tokens", "output_tokens", "user", "x"),
        *("tool_choice", "thinking", "name", "input_schema", "source", "data", "add_special_tokens", "add_special"),
    )
)
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-5, 10**13),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(("user", "assistant", "text", "tool", "auto", "enabled", "", "<|im_end|>", "世界 \ud83d")),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=12,
)
BODIES = st.dictionaries(NAMES, VALUES, max_size=5)
MODELS = st.sampled_from(("gpt-4o", "claude-sonnet-4-5", "gemini-2.5-flash", "qwen3-8b", "bge-small-en-v1.5", "x", 7))


@pytest.mark.parametrize("path", PATHS)
@given(body=BODIES, model=MODELS)
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_an_odd_body_is_counted_or_refused(api: Api, path: str, body: dict[str, Any], model: Any) -> None:
    if path not in (GEMINI, VERTEX):
        body = {"model": model, **body}
    answer = api.post(path, body)
    assert answer.status_code in (200, 400, 404, 422), answer.text
    if answer.status_code == 200:
        assert answer.headers["weighbridge-accuracy"] in ("exact", "close", "approximate")
        return
    body_of_tei = path == "/tokenize" and "error_type" in answer.json()
    if not body_of_tei:
        PATHS[path](answer)
    assert "\ud83d" not in answer.text
