"""Set operations on ranges, against Python sets of single numbers."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from adapters.unicode.ranges import LAST_CODE_POINT, complement, from_code_points, intersection, parse, render, union

_NUMBERS = st.integers(0, 40) | st.integers(LAST_CODE_POINT - 20, LAST_CODE_POINT)
_PAIRS = st.lists(st.tuples(_NUMBERS, _NUMBERS).map(sorted).map(tuple), max_size=8).filter(
    lambda pairs: all(last - first < 100 for first, last in pairs)
)


def _members(pairs) -> set[int]:
    return {number for first, last in pairs for number in range(first, last + 1)}


@given(_PAIRS)
def test_union_keeps_every_member_and_leaves_gaps_between_ranges(pairs):
    ranges = union(pairs)

    assert _members(ranges) == _members(pairs)
    assert all(last + 1 < first for (_, last), (first, _) in pairwise(ranges))


@given(_PAIRS)
def test_complement_holds_all_the_rest_and_undoes_itself(pairs):
    ranges = union(pairs)
    rest = complement(ranges)

    assert complement(rest) == ranges
    assert union((*ranges, *rest)) == ((0, LAST_CODE_POINT),)
    assert sum(last - first + 1 for first, last in rest) == LAST_CODE_POINT + 1 - len(_members(ranges))


@given(_PAIRS, _PAIRS)
def test_intersection_holds_what_both_hold(left, right):
    assert _members(intersection(union(left), union(right))) == _members(left) & _members(right)


@given(st.sets(_NUMBERS))
def test_ranges_of_single_numbers_survive_being_written_and_read(numbers):
    ranges = from_code_points(numbers)

    assert _members(ranges) == numbers
    assert parse(render(ranges)) == ranges
