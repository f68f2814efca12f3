"""From a spec to a tokenizer: the file's hash is checked, loaded once under a lock, and proven by a known answer."""

from __future__ import annotations

import hashlib
import lzma
import os
import threading
from collections.abc import Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import tiktoken

from adapters.bpe.tokenizer import BpeTokenizer
from adapters.bpe.vocabulary import read_ranks
from adapters.claude import ClaudeCounter, PlainTiles, Tiles, Tiling, read_pieces, small_letters, traits
from adapters.huggingface import HuggingFaceTokenizer
from adapters.native import AVAILABLE, FAMILIES
from adapters.native.cores import Cores
from adapters.port import (
    EngineMissing,
    FallbackListener,
    Family,
    TokenCounter,
    Tokenizer,
    TokenizerError,
    TokenizerSpec,
    UnknownVocabulary,
    VocabularyDamaged,
    VocabularyMissing,
    ignore_fallback,
)
from adapters.sentencepiece import SentencePieceTokenizer, check_model
from adapters.tiktoken import TiktokenTokenizer, build_encoding

if AVAILABLE or TYPE_CHECKING:
    from adapters.native._core import Vocabulary
    from adapters.native.claude import NativeTiles
    from adapters.native.tokenizer import NativeTokenizer, read_vocabulary

Engine = Literal["native", "library", "python"]

_PROBE = "Weigh this: 你好, it’s 12345 tonnes…\r\n\tif (x == 1) { return 'ſ'; }  👍🏽 é é"
_MAX_BYTES = 256 * 1024 * 1024
_BUILT_TOGETHER = min(4, os.cpu_count() or 1)


@dataclass(frozen=True, slots=True)
class LoaderOptions:
    """How vocabularies are served.

    ``engine`` is the first choice for tiktoken-style vocabularies: native, the library and plain Python follow one
    another where one cannot serve. With ``require_native`` none follows the native engine, unless it does not know the
    split pattern. ``cuttable`` holds the split patterns whose cut points are known; ``on_fallback`` is told the
    vocabulary's name and the engine that took over. ``cores`` are those that the native engine counts large texts on.
    """

    engine: Engine = "native"
    cuttable: Collection[str] = field(default_factory=frozenset)
    on_fallback: FallbackListener = ignore_fallback
    require_native: bool = False
    cores: Cores | None = None


