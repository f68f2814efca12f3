"""Random encodings of one text (subword regularisation): the same seed gives the same ones, anywhere.

The library can sample too, but its generator mixes the seed with a value of its own for each process, so that a
seed means something else after every restart. Here the draws are Python's, whose sequence for a seed is fixed.
"""

from __future__ import annotations

import heapq
import math
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from adapters.sentencepiece.model import Entry, EntryKind

_UNKNOWN_PENALTY = 10.0  # the library's: below the least likely entry, an unknown character costs this much


@dataclass(frozen=True, slots=True)
class Edge:
    """A way into a place of the text: the piece from ``start`` to there, with its weighted log likelihood."""

    start: int
    weight: float


class SamplingVocabulary:
    """The entries of a model, arranged for drawing encodings of an already normalized text."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        usable = (EntryKind.NORMAL, EntryKind.USER_DEFINED, EntryKind.UNUSED)
        self._entries = {e.piece: (id_, e) for id_, e in enumerate(entries) if e.kind in usable}
        self._bytes = {int(e.piece[3:5], 16): id_ for id_, e in enumerate(entries) if e.kind is EntryKind.BYTE}
        self._unknown = next((id_ for id_, e in enumerate(entries) if e.kind is EntryKind.UNKNOWN), 0)
        self._longest = max((len(piece) for piece in self._entries), default=1)
        least = min((e.score for e in entries if e.kind is EntryKind.NORMAL), default=0.0)
        self._unknown_score = least - _UNKNOWN_PENALTY
        fixed = sorted((e.piece for e in entries if e.kind is EntryKind.USER_DEFINED), key=len, reverse=True)
        self._fixed = frozenset(fixed)
        self._symbols = re.compile("|".join([*map(re.escape, fixed), "."]), re.DOTALL)

    def unigram(self, text: str, *, n: int, alpha: float, draws: random.Random) -> Iterator[list[int]]:
        """``n`` encodings, each drawn with a chance proportional to its likelihood to the power ``alpha`` (Kudo 2018).

        Forward filtering, backward sampling: all segmentations take part.
        """
        ways, forward = self._lattice(text, alpha)
        for _ in range(n):
            at, pieces = len(text), []
            while at:
                start = _drawn(ways[at], forward, draws)
                pieces.append(text[start:at])
                at = start
            yield self._ids(pieces[::-1])

    def bpe(self, text: str, *, n: int, alpha: float, draws: random.Random) -> Iterator[list[int]]:
        """``n`` encodings in which each merge is left out with the chance ``alpha`` (BPE-dropout, Provilkov 2020)."""
        for _ in range(n):
            yield self._ids(self._merged(text, alpha, draws))

    def _lattice(self, text: str, alpha: float) -> tuple[list[list[Edge]], list[float]]:
        """For each place of ``text``, the edges that end there, and the log of the summed likelihood up to there."""
        ways: list[list[Edge]] = [[]]
        forward = [0.0]
        for end in range(1, len(text) + 1):
            edges = []
            for start in range(max(0, end - self._longest), end):
                score = self._score(text[start:end])
                if score is not None:
                    edges.append(Edge(start, alpha * score))
            ways.append(edges)
            totals = [forward[edge.start] + edge.weight for edge in edges]
            top = max(totals)
            forward.append(top + math.log(math.fsum(math.exp(total - top) for total in totals)))
        return ways, forward

    def _score(self, piece: str) -> float | None:
        _, entry = self._entries.get(piece, (0, None))
        if entry is None or entry.kind is EntryKind.UNUSED:
            return self._unknown_score if len(piece) == 1 else None
        if entry.kind is EntryKind.USER_DEFINED:
            return 0.1 * (len(piece) - 1)  # the library's bonus: as good as certain, and longer is better
        return entry.score

    def _merged(self, text: str, drop: float, draws: random.Random) -> list[str]:
        """``text`` cut by merges in order of score, then place; a dropped merge is not tried again at that place."""
        symbols = self._symbols.findall(text)
        before = list(range(-1, len(symbols) - 1))
        after = [*range(1, len(symbols)), -1]
        origin: dict[str, tuple[str, str]] = {}
        agenda: list[tuple[float, int, int, str]] = []

        def propose(left: int, right: int) -> None:
            if left < 0 or right < 0 or symbols[left] in self._fixed or symbols[right] in self._fixed:
                return
            piece = symbols[left] + symbols[right]
            if piece in self._entries:
                _, entry = self._entries[piece]
                heapq.heappush(agenda, (-entry.score, left, right, piece))
                if entry.kind is EntryKind.UNUSED:
                    origin[piece] = (symbols[left], symbols[right])

        for left in range(len(symbols) - 1):
            propose(left, left + 1)
        while agenda:
            _, left, right, piece = heapq.heappop(agenda)
            stale = not symbols[left] or not symbols[right] or len(symbols[left]) + len(symbols[right]) != len(piece)
            if stale or (drop > 0 and draws.random() < drop):
                continue
            symbols[left], symbols[right] = piece, ""
            after[left] = after[right]
            if after[right] >= 0:
                before[after[right]] = left
            propose(before[left], left)
            propose(left, after[left])
        return list(self._in_use([symbol for symbol in symbols if symbol], origin))

    def _in_use(self, pieces: Sequence[str], origin: dict[str, tuple[str, str]]) -> Iterator[str]:
        """``pieces``, where an entry that only helps to merge falls back into what it was merged from."""
        waiting = list(reversed(pieces))
        while waiting:
            piece = waiting.pop()
            parts = origin.get(piece)
            if parts is None:
                yield piece
            else:
                waiting += reversed(parts)

    def _ids(self, pieces: Sequence[str]) -> list[int]:
        """Ids of ``pieces``; an unknown one becomes bytes where the model has them, else a run becomes one id."""
        ids: list[int] = []
        for piece in pieces:
            id_, entry = self._entries.get(piece, (self._unknown, None))
            if entry is not None and entry.kind is not EntryKind.UNUSED:
                ids.append(id_)
            elif self._bytes:
                ids += [self._bytes[byte] for byte in piece.encode()]
            elif not ids or ids[-1] != self._unknown:
                ids.append(self._unknown)
        return ids


def _drawn(edges: Sequence[Edge], forward: Sequence[float], draws: random.Random) -> int:
    """The start of an edge, drawn by the likelihood of all ways through it."""
    totals = [forward[edge.start] + edge.weight for edge in edges]
    top = max(totals)
    chances = [math.exp(total - top) for total in totals]
    point = draws.random() * math.fsum(chances)
    for edge, chance in zip(edges, chances, strict=True):
        point -= chance
        if point < 0:
            return edge.start
    return edges[-1].start
