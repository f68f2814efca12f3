"""Tokenizers that come as a ``tokenizer.json``: WordPiece, and BPE or Unigram with a pre-tokenizer of their own.

The `tokenizers` library does the work. Two of its habits are switched off once, at load: reading special tokens out of
a text, and cutting or padding an encoding to a length saved in the file. Nothing is changed afterwards, since a change
while another thread encodes fails ("Already borrowed"). Added tokens that the file does not mark as special are matched
in every text, as in the library; ``always_matched`` names them.
"""

from __future__ import annotations

import json
import os
import re
import threading
from collections.abc import Iterable, Sequence
from enum import Enum, auto
from types import MappingProxyType
from typing import Any

from tokenizers import Encoding
from tokenizers import Tokenizer as Library

from adapters.port import Family, InvalidIds, Piece, Stop, TokenizerError, TokenizerSpec, VocabularyDamaged, well_formed

# The library's own thread pool would use every core behind the caller's bounded pool, and warns (or hangs) when a
# process forks after its first use. One call is one thread; whoever wants the pool sets the variable to "true".
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

_BYTE_ENTRY = re.compile("<0x[0-9A-Fa-f]{2}>")
_MAX_ID = 2**32 - 1  # the library's id type; a larger integer is an OverflowError there


def _byte_alphabet() -> dict[str, int]:
    """The printable character that stands for each byte in a byte-level vocabulary (as in GPT-2), and its byte."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in set(printable)]
    return {chr(byte): byte for byte in printable} | {chr(256 + n): byte for n, byte in enumerate(others)}


_BYTE_OF = _byte_alphabet()


class _Form(Enum):
    """How an entry of the vocabulary spells the bytes it stands for; the file's decoder tells."""

    BYTES = auto()  # one printable character per byte
    SPACES = auto()  # a mark for the space, and entries such as <0xE4> for single bytes
    WORDS = auto()  # WordPiece: a prefix marks what continues a word
    TEXT = auto()  # nothing known: the covered text itself


