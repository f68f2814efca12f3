"""The tokenizer of a ranked vocabulary, in plain Python."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain
from types import MappingProxyType

from adapters.bpe.encode import merge
from adapters.bpe.patterns import Splitter
from adapters.port import NO_TOKENS, InvalidIds, Piece, Stop, TokenizerSpec, VocabularyDamaged, well_formed
from adapters.spans import SpanMap, spanned_pieces
from adapters.special import SpecialTokens
from adapters.unicode import changes, normalize

_AT_ONCE = 1 << 16  # characters of a text that is split in one call
_BATCH = 512  # pieces of a longer text
_LONG = 256  # characters of a piece that is merged under the deadline and never remembered
# What is remembered: 65,536 counts and 16,384 lists of ids, for pieces of up to 32 characters. About 15 MB when filled
# by ordinary text, and under 50 MB at the worst; a full cache is emptied and starts anew.
_REMEMBERED_LENGTH, _REMEMBERED_IDS = 32, 32
_MOST_COUNTS, _MOST_IDS = 1 << 16, 1 << 14


class BpeTokenizer:
    """A tiktoken-style vocabulary served by this package alone.

    ``ranks`` are the tokens' bytes and ranks; an id is a rank plus ``spec.rank_offset``. The mapping is kept, not
    copied, and must not change. Raises ``UnsupportedPattern`` for ``spec.pattern``, ``UnknownForm`` for
    ``spec.normalizer``, and ``VocabularyDamaged`` if a single byte has no rank: some text would have no tokens.
    """

    engine = "python"
    added_tokens = 0
    always_matched = NO_TOKENS

    def __init__(self, spec: TokenizerSpec, ranks: Mapping[bytes, int]) -> None:
        if any(bytes([byte]) not in ranks for byte in range(256)):
            raise VocabularyDamaged(f"The vocabulary {spec.name!r} lacks single bytes: it could not encode every text.")
        self.name = spec.name
        self.family = spec.family
        self.sha256 = spec.sha256
        self.special_tokens: Mapping[str, int] = MappingProxyType(dict(spec.special))
        highest = max(max(ranks.values()) + spec.rank_offset, *spec.special.values(), 0)
        self.vocab_size = spec.size or highest + 1
        self._normalizer = spec.normalizer
        self._offset = spec.rank_offset
        self._ranks = ranks
        self._longest = max(map(len, ranks))
        self._splitter = Splitter(spec.pattern)
        self._special = SpecialTokens(spec.special)
        self._counts = _Counts(ranks, self._longest)
        self._merged: dict[str, list[int]] = {}
        self._normalized("")  # refuses an unknown form, and reads the tables of a known one

    def count(self, text: str, *, stop: Stop | None = None) -> int:
        """Tokens of ``text`` as ordinary text. Raises ``DeadlineExceeded`` if ``stop`` passes first."""
        if stop is not None:
            stop.check()
        text = self._normalized(well_formed(text), stop)
        count_of = self._counts.__getitem__
        if len(text) <= _AT_ONCE:
            return sum(map(count_of, self._splitter.split(text)))
        total = 0
        for batch in self._splitter.batches(text, _BATCH):
            if max(map(len, batch)) > _LONG:
                total += sum(
                    count_of(piece) if len(piece) <= _LONG else self._count_long(piece, stop) for piece in batch
                )
            else:
                total += sum(map(count_of, batch))
            if stop is not None:
                stop.check()
        return total

    def count_batch(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text."""
        return [self.count(text) for text in texts]

    def fits(self, text: str, limit: int) -> bool:
        """Whether ``text`` has at most ``limit`` tokens; a token is a byte at least, and one of the longest at most."""
        if limit < 0:
            return False
        text = self._normalized(well_formed(text))
        if len(text) <= limit and len(text.encode()) <= limit:
            return True
        left = limit
        for piece in chain.from_iterable(self._splitter.batches(text, min(_BATCH, limit + 1))):
            if len(piece) <= _LONG:
                left -= self._counts[piece]
            elif len(piece) > left * self._longest:
                return False
            else:
                left -= self._count_long(piece)
            if left < 0:
                return False
        return True

    def encode(self, text: str, *, parse_special: bool = False, stop: Stop | None = None) -> list[int]:
        """Ids of ``text``; with ``parse_special`` the literal of a special token becomes its one id.

        Literals are looked for before the text is normalized, and the text between them is normalized apart.
        """
        ids: list[int] = []
        for stretch, special_id in self._stretches(well_formed(text), parse_special, stop):
            if special_id is not None:
                ids.append(special_id)
                continue
            read = 0
            for piece in self._split(self._normalized(stretch, stop)):
                ids += self._ids(piece, stop)
                read += len(piece)
                if stop is not None and read >= _AT_ONCE:
                    stop.check()
                    read = 0
        return ids

    def decode(self, ids: Sequence[int]) -> str:
        """Text of ``ids``; bytes that are not UTF-8 become U+FFFD. Raises ``InvalidIds``."""
        return self.decode_bytes(ids).decode("utf-8", "replace")

    def decode_bytes(self, ids: Sequence[int]) -> bytes:
        """Bytes of ``ids``. Raises ``InvalidIds``."""
        bytes_of = self._bytes_of
        if any(type(token_id) is not int or token_id not in bytes_of for token_id in ids):
            raise InvalidIds(
                f"An id has no bytes in the vocabulary {self.name!r}: its ids are integers from 0 to "
                f"{self.vocab_size - 1}, and some of them may be unassigned."
            )
        return b"".join(map(bytes_of.__getitem__, ids))

    def pieces(self, text: str, *, parse_special: bool = False) -> list[Piece]:
        """The tokens of ``text`` with their bytes and their spans in it."""
        return spanned_pieces(text, self._stretches(well_formed(text), parse_special), self._placed)

    def _placed(self, stretch: str) -> Iterator[tuple[int, bytes, int, int]]:
        """Id, bytes and span in ``stretch`` of every token of ordinary text."""
        form = self._normalizer
        to_stretch = SpanMap(changes(form, stretch) if form else ())
        text = self._normalized(stretch)
        for start, end in self._splitter.spans(text):
            reached = start  # characters of `text` that have begun
            for token_id in self._ids(text[start:end]):
                data = self._bytes_of[token_id]
                first = reached if data[0] & 0xC0 != 0x80 else reached - 1
                reached += len(data) if data.isascii() else sum(byte & 0xC0 != 0x80 for byte in data)
                yield token_id, data, *to_stretch.original(first, reached)

    def _stretches(self, text: str, parse_special: bool, stop: Stop | None = None) -> Iterator[tuple[str, int | None]]:
        return self._special.split(text, stop) if parse_special else iter([(text, None)])

    def _normalized(self, text: str, stop: Stop | None = None) -> str:
        return normalize(self._normalizer, text, stop=stop) if self._normalizer else text

    def _split(self, text: str) -> Iterable[str]:
        if len(text) <= _AT_ONCE:
            return self._splitter.split(text)
        return chain.from_iterable(self._splitter.batches(text, _BATCH))

    def _count_long(self, piece: str, stop: Stop | None = None) -> int:
        if stop is not None:
            stop.check()
        return len(merge(piece.encode(), self._ranks, self._longest, stop))

    def _ids(self, piece: str, stop: Stop | None = None) -> list[int]:
        data = piece.encode()
        rank = self._ranks.get(data)
        if rank is not None:
            return [rank + self._offset]
        ids = self._merged.get(piece)
        if ids is None:
            ids = [rank + self._offset for rank in merge(data, self._ranks, self._longest, stop)]
            if len(piece) <= _REMEMBERED_LENGTH and len(ids) <= _REMEMBERED_IDS:
                if len(self._merged) >= _MOST_IDS:
                    self._merged.clear()
                self._merged[piece] = ids
        return ids

    @cached_property
    def _bytes_of(self) -> dict[int, bytes]:
        """Bytes by id; made when first needed, since a counter never needs it."""
        ordinary = {rank + self._offset: token for token, rank in self._ranks.items()}
        return ordinary | {special_id: literal.encode() for literal, special_id in self.special_tokens.items()}


class _Counts(dict[str, int]):
    """Tokens of a piece, remembered. Threads may share it: the worst they do is to count a piece twice."""

    def __init__(self, ranks: Mapping[bytes, int], longest: int) -> None:
        super().__init__()
        self._ranks = ranks
        self._longest = longest

    def __missing__(self, piece: str) -> int:
        data = piece.encode()
        tokens = 1 if data in self._ranks else len(merge(data, self._ranks, self._longest))
        if len(piece) <= _REMEMBERED_LENGTH:
            if len(self) >= _MOST_COUNTS:
                self.clear()
            self[piece] = tokens
        return tokens
