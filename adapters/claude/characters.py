"""What a character is to the marked stream: its kind, and how it takes part in marks of case and borders.

The kinds, the listed characters and the blocks are those of the reconstruction that the vocabularies come from (PyPI
ctok, MIT), measured against the vendor's counts; Unicode's part comes from ``adapters.unicode``. Characters above
U+FFFF are all letters of their own (``LETTER``).
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from enum import IntEnum, IntFlag
from functools import cache

from adapters.unicode import alphabetic_marks, code_points, combining_marks, lowercase

PLANE = 0x10000
"""Code points that the tables describe."""

SHARP_S, DOTTED_I, FINAL_SIGMA = "ẞ", "İ", "ς"
"""Letters whose change of case the vocabularies do not mark as that of others."""


class Kind(IntEnum):
    """The low four bits of a character's entry; the numbers are those of ``stream.h``."""

    LETTER = 0  # stands by itself: ideographs, syllables, all beyond U+FFFF
    SYMBOL = 1  # takes borders beside a blank, as punctuation does
    DECIMAL = 2  # digits outside DIGIT and OTHER_DIGIT
    NUMERAL = 3  # fractions, superscripts, numbers in circles
    SELECTOR = 4  # a variation selector goes with what is before it
    SPACE = 5
    PUNCTUATION = 6
    DIGIT = 7  # 0 to 9
    OTHER_DIGIT = 8  # Arabic ones, which join those
    WORD = 9  # letters of words, and the marks that belong to them
    MARK = 10  # the same, but a word of its own where no letter carries it


class Trait(IntFlag):
    """The high four bits of a character's entry."""

    CAPITAL = 0x10
    SMALL = 0x20
    FIXED = 0x40  # a letter or mark that is no small one and has none
    BORDERED = 0x80  # takes borders by its category, whatever its kind


_LISTED_PUNCTUATION = "—»«•°„–−£§€…√→（№†└│\u0f0d·─═█"
_IDEOGRAPHIC_SYMBOLS = "〄〒〓〠〶〷〾〿"
_LETTERLIKE = ((0x16EE, 0x16F0), (0x2160, 0x2188), (0x24B6, 0x24E9), (0xA6E6, 0xA6EF))  # Runic, Roman, circled, Bamum
_NEWER_MARKS = ((0x0897, 0x0897), (0x1ABF, 0x1AC0), (0x1ACC, 0x1ACE))  # combining, though their table lacks them
_IDEOGRAPHS = (
    (0x3005, 0x3006), (0x3031, 0x3035), (0x303B, 0x303C), (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xAC00, 0xD7A3),
    (0xF900, 0xFAFF),
)  # fmt: skip
_ARABIC_DIGITS = ((0x0660, 0x0669), (0x06F0, 0x06F9))
_SELECTORS = ((0xFE00, 0xFE0F),)
_SYRIAC_VOWELS = ((0x0711, 0x0711), (0x0730, 0x073F))  # letters, even where nothing carries them
_UNCASED = 0x03F4  # the capital theta symbol


_SMALL = {chr(capital): chr(small) for capital, small in lowercase().items() if capital != _UNCASED}


def small_letter(character: str) -> str:
    """The small letter of a capital; any other character, and the dotted capital I, as it is."""
    return _SMALL.get(character, character)


@cache
def small_letters() -> bytes:
    """The small letter of every code point up to U+FFFF, two bytes each in the order of the machine, else itself."""
    table = array("H", range(PLANE))
    for capital, small in _SMALL.items():
        if ord(capital) < PLANE:
            table[ord(capital)] = ord(small)
    return table.tobytes()


@cache
def traits() -> bytes:
    """The entry of every code point up to U+FFFF: its ``Kind`` and its ``Trait`` flags."""
    bordered = _bordered()
    letters, small = _plane(code_points("L")), _plane(code_points("Lowercase"))
    shrinking = _plane((ord(capital), ord(capital)) for capital in (*_SMALL, DOTTED_I))
    capital = _plane(code_points("Uppercase")) & shrinking
    fixed = (letters | _plane(code_points("M"))) & ~(small | capital)
    table = _kinds(letters, bordered)
    for plane, trait in (
        (capital, Trait.CAPITAL), (small, Trait.SMALL), (fixed, Trait.FIXED), (bordered, Trait.BORDERED),
    ):  # fmt: skip
        table |= plane * trait
    return table.to_bytes(PLANE, "little")


# A set of code points up to U+FFFF is one integer with a byte for each, which is 1 for a member.


def _plane(ranges: Iterable[tuple[int, int]]) -> int:
    members = bytearray(PLANE)
    for first, last in ranges:
        if first < PLANE:
            members[first : last + 1] = b"\1" * (min(last, PLANE - 1) + 1 - first)
    return int.from_bytes(members, "little")


def _kinds(letters: int, bordered: int) -> int:
    """The kind of every code point; a later line wins over those before it."""
    marks = _plane(alphabetic_marks())
    unborne = marks & (_plane(combining_marks()) | _plane(_NEWER_MARKS)) & ~_plane(_SYRIAC_VOWELS)
    signs = _plane((*code_points("P"), *code_points("S"))) & _plane([(0, 0x7F)])
    table = 0
    for plane, kind in (
        (_plane(code_points("Nd")), Kind.DECIMAL),
        (_plane(code_points("No")), Kind.NUMERAL),
        (bordered, Kind.SYMBOL),
        (letters, Kind.WORD),
        (letters & _plane(_IDEOGRAPHS), Kind.LETTER),
        (marks, Kind.WORD),
        (unborne, Kind.MARK),
        (_plane(_SELECTORS), Kind.SELECTOR),
        (signs | _of(_LISTED_PUNCTUATION), Kind.PUNCTUATION),
        (_plane([(ord("0"), ord("9"))]), Kind.DIGIT),
        (_plane(_ARABIC_DIGITS), Kind.OTHER_DIGIT),
        (_plane(_LETTERLIKE), Kind.WORD),
        (_plane((*code_points("Z"), (9, 13))), Kind.SPACE),
    ):
        table = table & ~(plane * 0xFF) | plane * kind
    return table


def _bordered() -> int:
    """Symbols, punctuation, format characters, unassigned code points, and marks that belong to no word."""
    punctuation = _plane(code_points("P"))
    signs = _plane((*code_points("S"), *code_points("Cf"), *code_points("Cn")))
    ideographic = (punctuation | _of(_IDEOGRAPHIC_SYMBOLS)) & _plane([(0x3001, 0x303F)])
    marks = _plane(code_points("M")) & ~(_plane(alphabetic_marks()) | _plane(_SELECTORS))
    return (punctuation | signs) & ~ideographic | marks


def _of(characters: str) -> int:
    return _plane((ord(character), ord(character)) for character in characters)
