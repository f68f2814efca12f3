"""What every vocabulary must do, whatever its family. Each trap known from the libraries has a test of its own."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import pairwise

import pytest

from adapters.loader import Vocabularies, read_verified
from adapters.port import (
    DeadlineExceeded,
    Family,
    InvalidIds,
    Piece,
    Stop,
    TokenCounter,
    Tokenizer,
    TokenizerSpec,
    VocabularyDamaged,
    well_formed,
)
from tests.fuzz import long_string, strings

TEXTS = (
    "",
    "Hello, World!",
    "The quick brown fox jumps over the lazy dog.",
    "  two  blanks\tand\r\n\r\nlines  ",
    "你好，世界！日本語 한국어",
    "Привет, café, cafe\u0301, \ufb01, ½, ㍿",
    "👍🏽 👨‍👩‍👧‍👦 🦙🦙",
    "x = arr.map(i => i * 2); // 1234567890",
    "NUL \0 and \ue000 private \U000e0fff unassigned \U0010ffff",
    "<|endoftext|> <|im_start|>user [CLS] </s> [INST]",
)
FUZZ = tuple(strings(300, seed=7))
# Shapes that made some tokenizer slow, panic or fail.
HOSTILE = {
    "a million blanks": " " * 1_000_000,
    "a million blanks, then a letter": " " * 1_000_000 + "x",
    "tabs": "\t" * 300_000,
    "newlines": "\n" * 300_000,
    "newlines, then a letter": "\r\n" * 150_000 + "x",
    **{f"{character!r} repeated": character * 100_000 for character in "^-_=0aA"},
    "NULs": "\0" * 100_000,
    "private use": "\ue000" * 50_000,
    "unassigned": "\U000e0fff" * 50_000,
    "combining marks": "e" + "\u0301" * 50_000,
    "joined emoji": "👩\u200d" * 30_000,
}


def test_empty_text_has_no_tokens(any_counter: TokenCounter) -> None:
    assert any_counter.count("") == 0
    assert any_counter.fits("", 0)


def test_empty_text_has_no_ids(any_tokenizer: Tokenizer) -> None:
    assert any_tokenizer.encode("") == []
    assert any_tokenizer.pieces("") == []
    assert any_tokenizer.decode([]) == ""
    assert any_tokenizer.decode_bytes([]) == b""


@pytest.mark.parametrize("texts", [TEXTS, FUZZ], ids=["texts", "fuzz"])
def test_a_count_is_the_number_of_ids(any_tokenizer: Tokenizer, texts: tuple[str, ...]) -> None:
    assert {text: any_tokenizer.count(text) for text in texts} == {
        text: len(any_tokenizer.encode(text)) for text in texts
    }


@pytest.mark.parametrize("texts", [TEXTS, FUZZ, ()], ids=["texts", "fuzz", "none"])
def test_a_batch_is_counted_like_its_texts_one_by_one(any_counter: TokenCounter, texts: tuple[str, ...]) -> None:
    assert any_counter.count_batch(texts) == [any_counter.count(text) for text in texts]


@pytest.mark.parametrize("texts", [TEXTS, FUZZ], ids=["texts", "fuzz"])
def test_exactly_reaching_the_limit_fits(any_counter: TokenCounter, texts: tuple[str, ...]) -> None:
    for text in texts:
        count = any_counter.count(text)
        assert any_counter.fits(text, count), text
        assert any_counter.fits(text, count + 1), text
        assert not any_counter.fits(text, count - 1), text


def test_a_long_text_fits_at_its_count_and_not_below(any_counter: TokenCounter) -> None:
    text = long_string(150_000, seed=3)
    count = any_counter.count(text)
    assert any_counter.fits(text, count)
    assert not any_counter.fits(text, count - 1)
    assert not any_counter.fits(text, 1)


def test_a_negative_limit_fits_nothing(any_counter: TokenCounter) -> None:
    assert not any_counter.fits("", -1)
    assert not any_counter.fits("a", -1)


@pytest.mark.parametrize("texts", [TEXTS, FUZZ], ids=["texts", "fuzz"])
def test_any_text_round_trips_where_ids_hold_every_byte(lossless_tokenizer: Tokenizer, texts: tuple[str, ...]) -> None:
    for text in map(well_formed, texts):
        ids = lossless_tokenizer.encode(text)
        assert lossless_tokenizer.decode(ids) == text
        assert lossless_tokenizer.decode_bytes(ids) == text.encode()


@pytest.mark.parametrize("texts", [TEXTS, FUZZ], ids=["texts", "fuzz"])
def test_pieces_are_the_ids_in_order_with_spans_inside_the_text(
    any_tokenizer: Tokenizer, texts: tuple[str, ...]
) -> None:
    for text in map(well_formed, texts):
        pieces = any_tokenizer.pieces(text)
        assert [piece.id for piece in pieces] == any_tokenizer.encode(text)
        assert all(0 <= piece.start <= piece.end <= len(text) for piece in pieces), text
        assert all(a.start <= b.start and a.end <= b.end for a, b in pairwise(pieces)), text


@pytest.mark.parametrize("texts", [TEXTS, FUZZ], ids=["texts", "fuzz"])
def test_pieces_hold_every_byte_and_cover_every_character(
    lossless_tokenizer: Tokenizer, texts: tuple[str, ...]
) -> None:
    for text in map(well_formed, texts):
        pieces = lossless_tokenizer.pieces(text)
        assert b"".join(piece.bytes for piece in pieces) == text.encode()
        assert all(piece.bytes in text[piece.start : piece.end].encode() for piece in pieces), text
        assert covered(pieces) == set(range(len(text)))
        assert not any(piece.unknown for piece in pieces)


def test_a_piece_with_part_of_a_character_covers_all_of_it(lossless_tokenizer: Tokenizer) -> None:
    text = "a𓀀b"  # a hieroglyph: no vocabulary has it as one token
    pieces = [piece for piece in lossless_tokenizer.pieces(text) if not piece.bytes.isascii()]
    assert len(pieces) > 1
    assert all(piece.start <= 1 and piece.end >= 2 for piece in pieces)


def test_a_piece_that_only_stands_for_a_character_is_short_beside_its_text(any_tokenizer: Tokenizer) -> None:
    """Spans refer to the text as sent, also where a normalizer shortens or lengthens it."""
    text = "x e\u0301 ㍿ \ufb01 y"
    pieces = any_tokenizer.pieces(text)
    assert pieces[-1].end == len(text)
    assert text[pieces[-1].start : pieces[-1].end].strip() == "y"
    assert next(piece for piece in pieces if piece.end > 0).start == 0


def test_the_literal_of_a_special_token_is_ordinary_text(any_tokenizer: Tokenizer) -> None:
    """`tokenizers` reads special tokens out of any text by default, and `tiktoken` raises."""
    special = set(any_tokenizer.special_tokens.values())
    assert special
    for literal in some(any_tokenizer.special_tokens):
        ids = any_tokenizer.encode(f"say {literal} now")
        assert not special.intersection(ids), literal
        assert any_tokenizer.count(f"say {literal} now") == len(ids) > 2


def test_with_parse_special_a_literal_is_its_one_id(any_tokenizer: Tokenizer) -> None:
    for literal, special_id in some(any_tokenizer.special_tokens).items():
        assert any_tokenizer.encode(literal, parse_special=True) == [special_id]
        assert [piece.id for piece in any_tokenizer.pieces(literal, parse_special=True)] == [special_id]
        assert any_tokenizer.encode(literal) != [special_id]


def test_text_around_a_parsed_literal_is_encoded_by_itself(any_tokenizer: Tokenizer) -> None:
    for literal, special_id in some(any_tokenizer.special_tokens).items():
        expected = [*any_tokenizer.encode("Weigh"), special_id, *any_tokenizer.encode("bridge")]
        text = f"Weigh{literal}bridge"
        assert any_tokenizer.encode(text, parse_special=True) == expected
        pieces = any_tokenizer.pieces(text, parse_special=True)
        assert [piece.id for piece in pieces] == expected
        (special,) = [piece for piece in pieces if piece.id == special_id]
        assert (special.start, special.end) == (5, 5 + len(literal))


def test_parsing_special_tokens_once_leaves_later_texts_ordinary(any_tokenizer: Tokenizer) -> None:
    literal = next(iter(any_tokenizer.special_tokens))
    before = any_tokenizer.encode(literal)
    any_tokenizer.encode(literal, parse_special=True)
    assert any_tokenizer.encode(literal) == before


def test_a_lone_surrogate_counts_like_the_replacement_character(any_tokenizer: Tokenizer) -> None:
    """tiktoken replaces it, `tokenizers` raises TypeError, `sentencepiece` RuntimeError."""
    for broken, repaired in (
        ("\ud83d", "\ufffd"),
        ("a\udc4db", "a\ufffdb"),
        ("\udc4d\ud83d", "\ufffd\ufffd"),
        ("\ud83d\udc4d", "👍"),
    ):
        assert any_tokenizer.encode(broken) == any_tokenizer.encode(repaired)
        assert any_tokenizer.count(broken) == any_tokenizer.count(repaired)
        assert any_tokenizer.count_batch([broken]) == any_tokenizer.count_batch([repaired])
        assert any_tokenizer.fits(broken, 3) == any_tokenizer.fits(repaired, 3)
        assert [(p.id, p.bytes) for p in any_tokenizer.pieces(broken)] == [
            (p.id, p.bytes) for p in any_tokenizer.pieces(repaired)
        ]
        assert any_tokenizer.encode(broken, parse_special=True) == any_tokenizer.encode(repaired)


def test_a_lone_surrogate_is_the_replacement_character_to_a_counter(any_counter: TokenCounter) -> None:
    for broken, repaired in (("a\udc4db", "a\ufffdb"), ("\udc4d\ud83d", "\ufffd\ufffd"), ("\ud83d\udc4d", "👍")):
        assert any_counter.count(broken) == any_counter.count_batch([broken])[0] == any_counter.count(repaired)
        assert any_counter.fits(broken, any_counter.count(repaired))


def test_two_surrogates_that_make_one_character_are_two_code_points_of_a_span(any_tokenizer: Tokenizer) -> None:
    pieces = any_tokenizer.pieces("\ud83d\udc4d👍\ud83d x")
    assert pieces[-1].end == 6
    first = [piece for piece in pieces if piece.start == 0 and piece.end > 0]
    assert first[0].end in (2, 3)  # two vocabularies have a token, or an unknown one, for a run of such characters


@pytest.mark.parametrize("shape", HOSTILE)
def test_no_string_makes_a_counter_raise(any_counter: TokenCounter, shape: str) -> None:
    """On a million white-space characters tiktoken raises or panics; others once took minutes."""
    text = HOSTILE[shape]
    assert 0 <= any_counter.count(text) <= len(text.encode()) + 1


def test_eight_threads_get_the_counts_of_one(any_counter: TokenCounter) -> None:
    texts = [*TEXTS, *FUZZ]
    expected = [any_counter.count(text) for text in texts]
    start = threading.Barrier(8)

    def counts(shift: int) -> list[int]:
        start.wait()
        turned = [*texts[shift:], *texts[:shift]]
        counted = any_counter.count_batch(turned) if shift % 2 else [any_counter.count(text) for text in turned]
        return counted[len(texts) - shift :] + counted[: len(texts) - shift]

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(counts, range(8))) == [expected] * 8


def test_another_thread_runs_while_a_long_text_is_counted(any_counter: TokenCounter) -> None:
    """`tokenizers` holds the interpreter's lock for a whole `encode`; the batch calls release it."""
    ticks = 0
    for size in (1, 4, 16):
        ticks = ticks_during(lambda text="The weighbridge weighs 12 trucks. " * 30_000 * size: any_counter.count(text))
        if ticks >= 5:
            return
    pytest.fail(f"the counting thread kept the lock: {ticks} ticks")


