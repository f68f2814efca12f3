"""What counting endpoints are sent: translations by hand, and senders' own bodies cut down to what is taken."""

from __future__ import annotations

import json
from typing import Any

import pytest

from service.api.dialects.blocks import Probes
from service.api.dialects.registry import read_request
from service.domain.remote import RemoteAsk, RemoteFailed
from service.providers.endpoints import FORMS

SCHEMA = {"type": "object", "properties": {"place": {"type": "string"}}}
CHAT = {
    "model": "ignored",
    "temperature": 0.3,
    "max_tokens": 50,
    "messages": [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "Weather"}, {"type": "text", "text": "in Oslo?"}]},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": '{"place": "Oslo"}'}}
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "Rain"},
        {"role": "assistant", "content": "It rains."},
        {"role": "user", "content": "Thanks"},
    ],
    "tools": [{"type": "function", "function": {"name": "weather", "description": "Of a place", "parameters": SCHEMA}}],
    "tool_choice": {"type": "function", "function": {"name": "weather"}},
    "response_format": {"type": "json_schema", "json_schema": {"name": "reply", "schema": {"type": "object"}}},
}


def body(provider: str, sent: dict[str, Any], dialect: str | None = None, *, own: bool = True) -> dict[str, Any]:
    request = read_request(sent, Probes(), dialect=dialect)
    ask = RemoteAsk(provider, "m-1", request, sent if own else None)
    return FORMS[provider].body(ask)


def test_a_chat_for_openai():
    assert body("openai", CHAT) == {
        "model": "m-1",
        "input": [
            {"role": "system", "content": "Be brief."},
            {
                "role": "user",
                "content": [{"type": "input_text", "text": "Weather"}, {"type": "input_text", "text": "in Oslo?"}],
            },
            {"type": "function_call", "call_id": "c1", "name": "weather", "arguments": '{"place": "Oslo"}'},
            {"type": "function_call_output", "call_id": "c1", "output": "Rain"},
            {"role": "assistant", "content": "It rains."},
            {"role": "user", "content": "Thanks"},
        ],
        "tools": [
            {
                "type": "function",
                "strict": False,
                "name": "weather",
                "description": "Of a place",
                "parameters": SCHEMA,
            }
        ],
        "tool_choice": {"type": "function", "name": "weather"},
        "text": {"format": {"type": "json_schema", "name": "reply", "schema": {"type": "object"}}},
    }


def test_a_chat_for_anthropic():
    assert body("anthropic", CHAT) == {
        "model": "m-1",
        "system": [{"type": "text", "text": "Be brief."}],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "Weather"}, {"type": "text", "text": "in Oslo?"}]},
            {
                "role": "assistant",
                "content": [{"type": "tool_use", "id": "c1", "name": "weather", "input": {"place": "Oslo"}}],
            },
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "Rain"}]},
            {"role": "assistant", "content": "It rains."},
            {"role": "user", "content": "Thanks"},
        ],
        "tools": [{"name": "weather", "description": "Of a place", "input_schema": SCHEMA}],
        "tool_choice": {"type": "tool", "name": "weather"},
        "output_config": {"format": {"type": "json_schema", "schema": {"type": "object"}}},
    }


def test_a_chat_for_gemini():
    assert body("google", CHAT) == {
        "generateContentRequest": {
            "model": "models/m-1",
            "systemInstruction": {"parts": [{"text": "Be brief."}]},
            "contents": [
                {"role": "user", "parts": [{"text": "Weather"}, {"text": "in Oslo?"}]},
                {"role": "model", "parts": [{"functionCall": {"name": "weather", "args": {"place": "Oslo"}}}]},
                {
                    "role": "user",
                    "parts": [{"functionResponse": {"name": "weather", "response": {"result": "Rain"}}}],
                },
                {"role": "model", "parts": [{"text": "It rains."}]},
                {"role": "user", "parts": [{"text": "Thanks"}]},
            ],
            "tools": [
                {"functionDeclarations": [{"name": "weather", "description": "Of a place", "parameters": SCHEMA}]}
            ],
            "toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["weather"]}},
            "generationConfig": {"responseMimeType": "application/json", "responseJsonSchema": {"type": "object"}},
        }
    }


