"""The same texts weighed for many models or tokenizers, side by side: tokens, tokens by script, and cost."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from adapters.port import Stop, TokenCounter, Tokenizer
from service.domain.catalog import Accuracy
from service.domain.counting import Count, Scale
from service.domain.estimate import CostRange

ScriptOf = Callable[[str], str]
"""The script of a character, such as ``Han``; ``Common`` for blanks, digits, marks and everything shared."""

COMMON = "Common"
MOST_CHARACTERS = 200_000
"""Texts longer than this together are not taken apart by script."""


@dataclass(frozen=True, slots=True)
class ScriptTokens:
    """What one script of a text takes."""

    characters: int
    tokens: int
    tokens_per_character: float | None


@dataclass(frozen=True, slots=True)
class CompareItem:
    """One text of a row."""

    tokens: int
    low: int
    high: int
    tokens_per_character: float | None


@dataclass(frozen=True, slots=True)
class CompareRow:
    """One model or tokenizer. ``cost`` is ``None`` for a tokenizer, which has no price."""

    scale: Scale
    accuracy: str
    reasons: Sequence[str]
    installed: bool
    tokens: int
    low: int
    high: int
    characters: int
    items: Sequence[CompareItem]
    by_script: Mapping[str, ScriptTokens]
    cost: CostRange | None

    @property
    def tokens_per_character(self) -> float | None:
        """Tokens per code point of all texts together."""
        return self.tokens / self.characters if self.characters else None


def compare_row(
    scale: Scale, counts: Sequence[Count], scripts: Mapping[str, ScriptTokens], cost: CostRange | None
) -> CompareRow:
    """A row from the counts of each text."""
    worst = max(counts, key=lambda count: Accuracy(count.accuracy).rank, default=None)
    return CompareRow(
        scale=scale,
        accuracy=worst.accuracy if worst else scale.accuracy.value,
        reasons=worst.accuracy_reasons if worst else scale.reasons,
        installed=all(notice.code != "vocabulary_not_installed" for notice in scale.notices),
        tokens=sum(count.tokens for count in counts),
        low=sum(count.low for count in counts),
        high=sum(count.high for count in counts),
        characters=sum(count.characters for count in counts),
        items=[CompareItem(count.tokens, count.low, count.high, count.tokens_per_character) for count in counts],
        by_script=scripts,
        cost=cost,
    )


def scripts_of(texts: Sequence[str], script_of: ScriptOf) -> list[list[str]]:
    """The script of every character of every text; empty beyond ``MOST_CHARACTERS``."""
    if sum(map(len, texts)) > MOST_CHARACTERS:
        return []
    return [list(map(script_of, text)) for text in texts]


def by_script(
    scale: Scale, texts: Sequence[str], scripts: Sequence[Sequence[str]], total: int, stop: Stop | None = None
) -> dict[str, ScriptTokens]:
    """Characters and tokens of each script, most tokens first. A token belongs to its first character that has one.

    ``scripts`` are those of ``scripts_of``. A stand-in's tokens are scaled so that they add up to ``total``, and so are
    those of a vocabulary that only counts, for which stretches of one script are counted apart.
    """
    characters: dict[str, int] = {}
    tokens: dict[str, int] = {}
    for text, kinds in zip(texts, scripts, strict=False):
        if stop is not None:
            stop.check()
        for kind in kinds:
            characters[kind] = characters.get(kind, 0) + 1
        for script, count in _tokens_by_script(scale.tokenizer, text, kinds):
            tokens[script] = tokens.get(script, 0) + count
    shares = _apportioned(total, {script: tokens.get(script, 0) for script in characters | tokens})
    return {
        script: ScriptTokens(
            characters.get(script, 0), count, count / characters[script] if characters.get(script) else None
        )
        for script, count in sorted(shares.items(), key=lambda item: -item[1])
    }


def _tokens_by_script(counter: TokenCounter, text: str, kinds: Sequence[str]) -> Iterator[tuple[str, int]]:
    """Scripts of ``text`` and tokens that belong to them, the same script any number of times."""
    if isinstance(counter, Tokenizer):
        for piece in counter.pieces(text):
            yield next((kind for kind in kinds[piece.start : piece.end] if kind != COMMON), COMMON), 1
        return
    start, script = 0, COMMON
    for place, kind in enumerate(kinds):
        if kind in (COMMON, script):
            continue
        if script != COMMON:
            yield script, counter.count(text[start:place])
            start = place
        script = kind
    yield script, counter.count(text[start:])


def _apportioned(total: int, weights: dict[str, int]) -> dict[str, int]:
    """``total`` in whole parts, as near to ``weights`` as can be: what is left over goes to the largest remainders."""
    whole = sum(weights.values())
    if not whole:
        return weights
    shares = {name: total * weight // whole for name, weight in weights.items()}
    by_remainder = sorted(weights, key=lambda name: total * weights[name] % whole, reverse=True)
    for name in by_remainder[: total - sum(shares.values())]:
        shares[name] += 1
    return shares


def in_order(rows: Sequence[CompareRow]) -> list[CompareRow]:
    """Rows by expected cost, unknown prices last; rows without a cost by tokens."""

    def key(row: CompareRow) -> tuple[bool, Decimal, int]:
        known = row.cost.expected if row.cost else Decimal(0)
        return known is None, known or Decimal(0), row.tokens

    return sorted(rows, key=key)


def cheapest(rows: Sequence[CompareRow]) -> CompareRow | None:
    """The row with the lowest expected cost that is known, if there is one."""
    known = [(row.cost.expected, index) for index, row in enumerate(rows) if row.cost and row.cost.expected is not None]
    return rows[min(known)[1]] if known else None
