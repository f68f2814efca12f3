"""Tokenizers from a ``tokenizer.json``: toy files made by the library itself, and what it may not do with a text."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from tokenizers import (
    AddedToken,
    Regex,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
)

from adapters.huggingface import HuggingFaceTokenizer
from adapters.loader import Vocabularies
from adapters.port import Family, Piece, TokenizerError, TokenizerSpec, VocabularyDamaged
from tests.fuzz import strings

BYTES = sorted(pre_tokenizers.ByteLevel.alphabet())


def ours(library: Tokenizer) -> HuggingFaceTokenizer:
    return HuggingFaceTokenizer(spec(), library.to_str().encode())


def spec() -> TokenizerSpec:
    return TokenizerSpec(name="toy", family=Family.HUGGINGFACE, path=Path("toy.tokenizer.json"), sha256="0" * 64)


def byte_level(merges: Sequence[tuple[str, str]] = (), *, normalizer: object = None, prefix: bool = False) -> Tokenizer:
    """A byte-level BPE: 256 bytes, and what ``merges`` make of them."""
    vocabulary = {entry: number for number, entry in enumerate([*BYTES, *(a + b for a, b in merges)])}
    library = Tokenizer(models.BPE(vocabulary, list(merges)))
    library.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=prefix)
    library.decoder = decoders.ByteLevel()
    library.post_processor = processors.ByteLevel(trim_offsets=True)
    library.normalizer = normalizer
    return library


def word_level(*words: str) -> Tokenizer:
    library = Tokenizer(models.WordLevel({word: number for number, word in enumerate(["[UNK]", *words])}, "[UNK]"))
    library.pre_tokenizer = pre_tokenizers.Whitespace()
    return library


def spans(pieces: Sequence[Piece]) -> list[tuple[bytes, int, int]]:
    return [(piece.bytes, piece.start, piece.end) for piece in pieces]


@pytest.fixture(scope="module")
def bert(vocabularies: Vocabularies) -> HuggingFaceTokenizer:
    tokenizer = vocabularies.load("bert_uncased")
    assert isinstance(tokenizer, HuggingFaceTokenizer)
    return tokenizer


@pytest.fixture(scope="module")
def deepseek(vocabularies: Vocabularies) -> HuggingFaceTokenizer:
    tokenizer = vocabularies.load("deepseek")
    assert isinstance(tokenizer, HuggingFaceTokenizer)
    return tokenizer


def test_saved_truncation_and_padding_do_not_change_a_count() -> None:
    library = word_level("hello")
    library.enable_truncation(16)
    library.enable_padding(length=64, pad_id=0, pad_token="[UNK]")
    tokenizer = ours(library)
    assert tokenizer.count("hello " * 151) == 151
    assert tokenizer.count_batch(["hello", "hello " * 151]) == [1, 151]
    assert tokenizer.encode("hello " * 151, parse_special=True) == [1] * 151


@pytest.mark.xdist_group("bert_uncased")
def test_a_vocabulary_whose_file_cuts_at_128_counts_the_whole_text(bert: HuggingFaceTokenizer) -> None:
    assert bert.count("weigh " * 1_000) == 1_000 * bert.count("weigh")


def test_what_the_post_processor_adds_is_told_apart_from_the_count() -> None:
    library = word_level("hello", "<s>")
    library.post_processor = processors.TemplateProcessing("<s> $A", special_tokens=[("<s>", 2)])
    tokenizer = ours(library)
    assert tokenizer.count("hello " * 150) == 150
    assert tokenizer.added_tokens == 1


@pytest.mark.xdist_group("bert_uncased")
def test_bert_adds_two_tokens_when_asked(bert: HuggingFaceTokenizer) -> None:
    assert bert.added_tokens == 2
    assert sorted(bert.special_tokens) == ["[CLS]", "[MASK]", "[PAD]", "[SEP]", "[UNK]"]


@pytest.mark.xdist_group("deepseek")
def test_deepseek_adds_none(deepseek: HuggingFaceTokenizer) -> None:
    assert deepseek.added_tokens == 0


def test_a_special_token_in_a_text_is_spelled_out() -> None:
    library = byte_level()
    library.add_special_tokens(["<|im_start|>"])
    tokenizer = ours(library)
    assert tokenizer.count("<|im_start|>") == 12
    assert tokenizer.encode("<|im_start|>", parse_special=True) == [256]


def test_an_added_token_that_is_not_special_matches_in_every_text() -> None:
    library = byte_level()
    library.add_tokens(["<think>"])
    tokenizer = ours(library)
    assert tokenizer.encode("a<think>") == [tokenizer.encode("a")[0], 256]
    assert dict(tokenizer.always_matched) == {"<think>": 256}
    assert dict(tokenizer.special_tokens) == {}
    assert spans(tokenizer.pieces("a<think>")) == [(b"a", 0, 1), (b"<think>", 1, 8)]


def test_an_added_token_keeps_letters_that_spell_bytes_elsewhere() -> None:
    library = byte_level()
    library.add_tokens(["Zoé"])  # in the byte alphabet é stands for 0xE9
    tokenizer = ours(library)
    ids = tokenizer.encode("chez Zoé")
    assert ids[-1] == 256
    assert tokenizer.decode(ids) == "chez Zoé"


def test_merge_dropout_saved_in_the_file_does_not_make_counts_random() -> None:
    library = Tokenizer(models.BPE({"a": 0, "b": 1, "ab": 2}, [("a", "b")], dropout=0.5))
    tokenizer = ours(library)
    assert {tokenizer.count("abab") for _ in range(50)} == {2}


@pytest.mark.xdist_group("deepseek")
def test_many_threads_encode_one_tokenizer_without_an_already_borrowed_error(deepseek: HuggingFaceTokenizer) -> None:
    texts = list(strings(40, seed=2))
    expected = deepseek.count_batch(texts)

    def forty_batches(_: int) -> bool:
        return all(deepseek.count_batch(texts) == expected for _ in range(40))

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(forty_batches, range(8)))


def test_threads_that_parse_special_tokens_first_share_one_second_tokenizer() -> None:
    library = byte_level()
    library.add_special_tokens(["<eos>"])
    tokenizer = ours(library)
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda _: tokenizer.encode("<eos>", parse_special=True), range(64)))
    assert results == [[256]] * 64


def test_a_panic_of_the_library_becomes_a_tokenizer_error_without_the_text() -> None:
    """A pattern that backtracks too long makes Rust panic, and a panic passes every ``except Exception``."""
    library = byte_level()
    library.pre_tokenizer = pre_tokenizers.Split(Regex("(?:a|aa)+$"), "isolated")
    tokenizer = ours(library)
    text = "a" * 60 + "b"
    calls: list[Callable[[], object]] = [
        lambda: tokenizer.count(text),
        lambda: tokenizer.count_batch(["fine", text]),
        lambda: tokenizer.encode(text),
        lambda: tokenizer.pieces(text),
    ]
    for call in calls:
        with pytest.raises(TokenizerError, match="gave up on a text") as raised:
            call()
        assert "aaaa" not in str(raised.value)
    assert tokenizer.count("fine") == 4


def test_an_error_of_the_library_becomes_a_tokenizer_error() -> None:
    tokenizer = ours(Tokenizer(models.WordPiece({"a": 0}, unk_token="[UNK]")))
    with pytest.raises(TokenizerError, match="gave up on a text"):
        tokenizer.count("no such word, and no token for unknown ones")


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{}",
        b"[]",
        b"\xff\xfe",
        b'{"model": {"type": "BPE", "vocab": {}, "merges": [["a", "b"]]}}',
        b'{"model": {"type": "Abacus"}}',
        word_level("a").to_str().encode()[:-5],
        json.dumps(
            {
                **json.loads(word_level("a").to_str()),
                "normalizer": {"type": "Precompiled", "precompiled_charsmap": "AAAA"},
            }
        ).encode(),
    ],
    ids=["empty", "no model", "a list", "not UTF-8", "a merge of nothing", "unknown model", "cut short", "panic"],
)
def test_a_file_that_cannot_be_read_is_refused_with_what_to_do(data: bytes) -> None:
    with pytest.raises(VocabularyDamaged, match=r"toy\.tokenizer\.json is no tokenizer\.json .* Export it again"):
        HuggingFaceTokenizer(spec(), data)


def test_spans_include_the_blank_of_a_word() -> None:
    """The library's own offsets leave it out where the file says ``trim_offsets``."""
    tokenizer = ours(byte_level([("Ġ", "h"), ("Ġh", "i")]))
    assert spans(tokenizer.pieces("hi hi")) == [(b"h", 0, 1), (b"i", 1, 2), (b" hi", 2, 5)]


