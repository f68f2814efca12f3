"""LiteLLM's counter and its costs."""

from __future__ import annotations

from typing import Any

import pytest

from tests.service.conftest import Api

MODEL = "claude-sonnet-4-5"  # 3 dollars in, 15 out, cache 0.30 read and 3.75 written


def ask(api: Api, path: str, **body: Any) -> dict[str, Any]:
    answer = api.post(path, body)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_a_prompt_is_counted_bare_and_messages_framed(api: Api) -> None:
    answer = ask(api, "/utils/token_counter", model="azure/gpt-4o", prompt="Hello, World!")
    assert answer == {
        "total_tokens": 4,
        "request_model": "azure/gpt-4o",
        "model_used": "gpt-4o",
        "tokenizer_type": "openai_tokenizer",
        "original_response": None,
        "error": False,
        "error_message": None,
        "status_code": None,
    }
    framed = ask(api, "/utils/token_counter", model="gpt-4o", messages=[{"role": "user", "content": "Hello, World!"}])
    assert framed["total_tokens"] == 11


def test_contents_tools_and_a_system_text_count(api: Api) -> None:
    messages = [{"role": "user", "content": "Hello"}]
    plain = ask(api, "/utils/token_counter", model="gpt-4o", messages=messages)["total_tokens"]
    system = ask(api, "/utils/token_counter", model="gpt-4o", messages=messages, system="Be brief.")["total_tokens"]
    tool = {"type": "function", "function": {"name": "weather", "parameters": {"type": "object", "properties": {}}}}
    tooled = ask(api, "/utils/token_counter", model="gpt-4o", messages=messages, tools=[tool])["total_tokens"]
    assert plain < system
    assert plain < tooled
    contents = [{"role": "user", "parts": [{"text": "Hello"}]}]
    assert ask(api, "/utils/token_counter", model="gemini-2.5-flash", contents=contents)["total_tokens"] > 0


def test_a_vendor_that_cannot_be_asked_leaves_the_count_made_here_with_a_warning(api: Api) -> None:
    body = {"model": "gpt-4o", "messages": [{"role": "user", "content": "Hello, World!"}]}
    answer = api.post("/utils/token_counter?call_endpoint=true", body)
    assert answer.json()["total_tokens"] == 11
    assert answer.headers["weighbridge-warnings"] == "remote_failed"


def test_older_functions_and_a_forced_choice_count(api: Api) -> None:
    """31 and 36 tokens with OpenAI; a tool that has to be called costs 7 and its name."""
    messages = [{"role": "user", "content": "hello"}]
    function = {"name": "foo", "parameters": {"type": "object", "properties": {}}}
    older = {"model": "gpt-4o", "messages": messages, "functions": [function]}
    assert ask(api, "/utils/token_counter", **older)["total_tokens"] == 31
    assert ask(api, "/utils/token_counter", **older, function_call={"name": "foo"})["total_tokens"] == 36
    tools = {"model": "gpt-4o", "messages": messages, "tools": [{"type": "function", "function": function}]}
    choice = {"type": "function", "function": {"name": "foo"}}
    assert ask(api, "/utils/token_counter", **tools, tool_choice=choice)["total_tokens"] == 39


@pytest.mark.parametrize("body", [{}, {"prompt": "a", "messages": []}, {"prompt": 7}])
def test_anything_but_one_input_is_refused(api: Api, body: dict[str, Any]) -> None:
    assert api.post("/utils/token_counter", {"model": "gpt-4o", **body}).status_code == 400


def test_messages_cost_what_they_cost_as_input(api: Api) -> None:
    answer = ask(api, "/spend/calculate", model="gpt-4o", messages=[{"role": "user", "content": "Hello, World!"}])
    assert answer == {"cost": 0.0000275}  # 11 tokens at 2.50 dollars a million


def test_tools_cost_what_they_cost_as_input(api: Api) -> None:
    """31 tokens at 2.50 dollars a million; 8 of them for the message."""
    function = {"name": "foo", "parameters": {"type": "object", "properties": {}}}
    body = {"model": "gpt-4o", "messages": [{"role": "user", "content": "hello"}]}
    for tools in ({"functions": [function]}, {"tools": [{"type": "function", "function": function}]}):
        assert ask(api, "/spend/calculate", **body, **tools) == {"cost": 0.0000775}


def test_an_answered_call_costs_what_it_used(api: Api) -> None:
    usage = {"prompt_tokens": 1000, "completion_tokens": 100, "total_tokens": 1100}
    response = {"id": "chatcmpl-1", "object": "chat.completion", "model": "gpt-4o", "choices": [], "usage": usage}
    assert ask(api, "/spend/calculate", completion_response=response) == {"cost": 0.0035}
    assert api.post("/cost/estimate", {"model": "gpt-4o"}).headers["weighbridge-accuracy"] == "exact"


def test_an_unknown_price_is_refused_and_never_nothing(api: Api) -> None:
    answer = api.post("/spend/calculate", {"model": "qwen3-8b", "messages": [{"role": "user", "content": "Hello"}]})
    assert (answer.status_code, answer.json()["error"]["param"]) == (400, "model")
    assert "price is not known" in answer.json()["error"]["message"]


def test_the_shares_of_an_estimate_add_up(api: Api) -> None:
    answer = ask(
        api,
        "/cost/estimate",
        model=MODEL,
        input_tokens=800,
        output_tokens=50,
        cache_read_input_tokens=400,
        cache_creation_input_tokens=300,
        num_requests_per_day=1000,
    )
    wanted = {
        "cache_read_cost_per_request": 0.00012,  # 400 at 0.30
        "cache_creation_cost_per_request": 0.001125,  # 300 at 3.75
        "input_cost_per_request": 0.001545,  # both, and 100 at 3
        "output_cost_per_request": 0.00075,  # 50 at 15
        "cost_per_request": 0.002295,
        "margin_cost_per_request": 0.0,
        "reasoning_cost_per_request": 0.0,
        "daily_cost": 2.295,
        "daily_cache_creation_cost": 1.125,
        "monthly_cost": None,
        "input_cost_per_token": 0.000003,
        "output_cost_per_token": 0.000015,
        "provider": "anthropic",
        "input_tokens": 800,
        "num_requests_per_day": 1000,
    }
    assert {name: answer[name] for name in wanted} == wanted


def test_cache_tokens_are_part_of_the_input(api: Api) -> None:
    answer = api.post("/cost/estimate", {"model": MODEL, "input_tokens": 10, "cache_read_input_tokens": 11})
    assert answer.status_code == 400
    assert "contradicts itself" in answer.json()["error"]["message"]
