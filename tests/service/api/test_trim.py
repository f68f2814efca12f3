"""``/v1/trim``: what it answers fits, is as long as can be, and counts as ``/v1/count`` counts it."""

from __future__ import annotations

import json
from itertools import chain
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from service.api.dialects.conversation import Conversation
from service.api.dialects.registry import read_request
from service.api.saving.trim import trim_work
from service.api.services import Services
from service.api.weighing.counting import count as count_work
from service.domain.errors import DomainError
from service.domain.trim import droppable, items_of
from tests.service.conftest import Api

SYSTEM = {"role": "system", "content": "Be brief."}


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def said(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


def call(name: str) -> dict[str, Any]:
    function = {"name": "look_up", "arguments": '{"word": "scale"}'}
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": name, "type": "function", "function": function}],
    }


def result(name: str, text: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": name, "content": text}


def trimmed(api: Api, **body: Any) -> dict[str, Any]:
    answer = api.post("/v1/trim", body)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_the_oldest_round_goes_and_the_rest_is_counted_whole(api: Api) -> None:
    turns = [SYSTEM, user("What is the capital of France?"), said("Paris."), user("And of Italy?")]
    answer = trimmed(api, model="gpt-4o", messages=turns, limit=34)
    assert (answer["fits"], answer["kept"], answer["dropped"]) == (True, [0, 3], [1, 2])
    assert answer["messages"] == [SYSTEM, turns[3]]
    assert answer["request"] is None
    assert answer["tokens_before"] == api.count(model="gpt-4o", messages=turns)["tokens"] == 35
    assert answer["tokens_after"] == api.count(model="gpt-4o", messages=answer["messages"])["tokens"] == 18
    assert answer["tokens_dropped"] == 17


def test_exactly_reaching_the_limit_fits(api: Api) -> None:
    turns = [SYSTEM, user("What is the capital of France?"), said("Paris."), user("And of Italy?")]
    answer = trimmed(api, model="gpt-4o", messages=turns, limit=35)
    assert (answer["fits"], answer["dropped"], answer["messages"]) == (True, [], turns)


def test_what_has_to_stay_and_does_not_fit_is_answered_with_its_count(api: Api) -> None:
    answer = trimmed(api, model="gpt-4o", messages=[SYSTEM, user("a"), said("b"), user("And of Italy?")], limit=5)
    assert (answer["fits"], answer["kept"], answer["tokens_after"]) == (False, [0, 3], 18)
    assert answer["warnings"][0]["code"] == "does_not_fit"


def test_without_a_limit_the_context_window_less_the_output_has_to_be_kept(api: Api) -> None:
    long = "scale " * 9000
    turns = [user(long), said("yes"), user(long), said("no"), user("so?")]
    answer = trimmed(api, model="gpt-4", messages=turns)  # 8,192 tokens in all
    assert answer["limit"] < 8192
    body = {"model": "gpt-4", "messages": turns, "max_tokens": 92}
    whole = trimmed(api, request=body)
    assert (whole["limit"], whole["kept"], whole["fits"]) == (8100, [4], True)
    assert whole["request"] == body | {"messages": turns[4:]}
    assert whole["messages"] is None


def test_steps_of_the_last_round_go_with_their_results(api: Api) -> None:
    turns = [SYSTEM, user("Look up."), call("a"), result("a", "x " * 50), call("b"), result("b", "y " * 50)]
    body = {"model": "gpt-4o", "messages": turns}
    whole = api.count(**body)["high"]
    answer = trimmed(api, **body, limit=whole - 1)
    assert (answer["kept"], answer["fits"]) == ([0, 1, 4, 5], True)
    assert trimmed(api, **body, limit=1)["kept"] == [0, 1, 4, 5]
    assert trimmed(api, **body, limit=1, keep_last=0)["kept"] == [0, 1]
    assert trimmed(api, **body, limit=1, keep_last=3)["kept"] == [0, 1, 2, 3, 4, 5]


RESPONSES = [
    {"role": "user", "content": "Old words. " * 9},
    {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm."}]},
    {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "a", "output": "r"},
    {"role": "user", "content": "New words."},
]
ANTHROPIC = [
    {"role": "user", "content": "Old words. " * 9},
    {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "f", "input": {}}]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "r"}]},
    {"role": "assistant", "content": "So."},
    {"role": "user", "content": "New words."},
]
GEMINI = [
    {"role": "user", "parts": [{"text": "Old words. " * 9}]},
    {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {}}}]},
    {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {"r": 1}}}]},
    {"role": "user", "parts": [{"text": "New words."}]},
]
BEDROCK = [
    {"role": "user", "content": [{"text": "Old words. " * 9}]},
    {"role": "assistant", "content": [{"toolUse": {"toolUseId": "a", "name": "f", "input": {}}}]},
    {"role": "user", "content": [{"toolResult": {"toolUseId": "a", "content": [{"text": "r"}]}}]},
    {"role": "user", "content": [{"text": "New words."}]},
]
FORMS = [
    ("gpt-4o", {"instructions": "Be brief.", "input": RESPONSES}, "input"),
    ("claude-sonnet-4-5", {"system": "Be brief.", "messages": ANTHROPIC, "max_tokens": 9}, "messages"),
    ("gemini-2.5-flash", {"systemInstruction": {"parts": [{"text": "Be brief."}]}, "contents": GEMINI}, "contents"),
    ("nova-pro", {"system": [{"text": "Be brief."}], "messages": BEDROCK, "inferenceConfig": {}}, "messages"),
    ("qwen3-8b", {"messages": [SYSTEM, *[user("Old."), said("So."), user("New.")]], "add_generation_prompt": True}, ""),
]


