"""The tiktoken family: byte-level BPE by merge rank, counted by OpenAI's library.

``encode(..., disallowed_special=())`` is used rather than ``encode_ordinary``: both are equally fast, but on about a
million white-space characters the former raises ``ValueError`` where the latter panics; the fallback then answers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType

import tiktoken

from adapters.port import (
    NO_TOKENS,
    FallbackListener,
    Family,
    InvalidIds,
    Piece,
    Stop,
    Tokenizer,
    TokenizerSpec,
    ignore_fallback,
    well_formed,
)
from adapters.special import SpecialTokens
from adapters.unicode import normalize

CHUNK = 65_536
"""Code points after which the deadline is looked at."""

# Between an ASCII letter, digit or mark and a blank every published pattern ends a piece: a blank only starts one.
_CUT = re.compile(r"(?<=[0-9A-Za-z.,;:!?)\]}\"]) |(?<=[\u4e00-\u9fff])(?=[\u3001\u3002\uff0c])")
# tiktoken keeps its set of special literals in one expression, and an empty one is twice as slow to search.
_NEVER_PARSED = "<|not a token of any vocabulary|>"
_NEVER_PARSED_RANK = 2**32 - 2


def build_encoding(name: str, pattern: str, ranks: dict[bytes, int]) -> tiktoken.Encoding:
    """A tiktoken encoding of ``ranks`` (kept, not copied) that parses no special token."""
    return tiktoken.Encoding(
        name, pat_str=pattern, mergeable_ranks=ranks, special_tokens={_NEVER_PARSED: _NEVER_PARSED_RANK}
    )


def chunks(text: str, size: int = CHUNK) -> Iterator[str]:
    """Cut ``text`` into stretches of about ``size`` code points whose counts add up to the count of the whole."""
    start = 0
    while len(text) - start > size:
        cut = _CUT.search(text, start + size)
        if cut is None:
            break
        yield text[start : cut.start()]
        start = cut.start()
    yield text[start:]


def last_cut(text: str) -> int:
    """Code points before the last place where ``chunks`` may cut ``text``; 0 without one."""
    for end in range(len(text), 0, -CHUNK):
        start = max(0, end - CHUNK)
        places = [match.start() for match in _CUT.finditer(text, start, min(len(text), end + 1))]
        if places and places[-1]:
            return places[-1]
    return 0


class TiktokenTokenizer:
    """A tiktoken-style vocabulary, served by the tiktoken library.

    ``fallback`` answers for a text that the library cannot take, and gives the pieces; ``on_fallback`` is told each
    time. ``cuttable`` says that the split pattern is one whose cut points are known: long texts are counted in chunks.
    """

    engine = "tiktoken"
    added_tokens = 0
    always_matched = NO_TOKENS

    def __init__(
        self,
        spec: TokenizerSpec,
        encoding: tiktoken.Encoding,
        *,
        fallback: Tokenizer,
        cuttable: bool,
        on_fallback: FallbackListener = ignore_fallback,
    ) -> None:
        self.name = spec.name
        self.family: Family = spec.family
        self.sha256 = spec.sha256
        self.special_tokens: Mapping[str, int] = MappingProxyType(dict(spec.special))
        self.vocab_size = fallback.vocab_size
        self._encoding = encoding
        self.normalizer = spec.normalizer
        self._offset = spec.rank_offset
        self._special = SpecialTokens(spec.special)
        self._literals = {i: literal.encode() for literal, i in spec.special.items()}
        self._fallback = fallback
        self._cuttable = cuttable
        self._on_fallback = on_fallback

    def count(self, text: str, *, stop: Stop | None = None) -> int:
        """Tokens of ``text`` as ordinary text."""
        ordinary = self._normalized(text, stop)
        return sum(self._count_chunk(chunk, stop) for chunk in self._chunks(ordinary))

    def cut(self, ordinary: str) -> int:
        """Code points of normalized text before the last place to cut it; 0 where none is known."""
        return last_cut(ordinary) if self._cuttable else 0

    def count_batch(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text."""
        return [self.count(text) for text in texts]

    def fits(self, text: str, limit: int) -> bool:
        """Whether ``text`` has at most ``limit`` tokens; no token is shorter than a byte, and counting ends past it."""
        if limit < 0:
            return False
        ordinary = self._normalized(text)
        if len(ordinary) <= limit and len(ordinary.encode()) <= limit:
            return True
        total = 0
        for chunk in self._chunks(ordinary):
            total += self._count_chunk(chunk, None)
            if total > limit:
                return False
        return True

    def encode(self, text: str, *, parse_special: bool = False, stop: Stop | None = None) -> list[int]:
        """Ids of ``text``; with ``parse_special`` the literal of a special token becomes its one id."""
        if not parse_special:
            return self._ids(self._normalized(text, stop), stop)
        ids: list[int] = []
        for stretch, special_id in self._special.split(well_formed(text), stop):
            if special_id is None:
                ids += self._ids(self._normalized(stretch, stop), stop)
            else:
                ids.append(special_id)
        return ids

    def decode(self, ids: Sequence[int]) -> str:
        """Text of ``ids``; bytes that are not UTF-8 become U+FFFD."""
        return self.decode_bytes(ids).decode("utf-8", "replace")

    def decode_bytes(self, ids: Sequence[int]) -> bytes:
        """Bytes of ``ids``. Raises ``InvalidIds`` for an id outside the vocabulary."""
        return b"".join(map(self._bytes_of, ids))

    def pieces(self, text: str, *, parse_special: bool = False) -> list[Piece]:
        """The tokens of ``text`` with their bytes and their spans in it."""
        return self._fallback.pieces(text, parse_special=parse_special)

    def _normalized(self, text: str, stop: Stop | None = None) -> str:
        text = well_formed(text)
        return normalize(self.normalizer, text, stop=stop) if self.normalizer else text

    def _chunks(self, ordinary: str) -> Iterable[str]:
        return chunks(ordinary) if self._cuttable and len(ordinary) > CHUNK else (ordinary,)

    def _count_chunk(self, chunk: str, stop: Stop | None) -> int:
        ranks = self._ranks_of(chunk, stop)
        if ranks is not None:
            return len(ranks)
        self._on_fallback(self.name, self._fallback.engine)
        return self._fallback.count(chunk, stop=stop)

    def _ids(self, ordinary: str, stop: Stop | None) -> list[int]:
        ids: list[int] = []
        for chunk in self._chunks(ordinary):
            ranks = self._ranks_of(chunk, stop)
            if ranks is None:
                self._on_fallback(self.name, self._fallback.engine)
                ids += self._fallback.encode(chunk, stop=stop)
            else:
                ids += [rank + self._offset for rank in ranks] if self._offset else ranks
        return ids

    def _ranks_of(self, chunk: str, stop: Stop | None) -> list[int] | None:
        """Ranks of ``chunk``, or ``None`` where the library cannot take it."""
        if stop is not None:
            stop.check()
        try:
            return self._encoding.encode(chunk, disallowed_special=())
        except Exception:
            return None
        except BaseException as error:
            if type(error).__name__ != "PanicException":  # a Rust panic derives from BaseException alone
                raise
            return None

    def _bytes_of(self, token_id: int) -> bytes:
        literal = self._literals.get(token_id)
        if literal is not None:
            return literal
        rank = token_id - self._offset
        try:
            if rank != _NEVER_PARSED_RANK:
                return self._encoding.decode_single_token_bytes(rank)
        except (KeyError, OverflowError, TypeError):
            pass
        raise InvalidIds(
            f"An id is not in the vocabulary {self.name!r}: its ids are integers from 0 to {self.vocab_size - 1}."
        )
