"""What may be left out of texts: JSON's blanks, white space, blanks between CJK characters, and repeats."""

from __future__ import annotations

import json
import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.domain.jsonspans import json_spans
from service.domain.repeats import LEAST, repeats
from service.domain.request import Image, Message, Request, Text, ToolCall, ToolResult
from service.domain.rewriting import (
    Finder,
    Passage,
    edited,
    minified_json,
    passages,
    rewritten,
    spaced_cjk,
    white_space,
)


def shorter(finder: Finder, text: str) -> str:
    [edits] = finder([Passage(text, "text")], None)
    return edited(text, edits)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{ "a" : 1 }', '{"a":1}'),
        ("[ 1, 2 ]", "[1,2]"),
        (" [ ] ", " [] "),
        ("see [ 1 ] and [ ] here", "see [ 1 ] and [ ] here"),
        ('so [ { "a": 1 }, 2 ] it is', 'so [{"a":1},2] it is'),
        ('{"n": 1.0e+05, "n": -0.50, "s": "a  b\\u0041 \\" }"}', '{"n":1.0e+05,"n":-0.50,"s":"a  b\\u0041 \\" }"}'),
        ('{"a": 01}', '{"a": 01}'),
        ('{"a": 1,}', '{"a": 1,}'),
        ('{"a": .5}', '{"a": .5}'),
        ("{'a': 1}", "{'a': 1}"),
        ('{"a": NaN}', '{"a": NaN}'),
        ('{ bad { "a": [ 1 ] } [ {"b": 2 } ] ', '{ bad {"a":[1]} [{"b":2}] '),
        ('{"x": {"a": 1 }, oops', '{"x": {"a":1}, oops'),
        ('{"a": "line\nbreak"}', '{"a": "line\nbreak"}'),
        ('{"a": "\\x"} {"b": 1}', '{"a": "\\x"} {"b":1}'),
        ('{"a": tru } {"b": true }', '{"a": tru } {"b":true}'),
        ('{"a": 1 }{"b": 2 }', '{"a":1}{"b":2}'),
        ("{ } x", "{ } x"),
        ('{"a": "never closed', '{"a": "never closed'),
    ],
)
def test_only_blanks_between_the_tokens_of_json_go(text: str, expected: str) -> None:
    assert shorter(minified_json, text) == expected


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)
objects = st.dictionaries(st.text(max_size=4), values, min_size=1, max_size=4)
prose = st.text("ab ,:.\n", max_size=12)


@given(prose, objects, prose, objects, prose, st.sampled_from([None, 0, 1, 3, "\t"]), st.booleans())
def test_json_within_prose_is_written_compactly_and_means_the_same(
    before: str, one: object, between: str, two: object, after: str, indent: int | str | None, ascii_only: bool
) -> None:
    def dumped(value: object, **options: object) -> str:
        return json.dumps(value, ensure_ascii=ascii_only, **options)  # type: ignore[arg-type]

    text = before + dumped(one, indent=indent) + between + dumped(two, indent=indent) + after
    compact = {"separators": (",", ":")}
    assert shorter(minified_json, text) == before + dumped(one, **compact) + between + dumped(two, **compact) + after


@given(st.lists(st.sampled_from([*'{}[]":, \n\\', "1", "a", '"a"', "true", '{"a":', '{"b": 1}']), max_size=30))
def test_whatever_is_taken_for_json_is_json(pieces: list[str]) -> None:
    text = "".join(pieces)
    found = json_spans(text)
    for start, end in found.spans:
        value = json.loads(text[start:end])
        assert '":' in re.sub(r"\s", "", text[start:end]) or text.strip() == text[start:end]
        assert json.loads(shorter(minified_json, text[start:end])) == value
    assert all(one[1] <= two[0] for one, two in zip(found.spans, found.spans[1:], strict=False))
    assert all(text[start:end].isspace() for start, end in found.blanks)
    try:
        whole = json.loads(text)
    except ValueError:
        return
    if isinstance(whole, (dict, list)):
        assert [text[start:end] for start, end in found.spans] == [text.strip()]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a  \nb\t\n", "a\nb\n"),
        ("a\n\n\n\nb", "a\n\nb"),
        ("a\r\n \r\n\r\n  b", "a\r\n\r\n  b"),
        ("a\rb\n\r \n\n\nc", "a\rb\n\r \n\n\nc"),
        ("a   b\t\tc  ", "a b\t\tc"),
        ("    indented\n\tline", "    indented\n\tline"),
        ("x\n```py\na  = 1  \n\n\n\n```\ny  z", "x\n```py\na  = 1  \n\n\n\n```\ny z"),
        ("~~~\na  b\n```\nc  d\n~~~\ne  f", "~~~\na  b\n```\nc  d\n~~~\ne f"),
        ("```\nnever  closed", "```\nnever  closed"),
        ('so  {"a": "b   c"}  then', 'so {"a": "b   c"} then'),
    ],
)
def test_white_space_goes_where_it_says_nothing(text: str, expected: str) -> None:
    assert shorter(white_space, text) == expected


