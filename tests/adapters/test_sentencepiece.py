"""SentencePiece models: toy ones trained here, the vendored ones, random encodings, and models that are no good."""

from __future__ import annotations

import io
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import pytest
import sentencepiece

from adapters.loader import Vocabularies
from adapters.port import Family, InvalidIds, Piece, Sampler, TokenizerError, TokenizerSpec, VocabularyDamaged
from adapters.sentencepiece import SentencePieceTokenizer, check_model
from adapters.sentencepiece.model import EntryKind, ModelFacts, ModelKind, read_entries, read_facts
from tests.fuzz import strings

CORPUS = ["hello world"] * 40 + ["the quick brown fox jumps over the lazy dog"] * 5 + ["lower newest widest low"] * 9
KEEP = {"normalization_rule_name": "identity", "remove_extra_whitespaces": False}
KINDS: dict[str, dict[str, object]] = {
    "unigram": {},
    "unigram bytes": {"byte_fallback": True, "vocab_size": 330},
    "unigram kept": {**KEEP},
    "unigram suffix": {"treat_whitespace_as_suffix": True},
    "unigram symbols": {"user_defined_symbols": ["<tool>", "the", "he"]},
    "bpe": {"model_type": "bpe"},
    "bpe bytes": {"model_type": "bpe", "byte_fallback": True, "vocab_size": 330},
    "bpe kept bytes": {"model_type": "bpe", "byte_fallback": True, "vocab_size": 330, **KEEP},
    "bpe symbols": {"model_type": "bpe", "user_defined_symbols": ["<tool>", "the", "he"]},
    "no prefix": {"add_dummy_prefix": False, **KEEP},
    "words": {"model_type": "word"},
    "characters": {"model_type": "char"},
}
TEXTS = tuple(strings(400, seed=9, surrogates=False))
all_kinds = pytest.mark.parametrize("kind", KINDS)


@cache
def model(kind: str) -> bytes:
    writer = io.BytesIO()
    options = {"vocab_size": 70, "hard_vocab_limit": False, "num_threads": 1, "minloglevel": 2, **KINDS[kind]}
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(CORPUS), model_writer=writer, **options)
    return writer.getvalue()


@cache
def toy(kind: str) -> SentencePieceTokenizer:
    return ours(model(kind))


def ours(data: bytes) -> SentencePieceTokenizer:
    return SentencePieceTokenizer(TokenizerSpec("toy", Family.SENTENCEPIECE, Path("toy.model"), "0" * 64), data)


def library(kind: str) -> sentencepiece.SentencePieceProcessor:
    return sentencepiece.SentencePieceProcessor(model_proto=model(kind))


def spans(pieces: list[Piece]) -> list[tuple[bytes, int, int]]:
    return [(piece.bytes, piece.start, piece.end) for piece in pieces]


@pytest.fixture(scope="module")
def v3(vocabularies: Vocabularies) -> SentencePieceTokenizer:
    tokenizer = vocabularies.load("mistral_v3")
    assert isinstance(tokenizer, SentencePieceTokenizer)
    return tokenizer


@all_kinds
def test_a_toy_model_encodes_counts_and_fits_as_the_library_does(kind: str) -> None:
    tokenizer, reference = toy(kind), library(kind)
    expected = [reference.encode(text) for text in TEXTS]
    assert [tokenizer.encode(text) for text in TEXTS] == expected
    assert tokenizer.count_batch(TEXTS) == list(map(len, expected))
    for text, ids in zip(TEXTS, expected, strict=True):
        assert [tokenizer.fits(text, len(ids) + step) for step in (-1, 0, 1)] == [False, True, True], text


@all_kinds
def test_decoded_bytes_are_the_librarys(kind: str) -> None:
    tokenizer, reference = toy(kind), library(kind)
    for text in TEXTS:
        ids = reference.encode(text)
        assert tokenizer.decode_bytes(ids) == reference.decode(ids, out_type=bytes), text
        assert tokenizer.decode(ids) == reference.decode(ids)


@all_kinds
def test_the_entries_read_from_the_file_are_those_the_library_tells(kind: str) -> None:
    entries, reference = read_entries(model(kind)), library(kind)
    ids = list(range(reference.vocab_size()))
    assert [entry.piece for entry in entries] == reference.id_to_piece(ids)
    assert [entry.score for entry in entries] == reference.get_score(ids)
    assert [entry.kind is EntryKind.CONTROL for entry in entries] == reference.is_control(ids)
    assert [entry.kind is EntryKind.BYTE for entry in entries] == reference.is_byte(ids)
    assert [entry.kind is EntryKind.UNKNOWN for entry in entries] == reference.is_unknown(ids)


