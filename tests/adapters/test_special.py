"""Finding literals: what a plain alternation of them finds, in time that does not grow with their number."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

import adapters.special
from adapters.manifest import read_manifest
from adapters.port import DeadlineExceeded, Stop
from adapters.special import LiteralFinder, SpecialTokens

LITERALS = ("<|a|>", "<|ab|>", "<a>", "</a>", "[A]", "[AB]", "<<", "##", "<|a|", "a>", "｜x｜", "<a", "[", "end")


def slowly(literals, text: str) -> list[tuple[int, str]]:
    """The obvious way: an alternation, longest first."""
    pattern = re.compile("|".join(map(re.escape, sorted(literals, key=len, reverse=True))))
    return [(match.start(), match.group()) for match in pattern.finditer(text)]


@given(
    st.lists(st.sampled_from((*LITERALS, "<", ">", "|", "a", "b", "[", "]", "A", " ", "｜")), max_size=40).map("".join)
)
def test_it_finds_what_the_obvious_way_finds(text):
    assert list(LiteralFinder(LITERALS).find_all(text)) == slowly(LITERALS, text)


@given(st.sets(st.text("<|>ab", min_size=1, max_size=4), min_size=1, max_size=8), st.text("<|>ab", max_size=30))
def test_it_does_so_for_any_literals(literals, text):
    assert list(LiteralFinder(literals).find_all(text)) == slowly(literals, text)


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_windows_hide_nothing_and_find_nothing_twice(monkeypatch, size):
    monkeypatch.setattr(adapters.special, "_WINDOW", size)
    text = "x<|a|>[A<|ab|>]<<##end[AB]" * 3
    assert list(LiteralFinder(LITERALS).find_all(text)) == slowly(LITERALS, text)


@pytest.mark.parametrize("name", ["tekken", "o200k_harmony", "qwen3_5"])
def test_all_literals_of_a_large_vocabulary_are_found(name):
    special = read_manifest().vendored[name].special
    text = " x ".join(special)
    assert [literal for _, literal in LiteralFinder(special).find_all(text)] == list(special)


@pytest.mark.parametrize("unit", ["<", "[", "<SPECIAL_100", "</s", "<|", "<｜", "[INST"])
def test_a_text_full_of_beginnings_takes_few_steps(unit):
    """A thousand literals were once each tried at every place: minutes for a body within the limit."""
    special = read_manifest().vendored["tekken"].special
    windows = 0

    def count() -> float:
        nonlocal windows
        windows += 1
        return 0.0

    text = unit * (2_000_000 // len(unit))
    assert list(LiteralFinder(special).find_all(text, Stop(1.0, clock=count))) == []
    assert windows <= -(-len(text) // (1 << 16))


def test_a_passed_deadline_ends_the_search():
    with pytest.raises(DeadlineExceeded):
        list(LiteralFinder(["<a>"]).find_all("<a" * 10, Stop(0.0, clock=lambda: 1.0)))


def test_an_empty_literal_is_nowhere():
    assert list(LiteralFinder([""]).find_all("abc")) == []
    assert list(SpecialTokens({}).split("abc")) == [("abc", None)]


def test_a_text_is_cut_at_its_special_tokens():
    split = SpecialTokens({"<|a|>": 7}).split
    assert list(split("x<|a|><|a|>y")) == [("x", None), ("<|a|>", 7), ("<|a|>", 7), ("y", None)]
