"""Training: worked examples, a slow twin that counts everything anew, and the trainer of another library."""

from __future__ import annotations

import random
from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

from adapters.bpe.pairs import PairTable
from adapters.bpe.patterns import Splitter, UnsupportedPattern
from adapters.bpe.train import TrainingError, train, train_words
from adapters.bpe.trained import Merge
from adapters.manifest import read_manifest

WHOLE = r"[\s\S]+"  # no split: the text is one piece
ARTICLE = "aaabdaaabac"
SENNRICH = {"low": 5, "lower": 2, "newest": 6, "widest": 3}


def rows(vocabulary) -> list[tuple[bytes, bytes, int]]:
    return [(merge.left, merge.right, merge.frequency) for merge in vocabulary.merges]


def slow_merges(alphabet, words, ties, most) -> list[tuple[bytes, bytes, int]]:
    """Count all pairs, merge the best one everywhere, and start again. Words are lists of tokens and a count."""
    ids = {token: number for number, token in enumerate(alphabet)}
    words = [(list(tokens), count) for tokens, count in words]
    merges = []
    while len(merges) < most:
        counts: dict[tuple[bytes, bytes], int] = {}
        for tokens, count in words:
            for pair in pairwise(tokens):
                counts[pair] = counts.get(pair, 0) + count
        top = max(counts.values(), default=0)
        if top < 2:
            break
        tied = [pair for pair, count in counts.items() if count == top]  # in the order in which they are first seen
        best = tied[0] if ties == "first_seen" else min(tied, key=lambda pair: (ids[pair[0]], ids[pair[1]]))
        merges.append((*best, top))
        ids.setdefault(best[0] + best[1], len(ids))
        for tokens, _ in words:
            at = 0
            while at < len(tokens) - 1:
                if (tokens[at], tokens[at + 1]) == best:
                    tokens[at : at + 2] = [best[0] + best[1]]
                at += 1
    return merges


# Worked examples.


def test_overlapping_neighbours_are_counted_each():
    """The pair a a is at four places of the article's example, although at most three can be merged."""
    table = PairTable([([*ARTICLE.encode()], 1)])

    assert table.counts[97, 97] == 4
    assert table.counts[97, 98] == 2


def test_the_first_merges_of_the_articles_example():
    vocabulary = train([ARTICLE], size=259, pattern=WHOLE, ties="first_seen")

    assert rows(vocabulary) == [(b"a", b"a", 4), (b"aa", b"a", 2), (b"aaa", b"b", 2)]
    assert vocabulary.tokenizer("example").encode(ARTICLE) == [258, 100, 258, 97, 99]


def test_the_lowest_pair_of_ids_is_another_way_through_the_same_ties():
    vocabulary = train([ARTICLE], size=259, pattern=WHOLE)

    assert rows(vocabulary) == [(b"a", b"a", 4), (b"a", b"b", 2), (b"aa", b"ab", 2)]
    assert vocabulary.tokenizer("example").encode(ARTICLE) == [258, 100, 258, 97, 99]


def test_the_word_level_example_has_its_five_merges():
    merges = rows(train_words(SENNRICH, merges=5))

    assert [left + right for left, right, _ in merges] == [b"es", b"est", b"est</w>", b"lo", b"low"]
    assert [frequency for _, _, frequency in merges] == [9, 9, 9, 7, 7]


def test_the_word_level_example_has_its_ten_merges_with_frequencies():
    merges = rows(train_words(SENNRICH, merges=10))
    words = [([*(letter.encode() for letter in word), b"</w>"], count) for word, count in SENNRICH.items()]

    assert merges == slow_merges(sorted({token for tokens, _ in words for token in tokens}), words, "first_seen", 10)
    assert merges[5:] == [
        (b"n", b"e", 6),
        (b"ne", b"w", 6),
        (b"new", b"est</w>", 6),
        (b"low", b"</w>", 5),
        (b"w", b"i", 3),
    ]


def test_training_stops_when_no_pair_occurs_twice():
    assert rows(train(["abcabd"], size=1000, pattern=WHOLE)) == [(b"a", b"b", 2)]
    assert train(["abcd"], size=1000, pattern=WHOLE).merges == ()
    assert len(train_words({"ab": 1, "cd": 1}, merges=9).merges) == 0


def test_training_stops_at_the_size_with_special_tokens_counted():
    text = ["the cat sat on the mat with the hat and that bat " * 4]
    vocabulary = train(text, size=264, pattern="cl100k", special=["<|end|>", "<|pad|>"])

    assert vocabulary.size == 264
    assert len(vocabulary.merges) == 6
    assert vocabulary.special_tokens == {"<|end|>": 262, "<|pad|>": 263}


def test_every_merge_is_told_as_it_is_made():
    told: list[Merge] = []
    vocabulary = train([ARTICLE], size=300, pattern=WHOLE, on_merge=told.append)

    assert tuple(told) == vocabulary.merges
    assert told[0] == Merge(b"a", b"a", 4)


