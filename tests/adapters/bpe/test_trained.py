"""Trained vocabularies as files: our own form, tiktoken's and tokenizer.json, with the same ids in each library."""

from __future__ import annotations

import json

import pytest
import tiktoken
from hypothesis import given
from hypothesis import strategies as st
from tiktoken.load import load_tiktoken_bpe
from tokenizers import Tokenizer

from adapters.bpe.export import to_tiktoken, to_tokenizer_json
from adapters.bpe.train import train, train_words
from adapters.bpe.trained import TrainedVocabulary, WordLevel
from adapters.manifest import read_manifest
from adapters.port import VocabularyDamaged
from adapters.unicode import code_points
from tests.fuzz import strings

PATTERNS = read_manifest().patterns
SPECIAL = ("<|endoftext|>", "<s>", "<s><s>")
CORPUS = [*strings(1500, seed=77), *["the quick brown fox, naïve 你好世界 12345 it's"] * 20]
WORDS = train_words({"low": 5, "lower": 2, "newest": 6, "widest": 3}, merges=10)


@pytest.fixture(scope="module", params=PATTERNS)
def vocabulary(request) -> TrainedVocabulary:
    return train(CORPUS, size=900, pattern=request.param, special=SPECIAL)


def test_a_vocabulary_survives_being_written_and_read(vocabulary):
    again = TrainedVocabulary.load(vocabulary.dump())

    assert again == vocabulary
    assert again.ranks == vocabulary.ranks
    assert again.special_tokens == vocabulary.special_tokens


@pytest.mark.parametrize("one", [WORDS, train([], size=256, pattern="."), train(["aa"], size=300, pattern="é|a+")])
def test_small_vocabularies_survive_being_written_and_read(one):
    assert TrainedVocabulary.load(one.dump()) == one


def test_the_file_says_what_it_is():
    content = json.loads(WORDS.dump())

    assert (content["format"], content["version"]) == ("weighbridge-bpe", 1)
    assert content["merges"][0][2] == 9


def test_tiktoken_reads_the_rank_file_and_gives_the_same_ids(vocabulary, tmp_path):
    (tmp_path / "trained.tiktoken").write_bytes(to_tiktoken(vocabulary))
    library = tiktoken.Encoding(
        "trained",
        pat_str=vocabulary.pattern,
        mergeable_ranks=load_tiktoken_bpe(str(tmp_path / "trained.tiktoken")),
        special_tokens=dict(vocabulary.special_tokens),
    )
    ours = vocabulary.tokenizer("trained")
    assert library.n_vocab == ours.vocab_size == vocabulary.size
    for text in strings(1000, seed=78, surrogates=False):
        assert ours.encode(text) == library.encode(text, disallowed_special=())
    # Where two literals start at one place the library's choice is left to chance, so none does here.
    for text in ("a<s>b", "<|endoftext|>", "x<|endoftext|><s>\n"):
        assert ours.encode(text, parse_special=True) == library.encode(text, allowed_special="all")


def test_hugging_face_reads_tokenizer_json_and_gives_the_same_ids(vocabulary):
    library = Tokenizer.from_str(to_tokenizer_json(vocabulary))
    ours = vocabulary.tokenizer("trained")
    assert library.get_vocab_size() == vocabulary.size
    for text in strings(1000, seed=79, surrogates=False):
        ids = library.encode(text, add_special_tokens=False).ids
        assert ids == ours.encode(text, parse_special=True)
        assert library.decode(ids, skip_special_tokens=False) == ours.decode(ids)


def test_hugging_face_sorts_every_code_point_as_our_pattern_does():
    """Its own classes are those of another Unicode version, so the file spells ours out."""
    vocabulary = train(["Aa 1é" * 9], size=300, pattern="o200k")
    library = Tokenizer.from_str(to_tokenizer_json(vocabulary))
    ours = vocabulary.tokenizer("trained")
    edges = {number for name in ("Lu", "Ll", "Lt", "Lm", "M", "N") for pair in code_points(name) for number in pair}
    characters = [chr(number) for number in sorted(edges | set(range(0, 0x110000, 211))) if number >> 11 != 0x1B]
    for at in range(0, len(characters), 50):
        text = "".join(f"a{character}A {character}1\n" for character in characters[at : at + 50])
        assert library.encode(text).ids == ours.encode(text), f"from U+{ord(characters[at]):04X}"


