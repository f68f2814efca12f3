"""The committed tables are what the installed libraries answer, and the look-up reads them right."""

from __future__ import annotations

from pathlib import Path

import pytest

from adapters import unicode
from adapters.unicode import UnknownProperty, alphabetic_marks, code_points, complement, generate, lowercase, union
from adapters.unicode.case import render_shifts

_FOLDER = Path(unicode.__file__).parent
_CATEGORIES = (
    "Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me", "Nd", "Nl", "No", "Pc", "Pd", "Ps", "Pe", "Pi", "Pf", "Po", "Sm",
    "Sc", "Sk", "So", "Zs", "Zl", "Zp", "Cc", "Cf", "Co", "Cn", "Cs",
)  # fmt: skip


def test_class_tables_are_what_the_installed_tiktoken_answers():
    assert (_FOLDER / "class_tables.py").read_text(encoding="ascii") == generate.class_tables()


def test_normalization_tables_are_what_the_installed_tokenizers_answers():
    assert (_FOLDER / "normalization_tables.py").read_text(encoding="ascii") == generate.normalization_tables()


def test_case_tables_are_what_the_installed_tokenizers_answers():
    assert (_FOLDER / "case_tables.py").read_text(encoding="ascii") == generate.case_tables()


@pytest.mark.parametrize(
    ("capital", "small"),
    [("A", "a"), ("Σ", "σ"), ("Ā", "ā"), ("ẞ", "ß"), ("K", "k"), ("ǅ", "ǆ"), ("𐐀", "𐐨")],
)
def test_a_capital_has_its_small_letter(capital, small):
    assert lowercase()[ord(capital)] == ord(small)
    assert ord(small) not in lowercase()


def test_a_small_letter_of_two_code_points_is_left_out():
    assert ord("İ") not in lowercase()


def test_a_vowel_sign_is_an_alphabetic_mark_and_an_accent_is_none():
    members = {number for first, last in alphabetic_marks() for number in range(first, last + 1)}

    assert {0x093E, 0x05B0, 0x0345} <= members
    assert not {0x0301, 0x094D, 0xFE0F, ord("a")} & members


def test_runs_of_small_letters_are_read_as_they_were_written():
    small = {65: 97, 66: 98, 70: 71, 72: 73, 74: 75, 77: 70}

    assert render_shifts(small) == ["41-42/1+20", "46-4a/2+1", "4d-4d/1-7"]


def test_the_generator_writes_the_modules(tmp_path, monkeypatch):
    monkeypatch.setattr(generate, "__file__", str(tmp_path / "generate.py"))
    monkeypatch.setattr(generate, "case_tables", lambda: "case\n")
    monkeypatch.setattr(generate, "class_tables", lambda: "classes\n")
    monkeypatch.setattr(generate, "normalization_tables", lambda: "normalization\n")

    generate.main()

    assert (tmp_path / "case_tables.py").read_text() == "case\n"
    assert (tmp_path / "class_tables.py").read_text() == "classes\n"
    assert (tmp_path / "normalization_tables.py").read_text() == "normalization\n"


def test_categories_share_out_every_code_point():
    sizes = {name: sum(last - first + 1 for first, last in code_points(name)) for name in _CATEGORIES}

    assert sum(sizes.values()) == 0x110000
    assert union(pair for name in _CATEGORIES for pair in code_points(name)) == code_points("Any")
    assert sizes["Cs"] == 2048


def test_a_group_holds_its_categories():
    assert code_points("L") == union(pair for name in ("Lu", "Ll", "Lt", "Lm", "Lo") for pair in code_points(name))


def test_white_space_is_the_unicode_property_and_not_pythons():
    spaces = [chr(number) for first, last in code_points("White_Space") for number in range(first, last + 1)]

    assert len(spaces) == 25
    assert "\x1c" not in spaces
    assert "\x1c".isspace()


@pytest.mark.parametrize("number", [0x1C89, 0xA7CB, 0x1C8A])
def test_letters_of_unicode_16_are_letters(number):
    assert any(first <= number <= last for first, last in code_points("L"))


def test_a_combining_mark_of_unicode_17_is_still_unassigned():
    assert any(first <= 0x1AD5 <= last for first, last in code_points("Cn"))


def test_scripts_are_known_and_stay_within_assigned_code_points():
    assigned = complement(code_points("Cn"))

    for script in ("Han", "Hiragana", "Latin"):
        assert code_points(script)
        assert union((*assigned, *code_points(script))) == assigned


@pytest.mark.parametrize("name", ["", "X", "Letter", "lu", "Klingon"])
def test_an_unknown_property_is_refused_with_the_known_ones(name):
    with pytest.raises(UnknownProperty, match="Known: Any, Arabic, C, Cc"):
        code_points(name)
