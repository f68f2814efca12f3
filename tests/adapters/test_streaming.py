"""A text that arrives in parts has the count of the whole, however it is cut up."""

from __future__ import annotations

import random
import tracemalloc
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.loader import LoaderOptions, Vocabularies
from adapters.manifest import read_manifest
from adapters.port import Cuttable, DeadlineExceeded, Stop, StretchTooLong, TokenCounter, Tokenizer
from adapters.special import LiteralFinder, LiteralStream
from adapters.streaming import count_stream
from adapters.unicode import normalize, settled
from tests.fuzz import long_string, strings

MANIFEST = read_manifest()
NAMES = sorted(name for name in MANIFEST.vendored if name != "o200k_harmony")
CUT_UP = [name for name in NAMES if MANIFEST.vendored[name].family == "tiktoken"]
ODD = "aA1 \n\r.,'/s\u3000你好，。é\u0301\u0323\u1100\u1161\u11a8가①ﬁ👍<|im_end|>"


@cache
def tokenizer(name: str, engine: str = "native") -> TokenCounter:
    patterns = frozenset(MANIFEST.patterns.values())
    return Vocabularies(MANIFEST.vendored, LoaderOptions(engine=engine, cuttable=patterns)).load(name)


def parts(text: str, sizes: list[int]) -> list[str]:
    cut, start = [], 0
    while start < len(text):
        size = sizes[len(cut) % len(sizes)]
        cut.append(text[start : start + size])
        start += size
    return cut


def streamed(counter: TokenCounter, cut_up: list[str], *, parse: bool = False) -> int:
    stream = count_stream(counter, parse)
    for part in cut_up:
        stream.feed(part)
    return stream.finish()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("parse", [False, True])
def test_odd_strings_in_parts_count_as_whole(name, parse):
    counter, draw = tokenizer(name), random.Random(name)
    texts = [*strings(150, seed=21, surrogates=False), *("".join(draw.choices(ODD, k=80)) for _ in range(60))]
    texts.append(" ".join(draw.choices([*counter.special_tokens, "a", "你", "\n", "<|im_"], k=300)))
    for text in texts:
        sizes = draw.choices([1, 2, 3, 7, 40], k=5)
        known = (
            len(counter.encode(text, parse_special=parse)) if isinstance(counter, Tokenizer) else counter.count(text)
        )
        assert streamed(counter, parts(text, sizes), parse=parse) == known, (text, sizes)


@pytest.mark.parametrize("name", CUT_UP)
def test_a_long_text_in_parts_counts_as_whole(name):
    counter = tokenizer(name)
    text = long_string(60_000, seed=5)
    for sizes in ([1], [997], [20_000, 1]):
        assert streamed(counter, parts(text, sizes)) == counter.count(text)


@settings(max_examples=400, deadline=None)
@given(
    text=st.lists(st.sampled_from([*ODD, "<|im_end|>", "word ", "don't"]), max_size=60).map("".join) | st.text(),
    sizes=st.lists(st.integers(1, 9), min_size=1, max_size=6),
    name=st.sampled_from(CUT_UP),
    parse=st.booleans(),
)
def test_any_text_in_any_parts_counts_as_whole(text, sizes, name, parse):
    counter = tokenizer(name)
    assert streamed(counter, parts(text, sizes), parse=parse) == len(counter.encode(text, parse_special=parse))


@pytest.mark.parametrize("engine", ["library", "python"])
@pytest.mark.parametrize("name", ["cl100k_base", "qwen"])
def test_other_engines_count_parts_too(name, engine):
    counter = tokenizer(name, engine)
    for text in [*strings(60, seed=8, surrogates=False), "A truck, weighed. " * 200, "地磅，货车。" * 100]:
        assert streamed(counter, parts(text, [5, 1, 33])) == counter.count(text)


def test_the_library_holds_no_more_than_a_part_of_ordinary_text():
    stream = count_stream(tokenizer("cl100k_base", "library"), longest=2_000)
    for _ in range(50):
        stream.feed("A truck, weighed before. " * 40)
    assert stream.finish() == tokenizer("cl100k_base").count("A truck, weighed before. " * 2_000)


@pytest.mark.parametrize("text", ["x", " ", "\n", "=", "你", "\u0301"])
def test_a_stretch_without_a_cut_is_counted_up_to_the_bound_and_refused_beyond_it(text):
    counter = tokenizer("o200k_base")
    stream = count_stream(counter, longest=5_000)
    for _ in range(50):
        stream.feed(text * 100)
    assert stream.finish() == counter.count(text * 5_000)
    stream = count_stream(counter, longest=4_999)
    stream.feed(text * 4_999)
    with pytest.raises(StretchTooLong, match="4999 characters"):
        stream.feed(text)


def test_marks_without_a_base_are_held_up_to_the_bound_where_text_is_normalized():
    stream = count_stream(tokenizer("qwen"), longest=1_000)
    stream.feed("\u0301" * 1_000)
    with pytest.raises(StretchTooLong, match="begins anew"):
        stream.feed("\u0301")


@pytest.mark.parametrize("name", [name for name in NAMES if name not in CUT_UP])
def test_a_vocabulary_without_known_cuts_takes_a_text_up_to_the_bound(name):
    counter = tokenizer(name)
    assert not isinstance(counter, Cuttable)
    stream = count_stream(counter, longest=100)
    with pytest.raises(StretchTooLong, match=name):
        stream.feed("a truck " * 13)


def test_memory_does_not_grow_with_the_text():
    stream = count_stream(tokenizer("o200k_base"))
    part = "A truck is weighed, 地磅，before it's charged.\n" * 500
    stream.feed(part)
    tracemalloc.start()
    for _ in range(500):
        stream.feed(part)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 12 * len(part.encode())
    assert stream.finish() == 501 * tokenizer("o200k_base").count(part)


def test_the_deadline_is_heeded():
    stream = count_stream(tokenizer("o200k_base"))
    with pytest.raises(DeadlineExceeded):
        stream.feed("a truck " * 100_000, stop=Stop(0.0))


@pytest.mark.parametrize("form", ["NFC", "NFKC"])
def test_what_is_settled_is_normalized_as_it_is_in_the_whole(form):
    draw = random.Random(form)
    for _ in range(4_000):
        text = "".join(draw.choices(ODD + "\u1161\u11a8\u3099か=\u0338", k=draw.randint(1, 12)))
        place = settled(form, text[: draw.randint(0, len(text))])
        if place >= 0:
            assert normalize(form, text[:place]) + normalize(form, text[place:]) == normalize(form, text)
    assert settled(form, "") == settled(form, "\u0301\u0323") == -1
    assert settled(form, "ae\u0301") == 1


LITERALS = ["<|a|>", "<|ab|>", "<|a|>b", "[X]", "</s>", "aab", "ab"]


@settings(max_examples=500, deadline=None)
@given(
    text=st.lists(st.sampled_from([*LITERALS, "<|a", "a", "b", "<", "|", ">", "x" * 9]), max_size=14).map("".join),
    sizes=st.lists(st.integers(1, 9), min_size=1, max_size=6),
)
def test_literals_are_found_across_the_borders_of_parts(text, sizes):
    stream = LiteralStream(LITERALS)
    found = [hit for part in parts(text, sizes) for hit in stream.feed(part)]
    assert [*found, *stream.feed("", last=True)] == list(LiteralFinder(LITERALS).find_all(text))
    assert stream.reached == len(text)
