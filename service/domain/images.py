"""What a picture takes, by each vendor's documented rule: tiles, patches, a grid, or by the detail asked for."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from types import MappingProxyType
from typing import Literal

from service.domain.amounts import Amount
from service.domain.catalog import Accuracy
from service.domain.request import Image
from service.domain.rules import Scope

ImageMethod = Literal["tiles", "patches", "grid", "crops", "detail", "open"]
_NO_DETAILS: Mapping[str, int] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class ImageRule:
    """How a picture of some size becomes tokens.

    - ``tiles``: fitted within ``fit``, then its short side within ``short``; ``base`` and ``each`` for every tile of
      ``cell`` pixels. Low detail is ``base``.
    - ``patches``: fitted within the detail's ``sides``, then to at most its ``budgets`` of patches of ``cell`` pixels;
      times ``factor``.
    - ``grid``: the largest size of the same shape whose cells of ``cell`` pixels are within ``fit`` pixels on each side
      and at most ``most``; one token for each cell.
    - ``crops``: ``base`` for one with both sides within ``short``, else ``base`` for every crop of ``cell`` pixels.
    - ``detail``: ``details`` by the word, whatever the size.
    - ``open``: no rule is published; between ``base`` and ``most``.

    ``details`` also holds fixed prices by word of the other methods; the word ``default`` is taken where none is said.
    """

    scope: Scope
    method: ImageMethod
    base: int = 0
    each: int = 0
    cell: int = 0
    fit: int = 0
    short: int = 0
    most: int = 0
    factor: Decimal = Decimal(1)
    details: Mapping[str, int] = field(default_factory=lambda: _NO_DETAILS)
    sides: Mapping[str, int] = field(default_factory=lambda: _NO_DETAILS)
    budgets: Mapping[str, int] = field(default_factory=lambda: _NO_DETAILS)
    accuracy: Accuracy = Accuracy.CLOSE
    reasons: tuple[str, ...] = ()

    def amount(self, image: Image) -> Amount:
        """What ``image`` takes. One of unknown size takes the most that its detail allows."""
        if image.width is None or image.height is None:
            return self._unsized(image)
        if self.method == "open":
            return self._open()
        low, tokens = self._sized(image.width, image.height, image.detail)
        return self._documented(tokens, low)

    def _unsized(self, image: Image) -> Amount:
        if self.method == "open":
            return self._open()
        reason = "remote_image" if image.source == "remote" else "image_size_unknown"
        low, _ = self._sized(1, 1, image.detail)
        high = self._most(image.detail)
        amount = self._documented(high, low)
        return amount if low == high else amount.because(Accuracy.APPROXIMATE, reason)

    def _documented(self, tokens: int, low: int) -> Amount:
        """By the vendor's document; where that is no proof and the row gives no reason, a code says so."""
        unproven = self.accuracy is not Accuracy.EXACT and not self.reasons
        return Amount(tokens, low, tokens, self.accuracy, ("image_rule_unproven",) if unproven else self.reasons)

    def _open(self) -> Amount:
        return Amount(self.most, self.base, self.most).because(
            Accuracy.APPROXIMATE, "image_rule_unknown", *self.reasons
        )

    def _sized(self, width: int, height: int, detail: str) -> tuple[int, int]:
        """The least and the likely tokens of a picture of that size."""
        word = detail.lower()
        if word in self.details or self.method == "detail":
            fixed = self.details.get(word, self.details.get("default", self.base))
            return fixed, fixed
        width, height = max(1, width), max(1, height)
        if self.method == "patches":
            patches = _patches(width, height, self._of(self.sides, word), self._of(self.budgets, word), self.cell)
            exact = patches * self.factor
            return math.floor(exact), math.ceil(exact)
        if self.method == "crops":
            return self.base, self._crops(width, height)  # how a picture is cut differs between the documents
        count = self._grid(width, height) if self.method == "grid" else self._tiles(width, height)
        return count, count

    def _of(self, table: Mapping[str, int], word: str) -> int:
        """The detail's own limit, or the one by default; 0 for none."""
        return table.get(word, table.get("default", 0))

    def _most(self, detail: str) -> int:
        """The most that a picture of any size takes."""
        word = detail.lower()
        if word in self.details or self.method == "detail":
            return self._sized(1, 1, detail)[1]
        if self.method == "tiles":
            return self.base + self.each * math.ceil(self.fit / self.cell) * math.ceil(self.short / self.cell)
        if self.method == "patches":
            return math.ceil((self._of(self.budgets, word) or self.most) * self.factor)
        return self.most

    def _tiles(self, width: int, height: int) -> int:
        if max(width, height) > self.fit:
            longest = max(width, height)
            width, height = max(1, width * self.fit // longest), max(1, height * self.fit // longest)
        if self.short and min(width, height) > self.short:
            shortest = min(width, height)
            width, height = width * self.short // shortest, height * self.short // shortest
        return self.base + self.each * math.ceil(width / self.cell) * math.ceil(height / self.cell)

    def _grid(self, width: int, height: int) -> int:
        width, height = grid_size(width, height, self.cell, self.fit, self.most)
        return math.ceil(width / self.cell) * math.ceil(height / self.cell)

    def _crops(self, width: int, height: int) -> int:
        """Crops are squares whose side is the short side over 1.5, at least 256 and at most ``cell`` pixels."""
        if max(width, height) <= self.short:
            return self.base
        unit = min(max(256, math.floor(min(width, height) / 1.5)), self.cell)
        crops = math.ceil(width / unit) * math.ceil(height / unit)
        return min(self.most, self.base * crops)


def _patches(width: int, height: int, side: int, budget: int, cell: int) -> int:
    """How many patches cover the picture once it is fitted within ``side`` and shrunk to ``budget`` patches."""
    if side and max(width, height) > side:
        scale = side / max(width, height)
        width, height = max(1, round(width * scale)), max(1, round(height * scale))
    patches = math.ceil(width / cell) * math.ceil(height / cell)
    if not budget or patches <= budget:
        return patches
    scale = math.sqrt(cell * cell * budget / (width * height))
    across, down = width * scale / cell, height * scale / cell
    if across >= 1 and down >= 1:
        scale *= min(math.floor(across) / across, math.floor(down) / down)
    width, height = max(1, int(width * scale)), max(1, int(height * scale))
    return min(budget, math.ceil(width / cell) * math.ceil(height / cell))


def grid_size(width: int, height: int, cell: int, edge: int, most: int) -> tuple[int, int]:
    """The largest size of the picture's shape whose cells lie within ``edge`` pixels and number at most ``most``.

    Never enlarged. The long side is searched; the short side follows, rounded half to even.
    """
    long, short = max(width, height), min(width, height)

    def fits(side: int) -> bool:
        across, down = math.ceil(side / cell), math.ceil(max(1, round(side * short / long)) / cell)
        return across * cell <= edge and across * down <= most

    low, high = 1, long
    if not fits(long):
        high = min(long, edge)
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if fits(middle) else (low, middle - 1)
        long, short = low, max(1, round(low * short / long))
    return (long, short) if width >= height else (short, long)
