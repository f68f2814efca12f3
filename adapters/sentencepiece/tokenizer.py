"""Serves one SentencePiece model through the `sentencepiece` library.

Control symbols such as ``</s>`` never match in a text, by the library's design; user-defined symbols always do, and
``always_matched`` names them.
"""

from __future__ import annotations

import math
import random
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from types import MappingProxyType

from sentencepiece import SentencePieceProcessor

from adapters.port import Family, InvalidIds, Piece, Stop, TokenizerError, TokenizerSpec, VocabularyDamaged, well_formed
from adapters.sentencepiece.model import EntryKind, ModelFacts, ModelKind, read_entries, read_facts
from adapters.sentencepiece.sampling import SamplingVocabulary
from adapters.special import SpecialTokens

_SPACE = "▁"  # stands for a space in every piece


class SentencePieceTokenizer:
    """One SentencePiece model, given as its verified bytes; a stranger's model goes through ``check_model`` first.

    Raises ``VocabularyDamaged`` if the library cannot read it. The library cannot be interrupted: a deadline is looked
    at before and after a count, and the interpreter's lock is free meanwhile.
    """

    family = Family.SENTENCEPIECE
    engine = "sentencepiece"

    def __init__(self, spec: TokenizerSpec, data: bytes) -> None:
        library, self._facts = _load(spec, data)
        self.name = spec.name
        self.sha256 = spec.sha256
        self.vocab_size: int = library.vocab_size()
        # The model knows both marks, not which of them its family adds; a family adds one of them (BOS, or EOS in T5).
        self.added_tokens = int(library.bos_id() >= 0 or library.eos_id() >= 0)
        ids = list(range(self.vocab_size))
        self._pieces: list[str] = library.id_to_piece(ids)
        control = [id_ for id_, found in enumerate(library.is_control(ids)) if found]
        self._byte_of = {
            id_: int(self._pieces[id_][3:5], 16) for id_, found in enumerate(library.is_byte(ids)) if found
        }
        self._unknown_id = library.unk_id()
        self.special_tokens: Mapping[str, int] = MappingProxyType({self._pieces[id_]: id_ for id_ in control})
        self._control = frozenset(control)
        self._special = SpecialTokens(self.special_tokens)
        self._bounds = self._length_bounds()
        self._library = library
        self._sampling: SamplingVocabulary | None = None
        self._lock = threading.Lock()

    @cached_property
    def always_matched(self) -> Mapping[str, int]:
        """User-defined symbols and their ids: each matches wherever it stands in a text.

        Kept once read, as the whole model is parsed for it and every check against a protocol asks for the property.
        """
        entries = read_entries(self._library.serialized_model_proto())
        found = {entry.piece: id_ for id_, entry in enumerate(entries) if entry.kind is EntryKind.USER_DEFINED}
        return MappingProxyType(found)

    def count(self, text: str, *, stop: Stop | None = None) -> int:
        """Tokens of ``text``. Raises ``DeadlineExceeded`` if ``stop`` has passed before or after the count."""
        if stop is not None:
            stop.check()
        count = len(self._ids(text))
        if stop is not None:
            stop.check()
        return count

    def count_batch(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text, in one call of the library and one thread."""
        try:
            return [len(ids) for ids in self._library.encode([well_formed(text) for text in texts], num_threads=1)]
        except Exception as error:
            raise self._gave_up(error) from None

    def fits(self, text: str, limit: int) -> bool:
        """Whether ``text`` has at most ``limit`` tokens.

        A model with byte fallback that keeps every character answers from the text's length where that decides it: no
        token is shorter than a byte or longer than the longest piece. Other models may drop text, so they count.
        """
        if limit < 0:
            return False
        if self._bounds is not None:
            added, longest = self._bounds
            text = well_formed(text)
            if len(text) > limit * longest:
                return False
            if len(text.encode()) + added <= limit:
                return True
        return self.count(text) <= limit

    def encode(self, text: str, *, parse_special: bool = False, stop: Stop | None = None) -> list[int]:
        """Ids of ``text``; with ``parse_special`` the literal of a control symbol becomes its one id.

        The stretches between control symbols are texts of their own, each with the space that the model puts before a
        text, as in Mistral's reference implementation, which encodes every part of a chat by itself.
        """
        if stop is not None:
            stop.check()
        if not parse_special:
            return self._ids(text)
        ids: list[int] = []
        for stretch, special_id in self._special.split(well_formed(text), stop):
            ids += self._ids(stretch) if special_id is None else [special_id]
        return ids

    def decode(self, ids: Sequence[int]) -> str:
        """Text of ``ids``; control symbols are invisible, unknown text is the model's mark. Raises ``InvalidIds``."""
        self._require(ids)
        try:
            return str(self._library.decode(list(ids)))
        except Exception as error:
            raise self._gave_up(error) from None

    def decode_bytes(self, ids: Sequence[int]) -> bytes:
        """Bytes of ``ids``, exact also where they end amid a character. Raises ``InvalidIds``."""
        self._require(ids)
        if self._facts.denormalizes:
            return self.decode(ids).encode()
        output = bytearray()
        at_start, took_space = True, False
        strips = self._facts.dummy_prefix or self._facts.squeezes
        for id_ in ids:
            if id_ in self._byte_of:
                output.append(self._byte_of[id_])
                continue
            at_start = at_start and not took_space and not output
            piece = self._pieces[id_]
            took_space = strips and at_start and self._is_text(id_) and piece.startswith(_SPACE)
            output += self._bytes_of(id_, piece[len(_SPACE) :] if took_space else piece)
            took_space = took_space and not self._facts.squeezes  # a model that squeezes loses all leading spaces
        return bytes(output)

    def pieces(self, text: str, *, parse_special: bool = False) -> list[Piece]:
        """The tokens of ``text``; spans are code points of ``text`` as given, also where the model rewrote it.

        The space that the model puts before a text covers nothing; text that it drops lies in no span. An unknown piece
        carries the bytes of its text.
        """
        whole = well_formed(text)
        pieces: list[Piece] = []
        start = 0
        for stretch, special_id in self._special.split(whole) if parse_special else ((whole, None),):
            end = start + len(stretch)
            if special_id is None:
                pieces += self._pieces_of(stretch, start)
            else:
                pieces.append(Piece(special_id, stretch.encode(), start, end))
            start = end
        if len(whole) == len(text):
            return pieces
        places = _places(text, whole)
        return [replace(piece, start=places[piece.start], end=places[piece.end]) for piece in pieces]

    def sample(self, text: str, *, n: int, alpha: float, seed: int) -> list[list[int]]:
        """``n`` encodings drawn at random; the same seed gives the same ones, in any process.

        Unigram: ``alpha`` (0 or more) is the smoothing, 0 drawing all segmentations alike. BPE: ``alpha`` (0 to 1) is
        the chance that a merge is left out. Raises ``TokenizerError`` for another ``alpha``, ``n`` below 0 or a model
        that knows one encoding only.
        """
        kind = self._facts.kind
        if kind not in (ModelKind.UNIGRAM, ModelKind.BPE):
            raise TokenizerError(f"{self.name} has one encoding for each text; only Unigram and BPE models can sample.")
        most = 1.0 if kind is ModelKind.BPE else math.inf
        if n < 0 or not math.isfinite(alpha) or not 0 <= alpha <= most:
            raise TokenizerError(
                f"Sampling from {self.name} takes n of 0 or more and a finite alpha from 0 to {most:g}."
            )
        vocabulary = self._sampling_vocabulary()
        normalized = self._library.normalize(well_formed(text))
        draw = vocabulary.unigram if kind is ModelKind.UNIGRAM else vocabulary.bpe
        return list(draw(normalized, n=n, alpha=alpha, draws=random.Random(seed)))  # noqa: S311 - repeatable by design

    def _ids(self, text: str) -> list[int]:
        try:
            ids: list[int] = self._library.encode(well_formed(text))
        except Exception as error:
            raise self._gave_up(error) from None
        return ids

    def _pieces_of(self, text: str, offset: int) -> Iterator[Piece]:
        try:
            found = self._library.encode(text, out_type="offset_mapping")
            normalized, origin = self._library.normalize(text, with_offsets=True)
        except Exception as error:
            raise self._gave_up(error) from None
        spans = _spans(self._places(found["ids"], found["pieces"], normalized), origin, inserted=self._inserted(origin))
        for id_, piece, (start, end) in zip(found["ids"], found["pieces"], spans, strict=True):
            unknown = id_ == self._unknown_id
            content = text[start:end].encode() if unknown else self._bytes_of(id_, piece)
            yield Piece(id_, content, offset + start, offset + end, unknown)

    def _places(self, ids: Sequence[int], pieces: Sequence[str], normalized: str) -> Iterator[tuple[int, int]]:
        """Where each piece stands in the normalized text; a byte stands at its whole character."""
        at = left = 0
        for id_, piece in zip(ids, pieces, strict=True):
            if id_ not in self._byte_of:
                yield at, at + len(piece)
                at += len(piece)
                continue
            left = (left or len(normalized[at].encode())) - 1
            yield at, at + 1
            at += not left

    def _inserted(self, origin: Sequence[int]) -> bool:
        return self._facts.dummy_prefix and not self._facts.space_last and len(origin) > 1

    def _bytes_of(self, id_: int, piece: str) -> bytes:
        if id_ in self._byte_of:
            return bytes([self._byte_of[id_]])
        if id_ in self._control:
            return b""
        if id_ == self._unknown_id:
            return self.decode([id_]).encode()
        return piece.replace(_SPACE, " ").encode()

    def _is_text(self, id_: int) -> bool:
        return id_ != self._unknown_id and id_ not in self._control

    def _require(self, ids: Iterable[int]) -> None:
        for id_ in ids:
            if not 0 <= id_ < self.vocab_size:
                raise InvalidIds(
                    f"An id is not in the vocabulary {self.name!r}: its ids are 0 to {self.vocab_size - 1}."
                )

    def _length_bounds(self) -> tuple[int, int] | None:
        """(tokens added to a text, code points of the longest piece) where both hold for any text, else None."""
        facts = self._facts
        if facts.rewrites or facts.squeezes or not facts.byte_fallback or _SPACE not in self._pieces:
            return None
        return int(facts.dummy_prefix), max(map(len, self._pieces))

    def _sampling_vocabulary(self) -> SamplingVocabulary:
        with self._lock:
            if self._sampling is None:
                self._sampling = SamplingVocabulary(read_entries(self._library.serialized_model_proto()))
            return self._sampling

    def _gave_up(self, error: Exception) -> Exception:
        """The error to raise for what the library threw; its own message may quote the text, so it stays out."""
        if isinstance(error, MemoryError):
            return error
        return TokenizerError(
            f"The sentencepiece library gave up on a text ({self.name}, {type(error).__name__}). Send it in parts."
        )


def _load(spec: TokenizerSpec, data: bytes) -> tuple[SentencePieceProcessor, ModelFacts]:
    try:
        if not data:
            raise ValueError("the file is empty")
        return SentencePieceProcessor(model_proto=data), read_facts(data)
    except Exception as error:
        raise VocabularyDamaged(
            f"{spec.path.name} is no SentencePiece model that the library can read ({str(error)[:200]}). "
            "Is it the .model file, and complete?"
        ) from None


def _places(text: str, whole: str) -> list[int]:
    """Where each character of ``whole``, and its end, stands in ``text``: joined surrogates are two there."""
    places = [0]
    for character in whole:
        pair = character > "\uffff" and text[places[-1]] < character
        places.append(places[-1] + 1 + pair)
    return places


def _spans(places: Iterable[tuple[int, int]], origin: Sequence[int], *, inserted: bool) -> Iterator[tuple[int, int]]:
    """Spans in the original text of ``places`` in the normalized one, widened to whole original characters.

    ``origin`` gives for each normalized character, and the end, its place in the original: one that was replaced by
    several repeats, as does the place of an ``inserted`` first character, which stands for nothing.
    """
    ends = list(origin)
    for at in range(len(origin) - 2, -1, -1):
        ends[at] = origin[at + 1] if origin[at + 1] > origin[at] else ends[at + 1]
    for start, end in places:
        first = start + (inserted and start == 0)
        yield (origin[first], ends[end - 1]) if first < end else (origin[start], origin[start])