def test_a_deadline_in_the_past_stops_the_count(any_counter: TokenCounter) -> None:
    with pytest.raises(DeadlineExceeded):
        any_counter.count("Hello, World!", stop=Stop(at=5.0, clock=lambda: 5.0))


def test_a_deadline_that_passes_during_a_long_count_is_seen(any_counter: TokenCounter) -> None:
    looks = iter([1.0])
    with pytest.raises(DeadlineExceeded):
        any_counter.count("The weighbridge weighs. " * 20_000, stop=Stop(at=5.0, clock=lambda: next(looks, 9.0)))


def test_a_deadline_ahead_changes_nothing(any_counter: TokenCounter) -> None:
    text = "The weighbridge weighs. " * 20_000
    assert any_counter.count(text, stop=Stop(at=5.0, clock=lambda: 1.0)) == any_counter.count(text)


@pytest.mark.parametrize("wrong", [-1, 10**9, 2**31, 2**32, 2**63, 2**64, -(2**63)])
def test_an_id_outside_the_vocabulary_is_refused(any_tokenizer: Tokenizer, wrong: int) -> None:
    """`tokenizers` skips unknown ids in silence; others overflow."""
    for ids in ([wrong], [*any_tokenizer.encode("Hello"), wrong]):
        with pytest.raises(InvalidIds):
            any_tokenizer.decode(ids)
        with pytest.raises(InvalidIds):
            any_tokenizer.decode_bytes(ids)


