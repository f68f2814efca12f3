"""Whole requests with random damage, in every wire form: a count that adds up or a refusal, never anything else."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from typing import Any

import pytest

from service.api.dialects.registry import FORMS
from service.api.errors import as_problem
from service.api.pricing import work as pricing_work
from service.api.services import Services
from service.api.weighing import counting as work

TOOL = {"name": "f", "description": "d"}
SCHEMA = {
    "type": "object",
    "properties": {
        "a": {"type": ["string", "null"], "enum": ["x", 1, None]},
        "b": {"anyOf": [{"type": "array", "items": {"type": "object", "properties": {"q": {}}}}, {"type": "integer"}]},
    },
    "required": ["a"],
}
BODIES: list[dict[str, Any]] = [
    {
        "messages": [
            {"role": "system", "content": "s"},
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "x"},
                    {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA", "detail": "low"}},
                    {"type": "input_audio", "input_audio": {"data": "AA", "format": "wav"}},
                    {"type": "file", "file": {"file_data": "data:application/pdf;base64,JVBE"}},
                ],
            },
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
                "function_call": {"name": "g", "arguments": "{}"},
            },
            {"role": "tool", "tool_call_id": "c", "content": "r"},
            {"role": "function", "name": "n", "content": "z"},
        ],
        "tools": [{"type": "function", "function": {**TOOL, "parameters": SCHEMA}}],
        "tool_choice": {"type": "function", "function": {"name": "f"}},
        "response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": SCHEMA}},
        "max_tokens": 5,
    },
    {
        "input": [
            {
                "role": "user",
                "content": [
                    {"type": "input_text", "text": "x"},
                    {"type": "input_image", "image_url": "http://x", "detail": "high"},
                    {"type": "input_file", "file_id": "x"},
                ],
            },
            {"type": "reasoning", "summary": [{"type": "summary_text", "text": "q"}], "encrypted_content": "zz"},
            {"type": "function_call", "name": "f", "arguments": "{}", "call_id": "1"},
            {"type": "function_call_output", "call_id": "1", "output": [{"type": "input_text", "text": "o"}]},
        ],
        "instructions": "i",
        "tools": [{"type": "function", **TOOL, "parameters": {}}, {"type": "web_search"}],
        "text": {"format": {"type": "json_schema", "schema": {"a": 1}}},
        "previous_response_id": "p",
    },
    {
        "system": [{"type": "text", "text": "s"}],
        "messages": [
            {
                "role": "user",
                "content": [
                    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}},
                    {"type": "document", "source": {"type": "text", "data": "t"}, "title": "t"},
                    {"type": "tool_result", "tool_use_id": "1", "content": [{"type": "text", "text": "r"}]},
                ],
            },
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "h", "signature": "s"},
                    {"type": "tool_use", "id": "1", "name": "f", "input": {"a": 1}},
                ],
            },
        ],
        "tools": [{"name": "f", "input_schema": SCHEMA}, {"type": "bash_20250124", "name": "bash"}],
        "tool_choice": {"type": "tool", "name": "f"},
        "thinking": {"type": "enabled", "budget_tokens": 3},
        "output_config": {"format": {"type": "json_schema", "schema": {}}},
        "mcp_servers": [{"url": "u"}],
    },
    {
        "contents": [
            {
                "role": "user",
                "parts": [
                    {"text": "x"},
                    {"inlineData": {"mimeType": "image/png", "data": "AA"}},
                    {
                        "fileData": {"mimeType": "video/mp4", "fileUri": "u"},
                        "videoMetadata": {"startOffset": "1s", "endOffset": "2s", "fps": 1},
                    },
                    {"functionCall": {"name": "f", "args": {}}},
                    {"functionResponse": {"name": "f", "response": {"a": 1}}},
                ],
            }
        ],
        "systemInstruction": {"parts": [{"text": "s"}]},
        "tools": [{"functionDeclarations": [{"name": "f", "parameters": SCHEMA}]}, {"googleSearch": {}}],
        "toolConfig": {"functionCallingConfig": {"mode": "ANY"}},
        "generationConfig": {"responseSchema": {}, "mediaResolution": "MEDIA_RESOLUTION_LOW", "maxOutputTokens": 3},
        "cachedContent": "c",
    },
    {
        "modelId": "m",
        "system": [{"text": "s"}],
        "messages": [
            {
                "role": "user",
                "content": [
                    {"text": "x"},
                    {"image": {"format": "png", "source": {"bytes": "AA"}}},
                    {"toolUse": {"toolUseId": "1", "name": "f", "input": {}}},
                    {"toolResult": {"toolUseId": "1", "content": [{"json": {}}]}},
                    {"reasoningContent": {"reasoningText": {"text": "r"}}},
                    {"cachePoint": {}},
                ],
            }
        ],
        "toolConfig": {"tools": [{"toolSpec": {"name": "f", "inputSchema": {"json": {}}}}], "toolChoice": {"any": {}}},
        "inferenceConfig": {"maxTokens": 3},
        "additionalModelRequestFields": {"thinking": {"type": "enabled"}},
    },
    {
        "messages": [{"role": "user", "content": "x"}],
        "add_generation_prompt": True,
        "chat_template_kwargs": {"enable_thinking": True},
        "continue_final_message": False,
    },
]
JUNK: list[Any] = [
    *(None, True, False, 0, -1, 1.5, 10**13, 1e308, "", "x", "\ud800", "<|im_end|>", "auto", "A" * 3000),
    *([], {}, [None], [[]], {"type": "text"}, {"type": [1]}, {"name": {}}, {"a": {"b": [1]}}),
    *("data:image/png;base64,", "data:application/pdf;base64,%%%"),
]
MODELS = ("gpt-4o", "gpt-5", "claude-sonnet-4-5", "gemini-2.5-flash", "qwen3-8b", "mistral-large-2407", "deepseek-chat")


def paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if path:
        yield path
    if isinstance(value, dict):
        for key in value:
            yield from paths(value[key], (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from paths(item, (*path, index))


def damaged(body: dict[str, Any], chance: random.Random) -> dict[str, Any]:
    body = copy.deepcopy(body)
    for _ in range(chance.randint(1, 3)):
        places = list(paths(body))
        if not places:
            break
        *way, last = chance.choice(places)
        holder: Any = body
        for key in way:
            holder = holder[key]
        if chance.random() < 0.7:
            holder[last] = copy.deepcopy(chance.choice(JUNK))
        else:
            del holder[last]
    return body


@pytest.mark.parametrize("seed", range(6))
def test_damage_is_counted_or_refused_and_never_fails(services: Services, seed: int) -> None:
    chance = random.Random(seed)
    counted = 0
    for _ in range(400):
        body = {"model": chance.choice(MODELS), "request": damaged(BODIES[seed], chance)}
        named = chance.choice([None, None, *FORMS])
        if named is not None:
            body["dialect"] = named
        route = chance.choice([work.count, pricing_work.estimate_work])
        try:
            answer = json.loads(route(services, json.dumps(body).encode(), None))
        except Exception as error:
            problem, _ = as_problem(error)
            assert 400 <= problem.status < 500, body
            continue
        counted += 1
        assert answer["low"] <= answer["tokens"] <= answer["high"], body
        assert sum(answer["breakdown"].values()) == answer["tokens"], body
        assert answer["accuracy"] != "exact" or answer["low"] == answer["high"], body
    assert counted > 20


def test_every_wire_form_has_a_body_that_counts_undamaged(services: Services) -> None:
    for body in BODIES:
        answer = json.loads(work.count(services, json.dumps({"model": "gpt-4o", "request": body}).encode(), None))
        assert answer["tokens"] > 0