def test_the_settings_of_a_model_are_read_from_its_file() -> None:
    plain = ModelFacts(
        kind=ModelKind.UNIGRAM,
        byte_fallback=False,
        space_last=False,
        dummy_prefix=True,
        squeezes=True,
        rewrites=True,
        denormalizes=False,
    )
    assert read_facts(model("unigram")) == plain
    assert read_facts(model("unigram suffix")).space_last
    kept = read_facts(model("bpe kept bytes"))
    assert (kept.kind, kept.byte_fallback, kept.squeezes, kept.rewrites) == (ModelKind.BPE, True, False, False)
    assert not read_facts(model("no prefix")).dummy_prefix
    assert (read_facts(model("words")).kind, read_facts(model("characters")).kind) == (ModelKind.WORD, ModelKind.CHAR)


def test_a_control_symbol_in_a_text_is_spelled_out() -> None:
    tokenizer = toy("unigram bytes")
    assert dict(tokenizer.special_tokens) == {"<s>": 1, "</s>": 2}
    assert tokenizer.count("</s>") == 5  # ▁ < / s >
    assert tokenizer.encode("</s>", parse_special=True) == [2]
    assert tokenizer.added_tokens == 1


def test_a_user_defined_symbol_matches_wherever_it_stands() -> None:
    tokenizer = toy("unigram symbols")
    assert [piece.bytes for piece in tokenizer.pieces("<tool>")] == [b" ", b"<tool>"]
    assert tokenizer.count("x<tool>y") == 4
    assert dict(tokenizer.always_matched) == {"<tool>": 3, "the": 4, "he": 5}
    assert tokenizer.always_matched is tokenizer.always_matched  # a large model takes a second to read


def test_byte_fallback_gives_a_piece_for_each_byte() -> None:
    tokenizer = toy("bpe kept bytes")
    llama = "🦙".encode()
    assert [tokenizer.count(text) for text in ("🦙", "🦙🦙")] == [5, 9]
    assert spans(tokenizer.pieces("🦙")) == [(b" ", 0, 0), *((bytes([byte]), 0, 1) for byte in llama)]
    assert spans(tokenizer.pieces("a\nb\0")) == [(b" ", 0, 0), (b"a", 0, 1), (b"\n", 1, 2), (b"b", 2, 3), (b"\0", 3, 4)]


def test_without_byte_fallback_an_unknown_run_is_one_marked_piece() -> None:
    pieces = toy("unigram").pieces("🦙🦙")
    assert pieces[1:] == [Piece(0, "🦙🦙".encode(), 0, 2, unknown=True)]
    assert len(pieces) == 2


@pytest.mark.parametrize(
    ("kind", "counts"),
    [("bpe bytes", (2, 2, 3, 2)), ("bpe kept bytes", (3, 5, 4, 3))],
    ids=["rewriting", "keeping"],
)
def test_what_is_counted_is_the_normalized_text(kind: str, counts: tuple[int, ...]) -> None:
    texts = ("hello  world", "hello\n\nworld", "ﬁ", " hello world")
    assert tuple(toy(kind).count_batch(texts)) == counts


def test_spans_refer_to_the_text_before_it_was_rewritten() -> None:
    rewriting = toy("bpe bytes")
    assert spans(rewriting.pieces("  hello   world  ")) == [(b" hello", 2, 7), (b" world", 7, 15)]
    tokenizer = toy("unigram")
    assert [(piece.start, piece.end) for piece in tokenizer.pieces("fﬁo")] == [(0, 0), (0, 1), (1, 2), (1, 2), (2, 3)]
    assert spans(tokenizer.pieces("o㍿o")) == [(b" ", 0, 0), (b"o", 0, 1), ("㍿".encode(), 1, 2), (b"o", 2, 3)]
    assert spans(tokenizer.pieces("a\x01\x02b"))[-1] == (b"b", 3, 4)


def test_a_blank_put_behind_a_text_covers_nothing() -> None:
    assert toy("unigram suffix").pieces("hello o")[-1] == Piece(library("unigram suffix").piece_to_id("▁"), b" ", 7, 7)


@all_kinds
def test_spans_are_at_least_the_librarys_own(kind: str) -> None:
    """The first piece apart: the library counts what was dropped before the text to the blank it puts there."""
    tokenizer, reference = toy(kind), library(kind)
    for text in TEXTS:
        offsets = reference.encode(text, out_type="offset_mapping")["offsets"]
        pieces = tokenizer.pieces(text)
        assert len(pieces) == len(offsets)
        for piece, (start, end) in list(zip(pieces, offsets, strict=True))[1:]:
            assert start == end or (piece.start <= start and end <= piece.end), text


