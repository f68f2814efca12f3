"""A text read in parts gives the pieces of the whole text, wherever the parts end."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from adapters.bpe.cutting import can_cut, cut
from adapters.bpe.patterns import Splitter
from adapters.bpe.train import train
from adapters.native import FAMILIES
from tests.fuzz import strings

# One or more characters of every kind that a pattern tells apart.
_KINDS = ("a", "B", "ll", "'s", "1", "23", " ", "  ", "\t", "\n", "\r", "\r\n", ".", "/", "!", "字", "ǅ", "ʰ", "\u0301",
          "\u00a0", "\u0085", "\x1c", "½", "😀")  # fmt: skip
_SPLITTERS = {pattern: Splitter(pattern) for pattern in FAMILIES}


def in_parts(text: str, ends: list[int]) -> list[str]:
    bounds = [0, *sorted(end for end in ends if end <= len(text)), len(text)]
    return [text[start:end] for start, end in pairwise(bounds)]


def test_a_text_is_cut_before_blanks_and_after_line_feeds():
    assert list(cut(["a tru", "ck w", "eighs"])) == ["a", " truck", " weighs"]
    assert list(cut(["a.\nb", "c.\n", "d"])) == ["a.\n", "bc.\n", "d"]
    assert list(cut(["a.\n", "/b  c", "\n\nd", ""])) == ["a.\n/b", "  c\n\nd"]
    assert list(cut([])) == list(cut(["", ""])) == []


def test_the_last_place_is_found_however_far_back_it_is():
    for far in (1, 4094, 4095, 4096, 4097, 8192, 10_000):
        assert list(cut(["a b" + "c" * far])) == ["a", " b" + "c" * far]


def test_only_patterns_of_which_it_is_known_can_be_cut():
    assert all(map(can_cut, FAMILIES))
    assert not can_cut(r"[\s\S]+")


@pytest.mark.parametrize("pattern", FAMILIES)
@settings(deadline=None)
@given(
    st.lists(st.sampled_from(_KINDS), max_size=30).map("".join),
    st.lists(st.integers(0, 40), max_size=6),
)
@example("x \n", [2])
@example(".\n/a", [2])
@example("a\n\u0301b", [2])
def test_the_pieces_of_the_parts_are_those_of_the_whole(pattern, text, ends):
    splitter = _SPLITTERS[pattern]
    stretches = list(cut(in_parts(text, ends)))

    assert "".join(stretches) == text
    assert [piece for stretch in stretches for piece in splitter.split(stretch)] == splitter.split(text)
    assert [word for stretch in stretches for word in stretch.split()] == text.split()


@pytest.mark.parametrize("pattern", FAMILIES)
def test_hostile_texts_have_the_same_pieces_in_parts_of_any_size(pattern):
    splitter = _SPLITTERS[pattern]
    text = "".join(strings(400, seed=9, surrogates=False))
    expected = Counter(splitter.split(text))

    for size in (1, 7, 100, 5000):
        parts = [text[start : start + size] for start in range(0, len(text), size)]
        stretches = list(cut(parts))
        assert len(stretches) > 1
        assert Counter(piece for stretch in stretches for piece in splitter.split(stretch)) == expected


def test_training_does_not_depend_on_the_size_of_the_parts():
    text = "".join(strings(400, seed=10)) + "weigh the truck, then weigh the load\n" * 50
    whole = train([text], size=600, pattern="o200k", ties="first_seen")

    for size in (1, 100, 5000):
        parts = [text[start : start + size] for start in range(0, len(text), size)]
        assert train(cut(parts), size=600, pattern="o200k", ties="first_seen") == whole
