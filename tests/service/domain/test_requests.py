"""Counting requests in the domain: bounds, breakdowns and that nothing added is ever free."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.api.services import Services
from service.domain.catalog import Accuracy
from service.domain.counting import Count
from service.domain.request import (
    Audio,
    Document,
    Image,
    Message,
    Part,
    Reasoning,
    Request,
    ResponseSchema,
    Text,
    Tool,
    ToolCall,
    ToolChoice,
    ToolResult,
    Unknown,
    Unseen,
    Video,
)
from service.domain.requests import count_request
from service.domain.rules import Asked

MODELS = (
    *("gpt-4o", "gpt-3.5-turbo-0301", "gpt-5", "gpt-5.6-sol", "o3-mini", "gpt-6-sol", "gpt-oss-120b"),
    *("claude-sonnet-4-5", "claude-opus-4-7", "claude-opus-5", "gemini-2.5-flash", "gemini-1.5-pro"),
    *("mistral-large-latest", "deepseek-chat", "deepseek-reasoner", "grok-4", "qwen3-8b", "kimi-k2", "nova-pro"),
)
DIALECTS = ("openai_chat", "openai_responses", "anthropic", "gemini", "vllm")

words = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=24)
names = st.from_regex(r"[a-z_]{1,12}", fullmatch=True)
sizes = st.one_of(st.none(), st.integers(1, 9000))
texts = st.builds(Text, words)
images = st.builds(
    lambda size, detail: Image("", *(size or (None, None)), detail),
    st.one_of(st.none(), st.tuples(st.integers(1, 9000), st.integers(1, 9000))),
    st.sampled_from(["", "low", "high", "auto", "original", "media_resolution_low"]),
)
media = st.one_of(
    st.builds(Audio, st.just(""), seconds=st.one_of(st.none(), st.floats(0, 600)), bytes=sizes),
    st.builds(Video, st.just(""), seconds=st.one_of(st.none(), st.floats(0, 600)), bytes=sizes),
    st.builds(Document, st.just(""), pages=sizes, bytes=sizes),
)
plain = st.one_of(texts, images, media, st.builds(Unknown, words), st.just(Unseen("file_not_included")))
parts = st.one_of(
    plain,
    st.builds(ToolCall, names, words),
    st.builds(ToolCall, names, words, legacy=st.just(True)),
    st.builds(Reasoning, words, sealed_bytes=st.integers(0, 50)),
    st.builds(ToolResult, st.lists(plain, max_size=2).map(tuple)),
)
messages = st.builds(
    Message,
    st.sampled_from(["system", "developer", "user", "assistant", "tool", "function"]),
    st.lists(parts, max_size=3).map(tuple),
    st.one_of(st.just(""), names),
)
schemas = st.recursive(
    st.fixed_dictionaries(
        {"type": st.sampled_from(["string", "integer", "boolean", "null"])}, optional={"description": words}
    ),
    lambda inner: st.one_of(
        st.builds(lambda items: {"type": "array", "items": items}, inner),
        st.builds(lambda fields: {"type": "object", "properties": fields}, st.dictionaries(names, inner, max_size=2)),
    ),
    max_leaves=5,
)
objects = st.builds(
    lambda fields: {"type": "object", "properties": fields, "required": list(fields)[:1]},
    st.dictionaries(names, schemas, max_size=3),
)
tools = st.builds(Tool, names, words, st.one_of(st.none(), objects)) | st.builds(
    Tool, names, kind=st.sampled_from(["bash_20250124", "web_search"]), definition=words
)
choices = st.one_of(
    st.none(),
    st.sampled_from(["auto", "none", "required"]).map(ToolChoice),
    names.map(lambda name: ToolChoice("named", name)),
)
requests = st.builds(
    Request,
    st.lists(messages, min_size=1, max_size=4).map(tuple),
    st.lists(tools, max_size=3).map(tuple),
    choices,
    st.one_of(st.none(), objects.map(ResponseSchema)),
    dialect=st.sampled_from(DIALECTS),
)


class Counter:
    """Counts by the package's own rules and vocabularies."""

    def __init__(self, services: Services) -> None:
        self.services = services

    def __call__(self, model: str, request: Request, day: str = "2026-11-29") -> Count:
        weigher = self.services.weigher
        found = weigher.catalog.resolve(model)
        rules = self.services.rules.of(Asked(found.model, found.provider, request.dialect, day))
        return count_request(weigher.scale_of(found), request, rules, window=found.model.context_window)

    def __repr__(self) -> str:
        return "Counter()"