class Vocabularies:
    """All tokenizers by name, each loaded at most once; after ``load_all`` at start every ``load`` is a look-up."""

    def __init__(self, specs: Mapping[str, TokenizerSpec], options: LoaderOptions | None = None) -> None:
        self.specs = dict(specs)
        self._options = options or LoaderOptions()
        self._loaded: dict[str, TokenCounter] = {}
        self._ranks: dict[str, dict[bytes, int]] = {}
        self._encodings: dict[tuple[str, str], tiktoken.Encoding] = {}
        self._native: dict[tuple[str, str], Vocabulary] = {}
        self._tiles: dict[tuple[str, bool], Tiles] = {}
        self._lock = threading.RLock()

    def load(self, name: str) -> TokenCounter:
        """The tokenizer called ``name``, or the counter where its vocabulary has no ids.

        Raises ``UnknownVocabulary``, ``VocabularyMissing`` (no file) or ``VocabularyDamaged`` (wrong bytes or ids).
        """
        tokenizer = self._loaded.get(name)
        if tokenizer is not None:
            return tokenizer
        spec = self.specs.get(name)
        if spec is None:
            raise UnknownVocabulary(f"No vocabulary has that name. Known: {', '.join(sorted(self.specs))}.")
        with self._lock:
            if name not in self._loaded:
                self._loaded[name] = self._named(spec)
            return self._loaded[name]

    def load_all(self, names: Iterable[str] | None = None) -> dict[str, TokenCounter]:
        """Load every vocabulary, or those in ``names``, and return them by name."""
        chosen = list(self.specs if names is None else names)
        self._build_together(chosen)
        return {name: self.load(name) for name in chosen}

    def _build_together(self, names: Sequence[str]) -> None:
        """Build what the native engine needs for ``names``, several at a time: that rarely holds the interpreter.

        One that cannot be built is left to ``load``, which says why, or lets the next engine serve.
        """
        if not AVAILABLE or self._options.engine != "native":
            return
        with self._lock:
            wanted: dict[tuple[str, str], TokenizerSpec] = {}
            for spec in (self.specs[name] for name in names if name in self.specs and name not in self._loaded):
                if spec.family in (Family.TIKTOKEN, Family.BPE) and spec.pattern in FAMILIES:
                    wanted.setdefault((spec.sha256, FAMILIES[spec.pattern]), spec)
            wanted = {key: spec for key, spec in wanted.items() if key not in self._native}
            with ThreadPoolExecutor(_BUILT_TOGETHER) as pool:
                built = zip(wanted, pool.map(_vocabulary_or_none, wanted.values()), strict=True)
                self._native |= {key: vocabulary for key, vocabulary in built if vocabulary is not None}

    def _named(self, spec: TokenizerSpec) -> TokenCounter:
        """Build a tokenizer; an error says which vocabulary it is about."""
        try:
            return self._build(spec)
        except TokenizerError as error:
            if repr(spec.name) not in str(error) and str(spec.path) not in str(error):
                error.args = (f"The vocabulary {spec.name!r} ({spec.path.name}) cannot serve: {error}",)
            raise

    def _build(self, spec: TokenizerSpec) -> TokenCounter:
        if spec.family in (Family.TIKTOKEN, Family.BPE):
            return self._ranked(spec)
        if spec.family is Family.CLAUDE:
            return self._tiled(spec)
        data = read_verified(spec)
        tokenizer: Tokenizer
        if spec.family is Family.HUGGINGFACE:
            tokenizer = HuggingFaceTokenizer(spec, data)
        else:
            if spec.known_answer is None:
                check_model(data)  # a malformed model can crash its process: a stranger's file is tried in another one
            tokenizer = SentencePieceTokenizer(spec, data)
        return _proven(tokenizer, spec)

    def _tiled(self, spec: TokenizerSpec) -> TokenCounter:
        """A counter of the claude family; vocabularies that differ in their marking alone share what is built."""
        wants_native = self._options.engine == "native"
        if wants_native:
            try:
                self._require_native()
                return _counting(ClaudeCounter(spec, self._tiles_of(spec, native=True)), spec)
            except (EngineMissing, VocabularyDamaged):
                if self._options.require_native:
                    raise
        counter = _counting(ClaudeCounter(spec, self._tiles_of(spec, native=False)), spec)
        if wants_native:
            self._options.on_fallback(spec.name, counter.engine)
        return counter

    def _tiles_of(self, spec: TokenizerSpec, *, native: bool) -> Tiles:
        key = (spec.sha256, native)
        if key not in self._tiles:
            file = read_verified(spec)
            self._tiles[key] = (
                NativeTiles(file, traits(), small_letters()) if native else PlainTiles(Tiling(read_pieces(file)))
            )
        return self._tiles[key]

    def _ranked(self, spec: TokenizerSpec) -> Tokenizer:
        wants_native = self._options.engine == "native" and spec.pattern in FAMILIES
        if wants_native and (native := self._native_or_none(spec)):
            return native
        ranks = self._ranks.get(spec.sha256)
        if ranks is None:
            ranks = self._ranks[spec.sha256] = read_ranks(read_verified(spec))
        if spec.known_answer is None:
            _require_apart(spec, ranks)
        tokenizer = self._library_or_python(spec, ranks)
        if wants_native:
            self._options.on_fallback(spec.name, tokenizer.engine)
        return tokenizer

    def _native_or_none(self, spec: TokenizerSpec) -> Tokenizer | None:
        """The native engine's tokenizer, proven; ``None`` where the next engine has to serve."""
        try:
            self._require_native()
            data: bytes | None = None
            key = (spec.sha256, FAMILIES[spec.pattern])
            if key not in self._native:
                data = read_verified(spec)
                self._native[key] = read_vocabulary(spec.pattern, data)
            tokenizer = NativeTokenizer(spec, self._native[key], self._options.cores)
            if spec.known_answer is not None:
                return _proven(tokenizer, spec)
            ranks = read_ranks(data or read_verified(spec))
            _require_apart(spec, ranks)
            return _proven(tokenizer, spec, twin=BpeTokenizer(spec, ranks))
        except (EngineMissing, VocabularyDamaged):
            if self._options.require_native:
                raise
            return None

    @staticmethod
    def _require_native() -> None:
        if not AVAILABLE:
            raise EngineMissing(
                "The native engine is required but was not built. Install a C compiler and install the package "
                "anew, or unset WEIGHBRIDGE_REQUIRE_NATIVE to be served by the next engine."
            )

    def _library_or_python(self, spec: TokenizerSpec, ranks: dict[bytes, int]) -> Tokenizer:
        plain = BpeTokenizer(spec, ranks)
        if self._options.engine == "python":
            return _proven(plain, spec)
        fast = TiktokenTokenizer(
            spec,
            self._encoding(spec, ranks),
            fallback=plain,
            cuttable=spec.pattern in self._options.cuttable,
            on_fallback=self._options.on_fallback,
        )
        try:
            return _proven(fast, spec, twin=plain)
        except VocabularyDamaged:
            _proven(plain, spec)
            if self._options.engine == "library":
                self._options.on_fallback(spec.name, plain.engine)
            return plain

    def _encoding(self, spec: TokenizerSpec, ranks: dict[bytes, int]) -> tiktoken.Encoding:
        """One encoding for all vocabularies that differ in their special tokens alone: it holds the ranks once more."""
        key = (spec.sha256, spec.pattern)
        if key not in self._encodings:
            self._encodings[key] = build_encoding(spec.name, spec.pattern, ranks)
        return self._encodings[key]


