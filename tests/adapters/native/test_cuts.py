"""Where a text may be cut: its parts have the very pieces of the whole, whatever stands before and after."""

from __future__ import annotations

import random
from functools import cache
from itertools import pairwise, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.bpe.patterns import Splitter
from adapters.native._core import Vocabulary
from adapters.native.families import FAMILIES, classes
from tests.adapters.native.test_core import BYTES
from tests.adapters.native.test_equality import ALPHABET
from tests.fuzz import long_string, strings

# One or more of each kind that some pattern tells apart, and the letters of contractions.
KINDS = "aAǅʰ你\u0301\u06041½ \u3000\n\r!'/slvſ"
SHORTER = "aS你\u03011 \n'/l"


@cache
def of(pattern: str) -> tuple[Vocabulary, Splitter]:
    return Vocabulary(FAMILIES[pattern], BYTES, classes()), Splitter(pattern)


@pytest.fixture(params=FAMILIES, ids=[f"{family}-{i}" for i, family in enumerate(FAMILIES.values())])
def split(request: pytest.FixtureRequest) -> tuple[Vocabulary, Splitter]:
    return of(request.param)


def bytes_before(text: str, place: int) -> int:
    return len(text[:place].encode())


@pytest.mark.parametrize(("more", "alphabet"), [(1, KINDS), (2, SHORTER)])
def test_no_piece_changes_at_a_cut_whatever_stands_around_it(split, more, alphabet):
    """Every order of kinds: the two characters at a cut, and up to two on either side of them."""
    vocabulary, splitter = split
    cuts = [pair for pair in product(alphabet, repeat=2) if vocabulary.cut("".join(pair)) == 1]
    assert len(cuts) > len(alphabet)
    around = ["".join(few) for few in product(alphabet, repeat=more)]
    for left, right in cuts:
        tails = [(right + few, splitter.split(right + few)) for few in around]
        for head in (few + left for few in around):
            head_pieces = splitter.split(head)
            for tail, tail_pieces in tails:
                assert splitter.split(head + tail) == head_pieces + tail_pieces, (head, tail)


def test_cuts_are_found_in_text_as_people_write_it(split):
    vocabulary, _ = split
    for text, cut in (("a word", 1), ("it weighs\n", 9), ("一句话，又一句", 3), ("x = 1;", 5), ("十1", 1), ("1a", 1)):
        assert vocabulary.cut(text) == cut, text


@pytest.mark.parametrize("text", ["", "a", "aaaa", "    ", "\n\n\n", "!!!", "你好", "1234"])
def test_a_stretch_that_may_be_one_piece_has_no_cut(split, text):
    vocabulary, _ = split
    assert vocabulary.cut(text) == 0
    assert vocabulary.borders(text, 4) == ([len(text.encode())] if text else [])


def test_an_apostrophe_and_a_slash_go_on_where_the_pattern_lets_them():
    by_family = {family: of(pattern)[0] for pattern, family in FAMILIES.items()}
    assert [by_family[name].cut("a's") for name in ("o200k", "tekken", "cl100k", "r50k")] == [0, 1, 1, 1]
    assert [by_family[name].cut("!\n/") for name in ("o200k", "tekken", "cl100k", "r50k")] == [0, 0, 2, 1]


@settings(max_examples=300, deadline=None)
@given(text=st.text(st.sampled_from(ALPHABET), max_size=40) | st.text(max_size=40).filter(lambda t: t.isprintable()))
@pytest.mark.parametrize("pattern", FAMILIES, ids=[f"{family}-{i}" for i, family in enumerate(FAMILIES.values())])
def test_every_cut_of_any_text_leaves_its_pieces_alone(pattern, text):
    vocabulary, splitter = of(pattern)
    whole = splitter.split(text)
    for end in range(len(text) + 1):
        place = vocabulary.cut(text[:end])
        assert splitter.split(text[:place]) + splitter.split(text[place:]) == whole


@pytest.mark.parametrize("step", [1, 7, 64, 1000])
def test_the_parts_between_borders_add_up_to_the_whole(pair, step):
    draw = random.Random(step)
    texts = [*strings(300, seed=step, surrogates=False), long_string(20_000, seed=step), "a" * 3_000, ""]
    texts += ["".join(draw.choices(ALPHABET, k=500)) for _ in range(40)]
    for text in texts:
        borders = pair.native.borders(text, step)
        assert borders == sorted(set(borders))
        assert (borders[-1] if borders else 0) == len(text.encode())
        parts = [pair.native.count(text, None, start, end) for start, end in pairwise((0, *borders))]
        assert sum(parts) == pair.native.count(text)


def test_borders_are_as_near_as_the_text_allows(small_pair):
    assert small_pair.native.borders("ab cd ef gh", 5) == [5, 8, 11]
    assert small_pair.native.borders("一，二三，四", 7) == [3, 12, 18]


@pytest.mark.parametrize(("start", "end"), [(1, 6), (0, 4), (2, 3), (7, 6), (-1, 3)])
def test_a_part_that_does_not_begin_and_end_between_characters_is_refused(small_pair, start, end):
    with pytest.raises(ValueError, match="borders of characters"):
        small_pair.native.count("你好", None, start, end)


def test_a_part_may_be_empty_or_end_beyond_the_text(small_pair):
    assert small_pair.native.count("你好", None, 3, 3) == 0
    assert small_pair.native.count("a b", None, 1, 99) == 1


@pytest.mark.parametrize("limit", [0, 1, 5, 2**64 - 1])
def test_a_count_within_a_limit_is_the_count_or_nothing(small_pair, limit):
    for text in ("", "a", "a b", "one two three four five", "x" * 500):
        count = small_pair.native.count(text)
        assert small_pair.native.count_within(text, limit) == (count if count <= limit else None)