@given(st.text("ab \t\n", max_size=40))
def test_white_space_is_what_reading_line_by_line_leaves(text: str) -> None:
    short = shorter(white_space, text)
    assert short.split() == text.split()
    assert len(short) <= len(text)
    assert "\n\n\n" not in short
    assert not re.search(r"[ab][ \t]+\n|[ab]  +[ab]", short)
    assert shorter(white_space, short) == short
    lines, before = ([line for line in t.split("\n") if line.strip()] for t in (short, text))
    assert [line[: len(line) - len(line.lstrip())] for line in lines] == [
        line[: len(line) - len(line.lstrip())] for line in before
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("你 好 ， 世\u3000界 ！", "你好，世界！"),
        ("日 本 ご カ", "日本ごカ"),
        ("hello 世 界 ok", "hello 世界 ok"),
        ("한국 말", "한국 말"),
        ("你\n好", "你\n好"),
        ('{"a": "你 好"} 你 好', '{"a": "你 好"} 你好'),
    ],
)
def test_blanks_between_cjk_characters_go(text: str, expected: str) -> None:
    assert shorter(spaced_cjk, text) == expected


PASSAGE = " ".join(f"word{number}" for number in range(60))


def test_a_passage_that_is_said_again_is_found_wherever_it_stands() -> None:
    assert len(PASSAGE) > LEAST
    texts = [f"First: {PASSAGE} end.", f"x {PASSAGE}. And {PASSAGE}"]
    found = repeats(texts)
    assert [texts[r.number][r.start : r.end].strip() for r in found] == [PASSAGE, PASSAGE]
    for r in found:
        assert texts[r.number][r.start : r.end] == texts[r.first][r.first_start : r.first_start + r.end - r.start]


def test_a_short_phrase_or_a_passage_said_once_is_no_repeat() -> None:
    assert repeats([PASSAGE, PASSAGE[: LEAST - 60]]) == []
    assert repeats([PASSAGE]) == []


def test_a_text_that_repeats_itself_counts_from_its_second_time_on() -> None:
    [found] = repeats(["a" * 1000])
    assert (found.start, found.end, found.first_start) == (64, 1000, 0)


def test_no_word_is_cut() -> None:
    texts = [PASSAGE + "s", PASSAGE + "t"]
    [found] = repeats(texts)
    assert texts[1][found.start : found.end] == PASSAGE.rsplit(" ", 1)[0] + " "


@given(st.integers(0, 2**32), st.integers(LEAST, 900), st.integers(0, 300), st.integers(0, 300))
def test_a_planted_passage_is_found_whole(seed: int, length: int, before: int, between: int) -> None:
    source = random.Random(seed)

    def noise(size: int) -> str:
        return "".join(source.choices("一二三四五六七八九十", k=size))

    planted = noise(length)
    text = noise(before) + "甲" + planted + "乙" + noise(between) + "丙" + planted + "丁"
    assert [(r.start, r.end, r.first_start) for r in repeats([text])] == [
        (before + length + between + 3, len(text) - 1, before + 1)
    ]


@given(st.lists(st.text("ab ", max_size=400), max_size=5), st.integers(64, 90))
def test_repeats_are_equal_apart_and_in_order(texts: list[str], least: int) -> None:
    found = repeats([*texts, *texts], least=least)
    reached = (0, 0)
    for r in found:
        text, first = (texts + texts)[r.number], (texts + texts)[r.first]
        assert text[r.start : r.end] == first[r.first_start : r.first_start + r.end - r.start]
        assert (r.first, r.first_start) < (r.number, r.start)
        assert r.end - r.start >= least
        assert (r.number, r.start) >= reached
        reached = (r.number, r.end)


def test_every_text_of_a_request_is_rewritten_in_its_place() -> None:
    parts = (Text("a  b", "p0"), Image("p1"), ToolResult((Text("c  d", "p2"), Image("p3")), "x"))
    request = Request((Message("user", parts), Message("assistant", (ToolCall("f", '{"a": 1}', path="p4"),))))
    texts = passages(request)
    assert [(p.path, p.arguments) for p in texts] == [("p0", False), ("p2", False), ("p4", True)]
    changed = rewritten(request, white_space(texts, None))
    assert [p.text for p in passages(changed)] == ["a b", "c d", '{"a": 1}']
    assert [p.text for p in passages(rewritten(request, minified_json(texts, None)))] == ["a  b", "c  d", '{"a":1}']
    assert changed.messages[0].parts[1] == parts[1]