def test_decoded_text_is_the_decoded_bytes(any_tokenizer: Tokenizer) -> None:
    for text in map(well_formed, (*TEXTS, *FUZZ)):
        ids = any_tokenizer.encode(text)
        assert any_tokenizer.decode(ids) == any_tokenizer.decode_bytes(ids).decode()


def test_half_a_character_decodes_to_its_bytes_and_to_a_replacement_character(lossless_tokenizer: Tokenizer) -> None:
    first = next(piece for piece in lossless_tokenizer.pieces("𓀀"))
    assert lossless_tokenizer.decode_bytes([first.id]) == first.bytes
    assert lossless_tokenizer.decode([first.id]) == "\ufffd"


def test_ids_lie_inside_the_vocabulary(any_tokenizer: Tokenizer) -> None:
    ids = {i for text in (*TEXTS, *FUZZ) for i in any_tokenizer.encode(text)}
    assert 0 <= min(ids) <= max(ids) < any_tokenizer.vocab_size


def test_a_tokenizer_says_what_the_manifest_says(any_counter: TokenCounter, specs: dict[str, TokenizerSpec]) -> None:
    spec = specs[any_counter.name]
    assert (any_counter.family, any_counter.sha256) == (spec.family, spec.sha256)
    assert any_counter.vocab_size == spec.size
    if spec.family is Family.TIKTOKEN:
        assert dict(any_counter.special_tokens) == dict(spec.special)


