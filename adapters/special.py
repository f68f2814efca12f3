"""Special tokens in text: where a caller asks for them, and only then, a literal becomes its one id."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping


class SpecialTokens:
    """Finds the literals of a vocabulary's special tokens; where two start at one place the longer one wins."""

    __slots__ = ("_ids", "_pattern")

    def __init__(self, special: Mapping[str, int]) -> None:
        self._ids = dict(special)
        longest_first = sorted(self._ids, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, longest_first))) if longest_first else None

    def split(self, text: str) -> Iterator[tuple[str, int | None]]:
        """Cut ``text`` into stretches of ordinary text (id ``None``) and special tokens (their id), in order."""
        start = 0
        for match in self._pattern.finditer(text) if self._pattern else ():
            if match.start() > start:
                yield text[start : match.start()], None
            yield match.group(), self._ids[match.group()]
            start = match.end()
        if start < len(text):
            yield text[start:], None