@pytest.fixture(scope="module")
def count(services: Services) -> Counter:
    return Counter(services)


def user(*told: Part) -> Request:
    return Request((Message("user", told),))


@settings(max_examples=150, deadline=None)
@given(model=st.sampled_from(MODELS), request=requests)
def test_bounds_hold_the_count_and_the_breakdown_adds_up(count: Counter, model: str, request: Request) -> None:
    whole = count(model, request)
    assert 0 <= whole.low <= whole.tokens <= whole.high
    split = whole.breakdown
    assert whole.tokens == split.text + split.framing + split.tools + split.images
    assert min(split.text, split.framing, split.tools, split.images) >= 0
    if whole.accuracy == Accuracy.EXACT:
        assert whole.low == whole.tokens == whole.high
        assert not whole.accuracy_reasons
    else:
        assert whole.accuracy_reasons


@settings(max_examples=150, deadline=None)
@given(model=st.sampled_from(MODELS), request=requests, message=messages, at=st.integers(0, 4))
def test_adding_a_message_never_lowers_a_count(
    count: Counter, model: str, request: Request, message: Message, at: int
) -> None:
    told = request.messages
    more = replace(request, messages=(*told[:at], message, *told[at:]))
    assert_no_less(count(model, request), count(model, more))


@settings(max_examples=150, deadline=None)
@given(model=st.sampled_from(MODELS), request=requests, part=parts, at=st.integers(0, 3))
def test_adding_a_part_never_lowers_a_count(count: Counter, model: str, request: Request, part: Part, at: int) -> None:
    first = request.messages[0]
    grown = replace(first, parts=(*first.parts[:at], part, *first.parts[at:]))
    more = replace(request, messages=(grown, *request.messages[1:]))
    assert_no_less(count(model, request), count(model, more))


@settings(max_examples=150, deadline=None)
@given(model=st.sampled_from(MODELS), request=requests, tool=tools, at=st.integers(0, 3))
def test_adding_a_tool_never_lowers_a_count(count: Counter, model: str, request: Request, tool: Tool, at: int) -> None:
    more = replace(request, tools=(*request.tools[:at], tool, *request.tools[at:]))
    assert_no_less(count(model, request), count(model, more))


def test_a_system_text_between_two_turns_is_no_turn(count: Counter) -> None:
    told = (Message("system", (), "_"), Message("user", ()))
    more = (Message("user", ()), *told)
    assert_no_less(count("claude-sonnet-4-5", Request(told)), count("claude-sonnet-4-5", Request(more)))


def test_a_model_that_is_billed_below_its_rule_has_it_within_its_bounds(count: Counter) -> None:
    """Recorded 8 below the rule, which is more than the 3 that prime the answer."""
    rule = count("gpt-4o", user(Text("What is the capital of France?"))).tokens
    whole = count("gpt-4o-search-preview", user(Text("What is the capital of France?")))
    assert (whole.tokens, whole.low, whole.accuracy) == (rule, rule - 8, "close")


@pytest.mark.parametrize("model", ["gpt-4o", "gpt-5"])
def test_texts_that_follow_one_another_may_be_read_as_one(count: Counter, model: str) -> None:
    """3 tokens each apart, 1 joined."""
    bare = count(model, user()).tokens
    split = count(model, user(Text(" Infrast"), Text("ructure")))
    assert (split.low, split.tokens, split.high) == (bare + 1, bare + 6, bare + 6)
    assert (split.accuracy, split.accuracy_reasons) == ("close", ("text_blocks_joined",))
    parted = count(model, user(Text(" Infrast"), Image("", 1, 1, "low"), Text("ructure")))
    assert (parted.accuracy, parted.breakdown.text) == ("exact", 6)
    even = count(model, user(Text("What is this?"), Text(" A bridge.")))
    assert (even.accuracy, even.low) == ("exact", even.tokens)


def assert_no_less(before: Count, after: Count) -> None:
    assert after.tokens >= before.tokens
    assert after.low >= before.low or "text_blocks_joined" in after.accuracy_reasons
    assert after.high >= before.high
    assert Accuracy(after.accuracy).rank >= Accuracy(before.accuracy).rank


