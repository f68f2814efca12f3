"""Merges the bytes of one piece into tokens, lowest rank first.

Worked example. With the ranks a 0, b 1, c 2, ab 3, bc 4 and abc 5, the piece ``abcab`` starts as five bytes. The
neighbours a b, b c, c a and a b have the ranks 3, 4, none and 3. The lowest is 3, and of two equal ones the left comes
first: ``ab c a b``, then ``ab c ab``. Now ab c has rank 5 and c ab none: ``abc ab``, which is 5 3.

The order is by rank and not by length, so ``supercalifragilistic`` takes more tokens than the longest matches would.
"""

from __future__ import annotations

from collections.abc import Mapping
from heapq import heapify, heappop, heappush

from adapters.port import Stop

_BETWEEN_CHECKS = 1 << 16  # merges


def merge(piece: bytes, ranks: Mapping[bytes, int], longest: int, stop: Stop | None = None) -> list[int]:
    """Ranks of the tokens of ``piece``, which is not empty.

    ``ranks`` holds every single byte; ``longest`` is the length in bytes of its longest token. Raises
    ``DeadlineExceeded`` if ``stop`` passes during a long piece. Time grows as n log n with the length of the piece.
    """
    whole = ranks.get(piece)
    if whole is not None:  # also where no row of merges leads there
        return [whole]
    following = _merged(piece, ranks, longest, stop)
    tokens: list[int] = []
    start = 0
    while start < len(piece):
        end = following[start]
        tokens.append(ranks[piece[start:end]])
        start = end
    return tokens


def _merged(piece: bytes, ranks: Mapping[bytes, int], longest: int, stop: Stop | None) -> list[int]:
    """For the start of every token that is left once all merges are done, where the next one starts.

    A token is known by where it starts. The heap holds rank and position of every pair of neighbours in one integer, so
    that the lowest rank comes first, and the leftmost of equal ones; an entry whose pair is gone is passed over.
    """
    size = len(piece)
    rank_of = ranks.get
    following = list(range(1, size + 2))
    preceding = list(range(-1, size))
    pair_rank = [rank_of(piece[start : start + 2], -1) for start in range(size - 1)] + [-1]
    bits = size.bit_length()
    position = (1 << bits) - 1
    heap = [rank << bits | start for start, rank in enumerate(pair_rank) if rank >= 0]
    heapify(heap)
    while heap:
        for _ in range(min(len(heap), _BETWEEN_CHECKS)):
            entry = heappop(heap)
            left = entry & position
            if pair_rank[left] != entry >> bits:
                continue
            right = following[left]
            end = following[left] = following[right]
            pair_rank[left] = pair_rank[right] = -1
            if end < size:
                preceding[end] = left
                after = following[end]
                if after - left <= longest and (rank := rank_of(piece[left:after], -1)) >= 0:
                    pair_rank[left] = rank
                    heappush(heap, rank << bits | left)
            before = preceding[left]
            if before >= 0:
                pair_rank[before] = rank = rank_of(piece[before:end], -1) if end - before <= longest else -1
                if rank >= 0:
                    heappush(heap, rank << bits | before)
        if stop is not None:
            stop.check()
    return following