@pytest.mark.xdist_group("mistral_v3")
def test_stretches_between_control_symbols_are_texts_of_their_own(v3: SentencePieceTokenizer) -> None:
    """As in mistral-common, which encodes each part of a chat by itself: [INST]Hello[/INST] is 3 + the content."""
    begin, end = v3.special_tokens["[INST]"], v3.special_tokens["[/INST]"]
    assert v3.encode("[INST]Hello[/INST]", parse_special=True) == [begin, *v3.encode("Hello"), end]
    assert (begin, end) == (3, 4)
    pieces = v3.pieces("[INST]Hello[/INST]", parse_special=True)
    assert spans(pieces) == [(b"[INST]", 0, 6), (b" Hello", 6, 11), (b"[/INST]", 11, 18)]


@pytest.mark.xdist_group("mistral_v3")
def test_control_symbols_are_invisible_when_decoded(v3: SentencePieceTokenizer) -> None:
    ids = v3.encode("<s>[INST]Hello[/INST]", parse_special=True)
    assert v3.decode(ids) == "Hello"
    assert v3.decode_bytes(ids) == b"Hello"


@pytest.mark.xdist_group("mistral_v3")
def test_where_two_control_symbols_start_the_longer_one_is_parsed(v3: SentencePieceTokenizer) -> None:
    assert v3.encode("[control_12]", parse_special=True) == [v3.special_tokens["[control_12]"]]
    assert v3.encode("[control_120]", parse_special=True) == [v3.special_tokens["[control_120]"]]


@pytest.mark.parametrize("ids", [[-1], [10**6], [2**63]])
def test_ids_outside_a_toy_vocabulary_are_refused(ids: list[int]) -> None:
    with pytest.raises(InvalidIds, match="its ids are 0 to"):
        toy("unigram").decode(ids)


# Random encodings


@pytest.mark.parametrize(
    "kind", ["unigram", "unigram bytes", "unigram symbols", "bpe", "bpe kept bytes", "bpe symbols"]
)
def test_sampled_encodings_are_encodings_of_the_text(kind: str) -> None:
    tokenizer, reference = toy(kind), library(kind)
    for text in TEXTS[:60]:
        for ids in tokenizer.sample(text, n=3, alpha=0.3, seed=1):
            assert tokenizer.decode(ids) == reference.decode(reference.encode(text)), text


def test_the_same_seed_gives_the_same_encodings_and_another_one_others() -> None:
    tokenizer = toy("unigram")
    text = "the quick brown fox jumps over the lazy dog"
    first = tokenizer.sample(text, n=20, alpha=0.1, seed=1)
    assert tokenizer.sample(text, n=20, alpha=0.1, seed=1) == first
    assert tokenizer.sample(text, n=5, alpha=0.1, seed=1) == first[:5]
    assert tokenizer.sample(text, n=20, alpha=0.1, seed=2) != first
    assert len({tuple(ids) for ids in first}) > 3


def test_a_seed_means_the_same_in_another_process(tmp_path: Path) -> None:
    """The library salts its generator for each process."""
    file = tmp_path / "toy.model"
    file.write_bytes(model("unigram"))
    program = (
        "import sys; from pathlib import Path\n"
        "from adapters.port import Family, TokenizerSpec\n"
        "from adapters.sentencepiece import SentencePieceTokenizer\n"
        "file = Path(sys.argv[1])\n"
        "tokenizer = SentencePieceTokenizer(TokenizerSpec('toy', Family.SENTENCEPIECE, file, ''), file.read_bytes())\n"
        "print(tokenizer.sample('hello lower world', n=20, alpha=0.1, seed=7))"
    )
    done = subprocess.run([sys.executable, "-c", program, str(file)], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(toy("unigram").sample("hello lower world", n=20, alpha=0.1, seed=7))


@pytest.mark.parametrize("kind", ["unigram", "bpe"])
def test_a_seed_means_the_same_in_every_thread(kind: str) -> None:
    tokenizer = toy(kind)

    def draws(seed: int) -> list[list[int]]:
        return tokenizer.sample("the lazy fox jumps lower", n=30, alpha=0.2, seed=seed)

    expected = [draws(seed) for seed in range(8)]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(draws, list(range(8)) * 5)) == expected * 5