def test_spans_of_a_normalized_text_refer_to_the_original() -> None:
    tokenizer = ours(byte_level(normalizer=normalizers.NFC()))
    assert spans(tokenizer.pieces("e\u0301x")) == [(b"\xc3", 0, 2), (b"\xa9", 0, 2), (b"x", 2, 3)]
    assert spans(tokenizer.pieces("\u0958x"))[-1] == (b"x", 1, 2)  # one character that NFC makes two


def test_a_blank_that_the_tokenizer_puts_before_a_text_covers_nothing_of_it() -> None:
    tokenizer = ours(byte_level(prefix=True))
    pieces = tokenizer.pieces("hi")
    assert [piece.bytes for piece in pieces] == [b" ", b"h", b"i"]
    assert [(piece.start, piece.end) for piece in pieces[1:]] == [(0, 1), (1, 2)]


@pytest.mark.xdist_group("bert_uncased")
def test_wordpiece_spans_refer_to_the_text_before_lowering_and_stripping(bert: HuggingFaceTokenizer) -> None:
    text = "Überweighed é e\u0301 x"
    pieces = bert.pieces(text)
    assert b"".join(piece.bytes for piece in pieces) == b"uberweighedeex"
    assert [text[piece.start : piece.end] for piece in pieces][-3:] == ["é", "e", "x"]
    assert pieces[0].start == 0


