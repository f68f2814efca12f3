"""The claude family's vocabularies in the extension."""

from __future__ import annotations

from adapters.native._core import Pieces
from adapters.port import Marking, Stop, VocabularyDamaged

_FOLDS_QUOTES, _CAPITALS, _OPENED = 1, 2, 4  # of `enum Marking` in marking.h


class NativeTiles:
    """A vocabulary file in the extension; ``traits`` and ``small_letters`` are those of ``adapters.claude.characters``.

    Raises ``VocabularyDamaged`` for a file that the extension cannot take.
    """

    engine = "native"

    def __init__(self, file: bytes, traits: bytes, small_letters: bytes) -> None:
        try:
            self._pieces = Pieces(file, traits, small_letters)
        except ValueError as error:
            raise VocabularyDamaged(f"The vocabulary file cannot be used: {error}.") from None

    def count(self, text: str, marking: Marking, stop: Stop | None = None) -> int:
        """Pieces of a text in NFC that is not empty. Raises ``DeadlineExceeded``."""
        return self._pieces.count(text, _flags(marking), None if stop is None else stop.check)

    def fits(self, text: str, marking: Marking, limit: int) -> bool:
        """Whether they are at most ``limit``, from 0 to 2**63; counting ends past it."""
        return self._pieces.fits(text, _flags(marking), limit)


def _flags(marking: Marking) -> int:
    return _FOLDS_QUOTES * marking.folds_quotes | _CAPITALS * marking.capitals | _OPENED * marking.opened
