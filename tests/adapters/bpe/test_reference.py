"""Plain Python against tiktoken: the same ids for every vocabulary, on text chosen to tell two readings apart."""

from __future__ import annotations

import random

import pytest

from adapters.unicode import class_tables, code_points, complement, union
from tests.fuzz import strings

_CONTEXTS = ("{0}", "a{0}", "{0}b", " {0}", "1{0}2", "'{0}", "\n{0}A ")

_PARTS = (
    "'s", "’S", "'ſ", "'\u212a", "I'LL", " ", "  ", "\t", "\r\n", "\n", "\x85", "\u2028", "\xa0", "\x1c", "\0",
    "1", "23", "٣", "Ⅷ", "²", "word", "Word", "WORD", "ǅ", "ʰ", "ª", "中文", "か゛", "e\u0301", "\u0301", "\u200d",
    "👩\u200d💻", "!", "/", "//", "_", "$", "<|endoftext|>", "<EOT>", "\ue000", "\U000e0fff", "\u1c89", "\u1ad5",
    "\ud800", "\udfff",
)  # fmt: skip


def _edges_and_samples(step: int) -> list[str]:
    """The first and the last code point of every run of one category, and every ``step``-th of all."""
    numbers = set(range(0, 0x110000, step))
    start = 0
    for run in class_tables.CATEGORY_RUNS.split():
        end = start + int(run[2:], 16)
        numbers |= {start, end - 1}
        start = end
    return [chr(number) for number in sorted(numbers) if not 0xD800 <= number < 0xE000]


def _sweep(twins, characters):
    """Lines of a hundred contexts each, so that a difference shows which character it comes from."""
    for context in _CONTEXTS:
        for at in range(0, len(characters), 100):
            line = "  ".join(context.format(character) for character in characters[at : at + 100])
            assert twins.plain.encode(line) == twins.expected(line), f"{context} from U+{ord(characters[at]):04X}"


def test_edges_of_every_class_in_seven_contexts_give_the_reference_ids(twins):
    _sweep(twins, _edges_and_samples(step=1009))


@pytest.mark.slow
def test_every_assigned_code_point_in_seven_contexts_gives_the_reference_ids(twins):
    assigned = complement(union((*code_points("Cn"), *code_points("Co"), *code_points("Cs"))))
    _sweep(twins, [chr(number) for first, last in assigned for number in range(first, last + 1)])


def test_odd_strings_give_the_reference_ids(twins):
    for text in strings(2500, seed=41):
        assert twins.plain.encode(text) == twins.expected(text)


def test_random_mixtures_give_the_reference_ids_and_count(twins):
    rng = random.Random(42)
    for _ in range(1000):
        text = "".join(rng.choice(_PARTS) for _ in range(rng.randint(1, 20)))
        expected = twins.expected(text)
        assert twins.plain.encode(text) == expected
        assert twins.plain.count(text) == len(expected)


def test_long_texts_of_many_pieces_give_the_reference_ids_and_count(twins):
    text = "".join(strings(1500, seed=43, surrogates=False)) + "word" * 30_000 + " the end" * 3000
    expected = twins.expected(text)

    assert len(text) > 1 << 16
    assert twins.plain.encode(text) == expected
    assert twins.plain.count(text) == len(expected)


# Lengths around those where the library changes its way of merging.
@pytest.mark.parametrize("unit", [" ", "a", "ab", "\n", "-", "中", "\u0301", "aB", "0"])
def test_runs_of_any_length_give_the_reference_ids(twins, unit):
    for length in (1, 2, 3, 31, 64, 99, 100, 101, 127, 128, 129, 500, 2000):
        for tail in ("", "x", "\n"):
            text = unit * length + tail
            assert twins.plain.encode(text) == twins.expected(text)
