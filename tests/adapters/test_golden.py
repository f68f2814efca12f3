"""Counts that are known from elsewhere.

Origins: what tiktoken 0.14 gives for strings that public reports of faulty counters name, and recorded vectors, read in
place where they are at hand. The six strings were measured with each family's own library.
"""

from __future__ import annotations

import json
import random
import string
from pathlib import Path

import pytest

from adapters.loader import Vocabularies
from adapters.port import Tokenizer

FAMILY = "👨‍👩‍👧‍👦"
# Two languages, code and an emoji, with the counts of five vocabularies.
SIX_STRINGS = (
    "Hello, World!",
    "你好，世界！",
    "function fibonacci(n) {",
    "console.log(result)",
    "const x = arr.map(i => i * 2)",
    "📧 Email: user@example.com",
)
SIX_COUNTS = {
    "o200k_base": (4, 4, 5, 4, 12, 7),
    "cl100k_base": (4, 7, 5, 4, 12, 8),
    "llama3": (4, 5, 5, 4, 12, 8),
    "qwen": (4, 4, 5, 4, 12, 6),
    "tekken": (4, 4, 6, 4, 12, 9),
}
# Text, cl100k, o200k; special tokens as ordinary text.
PLAIN_COUNTS = (
    ("", 0, 0),
    ("Hello, world!", 4, 4),
    ("The quick brown fox jumps over the lazy dog.", 10, 10),
    ("1 2 3 4 5", 9, 9),
    ("1234567890", 4, 4),
    ("supercalifragilistic", 7, 6),  # C04: merges go by rank, not by the longest piece
    ("llo", 2, 1),  # C05: a piece of the split pattern need not be one token
    ("don't", 2, 1),
    ("DON'T", 2, 2),
    ("á", 1, 1),
    ("e\u0301", 2, 2),
    ("你好世界", 5, 2),  # C10: newer families have another vocabulary
    ("你好世界" * 25, 125, 50),  # C06
    ("こんにちは世界", 4, 2),
    ("안녕하세요 세계", 9, 3),
    ("👍", 3, 1),
    (FAMILY, 18, 11),
    ("\ud83d", 1, 1),  # C09
    ('{"a": [1, 2, 3], "b": null}', 17, 17),  # C25
    ("<|endoftext|>", 7, 7),
    ("<|im_start|>", 6, 6),
    ("<|fim_prefix|>", 7, 6),
    ("Hello there <|endoftext|> and <|im_start|>user", 15, None),  # S01
    ("<|endoftext|>\n", 7, 7),  # S03: the newline merges with "|>"
    ("<|im_start|>user\nHi<|im_end|>", 15, 15),  # S04
    (" Infrastructure", 1, 1),  # C08: the whole; the two halves are 3 each
    (" Infrast", 3, 3),
    ("ructure", 3, 3),
)
# Hostile strings: text, cl100k, o200k.
HOSTILE_COUNTS = (
    ("a" * 100_000, 12_500, 12_500),
    ("^" * 1_000_000, 250_000, 125_000),
    ("-" * 32_768, 512, 512),
    ("_" * 50_000, 782, 782),
    (" " * 100_000, 782, 782),
    ("=" * 100_000, 1_563, 1_562),
    ("0" * 100_000, 33_334, 33_334),
    ("A" * 1_000_000, 125_000, 125_000),
)


@pytest.fixture(params=[pytest.param(name, marks=pytest.mark.xdist_group(name)) for name in SIX_COUNTS])
def one_of_five(request: pytest.FixtureRequest, vocabularies: Vocabularies) -> Tokenizer:
    if request.param not in vocabularies.specs:
        pytest.skip(f"{request.param} is fetched on request and not installed")
    return vocabularies.load(request.param)


@pytest.fixture(
    params=[pytest.param(name, marks=pytest.mark.xdist_group(name)) for name in ("cl100k_base", "o200k_base")]
)
def openai(request: pytest.FixtureRequest, vocabularies: Vocabularies) -> Tokenizer:
    return vocabularies.load(request.param)


def column(tokenizer: Tokenizer) -> int:
    return 1 if tokenizer.name == "cl100k_base" else 2


def test_the_six_strings_have_their_measured_counts(one_of_five: Tokenizer) -> None:
    assert tuple(one_of_five.count_batch(SIX_STRINGS)) == SIX_COUNTS[one_of_five.name]


def test_plain_text_has_its_measured_counts(openai: Tokenizer) -> None:
    rows = [row for row in PLAIN_COUNTS if row[column(openai)] is not None]
    assert {row[0]: openai.count(row[0]) for row in rows} == {row[0]: row[column(openai)] for row in rows}


@pytest.mark.parametrize("row", HOSTILE_COUNTS, ids=lambda row: f"{row[0][0]!r} x {len(row[0])}")
def test_repeated_characters_have_their_measured_counts(openai: Tokenizer, row: tuple[str, int, int]) -> None:
    """D01: these once took minutes, or a panic."""
    assert openai.count(row[0]) == row[column(openai)]


