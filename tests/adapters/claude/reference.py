"""PyPI ctok beside the counters: its counts, its view of a character, and strings of all kinds of characters."""

from __future__ import annotations

import random
import sys
import unicodedata
from collections.abc import Iterator
from types import ModuleType

import pytest

from adapters.claude.characters import PLANE, Kind, Trait, small_letter, traits
from adapters.unicode import normalize

ctok = pytest.importorskip("ctok", reason="PyPI ctok is the reference: requirements-ctok.lock installs it")

VERSIONS = {"claude_v3": ("3.0", 7), "claude_v4_7": ("4.7", 11), "claude_v4_8": ("4.8", 6)}
"""The version of each vocabulary, and the tokens of the frame that ctok adds."""

# Their class is of a later Unicode than the interpreter's, or they are not in Unicode 16 at all.
_LATER = {0x10FC, 0xA7F2, 0xA7F3, 0xA7F4, 0xAB69}
_PIECES = (
    *" \n\t'\"'sSdtllreveaAbBZz09.,;()-", "’", "“", "\u00a0", "\u2003", "\0", "\x01", "\x85", "\ue000", "İ", "ẞ", "Σ",
    "ς", "ϴ", "ǅ", "\u3000", "\ufe0f", "👍", "𝟙", "Ⓐ", "ⓑ", " it's", "'s ", "'ll", " '", "HELLO", "Word ", "ABCD",
    "Title", "  ", "'", "\u0301", "e\u0301", " ! ", "\u0e4d\u0e32", "\u0e4d", "\u0e32", "Ⓐ's", "\ufdd0", "\ufdd1",
)  # fmt: skip


def _rules() -> ModuleType:
    return sys.modules["ctok.normalize"]


def expected(name: str, text: str) -> int:
    """What ctok counts, less its frame."""
    version, frame = VERSIONS[name]
    count: int = ctok.token_count(text, version)
    return count - frame


def same_unicode(text: str) -> bool:
    """Whether the interpreter, which ctok asks, knows the text's characters as Unicode 16 does."""
    if normalize("NFC", text) != unicodedata.normalize("NFC", text):
        return False
    return not any(ord(c) in _LATER or (unicodedata.category(c) == "Cn" and _assigned(ord(c))) for c in text)


def _assigned(number: int) -> bool:
    return number < PLANE and entry_by_ctok(number) != traits()[number]


def entry_by_ctok(number: int) -> int:
    """The entry of a character as ctok's own functions give it."""
    rules, character = _rules(), chr(number)
    is_small, is_capital = rules._is_lower(character), rules._is_upper(character)
    letter = unicodedata.category(character)[0] in "LM"
    flags = Trait.CAPITAL * is_capital | Trait.SMALL * is_small | Trait.BORDERED * rules._marks_like_punct(character)
    fixed = letter and not is_small and not (is_capital and rules._lower(character) != character)
    return _kind_by_ctok(character) | int(flags) | Trait.FIXED * fixed


def _kind_by_ctok(character: str) -> Kind:
    rules = _rules()
    kind = rules.classify(character)
    if kind == "wordy":
        return Kind.MARK if rules._stray_mark(character) else Kind.WORD
    if kind == "digit":
        return Kind.DIGIT if character.isascii() else Kind.OTHER_DIGIT
    if kind != "hard":
        return {"space": Kind.SPACE, "punct": Kind.PUNCTUATION}[kind]
    if rules._is_selector(character):
        return Kind.SELECTOR
    number = Kind.DECIMAL if unicodedata.category(character) == "Nd" else Kind.NUMERAL
    return {"punct": Kind.SYMBOL, "letter": Kind.LETTER, "number": number}[rules._hard_kind(character)]


def small_by_ctok(number: int) -> str:
    """The small letter as ctok has it; of two code points in one case alone, which it never writes."""
    small: str = _rules()._lower(chr(number))
    return small if len(small) == 1 else small_letter(chr(number))


def strings_of_all_kinds(count: int, seed: int) -> Iterator[str]:
    """Short strings in which characters of every kind and every set of traits meet."""
    draw = random.Random(seed)
    groups: dict[int, list[str]] = {}
    for number in range(PLANE):
        if not 0xD800 <= number < 0xE000:
            groups.setdefault(traits()[number], []).append(chr(number))
    entries = sorted(groups)
    for _ in range(count):
        parts = []
        for _ in range(draw.randint(1, 14)):
            chance = draw.random()
            if chance < 0.55:
                parts.append(draw.choice(_PIECES))
            elif chance < 0.95:
                parts.append(draw.choice(groups[draw.choice(entries)]))
            else:
                parts.append(chr(draw.randrange(0x10000, 0x20000)))
        yield "".join(parts)
