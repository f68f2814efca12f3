"""Twenty thousand odd strings for each vocabulary, beside the family's own library built from the raw file.

For a vocabulary with a normalizer the reference normalizes with `tokenizers`, whose Unicode version the vendors use.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence

import tiktoken
import tokenizers
from sentencepiece import SentencePieceProcessor
from tokenizers import normalizers

from adapters.loader import read_verified
from adapters.port import Family, Tokenizer, TokenizerSpec
from tests.fuzz import long_string, strings

COUNT = 20_000
Encode = Callable[[Sequence[str]], list[list[int]]]


def test_ids_are_those_of_the_familys_own_library(any_tokenizer: Tokenizer, specs: dict[str, TokenizerSpec]) -> None:
    texts = list(strings(COUNT, seed=20_261_129))
    expected = reference(specs[any_tokenizer.name])(list(map(repaired, texts)))
    assert_same(texts, [any_tokenizer.encode(text) for text in texts], expected)


def test_batch_counts_are_those_of_the_familys_own_library(
    any_tokenizer: Tokenizer, specs: dict[str, TokenizerSpec]
) -> None:
    texts = list(strings(COUNT, seed=11))
    expected = reference(specs[any_tokenizer.name])(list(map(repaired, texts)))
    assert_same(texts, any_tokenizer.count_batch(texts), list(map(len, expected)))


def test_long_texts_count_as_in_the_familys_own_library(
    any_tokenizer: Tokenizer, specs: dict[str, TokenizerSpec]
) -> None:
    """A long text may be counted in chunks; no chunk may change the count."""
    prose = "The weighbridge weighs 12 trucks, and some more.  No blank\nis lost; 你好，世界。(Really!) "
    texts = [long_string(220_000, seed) for seed in (1, 2)] + [prose * 3_000, "word" * 20_000 + prose * 2_000]
    expected = reference(specs[any_tokenizer.name])(texts)
    assert_same(texts, [any_tokenizer.count(text) for text in texts], list(map(len, expected)))


def test_a_text_cut_anywhere_counts_as_in_the_familys_own_library(
    ranked_tokenizer: Tokenizer, specs: dict[str, TokenizerSpec]
) -> None:
    """The first cut of a long text falls on each place of a text full of edges, one after the other."""
    edges = " a's  b'LL 1 23.\n\n  c. d ) e, ，f。 你好 世界、 \t x\r\n y  ! \u00a0z ｡ five     blanks 好    。"
    texts = [("w" * 7 + " ") * 8_190 + edges[turn:] + edges[:turn] + "tail " * 20 for turn in range(len(edges))]
    expected = reference(specs[ranked_tokenizer.name])(texts)
    assert_same(texts, [ranked_tokenizer.count(text) for text in texts], list(map(len, expected)))


def reference(spec: TokenizerSpec) -> Encode:
    data = read_verified(spec)
    match spec.family:
        case Family.TIKTOKEN:
            return _tiktoken(spec, data)
        case Family.HUGGINGFACE:
            return _huggingface(data)
        case _:
            return _sentencepiece(data)


def repaired(text: str) -> str:
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def assert_same(texts: Sequence[str], ours: Sequence[object], theirs: Sequence[object]) -> None:
    assert len(texts) == len(ours) == len(theirs)
    wrong = [(text[:80], a, b) for text, a, b in zip(texts, ours, theirs, strict=True) if a != b]
    assert not wrong, f"{len(wrong)} of {len(texts)} differ, such as {wrong[:3]!r:.2000}"


def _tiktoken(spec: TokenizerSpec, data: bytes) -> Encode:
    pairs = (line.split() for line in data.splitlines())
    ranks = {base64.b64decode(entry): int(rank) for entry, rank in pairs}
    encoding = tiktoken.Encoding("reference", pat_str=spec.pattern, mergeable_ranks=ranks, special_tokens={})
    forms = {"NFC": normalizers.NFC, "NFKC": normalizers.NFKC}
    normalize = forms[spec.normalizer]().normalize_str if spec.normalizer else str

    def encode(texts: Sequence[str]) -> list[list[int]]:
        encoded = encoding.encode_ordinary_batch([normalize(text) for text in texts], num_threads=1)
        return [[rank + spec.rank_offset for rank in ranks] for ranks in encoded]

    return encode


def _huggingface(data: bytes) -> Encode:
    tokenizer = tokenizers.Tokenizer.from_str(data.decode())
    tokenizer.no_truncation()
    tokenizer.no_padding()
    tokenizer.encode_special_tokens = True

    def encode(texts: Sequence[str]) -> list[list[int]]:
        return [tokenizer.encode(text, add_special_tokens=False).ids for text in texts]

    return encode


def _sentencepiece(data: bytes) -> Encode:
    processor = SentencePieceProcessor(model_proto=data)

    def encode(texts: Sequence[str]) -> list[list[int]]:
        return [processor.encode(text, out_type=int) for text in texts]

    return encode
