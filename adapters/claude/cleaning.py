"""The text as the vocabularies see it: characters dropped, folded to a blank, and curly quotes made straight."""

from __future__ import annotations

import re

_CONTROLS = re.compile("[\x01-\x08\x0b-\x1f\x7f-\x9f]")  # dropped; what NUL does, a blank does
_BLANKS = re.compile("[\0\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f]")
_PRIVATE = re.compile("[\ue000-\uf8ff]")
_QUOTES = {0x2018: "'", 0x2019: "'", 0x201C: '"', 0x201D: '"'}
_SARA_AM = ("\u0e4d\u0e32", "\u0e33")  # composed, though NFC leaves the two apart


def clean(text: str, *, folds_quotes: bool) -> str:
    """``text``, which is in NFC, as its stream is made from; the order of the steps matters."""
    text = _CONTROLS.sub("", text).replace(*_SARA_AM)
    text = _PRIVATE.sub("", text)
    if folds_quotes:
        text = text.translate(_QUOTES)
    return _BLANKS.sub(" ", text)
