"""Where a token lies in the original text: the way back through normalization and joined surrogates."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator

from adapters.port import Piece
from adapters.unicode import Change

_SURROGATE_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")


class SpanMap:
    """Maps spans of a changed text to spans of the text it was made from; both count code points.

    ``changes`` are in order. A span that touches a changed place covers the whole of it: é that was composed from e and
    an accent comes from both.
    """

    def __init__(self, changes: Iterable[Change]) -> None:
        self._changes = list(changes)
        self._starts: list[int] = []  # of each change, in the changed text
        shift = 0
        for change in self._changes:
            self._starts.append(change.start + shift)
            shift += len(change.text) - (change.end - change.start)

    def original(self, start: int, end: int) -> tuple[int, int]:
        """The span of the original text that ``start`` to ``end`` (exclusive, at least one character) came from."""
        return self._of_character(start)[0], self._of_character(end - 1)[1]

    def _of_character(self, index: int) -> tuple[int, int]:
        number = bisect_right(self._starts, index) - 1
        if number < 0:
            return index, index + 1
        change = self._changes[number]
        beyond = index - self._starts[number] - len(change.text)
        if beyond < 0:
            return change.start, change.end
        return change.end + beyond, change.end + beyond + 1


def joined_surrogates(text: str) -> Iterator[Change]:
    """What ``well_formed`` shortens: two surrogates that make one character. A lone one stays one character."""
    for match in _SURROGATE_PAIR.finditer(text):
        yield Change(match.start(), match.end(), match.group().encode("utf-16", "surrogatepass").decode("utf-16"))


def spanned_pieces(
    text: str,
    stretches: Iterable[tuple[str, int | None]],
    placed: Callable[[str], Iterable[tuple[int, bytes, int, int]]],
) -> list[Piece]:
    """The tokens of ``text`` with their spans in it.

    ``stretches`` are its well-formed text cut at the literals of special tokens, each literal with its id. ``placed``
    gives id, bytes and span within the stretch of every token of ordinary text.
    """
    to_original = SpanMap(joined_surrogates(text))
    found: list[Piece] = []
    offset = 0
    for stretch, special_id in stretches:
        tokens = placed(stretch) if special_id is None else [(special_id, stretch.encode(), 0, len(stretch))]
        for token_id, data, first, last in tokens:
            found.append(Piece(token_id, data, *to_original.original(offset + first, offset + last)))
        offset += len(stretch)
    return found
