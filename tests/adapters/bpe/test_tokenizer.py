"""What the plain tokenizer promises beyond the ids: limits, deadlines, spans, special tokens, bounded memory."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.bpe import tokenizer as module
from adapters.bpe.encode import merge
from adapters.bpe.patterns import UnsupportedPattern
from adapters.bpe.tokenizer import BpeTokenizer
from adapters.port import DeadlineExceeded, Family, InvalidIds, Stop, TokenizerSpec, VocabularyDamaged, well_formed
from adapters.unicode import UnknownForm, normalize

BYTES = {bytes([byte]): byte for byte in range(256)}
# Two merges, and a pattern that leaves the digits of a text out.
SMALL = {**BYTES, b"ab": 256, b"abab": 257, "é".encode(): 258, b" ab": 259}
SPECIAL = {"<s>": 300, "<s><s>": 301, "ﬁ": 302}


def small(**changes) -> BpeTokenizer:
    values = {"pattern": r"\s?\p{L}+|\s|[^\s\p{L}\d]+", "special": SPECIAL, **changes}
    spec = TokenizerSpec(name="small", family=Family.BPE, path=Path(), sha256="0" * 64, **values)
    return BpeTokenizer(spec, SMALL)


# Table 0.2 of the shared reports: text, cl100k, o200k.
@pytest.mark.parametrize(
    ("text", "cl100k", "o200k"),
    [
        ("", 0, 0),
        ("Hello, world!", 4, 4),
        ("The quick brown fox jumps over the lazy dog.", 10, 10),
        ("1 2 3 4 5", 9, 9),
        ("1234567890", 4, 4),
        ("supercalifragilistic", 7, 6),
        ("llo", 2, 1),
        ("don't", 2, 1),
        ("DON'T", 2, 2),
        ("á", 1, 1),
        ("e\u0301", 2, 2),
        ("你好世界", 5, 2),
        ("你好世界" * 25, 125, 50),
        ("こんにちは世界", 4, 2),
        ("안녕하세요 세계", 9, 3),
        ("👍", 3, 1),
        ("👨‍👩‍👧‍👦", 18, 11),
        ("\ud83d", 1, 1),
        ('{"a": [1, 2, 3], "b": null}', 17, 17),
        ("<|endoftext|>", 7, 7),
        ("<|im_start|>", 6, 6),
        ("<|fim_prefix|>", 7, 6),
        ("<|endoftext|>\n", 7, 7),
        ("<|im_start|>user\nHi<|im_end|>", 15, 15),
        (" Infrast", 3, 3),
        ("ructure", 3, 3),
        (" Infrastructure", 1, 1),
    ],
)
@pytest.mark.xdist_group("o200k_base")
def test_plain_text_has_its_measured_counts(load_twins, text, cl100k, o200k):
    assert load_twins("cl100k_base").plain.count(text) == cl100k
    assert load_twins("o200k_base").plain.count(text) == o200k


@pytest.mark.xdist_group("r50k_base")
def test_curly_quotes_have_their_eight_ids(load_twins):
    text = "“wrote jack a letter”"

    assert load_twins("r50k_base").plain.encode(text) == [447, 250, 42910, 14509, 257, 3850, 447, 251]


@pytest.mark.xdist_group("r50k_base")
def test_only_a_blank_is_glued_to_the_word_behind_it(load_twins):
    split = load_twins("r50k_base").plain._splitter.split

    assert split(" \tword\nword  word") == [" ", "\t", "word", "\n", "word", " ", " word"]
    assert split("DON'T don't") == ["DON", "'", "T", " don", "'t"]


# Counts of the shared reports, table 0.3.
@pytest.mark.parametrize(
    ("text", "tokens"), [("a" * 100_000, 12_500), ("^" * 100_000, 12_500), (" " * 100_000, 782), ("0" * 99_999, 33_333)]
)
@pytest.mark.xdist_group("o200k_base")
def test_a_hundred_thousand_of_one_character_have_their_measured_count(load_twins, text, tokens):
    assert load_twins("o200k_base").plain.count(text) == tokens


@pytest.mark.xdist_group("cl100k_base")
def test_a_million_blanks_and_a_letter_are_counted(cl100k):
    """The library panics here. A run of 128 blanks is one token, and the last blank belongs to the letter."""
    assert cl100k.plain.count(" " * 1_000_000 + "x") == 999_999 // 128 + 1 + 1


# A literal in user text is ordinary text; parsed, it is one id (cases S01, S03, S04).
@pytest.mark.parametrize(
    ("text", "ordinary", "parsed"),
    [
        ("<|endoftext|>", 7, 1),
        ("<|endoftext|>\n", 7, 2),
        ("Hello there <|endoftext|> and <|im_start|>user", 15, 11),
        ("<|im_start|>user\nHi<|im_end|>", 15, 15),
    ],
)
@pytest.mark.xdist_group("cl100k_base")
def test_special_tokens_are_parsed_only_when_asked_for(cl100k, text, ordinary, parsed):
    assert len(cl100k.plain.encode(text)) == cl100k.plain.count(text) == ordinary
    assert len(cl100k.plain.encode(text, parse_special=True)) == parsed


def test_the_longest_of_two_special_tokens_at_one_place_wins():
    assert small().encode("ab<s><s><s>ab", parse_special=True) == [256, 301, 300, 256]


def test_special_tokens_are_looked_for_before_the_text_is_normalized():
    tokenizer = small(normalizer="NFKC")

    assert tokenizer.encode("ﬁ", parse_special=True) == [302]
    assert tokenizer.encode("ﬁ") == [*b"fi"]
    assert tokenizer.encode("＜s＞", parse_special=True) == [*b"<s>"]


def test_text_on_both_sides_of_a_special_token_is_normalized_apart():
    assert small(normalizer="NFC").encode("e<s>\u0301", parse_special=True) == [ord("e"), 300, 0xCC, 0x81]


def test_ids_are_ranks_moved_by_the_offset():
    moved = small(rank_offset=1000, special={"<s>": 0})

    assert moved.encode("abab<s>ab", parse_special=True) == [1257, 0, 1256]
    assert moved.decode([1257, 0, 1256]) == "abab<s>ab"
    with pytest.raises(InvalidIds):
        moved.decode([257])


def test_text_that_the_pattern_does_not_match_is_left_out():
    assert small().decode(small().encode("ab12ab")) == "abab"
    assert small().count("12") == 0


@given(st.text())
def test_any_text_round_trips(text):
    tokenizer = small(pattern=r"\p{L}+|\P{L}+")

    assert tokenizer.decode(tokenizer.encode(text)) == text


@pytest.mark.parametrize(
    "text", ["word", "你好", "👨‍👩‍👧‍👦", "def f(x):\n\treturn x\r\n", "\0", "e\u0301", "\ue000\U000e0fff"]
)
def test_text_of_every_kind_round_trips_without_a_normalizer(cl100k, text):
    assert cl100k.plain.decode(cl100k.plain.encode(text)) == text


def test_bytes_that_are_no_text_decode_to_replacement_characters():
    assert small().decode_bytes([0xE2, 0x82]) == b"\xe2\x82"
    assert small().decode([0xE2, 0x82, 0x61]) == "\ufffda"


@pytest.mark.parametrize("wrong", [-1, 260, 299, 303, 2**70, True, False, 1.0, "1", None])
def test_an_id_that_is_not_in_the_vocabulary_is_refused(wrong):
    with pytest.raises(InvalidIds, match="'small'"):
        small().decode([97, wrong])
    with pytest.raises(InvalidIds):
        small().decode_bytes([wrong])


def test_the_size_is_that_of_the_spec_or_reaches_the_highest_id():
    assert small(size=500).vocab_size == 500
    assert small().vocab_size == 303
    assert small(special={}, rank_offset=10).vocab_size == 270


def test_a_vocabulary_without_one_of_the_bytes_is_refused():
    spec = TokenizerSpec(name="holed", family=Family.BPE, path=Path(), sha256="", pattern=".")

    with pytest.raises(VocabularyDamaged, match="'holed' lacks single bytes"):
        BpeTokenizer(spec, {token: rank for token, rank in BYTES.items() if token != b"\xff"})


def test_a_pattern_or_a_normalizer_that_cannot_be_used_is_refused_at_once():
    with pytest.raises(UnsupportedPattern):
        small(pattern="")
    with pytest.raises(UnknownForm):
        small(normalizer="NFD")


# Limits.


@pytest.mark.parametrize(
    "text", ["", "ab", "abab ab", "\u00e9 x", "word and 12 more" * 30, "中" * 600, "ab" * 400, " "]
)
@pytest.mark.parametrize("normalizer", ["", "NFKC"])
def test_exactly_reaching_the_limit_fits(text, normalizer):
    tokenizer = small(normalizer=normalizer)
    tokens = tokenizer.count(text)

    assert tokenizer.fits(text, tokens)
    assert not tokenizer.fits(text, tokens - 1)
    assert tokenizer.fits(text, tokens + 1)
    assert not tokenizer.fits(text, -1)


def test_fits_stops_soon_after_the_limit():
    tokenizer = small()

    assert not tokenizer.fits(" ".join(f"x{'y' * (number % 25)}" for number in range(5000)), 30)
    assert len(tokenizer._counts) < 60


def test_fits_does_not_merge_a_piece_that_is_too_long_for_any_tokens(monkeypatch):
    monkeypatch.setattr(module, "merge", lambda *_: pytest.fail("merged"))

    assert not small().fits("ab" * 500_000, 1000)


# Deadlines.


class Ticks:
    """A clock that is one second later whenever it is read."""

    def __init__(self) -> None:
        self.time = 0.0

    def __call__(self) -> float:
        self.time += 1
        return self.time


def test_a_deadline_that_has_passed_ends_the_count_before_it_starts():
    with pytest.raises(DeadlineExceeded):
        small().count("", stop=Stop(at=1.0, clock=Ticks()))


@pytest.mark.parametrize("text", ["ab " * 100_000, "ab" * 150_000, ("a" * 300 + " ") * 1000, "é" * 300_000])
@pytest.mark.parametrize("normalizer", ["", "NFC"])
def test_a_deadline_is_looked_at_while_a_long_text_is_counted(text, normalizer):
    clock = Ticks()
    small(normalizer=normalizer).count(text, stop=Stop(at=1e9, clock=clock))

    assert clock.time >= len(text) // (1 << 16)
    with pytest.raises(DeadlineExceeded):
        small(normalizer=normalizer).count(text, stop=Stop(at=3.0, clock=Ticks()))


# Spans.


def test_spans_of_tokens_that_hold_parts_of_a_character_cover_all_of_it():
    pieces = small().pieces("ab 中é")

    assert [(piece.bytes, piece.start, piece.end) for piece in pieces] == [
        (b"ab", 0, 2),
        (b" ", 2, 3),
        (b"\xe4", 3, 4),
        (b"\xb8", 3, 4),
        (b"\xad", 3, 4),
        ("é".encode(), 4, 5),
    ]
    assert not any(piece.unknown for piece in pieces)


def test_spans_refer_to_the_text_before_it_was_normalized():
    pieces = small(normalizer="NFKC").pieces("ab①e\u0301ﬁab")

    # The digit is left out by the pattern; the e with its accent is one token of two characters of the text.
    assert [(piece.bytes, piece.start, piece.end) for piece in pieces] == [
        (b"ab", 0, 2),
        ("é".encode(), 3, 5),
        (b"f", 5, 6),
        (b"i", 5, 6),
        (b"ab", 6, 8),
    ]


def test_two_surrogates_that_make_one_character_count_as_two_code_points_of_a_span():
    pieces = small().pieces("a\ud83d\udc4d\ud83dab")

    assert [(piece.start, piece.end) for piece in pieces] == [(0, 1), *[(1, 3)] * 4, *[(3, 4)] * 3, (4, 6)]


def test_a_special_token_has_the_span_of_its_literal():
    pieces = small().pieces("é<s>ab", parse_special=True)

    assert [(piece.id, piece.bytes, piece.start, piece.end) for piece in pieces] == [
        (258, "é".encode(), 0, 1),
        (300, b"<s>", 1, 4),
        (256, b"ab", 4, 6),
    ]
    assert [piece.id for piece in small().pieces("<s>")] == [*b"<s>"]


@given(st.text(st.characters(), max_size=40), st.sampled_from(["", "NFC", "NFKC"]))
def test_pieces_are_the_ids_in_order_and_cover_the_text(text, normalizer):
    tokenizer = small(pattern=r"\p{L}+|\P{L}+", normalizer=normalizer)
    pieces = tokenizer.pieces(text)

    assert [piece.id for piece in pieces] == tokenizer.encode(text)
    normal = normalize(normalizer, well_formed(text)) if normalizer else well_formed(text)
    assert b"".join(piece.bytes for piece in pieces) == normal.encode()
    covered = 0
    for piece in pieces:
        assert piece.start <= covered < piece.end or piece.start < covered == piece.end
        covered = piece.end
    assert covered == len(text)
    if not normalizer:
        assert all(piece.bytes in well_formed(text[piece.start : piece.end]).encode() for piece in pieces)


# Memory and threads.


def test_what_is_remembered_stays_bounded_and_right(monkeypatch):
    monkeypatch.setattr(module, "_MOST_COUNTS", 8)
    monkeypatch.setattr(module, "_MOST_IDS", 8)
    tokenizer = small()
    words = ["x" * number + "ab" for number in range(50)] * 2

    assert [tokenizer.count(word) for word in words] == [number + 1 for number in range(50)] * 2
    assert [len(tokenizer.encode(word)) for word in words] == [number + 1 for number in range(50)] * 2
    assert len(tokenizer._counts) <= 8
    assert len(tokenizer._merged) <= 8
    assert max(map(len, (*tokenizer._counts, *tokenizer._merged))) <= 32


def test_threads_share_what_is_remembered_and_count_right(monkeypatch):
    monkeypatch.setattr(module, "_MOST_COUNTS", 20)
    tokenizer = small()
    text = " ".join("ab" * (number % 30) + "é" * (number % 7) for number in range(300))
    expected = sum(len(merge(piece.encode(), SMALL, 4)) for piece in tokenizer._splitter.split(text))
    found: list[int] = []
    threads = [
        threading.Thread(target=lambda: found.extend(tokenizer.count(text) for _ in range(30))) for _ in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert found == [expected] * 180


def test_a_batch_is_counted_like_its_texts_one_by_one():
    assert small().count_batch(["ab", "", "abab é"]) == [1, 0, 3]
