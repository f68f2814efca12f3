"""Asks Hugging Face tokenizers how it decomposes, orders and composes every code point."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tokenizers import normalizers

from adapters.unicode.ranges import LAST_CODE_POINT

_SURROGATES = range(0xD800, 0xE000)
_SYLLABLES = range(0xAC00, 0xD7A4)
_BETWEEN = "\n"  # never changes, combines or reorders, so what it separates is normalized apart
_LOWEST, _HIGHEST = "\u0334", "\u0345"  # marks of the lowest and of the highest combining class

Form = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class Normalization:
    """What was found; ``classes`` are groups of code points of one combining class, lowest class first."""

    canonical: dict[str, str]
    compatibility: dict[str, str]
    compositions: dict[str, str]
    classes: list[list[int]]


def probe() -> Normalization:
    """Every table, in about two seconds."""
    nfd: Form = normalizers.NFD().normalize_str
    nfkd: Form = normalizers.NFKD().normalize_str
    nfc: Form = normalizers.NFC().normalize_str
    every = [chr(number) for number in range(LAST_CODE_POINT + 1) if number not in _SURROGATES]
    every.remove(_BETWEEN)
    canonical = _changed(every, nfd)
    compatibility = {key: value for key, value in _changed(every, nfkd).items() if canonical.get(key) != value}
    return Normalization(
        canonical={key: value for key, value in canonical.items() if ord(key) not in _SYLLABLES},
        compatibility=compatibility,
        compositions=_compositions(canonical, nfc),
        classes=_classes([character for character in every if character not in canonical], nfd),
    )


def _changed(texts: list[str], form: Form) -> dict[str, str]:
    """The texts that ``form`` changes, with the result, found in one call."""
    results = form(_BETWEEN.join(texts)).split(_BETWEEN)
    return {text: result for text, result in zip(texts, results, strict=True) if text != result}


def _compositions(canonical: dict[str, str], nfc: Form) -> dict[str, str]:
    """Pairs that compose: the last character of a full decomposition, and what the rest composes to."""
    pairs = {}
    for character, decomposition in canonical.items():
        if ord(character) in _SYLLABLES or nfc(decomposition) != character:
            continue
        pair = nfc(decomposition[:-1]) + decomposition[-1]
        if len(pair) != 2 or nfc(pair) != character:
            raise AssertionError(f"U+{ord(character):04X} composes in a way that these tables cannot hold")
        pairs[pair] = character
    return pairs


def _classes(characters: list[str], nfd: Form) -> list[list[int]]:
    """Combining marks in groups of one class: two marks change places exactly if the first has the higher class."""
    above = _changed([_HIGHEST + character for character in characters], nfd)
    below = _changed([character + _LOWEST for character in characters], nfd)
    marks = {text[1] for text in above} | {text[0] for text in below}
    groups: list[list[str]] = []
    for mark in sorted(marks):
        low, high = 0, len(groups)
        while low < high:
            middle = (low + high) // 2
            if _swaps(mark, groups[middle][0], nfd):
                low = middle + 1
            else:
                high = middle
        if low < len(groups) and not _swaps(groups[low][0], mark, nfd):
            groups[low].append(mark)
        else:
            groups.insert(low, [mark])
    return [[ord(mark) for mark in group] for group in groups]


def _swaps(first: str, second: str, nfd: Form) -> bool:
    """Whether ``first`` belongs behind ``second``: its class is the higher one."""
    return nfd(first + second) == second + first