class HuggingFaceTokenizer:
    """One ``tokenizer.json``, given as its verified bytes.

    Raises ``VocabularyDamaged`` if the library cannot read them. The library cannot be interrupted: a deadline is
    looked at before and after a count, and the interpreter's lock is free meanwhile. ``TokenizerError`` is raised for a
    text that the library gives up on (a pattern that backtracks over some ten million white-space characters).
    """

    family = Family.HUGGINGFACE
    engine = "huggingface"

    def __init__(self, spec: TokenizerSpec, data: bytes) -> None:
        library = _load(spec, data)
        added = library.get_added_tokens_decoder()
        self.name = spec.name
        self.sha256 = spec.sha256
        self.added_tokens = int(library.num_special_tokens_to_add(False))
        self.special_tokens = MappingProxyType({t.content: id_ for id_, t in added.items() if t.special})
        self.always_matched = MappingProxyType({t.content: id_ for id_, t in added.items() if not t.special})
        self.vocab_size = int(library.get_vocab_size(with_added_tokens=True))
        # It would only trim spans and add BOS or EOS, neither of which is wanted here.
        library.post_processor = None
        self._added_ids = frozenset(added)
        self._form, self._mark, self._exact = _form(library)
        unknown = getattr(library.model, "unk_token", None)
        self._unknown_id = None if unknown is None else library.token_to_id(unknown)
        self._bounds = self._length_bounds(library)
        self._library = library
        self._parsing: Library | None = None
        self._lock = threading.Lock()

    def count(self, text: str, *, stop: Stop | None = None) -> int:
        """Tokens of ``text``. Raises ``DeadlineExceeded`` if ``stop`` has passed before or after the count."""
        if stop is not None:
            stop.check()
        count = len(self._encodings(self._library, [text])[0])
        if stop is not None:
            stop.check()
        return count

    def count_batch(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text, in one call of the library."""
        return [len(encoding) for encoding in self._encodings(self._library, texts)]

    def fits(self, text: str, limit: int) -> bool:
        """Whether ``text`` has at most ``limit`` tokens.

        A byte-level vocabulary answers from the text's length where that decides it: no token is shorter than a byte or
        longer than the longest entry. Other vocabularies may drop text, so they count.
        """
        if limit < 0:
            return False
        if self._bounds is not None:
            slack, longest = self._bounds
            size = len(well_formed(text).encode())
            if size + slack <= limit:
                return True
            if size > limit * longest:
                return False
        return self.count(text) <= limit

    def encode(self, text: str, *, parse_special: bool = False, stop: Stop | None = None) -> list[int]:
        """Ids of ``text``; with ``parse_special`` the literal of a special token becomes its one id."""
        if stop is not None:
            stop.check()
        ids: list[int] = self._encodings(self._engine_for(parse_special), [text])[0].ids
        return ids

    def decode(self, ids: Sequence[int]) -> str:
        """Text of ``ids``, special tokens as their literals. Raises ``InvalidIds``."""
        if self._exact:
            return self.decode_bytes(ids).decode("utf-8", "replace")
        self._entries(ids)
        try:
            return str(self._library.decode(list(ids), skip_special_tokens=False))
        except BaseException as error:
            raise _typed(error, self.name) from None

    def decode_bytes(self, ids: Sequence[int]) -> bytes:
        """Bytes of ``ids``, exact where entries spell bytes, else ``decode`` as UTF-8. Raises ``InvalidIds``."""
        if not self._exact:
            return self.decode(ids).encode()
        return b"".join(self._bytes_of(id_, entry) for id_, entry in zip(ids, self._entries(ids), strict=True))

    def pieces(self, text: str, *, parse_special: bool = False) -> list[Piece]:
        """The tokens of ``text``; spans are code points of ``text`` as given, also where a normalizer changed it.

        Text that a normalizer or pre-tokenizer drops lies in no span. An unknown piece carries the bytes of its text.
        """
        places = _places(text)
        text = well_formed(text)
        encoding = self._encodings(self._engine_for(parse_special), [text], spans=True)[0]
        spans: list[tuple[int, int]] = encoding.offsets
        unknown = [self._is_unknown(id_, entry) for id_, entry in zip(encoding.ids, encoding.tokens, strict=True)]
        parts = [
            text[start:end].encode() if lost or self._form is _Form.TEXT else self._bytes_of(id_, entry)
            for id_, entry, (start, end), lost in zip(encoding.ids, encoding.tokens, spans, unknown, strict=True)
        ]
        if self._form is _Form.BYTES:
            spans = list(_spans(parts)) if b"".join(parts) == text.encode() else _closed(spans, len(text))
        return [
            Piece(id_, part, places[start], places[end], lost)
            for id_, part, (start, end), lost in zip(encoding.ids, parts, spans, unknown, strict=True)
        ]

    def _encodings(self, library: Library, texts: Sequence[str], *, spans: bool = False) -> list[Encoding]:
        # `encode` would hold the interpreter's lock for the whole call; the batch calls release it.
        call = library.encode_batch if spans else library.encode_batch_fast
        try:
            return call([well_formed(text) for text in texts], add_special_tokens=False)
        except BaseException as error:
            raise _typed(error, self.name) from None

    def _engine_for(self, parse_special: bool) -> Library:
        if not parse_special:
            return self._library
        with self._lock:
            if self._parsing is None:
                self._parsing = Library.from_str(self._library.to_str())
            return self._parsing

    def _entries(self, ids: Sequence[int]) -> list[str]:
        """The entry of each id; the library would skip unknown ids in silence."""
        entries: list[str] = []
        for id_ in ids:
            entry = self._library.id_to_token(id_) if 0 <= id_ <= _MAX_ID else None
            if entry is None:
                raise InvalidIds(
                    f"An id is not in the vocabulary {self.name!r}. Send ids that this vocabulary produced."
                )
            entries.append(entry)
        return entries

    def _bytes_of(self, id_: int, entry: str) -> bytes:
        if id_ in self._added_ids and self._form is not _Form.SPACES:
            return entry.encode()
        match self._form:
            case _Form.BYTES:
                return _decoded(entry)
            case _Form.SPACES:
                if _BYTE_ENTRY.fullmatch(entry):
                    return bytes.fromhex(entry[3:5])
                return entry.replace(self._mark, " ").encode()
            case _:
                return entry.removeprefix(self._mark).encode()

    def _is_unknown(self, id_: int, entry: str) -> bool:
        # Unigram models keep the text as the entry and give it the id of the unknown token.
        return id_ == self._unknown_id or self._library.id_to_token(id_) != entry

    def _length_bounds(self, library: Library) -> tuple[int, int] | None:
        """(bytes that may be added, bytes of the longest entry) where both hold for any text, else None."""
        if self._form is not _Form.BYTES or not _keeps_every_byte(library):
            return None
        adds = any(step.get("add_prefix_space") for step in _steps(_state(library.pre_tokenizer), "pretokenizers"))
        if adds and self.always_matched:
            return None  # each stretch between added tokens gets a blank of its own
        entries = (library.id_to_token(id_) or "" for id_ in range(self.vocab_size))
        # An entry has a character per byte, so this is exact for plain entries and generous for added tokens.
        return int(adds), max(len(entry) if entry.isascii() else len(entry.encode()) for entry in entries)


def _load(spec: TokenizerSpec, data: bytes) -> Library:
    """The library's object, set up so that it only ever counts ordinary, whole texts."""
    try:
        library = Library.from_buffer(data)
        library.no_truncation()
        library.no_padding()
        library.encode_special_tokens = True
        if getattr(library.model, "dropout", None) is not None:
            library.model.dropout = None  # training noise: a count must not depend on chance
    except BaseException as error:
        if not isinstance(error, Exception) and not _is_panic(error):
            raise
        raise VocabularyDamaged(
            f"{spec.path.name} is no tokenizer.json that the tokenizers library can read ({_reason(error)}). "
            "Export it again with the library that made it."
        ) from None
    return library


def _typed(error: BaseException, name: str) -> BaseException:
    """The error to raise for what the library threw; its own message may quote the text, so it stays out."""
    if isinstance(error, (TokenizerError, MemoryError)) or not (isinstance(error, Exception) or _is_panic(error)):
        return error
    return TokenizerError(
        f"The tokenizers library gave up on a text ({name}, {type(error).__name__}). "
        "Send it in parts, or without its very long runs of white space."
    )


def _is_panic(error: BaseException) -> bool:
    """Whether Rust code panicked: its class derives from BaseException and cannot be imported."""
    return type(error).__name__ == "PanicException"


def _reason(error: BaseException) -> str:
    return str(error).removeprefix("Cannot instantiate Tokenizer from buffer: ")[:200]


def _state(part: Any) -> dict[str, Any]:
    """What the file says of one part, such as its decoder; the library shows it only in the form it pickles."""
    state: dict[str, Any] = {} if part is None else json.loads(part.__getstate__())
    return state


def _steps(state: dict[str, Any], nested: str) -> list[dict[str, Any]]:
    """The steps of a part that may be a sequence of others, flattened."""
    if not state:
        return []
    if nested not in state:
        return [state]
    return [step for inner in state[nested] for step in _steps(inner, nested)]


def _form(library: Library) -> tuple[_Form, str, bool]:
    """How entries spell bytes, the mark of a space or a continued word, and whether joined bytes are the text's."""
    steps = _steps(_state(library.decoder), "decoders")
    kinds = {step["type"]: step for step in steps}
    if "ByteLevel" in kinds:
        return _Form.BYTES, "", True
    if "WordPiece" in kinds:
        return _Form.WORDS, str(kinds["WordPiece"]["prefix"]), False
    if "Metaspace" in kinds:
        return _Form.SPACES, str(kinds["Metaspace"]["replacement"]), False
    if "ByteFallback" in kinds:
        return _Form.SPACES, "▁", kinds.keys() <= {"Replace", "ByteFallback", "Fuse"}
    return _Form.TEXT, "", False


def _keeps_every_byte(library: Library) -> bool:
    """Whether no step can drop, add or change bytes of a text, so that its length bounds its count."""
    model = library.model
    cuts = _steps(_state(library.pre_tokenizer), "pretokenizers")
    return (
        type(model).__name__ == "BPE"
        and not (model.continuing_subword_prefix or model.end_of_word_suffix)
        and not _steps(_state(library.normalizer), "normalizers")
        and any(cut["type"] == "ByteLevel" for cut in cuts)
        and all(cut["type"] == "ByteLevel" or (cut["type"] == "Split" and cut["behavior"] != "Removed") for cut in cuts)
        and not any(added.lstrip or added.rstrip for added in library.get_added_tokens_decoder().values())
        and all(library.token_to_id(character) is not None for character in _BYTE_OF)
    )


def _decoded(entry: str) -> bytes:
    try:
        return bytes(map(_BYTE_OF.__getitem__, entry))
    except KeyError:  # an entry outside the alphabet: the library takes it as it is
        return entry.encode()


def _places(text: str) -> Sequence[int]:
    """Where each character of ``well_formed(text)``, and its end, stands in ``text``: a joined pair is two there."""
    whole = well_formed(text)
    if len(whole) == len(text):
        return range(len(text) + 1)
    places = [0]
    for character in whole:
        pair = character > "\uffff" and text[places[-1]] < character
        places.append(places[-1] + 1 + pair)
    return places


def _closed(spans: Sequence[tuple[int, int]], length: int) -> list[tuple[int, int]]:
    """``spans`` that reach to the next one: where a normalizer joins characters, the library keeps the first alone."""
    closed: list[tuple[int, int]] = []
    later, following = length, length
    for start, end in reversed(spans):
        if later >= end:
            following = later
        closed.append((start, following))
        later = start
    return closed[::-1]


def _spans(parts: Iterable[bytes]) -> Iterable[tuple[int, int]]:
    """Code points that each part covers, widened to whole characters, where the parts together are the text's UTF-8."""
    begun = 0
    for part in parts:
        start = begun - (part[0] & 0xC0 == 0x80)
        begun += len(part) if part.isascii() else sum(byte & 0xC0 != 0x80 for byte in part)
        yield start, begun
