"""Streams as vendors send them: what is kept tells as much as the whole, and of a cut one how far it went."""

from __future__ import annotations

import asyncio

import pytest

from service.api.dialects.usages.forms import read_usage, recognise
from service.api.dialects.usages.responses import read_response, stream_events
from tests.service.client.script import RESERVATION, Script, answer

OPENAI = """
data: {"id":"c1","object":"chat.completion.chunk","model":"gpt-4o-2024-08-06","choices":[{"index":0,"delta":{"role":"assistant","content":"","refusal":null},"logprobs":null,"finish_reason":null}],"usage":null}

data: {"id":"c1","object":"chat.completion.chunk","model":"gpt-4o-2024-08-06","choices":[{"index":0,"delta":{"content":"Hello"},"logprobs":null,"finish_reason":null}],"usage":null}

data: {"id":"c1","object":"chat.completion.chunk","model":"gpt-4o-2024-08-06","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"t1","type":"function","function":{"name":"f","arguments":"{\\"a\\""}}]},"finish_reason":null}],"usage":null}

data: {"id":"c1","object":"chat.completion.chunk","model":"gpt-4o-2024-08-06","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":":1}"}}]},"finish_reason":null}],"usage":null}

data: {"id":"c1","object":"chat.completion.chunk","model":"gpt-4o-2024-08-06","choices":[{"index":0,"delta":{},"logprobs":null,"finish_reason":"stop"}],"usage":null}

data: {"id":"c1","object":"chat.completion.chunk","model":"gpt-4o-2024-08-06","choices":[],"usage":{"prompt_tokens":19,"completion_tokens":10,"total_tokens":29,"prompt_tokens_details":{"cached_tokens":0,"audio_tokens":0},"completion_tokens_details":{"reasoning_tokens":0,"audio_tokens":0,"accepted_prediction_tokens":0,"rejected_prediction_tokens":0}}}

data: [DONE]
"""  # noqa: E501

RESPONSES = """
event: response.created
data: {"type":"response.created","response":{"id":"resp_1","object":"response","status":"in_progress","model":"gpt-4o-2024-08-06","output":[],"usage":null}}

event: response.output_item.added
data: {"type":"response.output_item.added","output_index":0,"item":{"id":"m1","type":"message","status":"in_progress","role":"assistant","content":[]}}

event: response.output_text.delta
data: {"type":"response.output_text.delta","item_id":"m1","output_index":0,"content_index":0,"delta":"Hello"}

event: response.function_call_arguments.delta
data: {"type":"response.function_call_arguments.delta","item_id":"f1","output_index":1,"delta":"{\\"a\\":1}"}

event: response.output_text.done
data: {"type":"response.output_text.done","item_id":"m1","output_index":0,"content_index":0,"text":"Hello"}

event: response.completed
data: {"type":"response.completed","response":{"id":"resp_1","object":"response","status":"completed","model":"gpt-4o-2024-08-06","service_tier":"default","output":[{"id":"m1","type":"message","role":"assistant","content":[{"type":"output_text","text":"Hello","annotations":[]}]}],"usage":{"input_tokens":37,"input_tokens_details":{"cached_tokens":0},"output_tokens":11,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":48}}}
"""  # noqa: E501

ANTHROPIC = """
event: message_start
data: {"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","content":[],"model":"claude-sonnet-4-5-20250929","stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":25,"cache_creation_input_tokens":0,"cache_read_input_tokens":8,"output_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}

event: ping
data: {"type":"ping"}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hello"}}

event: content_block_delta
data: {"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\\"a\\":1}"}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":15}}

event: message_stop
data: {"type":"message_stop"}
"""  # noqa: E501

GEMINI = """
data: {"candidates":[{"content":{"parts":[{"text":"Hel"}],"role":"model"},"index":0}],"usageMetadata":{"promptTokenCount":7,"candidatesTokenCount":1,"totalTokenCount":8},"modelVersion":"gemini-2.5-flash","responseId":"g1"}

data: {"candidates":[{"content":{"parts":[{"text":"lo"}],"role":"model"},"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":7,"candidatesTokenCount":4,"totalTokenCount":11},"modelVersion":"gemini-2.5-flash","responseId":"g1"}
"""  # noqa: E501

STREAMS = {"openai": OPENAI, "responses": RESPONSES, "anthropic": ANTHROPIC, "gemini": GEMINI}
TEXTS = {
    "openai": 'Hellof{"a":1}',
    "responses": 'Hello{"a":1}',
    "anthropic": 'Hello{"a":1}',
    "gemini": "Hello",
}


def use_stream(kind, script, chunks, *, settle=False):
    """Read ``chunks`` through a hold, and perhaps settle."""
    if kind == "waits":
        with script.client() as client, client.hold("gpt-4o", [], 100) as hold:
            assert list(hold.stream(iter(chunks))) == list(chunks)
            if settle:
                hold.settle()
        return

    async def events():
        for chunk in chunks:
            yield chunk

    async def run():
        async with script.awaited() as client, client.hold("gpt-4o", [], 100) as hold:
            assert [chunk async for chunk in hold.stream(events())] == list(chunks)
            if settle:
                await hold.settle()

    asyncio.run(run())


