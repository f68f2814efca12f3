"""Asks Hugging Face tokenizers for the small letter of every code point."""

from __future__ import annotations

from tokenizers.normalizers import Lowercase

from adapters.unicode.ranges import LAST_CODE_POINT

_SURROGATES = range(0xD800, 0xE000)


def lowercase() -> dict[int, int]:
    """The small letter of each code point that has another one; one of two code points is left out."""
    small = Lowercase().normalize_str
    answers = {number: small(chr(number)) for number in range(LAST_CODE_POINT + 1) if number not in _SURROGATES}
    return {number: ord(text) for number, text in answers.items() if len(text) == 1 and text != chr(number)}