@pytest.mark.xdist_group("o200k_base")
def test_a_hundred_thousand_random_letters_have_their_measured_count(vocabularies: Vocabularies) -> None:
    draw = random.Random(1)
    text = "".join(draw.choice(string.ascii_lowercase) for _ in range(100_000))
    assert vocabularies.load("o200k_base").count(text) == 51_810  # table 0.3


@pytest.mark.xdist_group("r50k_base")
def test_a_million_carets_have_their_measured_count_in_the_oldest_vocabulary(vocabularies: Vocabularies) -> None:
    assert vocabularies.load("r50k_base").count("^" * 1_000_000) == 250_000  # table 0.3


@pytest.mark.xdist_group("r50k_base")
def test_curly_quotes_keep_all_their_bytes(vocabularies: Vocabularies) -> None:
    ids = [447, 250, 42910, 14509, 257, 3850, 447, 251]  # C14, below table 0.2
    assert vocabularies.load("r50k_base").encode("“wrote jack a letter”") == ids


@pytest.mark.xdist_group("r50k_base")
@pytest.mark.parametrize(
    ("text", "first"),
    [("\tword", b"\t"), ("\nword", b"\n"), (" word", b" word"), ("  word", b" "), ("\t word", b"\t")],
)
def test_only_a_blank_joins_the_word_behind_it(vocabularies: Vocabularies, text: str, first: bytes) -> None:
    """C16: a fallback once joined the last character of any white space to the next word."""
    assert vocabularies.load("r50k_base").pieces(text)[0].bytes == first


def test_a_literal_that_is_parsed_is_one_token(openai: Tokenizer) -> None:
    assert len(openai.encode("<|endoftext|>", parse_special=True)) == 1  # table 0.2
    assert len(openai.encode("<|endoftext|>\n", parse_special=True)) == 2  # S03
    # Table 0.2: the fill-in-the-middle marks are special in one of the two vocabularies only.
    assert len(openai.encode("<|fim_prefix|>", parse_special=True)) == (1 if openai.name == "cl100k_base" else 6)


@pytest.mark.xdist_group("cl100k_base")
def test_only_marks_of_the_vocabulary_are_parsed(vocabularies: Vocabularies) -> None:
    text = "Hello there <|endoftext|> and <|im_start|>user"
    assert len(vocabularies.load("cl100k_base").encode(text, parse_special=True)) == 11  # S01


@pytest.mark.xdist_group("o200k_base")
def test_harmony_has_the_ranks_of_its_base_and_more_special_tokens(vocabularies: Vocabularies) -> None:
    base, harmony = vocabularies.load("o200k_base"), vocabularies.load("o200k_harmony")
    texts = [row[0] for row in PLAIN_COUNTS]
    assert [harmony.encode(text) for text in texts] == [base.encode(text) for text in texts]
    assert harmony.encode("<|start|>", parse_special=True) == [200006]  # tiktoken_ext/openai_public.py, o200k_harmony
    assert len(base.encode("<|start|>", parse_special=True)) > 1


FRAME = {"claude_v3": 7, "claude_v4_7": 11, "claude_v4_8": 6}  # tokens of one user message, beside its text
GENERATION = {
    "claude (v3 family)": "claude_v3",
    "claude-sonnet-4-5": "claude_v3",
    "claude-opus-4-6": "claude_v3",
    "claude-opus-5": "claude_v4_8",
}


def test_the_shared_vectors_of_claude_messages_are_their_texts_and_a_frame(
    cases: Path, vocabularies: Vocabularies
) -> None:
    lines = (cases / "vectors.jsonl").read_text(encoding="utf-8").splitlines()
    vectors = list(map(json.loads, lines))
    for vector in (vector for vector in vectors if vector["kind"] == "claude_text"):
        counts = [frame + vocabularies.load(name).count(vector["input"]) for name, frame in FRAME.items()]
        assert counts == vector["expected"]
    chats = [vector for vector in vectors if vector["kind"] == "claude_chat"]
    assert chats
    for vector in chats:
        name, body = GENERATION[vector["model"]], vector["input"]
        content = body["messages"][0]["content"]
        texts = [content if isinstance(content, str) else content[0]["text"], body.get("system") or ""]
        assert FRAME[name] + sum(map(vocabularies.load(name).count, texts)) == vector["expected"], vector["id"]


def test_the_shared_vectors_of_plain_text_have_their_counts(cases: Path, vocabularies: Vocabularies) -> None:
    lines = (cases / "vectors.jsonl").read_text(encoding="utf-8").splitlines()
    vectors = [vector for vector in map(json.loads, lines) if vector["kind"] == "text"]
    assert vectors
    counts = {vector["id"]: vocabularies.load(vector["model"]).count(vector["input"]) for vector in vectors}
    assert counts == {vector["id"]: vector["expected"] for vector in vectors}
