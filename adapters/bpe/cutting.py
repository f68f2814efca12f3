r"""Cuts a long text where the split pattern ends a piece whatever follows, so that it can be read part by part.

For the published patterns a cut changes no piece at two places:

- before a blank that follows a character other than white space: white space but for line breaks only begins a piece;
- after a line feed between a character other than white space and one that is neither white space nor ``/``: line
  breaks only end a piece, or are followed by line breaks and slashes.

The piece before either place ends there at the end of a text, too. Of other patterns nothing is known: their texts are
not cut.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from adapters.native import FAMILIES

_PLACE = re.compile(r"(?<=\S)(?= )|(?<=\S\n)(?=[^\s/])")
_SEAM = 2  # characters before a place that tell whether it is one
_WINDOW = 4096


def can_cut(pattern: str) -> bool:
    """Whether ``cut`` keeps the pieces of this split pattern; it also keeps those of ``str.split``."""
    return pattern in FAMILIES


def cut(parts: Iterable[str]) -> Iterator[str]:
    """The text that ``parts`` make together, in stretches that end where a piece does.

    ``["a tru", "ck w", "eighs"]`` gives ``["a", " truck", " weighs"]``. Only what follows the last such place is held,
    so memory is that of the largest part, or of the longest stretch without a place.
    """
    held: list[str] = []
    seam = ""
    for part in parts:
        place = _last_place(seam + part) - len(seam)
        if place >= 0:
            yield "".join((*held, part[:place]))
            held = [part[place:]]
        else:
            held.append(part)
        seam = (seam + part)[-_SEAM:]
    rest = "".join(held)
    if rest:
        yield rest


def _last_place(text: str) -> int:
    """The last place where ``text`` can be cut, or -1."""
    end = len(text)
    while end > 0:
        start = max(0, end - _WINDOW)
        found = -1
        for match in _PLACE.finditer(text, start, end + 1):  # a place is known by the character after it
            found = match.start()
        if found >= 0:
            return found
        end = start
    return -1
