"""Merging one piece: the heap against a simple scan, and small examples by hand."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.bpe.encode import merge
from adapters.port import DeadlineExceeded, Stop

LETTERS = {b"a": 0, b"b": 1, b"c": 2}


def simple(piece: bytes, ranks: dict[bytes, int]) -> list[int]:
    """Look at all neighbours, merge the leftmost of the lowest rank, look again."""
    if piece in ranks:
        return [ranks[piece]]
    parts = [bytes([byte]) for byte in piece]
    while True:
        pairs = enumerate(pairwise(parts))
        found = [(ranks[left + right], at) for at, (left, right) in pairs if left + right in ranks]
        if not found:
            return [ranks[part] for part in parts]
        _, at = min(found)
        parts[at : at + 2] = [parts[at] + parts[at + 1]]


@st.composite
def vocabularies(draw):
    """Ranks in which every token is made of two others, in an order of their own."""
    tokens = list(LETTERS)
    for _ in range(draw(st.integers(0, 14))):
        tokens.append(draw(st.sampled_from(tokens)) + draw(st.sampled_from(tokens)))
    made = draw(st.permutations(sorted(set(tokens) - LETTERS.keys())))
    return {**LETTERS, **{token: 3 + rank for rank, token in enumerate(made)}}


@given(vocabularies(), st.lists(st.sampled_from(list(LETTERS)), min_size=1, max_size=60).map(b"".join))
def test_the_heap_merges_as_the_simple_scan_does(ranks, piece):
    assert merge(piece, ranks, max(map(len, ranks))) == simple(piece, ranks)


@given(vocabularies(), st.sampled_from([b"a", b"ab", b"abc", b"aab"]), st.integers(1, 120))
def test_runs_merge_as_the_simple_scan_does(ranks, unit, times):
    assert merge(unit * times, ranks, max(map(len, ranks))) == simple(unit * times, ranks)


def test_the_worked_example():
    assert merge(b"abcab", {**LETTERS, b"ab": 3, b"bc": 4, b"abc": 5}, 3) == [5, 3]


def test_the_lowest_rank_comes_first_and_not_the_longest_token():
    assert merge(b"abc", {**LETTERS, b"bc": 3, b"ab": 4}, 2) == [0, 3]


def test_a_pair_that_has_grown_waits_for_its_new_rank():
    """Once b c is merged, a has the neighbour bc: the rank of a b is gone, and bc d comes before a bc."""
    assert merge(b"abcd", {**LETTERS, b"d": 3, b"bc": 4, b"ab": 5, b"bcd": 6, b"abc": 7}, 3) == [0, 6]


def test_of_equal_ranks_the_left_comes_first():
    assert merge(b"aaa", {**LETTERS, b"aa": 3}, 2) == [3, 0]


def test_a_piece_that_is_a_token_is_one_even_where_no_merge_leads_there():
    assert merge(b"abc", {**LETTERS, b"abc": 9}, 3) == [9]


def test_one_byte_is_one_token():
    assert merge(b"c", LETTERS, 1) == [2]


def test_a_deadline_ends_the_merging_of_a_long_piece():
    with pytest.raises(DeadlineExceeded):
        merge(b"ab" * 200_000, {**LETTERS, b"ab": 3}, 2, Stop(at=1.0, clock=lambda: 2.0))