def _vocabulary_or_none(spec: TokenizerSpec) -> Vocabulary | None:
    try:
        return read_vocabulary(spec.pattern, read_verified(spec))
    except TokenizerError:
        return None


def read_verified(spec: TokenizerSpec) -> bytes:
    """The bytes of ``spec``'s file, decompressed and with the hash the spec states; nothing is repaired or removed."""
    try:
        packed = spec.path.read_bytes()
    except FileNotFoundError:
        raise VocabularyMissing(
            f"The vocabulary {spec.name!r} is not installed: {spec.path.name} does not exist. "
            f"`weighbridge vocab add {spec.name}` installs one that is fetched on request."
        ) from None
    except OSError as error:
        raise VocabularyMissing(
            f"The vocabulary {spec.name!r} cannot be read from {spec.path}: {error.strerror}."
        ) from None
    data = _decompressed(spec, packed) if spec.path.suffix == ".xz" else packed
    found = hashlib.sha256(data).hexdigest()
    if found != spec.sha256:
        raise _damaged(spec, f"found {found}")
    return data


def _decompressed(spec: TokenizerSpec, packed: bytes) -> bytes:
    decompressor = lzma.LZMADecompressor()
    try:
        data = decompressor.decompress(packed, max_length=(spec.bytes or _MAX_BYTES) + 1)
    except lzma.LZMAError as error:
        raise _damaged(spec, f"it cannot be decompressed ({error})") from None
    if not decompressor.eof:
        raise _damaged(spec, "it is cut short or longer than stated")
    return data


def _damaged(spec: TokenizerSpec, finding: str) -> VocabularyDamaged:
    return VocabularyDamaged(
        f"The vocabulary file {spec.path} is damaged: expected sha256 {spec.sha256}, {finding}. "
        "Put the right file in its place; nothing was changed."
    )


def _require_apart(spec: TokenizerSpec, ranks: Mapping[bytes, int]) -> None:
    """Refuse special tokens whose ids already stand for ordinary bytes."""
    taken = {rank + spec.rank_offset for rank in ranks.values()}
    clashing = sorted(literal for literal, special_id in spec.special.items() if special_id in taken)
    if clashing:
        raise VocabularyDamaged(
            f"Special tokens of the vocabulary {spec.name!r} have ids that its file gives to ordinary text: "
            f"{', '.join(clashing[:5])}."
        )


def _counting(counter: TokenCounter, spec: TokenizerSpec) -> TokenCounter:
    """``counter``, once it gives the known answer."""
    known = spec.known_answer
    if known is not None and counter.count(known.text) != known.tokens:
        raise VocabularyDamaged(
            f"The vocabulary {spec.name!r} does not give the known answer with the engine {counter.engine!r}. "
            "Its file or its marking does not belong to it."
        )
    return counter


def _proven(tokenizer: Tokenizer, spec: TokenizerSpec, *, twin: Tokenizer | None = None) -> Tokenizer:
    """``tokenizer``, once it gives the known answer; one without such an answer must agree with its slower twin."""
    known = spec.known_answer
    text = known.text if known else _PROBE
    ids = tokenizer.encode(text)
    expected = list(known.ids) if known else (twin or tokenizer).encode(text)
    if ids != expected or tokenizer.count(text) != len(expected):
        raise VocabularyDamaged(
            f"The vocabulary {spec.name!r} does not give the known answer with the engine {tokenizer.engine!r}: "
            f"{len(ids)} ids where {len(expected)} are right. Its file, pattern or normalizer does not belong to it."
        )
    if known is None and spec.pattern and not spec.normalizer and tokenizer.decode(ids) != text:
        raise VocabularyDamaged(
            f"The split pattern of the vocabulary {spec.name!r} leaves some text out, which would not be counted. "
            r"Let it match everything, for example by ending it with |\s+|[\s\S]."
        )
    return tokenizer