@pytest.mark.parametrize(
    ("kind", "alpha"), [("unigram", 0.1), ("unigram", 0.5), ("unigram symbols", 0.1), ("bpe", 0.1)]
)
def test_encodings_are_drawn_about_as_often_as_the_library_draws_them(kind: str, alpha: float) -> None:
    """Total variation between 4,000 draws of each; two runs of the library itself differ by about 0.02 (BPE: 0.04)."""
    text, reference = "lowest then", library(kind)
    drawn = Counter(map(tuple, toy(kind).sample(text, n=4_000, alpha=alpha, seed=3)))
    theirs = Counter(
        tuple(reference.encode(text, enable_sampling=True, nbest_size=-1, alpha=alpha)) for _ in range(4_000)
    )
    assert sum(abs(drawn[ids] - theirs[ids]) for ids in drawn | theirs) / 8_000 < 0.1


@pytest.mark.parametrize("kind", ["bpe", "bpe bytes", "bpe kept bytes", "bpe symbols"])
def test_without_dropout_bpe_gives_its_one_encoding(kind: str) -> None:
    tokenizer = toy(kind)
    assert [tokenizer.sample(text, n=1, alpha=0, seed=1)[0] for text in TEXTS] == list(map(tokenizer.encode, TEXTS))


def test_with_full_dropout_bpe_gives_single_characters() -> None:
    tokenizer = toy("bpe")
    (ids,) = tokenizer.sample("hello", n=1, alpha=1, seed=1)
    assert [library("bpe").id_to_piece(i) for i in ids] == list("▁hello")


@pytest.mark.xdist_group("mistral_v3")
def test_without_dropout_a_vendored_model_gives_its_one_encoding(v3: SentencePieceTokenizer) -> None:
    assert isinstance(v3, Sampler)
    texts = [*TEXTS[:100], "The weighbridge weighs 12 trucks: 你好 🦙\n"]
    assert [v3.sample(text, n=1, alpha=0, seed=1)[0] for text in texts] == list(map(v3.encode, texts))


def test_a_high_alpha_gives_the_most_likely_encoding() -> None:
    tokenizer = toy("unigram")
    texts = ["hello world", "the quick brown fox", "lower newest widest low", "🦙 hello"]
    assert [tokenizer.sample(text, n=1, alpha=200, seed=1)[0] for text in texts] == list(map(tokenizer.encode, texts))


def test_an_empty_text_has_only_the_empty_encoding() -> None:
    assert toy("unigram").sample("", n=2, alpha=0.1, seed=1) == [[], []]
    assert toy("bpe").sample("", n=2, alpha=0.1, seed=1) == [[], []]
    assert toy("unigram").sample("hello", n=0, alpha=0.1, seed=1) == []


@pytest.mark.parametrize("kind", ["words", "characters"])
def test_a_model_with_one_encoding_does_not_sample(kind: str) -> None:
    with pytest.raises(TokenizerError, match="only Unigram and BPE models can sample"):
        toy(kind).sample("hello", n=1, alpha=0.1, seed=1)


@pytest.mark.parametrize(
    ("kind", "n", "alpha"),
    [
        ("unigram", -1, 0.1),
        ("unigram", 1, -0.1),
        ("unigram", 1, float("nan")),
        ("unigram", 1, float("inf")),
        ("bpe", 1, 1.1),
    ],
)
def test_a_sample_out_of_range_is_refused(kind: str, n: int, alpha: float) -> None:
    with pytest.raises(TokenizerError, match="a finite alpha from 0 to"):
        toy(kind).sample("hello", n=n, alpha=alpha, seed=1)


# Models that are no good


@pytest.mark.parametrize(
    "damage",
    [lambda _: b"", lambda _: b"no model at all", lambda data: data[:-100], lambda data: data[:200]],
    ids=["empty", "text", "cut short", "mostly gone"],
)
def test_a_file_that_is_no_model_is_refused(damage: Callable[[bytes], bytes]) -> None:
    data = damage(model("unigram"))
    with pytest.raises(VocabularyDamaged, match=r"toy\.model is no SentencePiece model"):
        ours(data)
    with pytest.raises(VocabularyDamaged, match=r"SentencePiece model|sentencepiece library"):
        check_model(data)


@pytest.mark.parametrize("message", [b"\x80", b"\x12\x05\x01", b"\x0b", b"\x08" + b"\xff" * 11, b"\x15\x01"])
def test_a_broken_message_is_a_value_error(message: bytes) -> None:
    with pytest.raises(ValueError, match=r"ends too early|not in use|too long"):
        read_facts(message)


def test_a_good_model_passes_the_check_as_bytes_and_as_a_file(tmp_path: Path) -> None:
    file = tmp_path / "toy.model"
    file.write_bytes(model("bpe bytes"))
    check_model(file)
    check_model(model("unigram"))


def test_a_model_that_crashes_the_library_is_refused_and_this_process_lives() -> None:
    crash = "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)"
    with pytest.raises(VocabularyDamaged, match=r"crashes the library \(signal 11\)"):
        check_model(model("unigram"), program=crash)
