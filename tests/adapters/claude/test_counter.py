"""What the counters give for texts whose counts are known, and the rules one by one.

The three numbers are those of claude_v3, claude_v4_7 and claude_v4_8. They come from PyPI ctok 1.3.0, less its frame of
7, 11 and 6 tokens; the first rows are in its README, or recorded from the vendor.
"""

from __future__ import annotations

import pytest

from adapters.port import TokenCounter

KNOWN = (
    ("hello, world", 3, 4, 4),
    ("What is 2+2?", 7, 7, 7),
    ("What is 2 + 2?", 9, 9, 9),
    ("You are a scientist", 4, 6, 6),
    ("Hello, Claude", 3, 7, 7),
)


@pytest.mark.parametrize(("text", "v3", "v4_7", "v4_8"), KNOWN)
def test_counts_are_the_published_ones(
    by_name: dict[str, TokenCounter], text: str, v3: int, v4_7: int, v4_8: int
) -> None:
    assert {name: counter.count(text) for name, counter in by_name.items()} == {
        "claude_v3": v3,
        "claude_v4_7": v4_7,
        "claude_v4_8": v4_8,
    }


SAME = {
    "canonical equivalents": ("cafe\u0301", "café"),
    "a control that is dropped": ("wei\x07gh", "weigh"),
    "a private character that is dropped": ("wei\ue123gh", "weigh"),
    "a blank by another name": ("a\u2009b\u00a0c", "a b c"),
    "a zero byte": ("a\0b", "a b"),
    "a Thai vowel in two parts": ("น\u0e4d\u0e32", "น\u0e33"),
    "parts with a control between": ("น\u0e4d\x01\u0e32", "น\u0e33"),
}


@pytest.mark.parametrize("case", SAME)
def test_texts_that_count_the_same(by_name: dict[str, TokenCounter], case: str) -> None:
    first, second = SAME[case]
    assert [c.count(first) for c in by_name.values()] == [c.count(second) for c in by_name.values()]


def test_curly_quotes_are_straight_ones_in_the_first_vocabulary_alone(by_name: dict[str, TokenCounter]) -> None:
    curly, straight = "“It’s so”, he said", '"It\'s so", he said'
    same = [counter.count(curly) == counter.count(straight) for counter in by_name.values()]
    assert same == [True, False, False]


def test_a_word_in_capitals_costs_what_the_marks_make_of_it(by_name: dict[str, TokenCounter]) -> None:
    """claude_v3 has a mark for a word in capitals: ``HELLO`` is the mark and ``hello``."""
    assert [counter.count("HELLO") for counter in by_name.values()] == [2, 4, 4]
    assert by_name["claude_v3"].count("hello") == 1


def test_one_leading_blank_is_free_where_a_message_opens_with_a_border(by_name: dict[str, TokenCounter]) -> None:
    assert [counter.count(" a") - counter.count("a") for counter in by_name.values()] == [0, 0, 1]
    assert [counter.count("1") for counter in by_name.values()] == [2, 2, 1]


def test_newlines_at_the_end_go_together_with_those_of_the_message(by_name: dict[str, TokenCounter]) -> None:
    counter = by_name["claude_v3"]
    assert [counter.count("a" + "\n" * n) for n in (0, 1, 28, 29)] == [1, 1, 1, 2]


def test_a_text_of_nothing_but_dropped_characters(by_name: dict[str, TokenCounter]) -> None:
    assert [counter.count("\x01\ue000") for counter in by_name.values()] == [1, 1, 0]
    assert [counter.count("") for counter in by_name.values()] == [0, 0, 0]


@pytest.mark.parametrize("size", [4000, 4090, 4096, 5000, 9000])
@pytest.mark.parametrize("unit", ["a", "的", "=", "\n", "A", "é", "İ", "1½"])
def test_a_long_run_counts_like_the_other_engine(size: int, unit: str) -> None:
    from tests.adapters.claude.conftest import counters

    text = "x " + unit * (size // len(unit)) + " y"
    native, plain = counters("native"), counters("python")
    for name, counter in native.items():
        assert counter.count(text) == plain[name].count(text)
        assert counter.fits(text, counter.count(text))
        assert not counter.fits(text, counter.count(text) - 1)