@pytest.mark.parametrize(("model", "body", "key"), FORMS)
def test_each_wire_form_comes_back_as_it_was_sent(api: Api, model: str, body: dict[str, Any], key: str) -> None:
    answer = trimmed(api, model=model, request=body, limit=1)
    key = key or "messages"
    assert [body[key][place] for place in answer["kept"]] == answer["request"][key]
    assert {**answer["request"], key: None} == {**body, key: None}
    assert answer["kept"][-1] == len(body[key]) - 1
    assert not answer["fits"]
    counted = api.count(model=model, request=answer["request"])
    assert [counted[name] for name in ("tokens", "low", "high", "accuracy")] == [
        answer[name] for name in ("tokens_after", "low", "high", "accuracy")
    ]
    assert len(answer["dropped"]) == len(body[key]) - (2 if model == "qwen3-8b" else 1)
    room = trimmed(api, model=model, request=body, limit=10**6)
    assert (room["fits"], room["request"], room["dropped"]) == (True, body, [])


def test_a_wrapped_gemini_request_is_trimmed_within_its_wrapper(api: Api) -> None:
    for wrapper in ("generateContentRequest", "generate_content_request"):
        body = {wrapper: {"model": "models/gemini-2.5-flash", "contents": GEMINI}}
        answer = trimmed(api, request=body, dialect="gemini", limit=1)
        assert answer["request"] == {wrapper: {"model": "models/gemini-2.5-flash", "contents": GEMINI[3:]}}


def test_what_only_the_window_bounds_fits_by_its_count_alone(api: Api) -> None:
    body = {"model": "gpt-4o", "previous_response_id": "r", "input": RESPONSES}
    surely = trimmed(api, request=body, limit=50_000)
    assert (surely["fits"], surely["high"]) == (False, 128_000)
    assert surely["warnings"][0]["code"] == "does_not_fit"
    assert surely["warnings"][0]["path"] == "fit_by"
    likely = trimmed(api, request=body, limit=50_000, fit_by="tokens")
    assert (likely["fits"], likely["dropped"]) == (True, [])


def test_a_request_without_a_list_of_turns_has_nothing_to_drop(api: Api) -> None:
    body = {"model": "gpt-4o", "input": "Hello, World! " * 20}
    answer = trimmed(api, request=body, limit=5)
    assert (answer["fits"], answer["kept"], answer["dropped"], answer["request"]) == (False, [], [], body)


TALK = Conversation({"messages": []}, "messages", path="messages")
words = st.text("abc é世\n", max_size=60)
rounds = st.lists(
    st.tuples(words, st.lists(st.tuples(words, st.booleans()), max_size=3), st.booleans()), min_size=1, max_size=6
)


def conversation(drawn: list[tuple[str, list[tuple[str, bool]], bool]]) -> list[dict[str, Any]]:
    turns: list[dict[str, Any]] = [SYSTEM]
    for number, (question, steps, note) in enumerate(drawn):
        turns.append(user(question))
        for at, (text, tool) in enumerate(steps):
            name = f"{number}-{at}"
            turns += [call(name), result(name, text)] if tool else [said(text)]
        if note:
            turns.append({"role": "developer", "content": "Note."})
    return turns


def answered(work: Any, services: Services, body: dict[str, Any]) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(work(services, json.dumps(body).encode(), None))
    return answer


