"""The work, cut into parts that processes take in turn: a stretch of code points, or some thousands of fuzz strings."""

from __future__ import annotations

import random
import string
from collections.abc import Iterator
from dataclasses import dataclass

from tests.exhaustive.pairs import Difference, Pair, ranked_specs
from tests.exhaustive.points import ALL, CONTEXTS, LONG_CONTEXTS, in_contexts, scalars
from tests.exhaustive.published import PUBLISHED, Published
from tests.fuzz import strings

STRETCH = 0x2200  # code points of a part
FUZZ_PARTS, FUZZ_STRINGS = 20, 10_000


@dataclass(frozen=True, slots=True)
class Part:
    """One piece of work on one vocabulary: code points from ``first``, or fuzz strings with the seed ``first``."""

    vocabulary: str
    kind: str
    first: int

    def texts(self) -> Iterator[str]:
        """The strings of the part."""
        if self.kind == "fuzz":
            return fuzz(self.first)
        characters = scalars(self.first, min(self.first + STRETCH, len(ALL)))
        return in_contexts(characters, CONTEXTS if self.vocabulary in PUBLISHED else CONTEXTS + LONG_CONTEXTS)


def parts(vocabulary: str) -> list[Part]:
    """All the work on a vocabulary: every scalar value in every context, and 200,000 fuzz strings."""
    points = [Part(vocabulary, "code points", first) for first in range(0, len(ALL), STRETCH)]
    return points + [Part(vocabulary, "fuzz", seed) for seed in range(FUZZ_PARTS)]


def fuzz(seed: int) -> Iterator[str]:
    """Ten thousand strings: odd ones, and every fourth a mixture of long stretches in a few scripts."""
    draw = random.Random(f"stretches {seed}")
    for number, text in enumerate(strings(FUZZ_STRINGS, seed=1_000 + seed, surrogates=False)):
        yield _stretches(draw) if number % 4 == 3 else text


_ALPHABETS = (
    string.ascii_lowercase, string.ascii_uppercase, string.digits, string.punctuation, " \t\r\n'", string.printable,
    "的一是不了在人有我他这中大来上个国到说们为子和你地出道也时年得就", "のにをはがでとれさある",
    "가나다라마바사는이을", "оеаинтсрвлк", "éèßñüåøæœ", "\u0301\u0308\u0903\u3099\ufe0f", "，。、！？：；「」（）…—",
    "٣०½Ⅷ①²", "👍🏽🇩🇪❤\u200d", "\u00a0\u3000\u2028\x85\x0b", "𠀀𪚥鱻龘\u0800\uffff\ue000",
)  # fmt: skip


def _stretches(draw: random.Random) -> str:
    chosen = draw.sample(_ALPHABETS, draw.randint(1, 4))
    stretches = draw.randint(1, 12)
    return "".join("".join(draw.choices(draw.choice(chosen), k=draw.choice((1, 1, 2, 3, 7, 20, 70))))
                   for _ in range(stretches))  # fmt: skip


@dataclass(frozen=True, slots=True)
class Found:
    """What a part came to: how many strings, and those that differ."""

    part: Part
    strings: int
    differing: tuple[Difference, ...]


_LAST: dict[str, Pair | Published] = {}


def opened(name: str) -> Pair | Published:
    """A vocabulary beside its reference; a process keeps the one that it used last. Raises ``ReferenceMissing``."""
    if name not in _LAST:
        _LAST.clear()
        _LAST[name] = PUBLISHED[name]() if name in PUBLISHED else Pair(ranked_specs()[name])
    return _LAST[name]


def run(part: Part) -> Found:
    """Compare every string of a part."""
    texts = [*part.texts()]
    return Found(part, len(texts), tuple(opened(part.vocabulary).differing(texts)))