def cut_stream(kind, script, chunks, number):
    """Read ``number`` chunks through a hold, then break off as a lost connection does."""

    class Lost(Exception):
        pass

    def read():
        with script.client() as client, client.hold("gpt-4o", [], 100) as hold:
            for index, _ in enumerate(hold.stream(iter(chunks)), 1):
                if index == number:
                    raise Lost

    if kind == "waits":
        with pytest.raises(Lost):
            read()
        return

    async def events():
        for chunk in chunks:
            yield chunk

    async def run():
        async with script.awaited() as client, client.hold("gpt-4o", [], 100) as hold:
            index = 0
            async for _ in hold.stream(events()):
                index += 1
                if index == number:
                    raise Lost

    with pytest.raises(Lost):
        asyncio.run(run())


def usage_of(response):
    """What the service reads of it: tokens by name."""
    served = read_response(response)
    dialect = recognise(served.usage, served.path, served.likely)
    notices = list(served.notices)
    _, reading = read_usage(served.usage, served.path, dialect=dialect, seller="", notices=notices)
    return {name: number for name, number in reading.counts.items() if number}, [n.code for n in notices]


@pytest.mark.parametrize("settle", [True, False], ids=["settled", "left"])
@pytest.mark.parametrize("name", STREAMS)
def test_what_is_kept_of_a_whole_stream_tells_as_much_as_the_whole(asker, name, settle):
    script, events = Script(), stream_events(STREAMS[name])
    use_stream(asker.kind, script, events, settle=settle)
    body = script.body()
    assert set(body) == {"response"}
    assert usage_of(body["response"]) == usage_of(events)
    assert len(body["response"]) <= 2


@pytest.mark.parametrize("name", ["openai", "responses"])
def test_a_stream_that_is_cut_before_its_usage_is_booked_by_its_text(asker, name):
    events = stream_events(STREAMS[name])
    script = Script()
    cut_stream(asker.kind, script, events, len(events) - 2)
    assert script.paths[1:] == ["POST /v1/count", "POST /v1/reservations/r1/settle"]
    assert script.body(1) == {"model": "gpt-4o", "provider": "openai", "text": TEXTS[name]}
    assert script.body() == {"partial": True, "usage": {"input_tokens": 20, "output_tokens": 7}}


def test_anthropics_input_is_known_from_the_start(asker):
    script, events = Script(), stream_events(ANTHROPIC)
    cut_stream(asker.kind, script, events, 5)
    body = script.body()
    assert body["partial"] is True
    assert usage_of(body["response"])[0] == {"input_tokens": 33, "cache_read_tokens": 8, "output_tokens": 7}
    assert script.body(1)["text"] == TEXTS["anthropic"]


def test_geminis_usage_is_told_as_it_goes(asker):
    script, events = Script(), stream_events(GEMINI)
    cut_stream(asker.kind, script, events, 1)
    body = script.body()
    assert body["partial"] is True
    assert usage_of(body["response"])[0] == {"input_tokens": 7, "output_tokens": 1}


@pytest.mark.parametrize("name", STREAMS)
def test_a_stream_cut_anywhere_is_settled_with_what_the_service_can_read(asker, name):
    events = stream_events(STREAMS[name])
    for number in range(1, len(events) + 1):
        script = Script()
        cut_stream(asker.kind, script, events, number)
        body = script.body()
        assert script.paths[-1] == "POST /v1/reservations/r1/settle"
        assert body["partial"] is True
        if "response" in body:
            assert usage_of(body["response"])[0]["output_tokens"] > 0


def test_a_stream_without_text_is_booked_by_the_estimate(asker):
    script = Script()
    cut_stream(asker.kind, script, stream_events(OPENAI), 1)
    assert script.paths[1:] == ["POST /v1/reservations/r1/settle"]
    assert script.body() == {"partial": True}


def test_where_nothing_was_estimated_the_service_decides(asker):
    script = Script(answer(201, {**RESERVATION, "estimate": None}))
    cut_stream(asker.kind, script, stream_events(OPENAI), 3)
    assert script.body() == {"partial": True}


def test_a_text_that_cannot_be_counted_is_booked_by_the_estimate(asker):
    script = Script(answer(201, RESERVATION), answer(422, {"code": "no_tokenizer", "detail": "D"}))
    cut_stream(asker.kind, script, stream_events(OPENAI), 3)
    assert script.body() == {"partial": True}


def test_chunks_of_any_kind_are_passed_on(asker):
    script = Script()
    use_stream(asker.kind, script, [b"raw", "text", 7, None, {"type": 3}, {"choices": "?", "delta": 1, "usage": 2}])
    assert script.body() == {"partial": True}


def test_a_whole_stream_without_usage_is_booked_by_its_text(asker):
    script = Script()
    use_stream(asker.kind, script, stream_events(OPENAI)[:-1])
    assert script.body() == {"partial": True, "usage": {"input_tokens": 20, "output_tokens": 7}}
