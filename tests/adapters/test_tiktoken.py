"""What the tiktoken adapter adds to the library: safe cuts, the fallback, and no special token by accident."""

from __future__ import annotations

import random

import pytest

import adapters.tiktoken
from adapters.loader import LoaderOptions, Vocabularies
from adapters.manifest import read_manifest
from adapters.port import DeadlineExceeded, InvalidIds, Stop
from adapters.tiktoken import chunks

MANIFEST = read_manifest()
NAMES = [n for n, spec in MANIFEST.vendored.items() if spec.family == "tiktoken" and n != "o200k_harmony"]
PARTS = (
    "a", "The", "don't", "’s", " ", "  ", " \n", "\r\n", "\t", "\u00a0", "\u3000", "12345", "x1", "你好", "，", "。",
    "、", "é", "e\u0301", "\u0301", "👍🏽", ".", "...", ")", '"', "/", "//", "_", "\0", "'ll", "ſ", "İ", "\x1c",
    "\x85", "<|endoftext|>", "word ", "b, ", "世，",
)  # fmt: skip


@pytest.fixture(scope="module")
def told() -> list[tuple[str, str]]:
    return []


@pytest.fixture(scope="module")
def vocabularies(told) -> Vocabularies:
    cuttable = frozenset(MANIFEST.patterns.values())
    options = LoaderOptions("library", cuttable, lambda name, engine: told.append((name, engine)))
    return Vocabularies(MANIFEST.vendored, options)


def test_chunks_are_the_whole_text_in_order():
    text = "one two, three. " * 100
    assert "".join(chunks(text, 50)) == text
    assert all(50 <= len(chunk) < 70 for chunk in list(chunks(text, 50))[:-1])


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.xdist_group("tiktoken")
def test_counts_of_chunks_add_up_to_the_count_of_the_whole(vocabularies, name, monkeypatch):
    tokenizer = vocabularies.load(name)
    draw = random.Random(name)
    texts = ["".join(draw.choices(PARTS, k=60)) for _ in range(1500)]
    whole = tokenizer.count_batch(texts)
    monkeypatch.setattr(adapters.tiktoken, "CHUNK", 1)
    monkeypatch.setattr(adapters.tiktoken, "chunks", lambda text: chunks(text, 1))
    cut = sum(len(list(chunks(text, 1))) for text in texts)
    assert cut > 4 * len(texts)
    assert tokenizer.count_batch(texts) == whole


@pytest.mark.parametrize("text", [" " * 1_000_001 + "x", "\t" * 1_000_001 + "x"])
@pytest.mark.xdist_group("tiktoken")
def test_a_text_that_the_library_cannot_take_is_counted_by_the_next_engine(vocabularies, told, text):
    told.clear()
    tokenizer = vocabularies.load("o200k_base")
    count = tokenizer.count(text)
    assert told == [("o200k_base", "python")]
    assert count == len(tokenizer.encode(text))
    assert tokenizer.decode(tokenizer.encode(text)) == text


@pytest.mark.xdist_group("tiktoken")
def test_a_passed_deadline_ends_a_long_count_between_chunks(vocabularies):
    times = iter([0.0, 0.0, 2.0])
    stop = Stop(1.0, clock=lambda: next(times))
    with pytest.raises(DeadlineExceeded):
        vocabularies.load("cl100k_base").count("a truck " * 100_000, stop=stop)
    assert next(times, None) is None


@pytest.mark.xdist_group("tiktoken")
def test_fits_does_not_count_a_long_text_to_its_end(vocabularies, monkeypatch):
    tokenizer = vocabularies.load("cl100k_base")
    counted: list[int] = []
    encode = tokenizer._ranks_of
    monkeypatch.setattr(tokenizer, "_ranks_of", lambda text, stop: counted.append(len(text)) or encode(text, stop))
    assert not tokenizer.fits("a truck " * 1_000_000, 100)
    assert sum(counted) < 100_000
    counted.clear()
    assert tokenizer.fits("a truck " * 1_000_000, 8_000_000)
    assert counted == []


@pytest.mark.parametrize("token_id", [-1, 10**9, 2**32 - 2, 2**32, 2**63, 2**64])
@pytest.mark.xdist_group("tiktoken")
def test_an_id_outside_the_vocabulary_is_refused(vocabularies, token_id):
    for name in ("cl100k_base", "tekken"):
        with pytest.raises(InvalidIds, match="not in the vocabulary"):
            vocabularies.load(name).decode([token_id])


@pytest.mark.xdist_group("tiktoken")
def test_a_special_id_decodes_to_its_literal(vocabularies):
    assert vocabularies.load("cl100k_base").decode([100257]) == "<|endoftext|>"
    assert vocabularies.load("tekken").decode([1]) == "<s>"
