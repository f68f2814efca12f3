"""Which code points are looked at, and what stands beside them."""

from __future__ import annotations

from collections.abc import Iterator

from adapters.native.families import classes

SURROGATES = range(0xD800, 0xE000)
ALL = range(0x110000)

CONTEXTS = ("{}", "a{}", "{}a", "A{}b", " {} ", "1{}\n", "'{}s")

# Long enough on both sides that a scanner which looks at many bytes at once meets the character in such a stretch.
_ASCII = "Each truck is weighed twice, once empty and once full: it's 12 tonnes (or 7.5)"
_HAN = "每辆卡车过磅两次，一次空车，一次满载：结果是十二吨，也可能更多；请把单据收好。"
LONG_CONTEXTS = (_ASCII + "{}" + _ASCII, _HAN + "{}" + _HAN)


def scalars(first: int, end: int) -> Iterator[str]:
    """The Unicode scalar values from ``first`` to before ``end``, as characters."""
    return (chr(number) for number in range(first, end) if number not in SURROGATES)


def telling_points() -> list[int]:
    """The code points that stand for all others, ascending.

    All below CJK (U+3400), which have every class and both short forms of UTF-8; beyond, both sides of every border
    between two classes and between two lengths in UTF-8, and the first of each 256, in which the classes are stored.
    """
    table = classes()
    borders = {0x80, 0x800, SURROGATES.start, SURROGATES.stop, 0x10000, len(ALL)}
    borders.update(number for number in ALL[1:] if table[number] != table[number - 1])
    chosen = {*range(0x3400), *ALL[::256], *borders, *(number - 1 for number in borders)}
    return sorted(number for number in chosen if number in ALL and number not in SURROGATES)


def in_contexts(characters: Iterator[str], contexts: tuple[str, ...] = CONTEXTS) -> Iterator[str]:
    """Each character in each context."""
    parts = [context.split("{}") for context in contexts]
    return (before + character + after for character in characters for before, after in parts)


def shown(text: str) -> str:
    """The code points of ``text``, of a long one those around its middle: text itself is never printed."""
    middle = len(text) // 2
    kept = text if len(text) <= 24 else text[middle - 8 : middle + 8]
    return " ".join(f"U+{ord(character):04X}" for character in kept) + ("" if kept == text else " (its middle)")
