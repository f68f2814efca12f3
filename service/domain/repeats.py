"""Long passages that a request says more than once, whatever surrounds them, in linear time.

Every 64th stretch of 64 characters is remembered, and every stretch of that length is looked for: a passage of 127
characters or more holds one of them whole (Bentley and McIlroy, "Data compression using long common strings", 1999).
What is found is then extended to both sides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from adapters.port import Stop

LEAST = 200
"""Characters that a passage has to have: shorter ones are phrases."""

_BLOCK = 64
_POLLED = 4096


@dataclass(frozen=True, slots=True)
class Repeat:
    """Characters ``start`` to ``end`` of the text ``number`` stood in the text ``first`` from ``first_start`` on."""

    number: int
    start: int
    end: int
    first: int
    first_start: int


def repeats(texts: Sequence[str], stop: Stop | None = None, *, least: int = LEAST) -> list[Repeat]:
    """Passages of at least ``least`` characters that stood before, in order; they do not overlap.

    A passage that repeats itself without a pause counts from its second time on. Where a word is cut at either end, the
    passage ends before it.
    """
    seen: dict[str, tuple[int, int]] = {}
    found: list[Repeat] = []
    for number, text in enumerate(texts):
        done = place = 0  # what was found ends at `done`
        remembered = steps = 0
        while place + _BLOCK <= len(text):
            steps += 1
            if stop is not None and not steps % _POLLED:
                stop.check()
            while remembered + _BLOCK <= place:
                seen.setdefault(text[remembered : remembered + _BLOCK], (number, remembered))
                remembered += _BLOCK
            source = seen.get(text[place : place + _BLOCK])
            if source is None:
                place += 1
                continue
            repeat = _whole_words(_extended(texts, number, place, done, source), texts)
            if repeat.end - repeat.start >= least:
                found.append(repeat)
                done = repeat.end
            place = max(place + 1, repeat.end - _BLOCK + 1, done)
        while remembered + _BLOCK <= len(text):
            seen.setdefault(text[remembered : remembered + _BLOCK], (number, remembered))
            remembered += _BLOCK
    return found


def _extended(texts: Sequence[str], number: int, place: int, done: int, source: tuple[int, int]) -> Repeat:
    """The longest passage around ``place`` that is the one around ``source``, and begins at ``done`` or later."""
    first, begin = source
    text, old = texts[number], texts[first]
    ahead = _alike(text, place + _BLOCK, old, begin + _BLOCK)
    room = min(place - done, begin)
    behind = 0
    while behind < room and text[place - behind - 1] == old[begin - behind - 1]:
        behind += 1
    return Repeat(number, place - behind, place + _BLOCK + ahead, first, begin - behind)


def _alike(text: str, at: int, old: str, begin: int) -> int:
    """How many characters from ``at`` on are those of ``old`` from ``begin`` on."""
    most, alike, step = min(len(text) - at, len(old) - begin), 0, _BLOCK
    while alike < most:
        step = min(step, most - alike)
        if text[at + alike : at + alike + step] == old[begin + alike : begin + alike + step]:
            alike += step
            step *= 2
        elif step == 1:
            break
        else:
            step //= 2
    return alike


def _whole_words(repeat: Repeat, texts: Sequence[str]) -> Repeat:
    """``repeat`` without a word that is cut at either end; scripts without blanks are cut anywhere."""
    text, start, end = texts[repeat.number], repeat.start, repeat.end
    while start < end and _in_word(text, start) and start - repeat.start < _BLOCK:
        start += 1
    while start < end and _in_word(text, end) and repeat.end - end < _BLOCK:
        end -= 1
    if start - repeat.start == _BLOCK:
        start = repeat.start
    if repeat.end - end == _BLOCK:
        end = repeat.end
    return Repeat(repeat.number, start, end, repeat.first, repeat.first_start + start - repeat.start)


def _in_word(text: str, at: int) -> bool:
    """Whether a boundary at ``at`` would cut a word."""
    return 0 < at < len(text) and text[at - 1].isalnum() and text[at].isalnum()
