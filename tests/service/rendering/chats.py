"""Chats that every template is asked to render, as OpenAI's wire form has them."""

from datetime import UTC, datetime
from typing import Any

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)

TOOL = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Weather now",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string", "description": "Name of the city"}},
            "required": ["city"],
        },
    },
}
CALL = {
    "id": "abcdefghi",
    "type": "function",
    "function": {"name": "get_weather", "arguments": '{"city": "Paris <é>"}'},
}

CHATS: dict[str, dict[str, Any]] = {
    "hello": {"messages": [{"role": "user", "content": "Hello!"}]},
    "turns": {
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Hi, 你好"},
            {"role": "assistant", "content": "Hello there."},
            {"role": "user", "content": "How are you? "},
        ]
    },
    "no_prompt": {
        "messages": [{"role": "user", "content": "Hello!"}, {"role": "assistant", "content": "Hi."}],
        "add_generation_prompt": False,
    },
    "tools": {
        "messages": [
            {"role": "user", "content": "Weather in Paris?"},
            {"role": "assistant", "content": None, "tool_calls": [CALL]},
            {"role": "tool", "tool_call_id": "abcdefghi", "name": "get_weather", "content": "sunny, 20"},
        ],
        "tools": [TOOL],
    },
}
