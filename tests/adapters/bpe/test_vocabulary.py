"""Rank files: what is read, what is refused and where, and that they are written as they were read."""

from __future__ import annotations

from base64 import b64encode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.bpe.vocabulary import read_ranks, write_ranks
from adapters.loader import read_verified
from adapters.port import VocabularyDamaged


def test_a_vendored_file_is_written_as_it_was_read(twins):
    data = read_verified(twins.spec)

    assert write_ranks(read_ranks(data)) == data


@given(
    st.dictionaries(st.binary(min_size=1), st.integers(0, 2**32 - 2)).filter(lambda ranks: _distinct(ranks.values()))
)
def test_ranks_survive_being_written_and_read(ranks):
    if ranks:
        assert read_ranks(write_ranks(ranks)) == ranks
        assert list(read_ranks(write_ranks(ranks)).values()) == sorted(ranks.values())


def _distinct(values) -> bool:
    return len(set(values)) == len(values)


def test_empty_lines_and_line_ends_of_either_kind_are_read():
    assert read_ranks(b"\nQQ== 0\r\n\r\nQg==\t1") == {b"A": 0, b"B": 1}


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "holds no token"),
        (b"\n\n", "holds no token"),
        (b"QQ== 0\nQg==\n", "Line 2 of the rank file is not"),
        (b"QQ== 0 QQ==\n1\n", "Line 1 of the rank file is not"),
        (b"QQ== 0\n\nQg= 1", "Line 3 of the rank file is not"),
        (b"QQ==Q 0", "Line 1 of the rank file is not"),
        (b"QQ-_ 0", "Line 1 of the rank file is not"),
        (b"QQ== -1", "Line 1 of the rank file is not"),
        (b"QQ== 1_0", "Line 1 of the rank file is not"),
        (b"QQ== 1.0", "Line 1 of the rank file is not"),
        (b"QQ== 0\rQg== 1", "Line 1 of the rank file is not"),
        (b" 0", "Line 1 of the rank file is not"),
        (b"QQ== 0\n<html>", "Line 2 of the rank file is not"),
        (b"QQ== 0\nQg== 0", "Line 2 of the rank file repeats the rank of line 1"),
        (b"QQ== 0\nQg== 1\nQQ== 2", "Line 3 of the rank file repeats the token of line 1"),
        (b"QQ== 4294967295", "Line 1 of the rank file has a rank above 4294967294"),
        (b"QQ== 99999999999", "Line 1 of the rank file is not"),
    ],
)
def test_a_damaged_file_is_refused_with_the_line(data, message):
    with pytest.raises(VocabularyDamaged, match=message):
        read_ranks(data)


def test_a_bad_line_is_found_among_many():
    lines = [b64encode(f"token {number}".encode()) + b" %d" % number for number in range(1000)]
    lines[700] += b"x"

    with pytest.raises(VocabularyDamaged, match="Line 701 "):
        read_ranks(b"\n".join(lines))