@pytest.mark.parametrize("model", ["gpt-4o", "claude-sonnet-4-5", "qwen3-8b"])
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(drawn=rounds, limit=st.integers(1, 400), first=st.integers(0, 2), last=st.integers(0, 3))
def test_the_answer_is_the_longest_that_fits(
    services: Services, model: str, drawn: Any, limit: int, first: int, last: int
) -> None:
    turns = conversation(drawn)
    options = {"keep_first": first, "keep_last": last, "model": model}
    answer = answered(trim_work, services, {**options, "messages": turns, "limit": limit})

    def high(places: list[int]) -> int:
        body = {"model": model, "messages": [turns[place] for place in places]}
        return int(answered(count_work, services, body)["high"])

    kept, dropped = answer["kept"], answer["dropped"]
    assert sorted(kept + dropped) == list(range(len(turns)))
    assert answer["messages"] == [turns[place] for place in kept]
    assert answer["high"] == high(kept)
    assert answer["fits"] == (answer["high"] <= limit)
    assert all(turns[place]["role"] not in ("system", "developer") for place in dropped)
    calls = {turns[place]["tool_calls"][0]["id"] for place in kept if "tool_calls" in turns[place]}
    assert calls == {turns[place]["tool_call_id"] for place in kept if turns[place]["role"] == "tool"}
    items = items_of(read_request({"messages": turns}, services.probes), range(len(turns)), TALK.place_of)
    groups = droppable(items, keep_first=first, keep_last=last)
    drops = next(n for n in range(len(groups) + 1) if sorted(chain(*groups[:n])) == dropped)
    if drops:
        more = [*chain(*groups[: drops - 1])]
        assert high([place for place in range(len(turns)) if place not in more]) > limit
    assert answer["fits"] or drops == len(groups)
    again = answered(trim_work, services, {**options, "messages": answer["messages"], "limit": limit})
    assert again["messages"] == answer["messages"] or not answer["fits"]


def test_half_a_surrogate_pair_comes_back_as_it_was_sent(api: Api) -> None:
    body = b'{"model": "gpt-4o", "limit": 99, "messages": [{"role": "user", "content": "a\\ud800"}]}'
    answer = api.post("/v1/trim", body)
    assert answer.status_code == 200
    assert b'"a\\ud800"' in answer.content
    assert [notice["code"] for notice in json.loads(answer.content)["warnings"]] == ["lone_surrogate"]


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"model": "gpt-4o", "text": "a", "limit": 5}, "text"),
        ({"model": "gpt-4o", "limit": 5}, "text"),
        ({"messages": [user("a")], "limit": 5}, "model"),
        ({"model": "gpt-4o", "messages": [], "limit": 5}, "messages"),
        ({"model": "gpt-4o", "messages": [user("a")], "limit": 0}, "limit"),
        ({"model": "gpt-4o", "messages": [user("a")], "keep_last": -1}, "keep_last"),
        ({"model": "gpt-4o", "messages": [user("a")], "max_output_tokens": 128_000}, "max_output_tokens"),
        ({"model": "gpt-4o", "messages": [user("a")], "strategy": "newest"}, "strategy"),
        ({"model": "gpt-4o", "messages": [{"role": "user", "content": 5}]}, "messages[0].content"),
        ({"model": "text-embedding-3-small", "messages": [user("a")], "limit": 5}, "model"),
    ],
)
def test_what_cannot_be_trimmed_is_refused_with_its_path(api: Api, body: dict[str, Any], path: str) -> None:
    answer = api.post("/v1/trim", body)
    assert (answer.status_code, answer.json().get("path")) == (422, path), answer.text


def test_more_turns_than_can_be_looked_at_are_refused(api: Api) -> None:
    body = {"model": "gemini-2.5-flash", "request": {"contents": [{}] * 100_001}, "limit": 5}
    assert api.post("/v1/trim", body).json()["path"] == "request"


def test_strict_refuses_an_answer_that_is_not_exact(services: Services) -> None:
    body = {"model": "claude-sonnet-4-5", "messages": [user("a")], "limit": 100, "strict": True}
    with pytest.raises(DomainError, match="not exact"):
        trim_work(services, json.dumps(body).encode(), None)


def test_a_hundred_thousand_turns_take_few_counts(api: Api) -> None:
    turns = [user("a"), said("b")] * 50_000
    answer = trimmed(api, model="gpt-4o", messages=turns, limit=1000)
    assert answer["fits"]
    assert 990 <= answer["tokens_after"] <= 1000