def test_hugging_face_leaves_out_what_the_pattern_does_not_match():
    vocabulary = train(["ab ab"], size=257, pattern=r"\p{L}+")
    library = Tokenizer.from_str(to_tokenizer_json(vocabulary))

    assert library.encode("ab12 ab").ids == vocabulary.tokenizer("trained").encode("ab12 ab") == [256, 256]


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (r"\p{N}{1,3}+|.", "12345"),
        ("ab$|[^q]", "ab\nab"),
        ("^ab|[^q]", "ab\nab"),
        ("a{2}?b|a", "baab"),
        ("a{2,3}?|.", "aaaa"),
        ("(?>ab|a)b|.", "abb ab"),
        ("(?:ab){1,2}|.", "ababab"),
        ("[ab]+?b|.", "aabab"),
        ("(?<=b)a|.", "ba ca"),
        (r"[\]\[\\^\-&&[^a]]+|.", "a]b[\\^-"),
        (r"[\x00-\x20\x7f-\xa0]+|.", "\x00\x1fa \x85\xa0"),
        ("[#x ]+|.", "a# x"),
        (r"[\x{d000}-\x{f000}]+|.", "\ud7ff\ue000a"),
        ("[a&&b]|.", "ab"),
    ],
)
def test_every_construct_means_the_same_in_tokenizer_json(pattern, text):
    vocabulary = train([text] * 3, size=270, pattern=pattern)
    library = Tokenizer.from_str(to_tokenizer_json(vocabulary))
    pieces = [text[start:end] for _, (start, end) in library.pre_tokenizer.pre_tokenize_str(text)]

    assert pieces == vocabulary.tokenizer("trained")._splitter.split(text)


ROUND = train(["aab aab"], size=260, pattern="o200k").tokenizer("trained")


@given(st.text())
def test_any_text_round_trips_through_a_trained_vocabulary(text):
    assert ROUND.decode(ROUND.encode(text)) == text


def test_a_word_level_vocabulary_has_no_tokenizer_and_no_export():
    for refused in (lambda: WORDS.tokenizer("words"), lambda: to_tiktoken(WORDS), lambda: to_tokenizer_json(WORDS)):
        with pytest.raises(WordLevel, match="Train on bytes"):
            refused()


# Damage.

GOOD = train(["aaabdaaabac"], size=259, pattern="[a-d]+", special=["<s>"])


@pytest.mark.parametrize("data", [b"", b"{", b"null", b"[]", b'"text"', b"{}", b"\xff\xfe", b"[" * 100_000])
def test_what_is_no_vocabulary_is_refused(data):
    with pytest.raises(VocabularyDamaged, match="cannot be read"):
        TrainedVocabulary.load(data)


def test_a_file_that_is_cut_short_is_refused_wherever_it_ends():
    data = GOOD.dump().rstrip()
    for end in range(0, len(data), 97):
        with pytest.raises(VocabularyDamaged):
            TrainedVocabulary.load(data[:end])


def test_a_single_changed_digit_is_noticed():
    data = GOOD.dump()
    changed = data.replace(b"[97, 97, 4]", b"[97, 97, 5]")

    assert changed != data
    with pytest.raises(VocabularyDamaged, match="checksum"):
        TrainedVocabulary.load(changed)


@pytest.mark.parametrize(
    ("key", "value", "finding"),
    [
        ("format", "other", "not of the format"),
        ("version", 2, "not of the format"),
        ("pattern", 5, "a text is missing"),
        ("special", [None], "a text is missing"),
        ("special", 5, "cannot be read"),
        ("alphabet", ["YQ==", "YQ=="], "holds a token twice"),
        ("alphabet", [""], "holds a token twice, or an empty one"),
        ("alphabet", ["!"], "cannot be read"),
        ("merges", [[97, 97]], "cannot be read"),
        ("merges", [[97, 999, 4]], "cannot be read"),
        ("merges", [[97, -1, 4]], "not two ids and a frequency"),
        ("merges", [[97, 97, 4], [97, 97, 3]], "a token that is there already"),
        ("merges", [[97, True, 4]], "not two ids and a frequency"),
        ("merges", [[97, 97, "4"]], "not two ids and a frequency"),
        ("merges", 7, "cannot be read"),
        ("more", 1, "checksum"),
    ],
)
def test_content_that_cannot_be_is_refused_even_with_a_right_checksum(key, value, finding):
    content = json.loads(GOOD.dump())
    content[key] = value
    del content["checksum"]
    sign = TrainedVocabulary.load.__func__.__globals__["_checksum"]

    with pytest.raises(VocabularyDamaged, match=finding):
        TrainedVocabulary.load(json.dumps({**content, "checksum": sign(content)}).encode())


def test_a_vocabulary_is_frozen():
    with pytest.raises(AttributeError):
        GOOD.pattern = "."  # type: ignore[misc]  # the point of the test
    with pytest.raises(TypeError):
        GOOD.ranks[b"x"] = 1  # type: ignore[index]  # the point of the test


def test_the_tokenizer_is_described_by_its_vocabulary():
    ours = GOOD.tokenizer("mine")

    assert (ours.name, ours.family, ours.engine, ours.vocab_size) == ("mine", "bpe", "python", 259)
    assert ours.special_tokens == {"<s>": 258}
    assert len(ours.sha256) == 64
