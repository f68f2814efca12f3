"""The fewest pieces that make up a stretch of the marked stream, in plain Python."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise

from adapters.claude.marking import CAPS, CLOSE, OPEN, SHIFT
from adapters.port import Stop, VocabularyDamaged

SEPARATOR = b"\xff"
_CASES = SHIFT + CAPS
_BLANK = frozenset(" \t\n")
_PREFIX = 3  # bytes by which the longest piece is found
_BETWEEN_CHECKS = 1 << 13  # bytes of one stretch
_REMEMBERED, _REMEMBERED_BYTES = 1 << 15, 40


def read_pieces(file: bytes) -> list[bytes]:
    """The pieces of a vocabulary file: bytes of the marked stream in order, each one ended by 0xFF.

    Raises ``VocabularyDamaged`` for a file that is not so, and for a piece that crosses a border of the stream.
    """
    *pieces, rest = file.split(SEPARATOR)
    if rest or not pieces or not pieces[0] or any(not a < b for a, b in pairwise(pieces)):
        raise VocabularyDamaged("The pieces must be in order, each one once and ended by the byte FF.")
    if wrong := next(filter(_crosses, pieces), None):
        raise VocabularyDamaged(f"The piece {wrong!r} reaches across a border of words or of white space.")
    return pieces


def _crosses(piece: bytes) -> bool:
    """Whether a mark stands inside a piece, or white space beside other characters."""
    body = piece.lstrip(_CASES).removeprefix(OPEN).removesuffix(CLOSE)
    if body.translate(None, OPEN + CLOSE + _CASES) != body:
        return True
    return bool(_BLANK.intersection(body.decode("latin-1"))) and (body != piece or bool(body.strip(b" \t\n\xe3\x80")))


class Tiling:
    """The pieces of a vocabulary, every single byte among them, by their first bytes."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self._pieces = frozenset(pieces)
        self._longest: Mapping[bytes, int] = _longest(self._pieces)
        self._remembered: dict[bytes, int] = {}

    def fewest(self, stretch: bytes, stop: Stop | None = None) -> int:
        """The least number of pieces that make up ``stretch``; what no piece covers is a piece for each byte."""
        if len(stretch) > _REMEMBERED_BYTES:
            return self._search(stretch, stop)
        known = self._remembered.get(stretch)
        if known is None:
            if len(self._remembered) >= _REMEMBERED:
                self._remembered.clear()
            known = self._remembered[stretch] = self._search(stretch, stop)
        return known

    def _search(self, stretch: bytes, stop: Stop | None) -> int:
        if stretch in self._pieces:
            return 1
        size = len(stretch)
        fewest = list(range(size + 1))
        for start in range(size):
            if stop is not None and start % _BETWEEN_CHECKS == 0:
                stop.check()
            reached = fewest[start] + 1
            fewest[start + 1] = min(fewest[start + 1], reached)
            prefix = stretch[start : start + _PREFIX]
            longest = self._longest.get(prefix) or self._longest.get(prefix[:2], 0)
            for end in range(start + 2, min(start + longest, size) + 1):
                if reached < fewest[end] and stretch[start:end] in self._pieces:
                    fewest[end] = reached
        return fewest[size]


def _longest(pieces: Iterable[bytes]) -> dict[bytes, int]:
    """The size of the longest piece by its first three bytes, or by all bytes of one that is shorter."""
    longest: dict[bytes, int] = {}
    for piece in pieces:
        prefix = piece[:_PREFIX]
        longest[prefix] = max(longest.get(prefix, 0), len(piece))
    return longest
