"""The extension in C. Its functions take well-formed text alone, and raise ``UnicodeEncodeError`` for any other."""

from collections.abc import Callable
from typing import final

@final
class Vocabulary:
    """A rank file for one family of split patterns; ``classes`` has a byte for every code point.

    Raises ``ValueError`` for a malformed file and for an unknown family.
    """

    def __new__(cls, family: str, rank_file: bytes, classes: bytes, /) -> Vocabulary: ...
    @property
    def size(self) -> int: ...
    @property
    def highest_rank(self) -> int: ...
    def count(self, text: str, check: Callable[[], object] | None = None, start: int = 0, end: int = ..., /) -> int:
        """Tokens of the bytes ``start`` to ``end``; ``ValueError`` unless both are borders of characters."""
    def count_within(self, text: str, limit: int, check: Callable[[], object] | None = None, /) -> int | None:
        """Tokens of ``text``; ``None`` where there are more than ``limit``, found without counting far past it."""
    def borders(self, text: str, step: int, /) -> list[int]:
        """Where to cut ``text`` into parts of about ``step`` bytes; places in bytes, the last one its end."""
    def cut(self, text: str, /) -> int:
        """Code points before the last safe cut within ``text``; 0 where there is none."""
    def fits(self, text: str, limit: int, /) -> bool: ...
    def encode(self, text: str, offset: int = 0, check: Callable[[], object] | None = None, /) -> list[int]: ...
    def bytes_of(self, rank: int, /) -> bytes | None: ...

@final
class WordCounts:
    """How often each distinct piece of the texts occurs, for one family of split patterns; see ``Vocabulary``."""

    def __new__(cls, family: str, classes: bytes, /) -> WordCounts: ...
    def add(self, text: str, check: Callable[[], object] | None = None, /) -> None: ...
    def add_words(self, symbols: bytes, lengths: bytes, weights: bytes, /) -> None:
        """Add pieces that were counted before, given as ``words`` gives them."""
    def words(self) -> tuple[bytes, bytes, bytes]:
        """The pieces in the order first seen, one after another; their sizes (uint32) and their counts (uint64)."""

@final
class Merges:
    """The merges of words whose symbols are ``width`` bytes wide (1 or 4) and less than ``alphabet``.

    Raises ``ValueError`` for words that are not what ``lengths`` and ``alphabet`` say.
    """

    def __new__(
        cls,
        width: int,
        symbols: bytes,
        lengths: bytes,
        weights: bytes,
        alphabet: int,
        first_seen: bool,
        check: Callable[[], object] | None = None,
        /,
    ) -> Merges: ...
    def run(self, most: int, check: Callable[[], object] | None = None, /) -> int: ...
    def repeat(self, left: int, right: int, frequency: int, /) -> bool: ...
    def made(self, start: int, /) -> list[tuple[int, int, int]]: ...

@final
class Pieces:
    """A vocabulary of the claude family; the tables have an entry for every code point up to U+FFFF.

    Raises ``ValueError`` for a malformed file, and for pieces that cross a border of the marked stream.
    """

    def __new__(cls, file: bytes, traits: bytes, small_letters: bytes, /) -> Pieces: ...
    @property
    def size(self) -> int: ...
    def count(self, text: str, marking: int, check: Callable[[], object] | None = None, /) -> int: ...
    def fits(self, text: str, marking: int, limit: int, /) -> bool: ...