ANTHROPIC = {
    "model": "another",
    "max_tokens": 100,
    "system": "Be brief.",
    "messages": [
        {
            "role": "user",
            "content": [
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}},
                {"type": "text", "text": "What is it?"},
            ],
        }
    ],
    "thinking": {"type": "enabled", "budget_tokens": 1024},
    "metadata": {"user_id": "u"},
    "stream": True,
}


def test_a_body_in_the_vendors_own_form_is_cut_down_to_what_its_endpoint_takes():
    sent = body("anthropic", ANTHROPIC, "anthropic")
    taken = ("messages", "system", "thinking")
    assert sent == {"model": "m-1"} | {name: ANTHROPIC[name] for name in taken}
    responses = {"input": "hi", "instructions": "Be brief.", "max_output_tokens": 9, "store": True, "model": "x"}
    assert body("openai", responses, "openai_responses") == {
        "model": "m-1",
        "input": "hi",
        "instructions": "Be brief.",
    }


@pytest.mark.parametrize("wrapped", [False, True])
def test_geminis_own_form_is_taken_bare_or_as_its_endpoint_has_it(wrapped):
    own = {"contents": [{"role": "user", "parts": [{"text": "hi"}]}], "system_instruction": {"parts": [{"text": "s"}]}}
    sent = {"generateContentRequest": own | {"model": "models/x"}} if wrapped else own | {"safetySettings": []}
    assert body("google", sent, "gemini") == {"generateContentRequest": {"model": "models/m-1", **own}}


PICTURE = {"type": "image_url", "image_url": {"url": "https://example.invalid/a.png"}}


@pytest.mark.parametrize("provider", sorted(FORMS))
@pytest.mark.parametrize(
    "sent",
    [
        {"messages": [{"role": "user", "content": [PICTURE]}]},
        {"messages": [{"role": "user", "content": [{"type": "hologram", "data": 1}]}]},
        {"messages": [{"role": "user", "content": "hi"}], "tools": [{"type": "web_search_preview"}]},
    ],
    ids=["picture", "unknown block", "the vendor's own tool"],
)
def test_what_has_no_counterpart_is_not_sent(provider, sent):
    with pytest.raises(RemoteFailed, match="cannot be put into"):
        body(provider, sent, "openai_chat")


@pytest.mark.parametrize("provider", ["anthropic", "google"])
@pytest.mark.parametrize("arguments", ["{", "[1]", '"x"', "[" * 100_000])
def test_arguments_that_are_no_object_are_not_sent(provider, arguments):
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": arguments}}
    with pytest.raises(RemoteFailed):
        body(provider, {"messages": [{"role": "assistant", "tool_calls": [call]}]}, "openai_chat")


@pytest.mark.parametrize("provider", sorted(FORMS))
@pytest.mark.parametrize("choice", ["auto", "none", "required"])
def test_every_choice_of_tools_has_its_word(provider, choice):
    words = {"openai": choice, "anthropic": {"required": "any"}.get(choice, choice), "google": choice.upper()}
    sent = json.dumps(body(provider, CHAT | {"tool_choice": choice}))
    assert f'"{words[provider].replace("REQUIRED", "ANY")}"' in sent


def test_thinking_is_passed_on_between_forms():
    sent = {"messages": [{"role": "user", "content": "hi"}], "thinking": {"type": "enabled", "budget_tokens": 1024}}
    translated = body("anthropic", sent | {"max_tokens": 2000}, "anthropic", own=False)
    assert translated["thinking"] == {"type": "enabled", "budget_tokens": 1024}