@pytest.mark.parametrize(
    ("model", "size", "detail", "tokens"),
    [
        ("gpt-4o", (4096, 4096), "", 765),  # no detail said is not low detail
        ("gpt-4o", (1, 1), "high", 255),
        ("gpt-4o", (512, 512), "", 255),
        ("gpt-4o", (513, 513), "", 765),
        ("gpt-4o", (1920, 1080), "", 1105),
        ("gpt-4o", (2048, 4096), "", 1105),
        ("gpt-4o", (4096, 4096), "low", 85),
        ("gpt-4o-mini", (1024, 1024), "high", 25501),
        ("gpt-4o-mini", (1920, 1080), "", 36835),
        ("gpt-4o-mini", (1024, 1024), "low", 2833),
        ("gpt-5", (1024, 1024), "", 630),
        ("gpt-5.1", (1920, 1080), "", 910),
        ("o3", (1024, 1024), "", 675),
        ("claude-sonnet-4-5", (1000, 1000), "", 1296),
        ("claude-sonnet-4-5", (1920, 1080), "", 1560),
        ("claude-opus-4-8", (1920, 1080), "", 2691),
        ("gemini-3-pro-preview", (5000, 10), "", 1120),
        ("gemini-3-pro-preview", (10, 10), "media_resolution_low", 280),
        ("gemini-2.5-flash", (384, 384), "", 258),
        ("gemini-2.5-flash", (960, 540), "", 6 * 258),
        ("gemini-1.5-pro", (4000, 4000), "", 258),
    ],
)
def test_pictures_take_what_their_vendor_documents(
    count: Counter, model: str, size: tuple[int, int], detail: str, tokens: int
) -> None:
    assert count(model, user(Image("", *size, detail))).breakdown.images == tokens


def test_a_picture_and_its_question_are_one_message(count: Counter) -> None:
    """3 for the message, 1 for its role, 4 for the text, 255 for the picture, 3 to prime the answer."""
    whole = count("gpt-4o", user(Text("Describe this picture:"), Image("", 1, 1, "high")))
    assert (whole.tokens, whole.accuracy) == (266, "exact")


@pytest.mark.parametrize(("size", "likely", "published"), [((1024, 1024), 1659, 1659), ((1800, 2400), 2353, 2352)])
def test_patches_hold_both_ways_of_rounding(count: Counter, size: tuple[int, int], likely: int, published: int) -> None:
    """With the patch budget of early 2026: 1,024 and 1,452 patches, times 1.62."""
    whole = count("gpt-4.1-mini", user(Image("", *size)), day="2026-01-15")
    frame = whole.breakdown.framing
    assert whole.breakdown.images == likely
    assert whole.low - frame <= published <= whole.high - frame
    assert whole.accuracy == "close"


def test_a_known_film_and_sound_take_their_seconds(count: Counter) -> None:
    film = count("gemini-2.5-flash", user(Video("", seconds=10)))
    assert film.breakdown.images == 10 * 258 + 10 * 32
    sound = count("gemini-2.5-flash", user(Audio("", seconds=10)))
    assert sound.breakdown.images == 320


@pytest.mark.parametrize(
    "part", [Unseen("history_not_included"), Document("", source="remote"), Audio("", source="remote")]
)
def test_what_is_not_in_the_request_is_bounded_by_the_window_alone(count: Counter, part: Any) -> None:
    whole = count("gpt-4o", user(Text("hello"), part))
    assert (whole.tokens, whole.high) == (8, 128_000)
    assert whole.accuracy == "approximate"
    assert len(whole.warnings) == 1


def test_a_system_text_before_mistrals_first_message(count: Counter) -> None:
    told = Request((Message("system", (Text("You are a helpful assistant."),)), Message("user", (Text("Hello!"),))))
    assert count("open-mistral-nemo", told).tokens == 11


def test_rules_that_have_ended_hold_for_their_own_days(count: Counter) -> None:
    told = replace(user(Text("hi")), tools=(Tool("f"),))
    before, after = (count("claude-sonnet-4-5", told, day) for day in ("2026-04-30", "2026-05-01"))
    assert before.breakdown.tools - after.breakdown.tools == 346 - 496
    assert before.low <= after.tokens <= before.high
