"""The script of each character is that of the tables, whatever the look-up does."""

from __future__ import annotations

import pytest

from adapters.unicode.classes import code_points
from adapters.unicode.scripts import SCRIPTS, script_of


@pytest.mark.parametrize(
    ("character", "script"),
    [
        ("a", "Latin"),
        ("é", "Latin"),
        ("世", "Han"),
        ("あ", "Hiragana"),
        ("ア", "Katakana"),
        ("한", "Hangul"),
        ("я", "Cyrillic"),
        ("λ", "Greek"),
        ("ש", "Hebrew"),
        ("ع", "Arabic"),
        ("ह", "Devanagari"),
        ("ก", "Thai"),
        ("ქ", "Other"),
        (" ", "Common"),
        ("7", "Common"),
        ("，", "Common"),
        ("👍", "Common"),
        ("\0", "Common"),
        ("\U0010ffff", "Common"),
    ],
)
def test_a_character_has_its_script(character, script):
    assert script_of(character) == script


def test_every_code_point_has_the_script_of_the_table_that_holds_it():
    by_table = {
        cp: script for script in SCRIPTS for first, last in code_points(script) for cp in range(first, last + 1)
    }
    letters = {cp for group in "LM" for first, last in code_points(group) for cp in range(first, last + 1)}
    for cp in range(0x110000):
        assert script_of(chr(cp)) == by_table.get(cp, "Other" if cp in letters else "Common")