def test_a_named_pattern_is_that_of_the_manifest():
    assert train(["a"], size=256, pattern="o200k").pattern == read_manifest().patterns["o200k"]


def test_no_merge_reaches_across_pieces_or_texts():
    vocabulary = train(["ab ab", "ab", "b a"], size=400, pattern=r"\p{L}+|\s+")

    assert rows(vocabulary) == [(b"a", b"b", 3)]


# Twins.

_CORPORA = st.lists(st.text(st.sampled_from("aab "), max_size=25), max_size=8)


@given(_CORPORA, st.sampled_from(["lowest", "first_seen"]), st.sampled_from([WHOLE, r"\s?a+|\s|b+", "cl100k"]))
@example(["aaaa" * 4], "lowest", WHOLE)
@example(["abababab", "baba"], "first_seen", WHOLE)
def test_training_is_equal_to_counting_everything_anew(corpus, ties, pattern):
    vocabulary = train(corpus, size=280, pattern=pattern, ties=ties)
    splitter = Splitter(vocabulary.pattern)
    counts = Counter(piece for text in corpus for piece in splitter.split(text))
    words = [([bytes([byte]) for byte in piece.encode()], count) for piece, count in counts.items()]
    expected = slow_merges([bytes([byte]) for byte in range(256)], words, ties, 200)

    assert rows(vocabulary) == expected[: len(vocabulary.merges)]
    assert vocabulary.size == 280 or len(vocabulary.merges) == len(expected)
    assert len(vocabulary.ranks) == 256 + len(vocabulary.merges)


@given(
    st.dictionaries(st.text(st.sampled_from("abcé"), min_size=1, max_size=12), st.integers(1, 9), max_size=8),
    st.sampled_from(["lowest", "first_seen"]),
)
def test_word_level_training_is_equal_to_counting_everything_anew(counts, ties):
    vocabulary = train_words(counts, merges=30, ties=ties)
    words = [([*(letter.encode() for letter in word), b"</w>"], count) for word, count in counts.items()]

    assert rows(vocabulary) == slow_merges(vocabulary.alphabet, words, ties, 30)


def test_merges_are_those_of_another_librarys_trainer():
    """Hugging Face's trainer also breaks ties by the lowest pair of ids, which are those of sorted letters here."""
    words = [word for text in (__doc__, slow_merges.__doc__, *SENNRICH) for word in text.split() if word.isascii()] * 3
    reference = Tokenizer(models.BPE())
    reference.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    trainer = trainers.BpeTrainer(vocab_size=10_000, min_frequency=2, show_progress=False)
    reference.train_from_iterator([" ".join(words)], trainer)
    expected = reference.get_vocab()
    merged = sorted((token for token in expected if len(token) > 1), key=lambda token: expected[token])

    vocabulary = train([" ".join(words)], size=10_000, pattern=r"\S+")

    assert len(merged) > 50
    assert [token.decode() for token in list(vocabulary.ranks)[256:]] == merged


def test_one_long_piece_is_trained_in_time_that_grows_with_its_length():
    """Recounting 200,000 letters for each of 300 merges would take minutes."""
    text = "".join(random.Random(3).choices("abcdefgh", k=200_000))
    vocabulary = train([text], size=556, pattern=WHOLE)

    assert len(vocabulary.merges) == 300
    assert vocabulary.tokenizer("long").decode(vocabulary.tokenizer("long").encode(text)) == text


# Refusals.


def test_a_size_without_room_for_the_bytes_is_refused():
    assert train(["aa"], size=257, pattern=WHOLE, special=["<s>"]).size == 257
    with pytest.raises(TrainingError, match="at least 257"):
        train(["aa"], size=256, pattern=WHOLE, special=["<s>"])


@pytest.mark.parametrize("special", [["<s>", "<s>"], [""], ["\ud800"]])
def test_special_tokens_that_cannot_be_told_apart_are_refused(special):
    with pytest.raises(TrainingError, match="special token"):
        train(["aa"], size=300, pattern=WHOLE, special=special)


@pytest.mark.parametrize("counts", [{"": 1}, {"a": 0}, {"x</w>": 1}, {"\ud800": 1}])
def test_words_that_cannot_be_counted_are_refused(counts):
    with pytest.raises(TrainingError, match="A word is empty"):
        train_words(counts, merges=1)


def test_an_unknown_rule_for_ties_and_an_unknown_pattern_are_refused():
    with pytest.raises(TrainingError, match="lowest, first_seen"):
        train(["aa"], size=300, pattern=WHOLE, ties="random")
    with pytest.raises(TrainingError, match="lowest, first_seen"):
        train_words({"aa": 2}, merges=1, ties="random")
    with pytest.raises(UnsupportedPattern):
        train(["aa"], size=300, pattern="(")


def test_lone_surrogates_in_a_corpus_are_replaced():
    assert rows(train(["\ud800\ud800"], size=258, pattern=WHOLE)) == [(b"\xbf", b"\xbd", 2), (b"\xef", b"\xbf\xbd", 2)]