@pytest.mark.xdist_group("bert_uncased")
def test_a_word_that_wordpiece_does_not_know_is_marked_and_keeps_its_text(bert: HuggingFaceTokenizer) -> None:
    pieces = bert.pieces("a 你 b")
    assert [(piece.bytes.decode(), piece.unknown) for piece in pieces] == [("a", False), ("你", True), ("b", False)]


def test_an_unknown_run_of_a_unigram_model_is_one_marked_piece() -> None:
    tokenizer = ours(Tokenizer(models.Unigram([("<unk>", 0.0), ("a", -1.0)], unk_id=0)))
    assert tokenizer.pieces("azza") == [
        Piece(1, b"a", 0, 1),
        Piece(0, b"zz", 1, 3, unknown=True),
        Piece(1, b"a", 3, 4),
    ]


def test_byte_fallback_pieces_are_one_byte_each_and_cover_the_character() -> None:
    entries = [*(f"<0x{byte:02X}>" for byte in range(256)), "▁", "a", "▁a"]
    library = Tokenizer(models.BPE({e: n for n, e in enumerate(entries)}, [("▁", "a")], byte_fallback=True))
    library.normalizer = normalizers.Replace(" ", "▁")
    library.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
    tokenizer = ours(library)
    pieces = tokenizer.pieces("a a🦙")
    assert spans(pieces) == [(b"a", 0, 1), (b" a", 1, 3), *((bytes([byte]), 3, 4) for byte in "🦙".encode())]
    ids = [piece.id for piece in pieces]
    assert tokenizer.decode(ids) == "a a🦙"
    assert tokenizer.decode_bytes(ids[:-1]) == "a a🦙".encode()[:-1]


@pytest.mark.parametrize("prefix", [False, True])
@pytest.mark.parametrize("added", [[], ["<think>", "你好"], ["x|"]])
def test_length_bounds_decide_fits_as_the_count_does(prefix: bool, added: list[str]) -> None:
    library = byte_level([("Ġ", "h"), ("a", "a"), ("aa", "aa")], prefix=prefix)
    library.add_tokens(added)
    tokenizer = ours(library)
    for text in (*strings(500, seed=4), "a" * 100, "ax|bx|" * 9, "<think>" * 9, "你好" * 5, " h" * 8):
        count = tokenizer.count(text)
        assert [tokenizer.fits(text, count + step) for step in (-1, 0, 1)] == [False, True, True], text


@pytest.mark.parametrize(
    "library",
    [
        byte_level(normalizer=normalizers.Strip()),
        word_level("a"),
        Tokenizer(models.BPE({"a": 0}, [])),
    ],
    ids=["normalizer that drops", "words", "no bytes"],
)
def test_a_text_that_is_dropped_fits_whatever_its_length(library: Tokenizer) -> None:
    tokenizer = ours(library)
    text = "\n" * 10_000
    assert tokenizer.fits(text, tokenizer.count(text))


def test_an_added_token_that_swallows_blanks_does_not_break_the_length_bounds() -> None:
    library = byte_level()
    library.add_tokens([AddedToken("<think>", rstrip=True)])
    tokenizer = ours(library)
    assert tokenizer.count("<think>" + " " * 1_000) == 1
    assert tokenizer.fits("<think>" + " " * 1_000, 1)


@pytest.mark.parametrize(("before", "after"), [(None, "false"), ("true", "true")])
def test_the_librarys_own_threads_stay_off_unless_asked_for(before: str | None, after: str) -> None:
    variable = "TOKENIZERS_PARALLELISM"
    env = {name: value for name, value in os.environ.items() if name != variable} | (
        {variable: before} if before else {}
    )
    program = f"import os, adapters.huggingface; print(os.environ['{variable}'])"
    done = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == after


def test_the_name_and_hash_are_those_of_the_spec() -> None:
    tokenizer = HuggingFaceTokenizer(replace(spec(), name="mine", sha256="ab" * 32), byte_level().to_str().encode())
    assert (tokenizer.name, tokenizer.sha256, tokenizer.vocab_size) == ("mine", "ab" * 32, 256)
