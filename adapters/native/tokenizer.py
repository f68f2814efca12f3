"""The tokenizer of a ranked vocabulary whose split pattern the extension knows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType

from adapters.native._core import Vocabulary
from adapters.native.cores import WORTH_SHARING, Cores
from adapters.native.families import FAMILIES, classes
from adapters.port import NO_TOKENS, InvalidIds, Piece, Stop, TokenizerSpec, VocabularyDamaged, well_formed
from adapters.spans import SpanMap, spanned_pieces
from adapters.special import SpecialTokens
from adapters.unicode import changes, normalize

_LARGEST_LIMIT = 2**63  # of `fits`; no text has as many tokens


def read_vocabulary(pattern: str, rank_file: bytes) -> Vocabulary:
    """The vocabulary of a rank file; tokenizers that differ in their special tokens alone may share it.

    ``pattern`` is one of ``FAMILIES``. Raises ``VocabularyDamaged`` for a file that the extension cannot take.
    """
    try:
        return Vocabulary(FAMILIES[pattern], rank_file, classes())
    except ValueError as error:
        raise VocabularyDamaged(f"The rank file cannot be used: {error}.") from None


class NativeTokenizer:
    """A tiktoken-style vocabulary, served by the extension. Nothing is kept in Python but the special tokens.

    Large texts are counted on the ``cores`` that are idle; without any the thread that asks counts alone.
    """

    engine = "native"
    added_tokens = 0
    always_matched = NO_TOKENS

    def __init__(self, spec: TokenizerSpec, vocabulary: Vocabulary, cores: Cores | None = None) -> None:
        self.name = spec.name
        self.family = spec.family
        self.sha256 = spec.sha256
        self.special_tokens: Mapping[str, int] = MappingProxyType(dict(spec.special))
        highest = max(vocabulary.highest_rank + spec.rank_offset, *spec.special.values(), 0)
        self.vocab_size = spec.size or highest + 1
        self._vocabulary = vocabulary
        self._cores = cores
        self.normalizer = spec.normalizer
        self._offset = spec.rank_offset
        self._special = SpecialTokens(spec.special)
        self._literals = {special_id: literal.encode() for literal, special_id in spec.special.items()}
        self._ordinary("")  # refuses an unknown form, and reads the tables of a known one

    def count(self, text: str, *, stop: Stop | None = None) -> int:
        """Tokens of ``text`` as ordinary text. Raises ``DeadlineExceeded`` if ``stop`` passes first."""
        check = _check(stop)
        if not self.normalizer:
            try:
                return self._total(text, check)
            except UnicodeEncodeError:  # rare, and found while the text is encoded anyway
                pass
        return self._total(self._ordinary(text, stop), check)

    def count_within(self, text: str, limit: int, *, stop: Stop | None = None) -> int | None:
        """Tokens of ``text``; ``None`` where there are more than ``limit``. Raises ``DeadlineExceeded``."""
        if limit < 0:
            return None
        return self._vocabulary.count_within(self._ordinary(text, stop), min(limit, _LARGEST_LIMIT), _check(stop))

    def cut(self, ordinary: str) -> int:
        """Code points of normalized text before the last place to cut it; 0 where there is none."""
        return self._vocabulary.cut(ordinary)

    def count_batch(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text."""
        return [self.count(text) for text in texts]

    def fits(self, text: str, limit: int) -> bool:
        """Whether ``text`` has at most ``limit`` tokens; counting ends past it."""
        return limit >= 0 and self._vocabulary.fits(self._ordinary(text), min(limit, _LARGEST_LIMIT))

    def encode(self, text: str, *, parse_special: bool = False, stop: Stop | None = None) -> list[int]:
        """Ids of ``text``; with ``parse_special`` the literal of a special token becomes its one id.

        Literals are looked for before the text is normalized, and the text between them is normalized apart.
        """
        check = _check(stop)
        if not parse_special:
            return self._vocabulary.encode(self._ordinary(text, stop), self._offset, check)
        ids: list[int] = []
        for stretch, special_id in self._special.split(well_formed(text), stop):
            if special_id is None:
                ids += self._vocabulary.encode(self._ordinary(stretch, stop), self._offset, check)
            else:
                ids.append(special_id)
        return ids

    def decode(self, ids: Sequence[int]) -> str:
        """Text of ``ids``; bytes that are not UTF-8 become U+FFFD. Raises ``InvalidIds``."""
        return self.decode_bytes(ids).decode("utf-8", "replace")

    def decode_bytes(self, ids: Sequence[int]) -> bytes:
        """Bytes of ``ids``. Raises ``InvalidIds``."""
        return b"".join(map(self._bytes_of, ids))

    def pieces(self, text: str, *, parse_special: bool = False) -> list[Piece]:
        """The tokens of ``text`` with their bytes and their spans in it."""
        repaired = well_formed(text)
        stretches = self._special.split(repaired) if parse_special else iter([(repaired, None)])
        return spanned_pieces(text, stretches, self._placed)

    def _placed(self, stretch: str) -> Iterator[tuple[int, bytes, int, int]]:
        """Id, bytes and span in ``stretch`` of every token of ordinary text; the tokens leave nothing out."""
        form = self.normalizer
        to_stretch = SpanMap(changes(form, stretch) if form else ())
        reached = 0  # characters that have begun
        for token_id in self._vocabulary.encode(self._ordinary(stretch), self._offset):
            data = self._bytes_of(token_id)
            first = reached if data[0] & 0xC0 != 0x80 else reached - 1
            reached += len(data) if data.isascii() else sum(byte & 0xC0 != 0x80 for byte in data)
            yield token_id, data, *to_stretch.original(first, reached)

    def _total(self, ordinary: str, check: Callable[[], object] | None) -> int:
        if self._cores is None or len(ordinary) < WORTH_SHARING:
            return self._vocabulary.count(ordinary, check)
        return self._cores.count(self._vocabulary, ordinary, check)

    def _ordinary(self, text: str, stop: Stop | None = None) -> str:
        text = well_formed(text)
        return normalize(self.normalizer, text, stop=stop) if self.normalizer else text

    def _bytes_of(self, token_id: int) -> bytes:
        data = self._literals.get(token_id)
        if data is None and type(token_id) is int and token_id >= self._offset:
            data = self._vocabulary.bytes_of(token_id - self._offset)
        if data is None or type(token_id) is not int:
            raise InvalidIds(
                f"An id is not in the vocabulary {self.name!r}: its ids are integers from 0 to {self.vocab_size - 1}, "
                "and some of them may be unassigned."
            )
        return data


def _check(stop: Stop | None) -> Callable[[], object] | None:
    return None if stop is None else stop.check