def test_bos_and_eos_are_no_part_of_a_count(any_tokenizer: Tokenizer) -> None:
    """A rendered chat template already holds BOS; `tokenizers` would add another one by default."""
    special = set(any_tokenizer.special_tokens.values())
    assert not special.intersection(any_tokenizer.encode("Hello, World!"))
    assert any_tokenizer.added_tokens in (0, 1, 2)


def test_a_fresh_load_in_eight_threads_gives_one_tokenizer_with_right_counts(
    any_counter: TokenCounter, specs: dict[str, TokenizerSpec]
) -> None:
    """Loading at first use in two threads once gave silently wrong counts."""
    fresh = Vocabularies({any_counter.name: specs[any_counter.name]})
    start = threading.Barrier(8)

    def load(_: int) -> tuple[int, list[int]]:
        start.wait()
        tokenizer = fresh.load(any_counter.name)
        return id(tokenizer), tokenizer.count_batch(TEXTS)

    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(load, range(8)))
    assert len({identity for identity, _ in results}) == 1
    assert [counts for _, counts in results] == [any_counter.count_batch(TEXTS)] * 8


def test_a_file_cut_short_is_refused_and_left_as_it_is(
    any_counter: TokenCounter, specs: dict[str, TokenizerSpec], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """tiktoken deletes a cached file whose hash is wrong: the only copy of an offline machine."""
    spec = specs[any_counter.name]
    copy = tmp_path_factory.mktemp("damaged") / spec.path.name
    cut = spec.path.read_bytes()[:-1000]
    copy.write_bytes(cut)
    with pytest.raises(VocabularyDamaged, match="damaged"):
        Vocabularies({spec.name: replace(spec, path=copy)}).load(spec.name)
    assert copy.read_bytes() == cut
    assert read_verified(spec)


def some(special: object) -> dict[str, int]:
    """The first and the last special tokens, where there are hundreds of them."""
    items = list(dict(special).items())  # type: ignore[call-overload]  # any mapping
    return dict(items[:12] + items[-4:])


def covered(pieces: list[Piece]) -> set[int]:
    return {place for piece in pieces for place in range(piece.start, piece.end)}


def ticks_during(work: Callable[[], object]) -> int:
    """How often this thread woke while another one did ``work``."""
    worker = threading.Thread(target=work)
    ticks = 0
    worker.start()
    while worker.is_alive():
        time.sleep(0.0005)
        ticks += 1
    worker.join()
    return ticks
