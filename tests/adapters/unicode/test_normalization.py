"""NFC and NFKC, against the normalizers of Hugging Face tokenizers."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import normalizers

from adapters.port import DeadlineExceeded, Stop
from adapters.unicode import UnknownForm, changes, normalize
from adapters.unicode import normalization_tables as tables
from adapters.unicode.ranges import parse

REFERENCE = {"NFC": normalizers.NFC().normalize_str, "NFKC": normalizers.NFKC().normalize_str}
FORMS = tuple(REFERENCE)
EVERY = [chr(number) for number in range(0x110000) if not 0xD800 <= number < 0xE000 and number != 0x0A]
# Marks of low, middle and high class, a mark that decomposes, Hangul vowels and consonants.
BEHIND = ("\u0301", "\u0316\u0301", "\u0301\u0316", "\u0345\u0334", "\u0344", "\u1161", "\u11a8", "\u1161\u11a8")
BEFORE = ("a", "\u1100", "\uac00", "\u0301", "\u0316", "\u1e63", "\u09c7", "\u0b47")


def _reactive() -> list[str]:
    """Every character that takes part in a decomposition, a composition or an order, and every 61st of the others."""
    listed = {chr(int(number, 16)) for table in (tables.CANONICAL, tables.COMPATIBILITY) for number in _numbers(table)}
    marks = {
        chr(number)
        for group in tables.COMBINING.values()
        for pair in parse(group)
        for number in range(pair[0], pair[1] + 1)
    }
    hangul = {chr(number) for number in (*range(0x1100, 0x1200), *range(0xAC00, 0xD7B0, 5))}
    return sorted(listed | marks | hangul | set(EVERY[::61]))


def _numbers(table: str) -> list[str]:
    return table.replace("=", " ").replace("+", " ").split()


@pytest.mark.parametrize("form", FORMS)
def test_every_code_point_alone_is_normalized_like_the_reference(form):
    text = "\n".join(EVERY)

    assert normalize(form, text).split("\n") == REFERENCE[form](text).split("\n")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("mark", BEHIND)
def test_what_follows_a_character_acts_on_it_as_in_the_reference(form, mark):
    text = "\n".join(character + mark for character in _reactive())

    assert normalize(form, text).split("\n") == REFERENCE[form](text).split("\n")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("base", BEFORE)
def test_a_character_acts_on_what_precedes_it_as_in_the_reference(form, base):
    text = "\n".join(base + character + "\u0323" for character in _reactive())

    assert normalize(form, text).split("\n") == REFERENCE[form](text).split("\n")


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("base", BEFORE)
def test_every_code_point_between_others_is_normalized_like_the_reference(form, base):
    for mark in ("\u0316\u0301", "\u1161"):
        text = "\n".join(base + character + mark for character in EVERY)
        assert normalize(form, text).split("\n") == REFERENCE[form](text).split("\n")


@pytest.mark.parametrize("form", FORMS)
def test_twenty_thousand_random_strings_are_normalized_like_the_reference(form):
    rng = random.Random(20)
    reactive = _reactive()
    pools = (reactive, BEHIND, BEFORE, EVERY, "abc 1.\n", "ﬁ①Ａｶﾞ㌀ﷺ", "각힣각", "👍🏽👨‍👩‍👧é")
    for _ in range(10_000):
        text = "".join(rng.choice(rng.choice(pools)) for _ in range(rng.randint(1, 24)))
        assert normalize(form, text) == REFERENCE[form](text)
        marks = "".join(rng.choice(reactive[300:1800]) for _ in range(rng.randint(1, 12)))
        assert normalize(form, marks) == REFERENCE[form](marks)


@given(st.text(), st.sampled_from(FORMS))
def test_any_text_is_normalized_like_the_reference(text, form):
    assert normalize(form, text) == REFERENCE[form](text)


@given(st.text(), st.sampled_from(FORMS))
def test_changes_turn_the_text_into_its_normal_form(text, form):
    found = list(changes(form, text))
    rebuilt, done = "", 0
    for change in found:
        assert done <= change.start < change.end
        assert text[change.start : change.end] != change.text
        rebuilt += text[done : change.start] + change.text
        done = change.end

    assert rebuilt + text[done:] == normalize(form, text)


def test_changes_name_only_the_places_that_change():
    assert [(change.start, change.end, change.text) for change in changes("NFC", "né ne\u0301 é\u0323")] == [
        (4, 6, "é"),
        (7, 9, "ẹ\u0301"),
    ]
    assert list(changes("NFKC", "plain")) == []


# A sort or a composition that looks back over the whole run would take hours on these.
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "text",
    [
        "a" + "\u0301\u0316" * 500_000,
        "a" + "\u0316" * 500_000 + "\u0301" * 500_000,
        "\u0301" * 1_000_000,
        "\u1100\u1161\u11a8" * 100_000,
        "ﷺ" * 50_000,
    ],
    ids=["marks out of order", "marks in order", "marks alone", "jamo", "expanding"],
)
def test_a_million_characters_of_one_kind_are_normalized_like_the_reference(form, text):
    assert normalize(form, text) == REFERENCE[form](text)


def test_ascii_is_returned_as_it_is():
    text = "plain text, 100 %"

    assert normalize("NFKC", text) is text


def test_a_text_without_anything_to_change_is_returned_as_it_is():
    text = "déjà vu, 你好, 안녕"

    assert normalize("NFC", text) is text


@pytest.mark.parametrize("form", ["", "NFD", "nfc"])
def test_another_form_is_refused(form):
    with pytest.raises(UnknownForm, match="Known: NFC, NFKC"):
        normalize(form, "text")


def test_a_deadline_ends_a_long_normalization():
    with pytest.raises(DeadlineExceeded):
        normalize("NFC", "e\u0301" * 100_000, stop=Stop(at=1.0, clock=lambda: 2.0))


def test_a_deadline_ends_the_normalization_of_one_endless_run_of_marks():
    with pytest.raises(DeadlineExceeded):
        normalize("NFC", "a" + "\u0301\u0316" * 100_000, stop=Stop(at=1.0, clock=lambda: 2.0))


def test_remembered_segments_stay_few():
    rules = normalize.__globals__["_rules"]("NFC")
    for number in range(3 * 4096):
        normalize("NFC", chr(0x4E00 + number) + "\u0301")

    assert len(rules._cache) <= 4096
