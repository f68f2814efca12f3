"""Asks tiktoken which code points each character class matches."""

from __future__ import annotations

from functools import cache
from itertools import groupby

import tiktoken

from adapters.unicode.ranges import LAST_CODE_POINT

_SURROGATES = range(0xD800, 0xE000)
_CATEGORIES = (
    "Lu Ll Lt Lm Lo Mn Mc Me Nd Nl No Pc Pd Ps Pe Pi Pf Po Sm Sc Sk So Zs Zl Zp Cc Cf Co Cn"  # Cs: no text holds one
)
_SCRIPTS = "Arabic Cyrillic Devanagari Greek Han Hangul Hebrew Hiragana Katakana Latin Thai"

# Name in the table and pattern that asks for it.
PROPERTIES = {
    "White_Space": r"\s",
    "Word": r"\w",
    "Uppercase": r"\p{Uppercase}",
    "Lowercase": r"\p{Lowercase}",
    **{script: rf"\p{{{script}}}" for script in _SCRIPTS.split()},
}
ALPHABETIC_MARK = r"[\p{M}&&\p{Alphabetic}]"


@cache
def _every_character() -> str:
    return "".join(chr(number) for number in range(LAST_CODE_POINT + 1) if number not in _SURROGATES)


def members(pattern: str) -> list[int]:
    """Code points that ``pattern`` matches as a piece of its own.

    The encoding has one id for each byte and no merges, so the ids of a text are the bytes of what the pattern matched.
    """
    encoding = tiktoken.Encoding(
        "probe", pat_str=pattern, mergeable_ranks={bytes([byte]): byte for byte in range(256)}, special_tokens={}
    )
    return [ord(character) for character in bytes(encoding.encode_ordinary(_every_character())).decode()]


def category_runs() -> list[str]:
    """General category and hexadecimal length of each run of code points: ``["Cc20", "Zs1", ...]``."""
    table = ["Cs"] * (LAST_CODE_POINT + 1)
    for category in _CATEGORIES.split():
        for number in members(rf"\p{{{category}}}"):
            table[number] = category
    return [f"{category}{sum(1 for _ in run):x}" for category, run in groupby(table)]
