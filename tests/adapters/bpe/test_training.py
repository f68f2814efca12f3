"""Training by the extension: beside plain Python, and beside the trainers of two other libraries."""

from __future__ import annotations

import os
import random
import string
import sys
import sysconfig
import threading
from array import array
from collections import Counter
from functools import partial
from pathlib import Path

import pytest
import rustbpe
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

from adapters.bpe.patterns import Splitter
from adapters.bpe.train import TrainingError, begin, train, train_words
from adapters.bpe.training import Plan, Ties, Training
from adapters.bpe.words import Words, count_pieces, piece_counter, words_of_pieces
from adapters.native import AVAILABLE, FAMILIES
from adapters.port import well_formed
from tests.fuzz import strings

if not AVAILABLE and os.environ.get("WEIGHBRIDGE_REQUIRE_NATIVE") != "1":
    pytest.skip("the extension is not built", allow_module_level=True)

from adapters.native._core import Merges, WordCounts
from adapters.native.families import classes

WHOLE = r"[\s\S]+"
RULES = st.sampled_from(list(Ties))
BYTES = tuple(bytes([byte]) for byte in range(256))


def source_text(size: int) -> str:
    """Python source of the standard library."""
    files = sorted(Path(sysconfig.get_path("stdlib")).glob("*.py"))
    return "".join(path.read_text("utf-8", errors="replace") for path in files)[:size]


def rows(vocabulary) -> list[tuple[bytes, bytes, int]]:
    return [(merge.left, merge.right, merge.frequency) for merge in vocabulary.merges]


# Beside plain Python.


@settings(deadline=None)
@given(
    st.lists(st.text(st.sampled_from("ab c"), max_size=60), max_size=8),
    RULES,
    st.sampled_from([WHOLE, "cl100k", "r50k", r"\s?a+|\s|b+"]),
    st.integers(256, 330),
)
@example(["a" * 40, "a" * 7], Ties.LOWEST, WHOLE, 330)
@example(["abab" * 9, "baba"], Ties.FIRST_SEEN, WHOLE, 330)
def test_the_vocabulary_is_that_of_plain_python(corpus, ties, pattern, size):
    vocabulary = train(corpus, size=size, pattern=pattern, ties=ties)

    assert vocabulary == train(corpus, size=size, pattern=pattern, ties=ties, native=False)


@settings(deadline=None)
@given(st.dictionaries(st.text("abcé秤", min_size=1, max_size=15), st.integers(1, 9), max_size=12), RULES)
def test_the_word_level_vocabulary_is_that_of_plain_python(counts, ties):
    assert train_words(counts, merges=60, ties=ties) == train_words(counts, merges=60, ties=ties, native=False)


@pytest.mark.parametrize("ties", Ties)
@pytest.mark.parametrize("pattern", ["o200k", r"[^\n]+"])
def test_real_text_gives_the_vocabulary_of_plain_python(pattern, ties):
    corpus = [source_text(120_000), *strings(300, seed=5)]
    vocabulary = train(corpus, size=2000, pattern=pattern, ties=ties)

    assert vocabulary.size == 2000
    assert vocabulary == train(corpus, size=2000, pattern=pattern, ties=ties, native=False)


@pytest.mark.parametrize("ties", Ties)
def test_words_of_real_text_give_the_merges_of_plain_python(ties):
    counts = Counter(source_text(150_000).replace("</w>", "").split())
    vocabulary = train_words(counts, merges=1500, ties=ties)

    assert len(vocabulary.merges) == 1500
    assert vocabulary == train_words(counts, merges=1500, ties=ties, native=False)


@pytest.mark.parametrize("pattern", FAMILIES)
def test_pieces_are_counted_as_plain_python_counts_them(pattern):
    corpus = [*strings(3000, seed=6), source_text(60_000), "a" * 5000, " " * 5000 + "x", "秤" * 999, "\ud800"]
    splitter = Splitter(pattern)
    words = count_pieces(corpus, pattern, native=True)

    assert words == count_pieces(corpus, pattern, native=False)
    expected = Counter(piece.encode() for text in corpus for piece in splitter.split(well_formed(text)))
    assert {bytes(word): weight for word, weight in words} == expected


def test_words_of_every_size_are_told_apart():
    corpus = ["a" * size + "b" for size in range(70)] + ["b" + "a" * size for size in range(70)]
    pattern = next(pattern for pattern, family in FAMILIES.items() if family == "o200k")

    assert count_pieces(corpus * 2, pattern, native=True) == words_of_pieces(
        {word.encode(): 2 * count for word, count in Counter(corpus).items()}
    )


# Beside other libraries. Both break ties by the lowest pair of ids, as we do by default.


def test_all_merges_are_those_of_rustbpe():
    """Its first 256 ids are the bytes too; it goes on merging pairs that occur once."""
    pattern = next(pattern for pattern, family in FAMILIES.items() if family == "llama3")
    corpus = [source_text(600_000), *strings(2000, seed=7, surrogates=False)]
    reference = rustbpe.Tokenizer()
    reference.train_from_iterator(iter(corpus), 6000, pattern=pattern)

    vocabulary = train(corpus, size=6000, pattern=pattern)

    assert vocabulary.size == 6000
    assert dict(vocabulary.ranks) == {bytes(token): rank for token, rank in reference.get_mergeable_ranks()}


def test_all_merges_are_those_of_hugging_faces_trainer():
    """Its first ids are the letters in their order, which is that of the bytes as long as all are ASCII."""
    text = "".join(letter for letter in source_text(600_000) if letter in string.printable)
    reference = Tokenizer(models.BPE())
    reference.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    trainer = trainers.BpeTrainer(vocab_size=6000, min_frequency=2, show_progress=False)
    reference.train_from_iterator([text], trainer)
    vocabulary = reference.get_vocab()
    merged = sorted((token for token in vocabulary if len(token) > 1), key=lambda token: vocabulary[token])

    ours = train([text], size=256 + len(merged), pattern=r"\S+")

    assert len(merged) > 5000
    assert [token.decode() for token in list(ours.ranks)[256:]] == merged


# What the extension's functions promise.


def test_training_goes_on_where_a_check_stopped_it():
    text = "".join(random.Random(4).choices("abcdefgh", k=300_000))
    whole = train([text], size=700, pattern=WHOLE)
    training = begin([text], size=700, pattern=WHOLE)
    stops = 0
    while len(training.rows) < 444:

        def check() -> None:
            raise TimeoutError

        before = len(training.rows)
        try:
            training.run(check=check)
        except TimeoutError:
            stops += 1
            assert len(training.rows) > before
            assert training.vocabulary.merges == whole.merges[: len(training.rows)]

    assert stops > 3
    assert training.vocabulary == whole


@pytest.mark.parametrize("native", [True, False])
def test_made_merges_can_be_repeated_on_the_same_words(native):
    corpus = [source_text(50_000)]
    whole = train(corpus, size=900, pattern="o200k", ties="first_seen")
    made = begin(corpus, size=900, pattern="o200k", ties="first_seen")
    made.run()
    again = begin(corpus, size=900, pattern="o200k", ties="first_seen", native=native)

    again.repeat(made.rows[:300])
    again.run()

    assert again.vocabulary == whole


@pytest.mark.parametrize("native", [True, False])
@pytest.mark.parametrize("row", [(97, 98, 3), (98, 97, 2), (97, 300, 2), (98, 99, 1)])
def test_merges_of_other_words_are_not_repeated(native, row):
    training = begin(["ab abc"], size=300, pattern="o200k", native=native)

    with pytest.raises(TrainingError, match="do not belong"):
        training.repeat([row])
    training.repeat([(97, 98, 2)])
    with pytest.raises(TrainingError, match="do not belong"):
        training.repeat([(97, 98, 2)])


@pytest.mark.parametrize("native", [True, False])
def test_words_that_occur_too_often_are_refused(native):
    words = Words(b"ab", 1, array("I", [2]).tobytes(), array("Q", [2**63]).tobytes())

    with pytest.raises(TrainingError, match="too often"):
        Training(Plan(BYTES, 5, "", (), Ties.LOWEST), words, native=native)
    with pytest.raises(TrainingError, match="too often"):
        train_words({"ab": 2**64}, merges=2, native=native)
    assert rows(train_words({"ab": 2**61}, merges=1, native=native)) == [(b"a", b"b", 2**61)]


@pytest.mark.parametrize("native", [True, False])
@pytest.mark.parametrize(
    ("symbols", "width", "lengths", "weights"),
    [
        (b"ab", 1, [3], [1]),
        (b"ab", 1, [2], [1, 1]),
        (b"ab", 1, [2], [0]),
        (array("I", [5, 256]).tobytes(), 4, [2], [1]),
        (b"abcd", 4, [4], [1]),
    ],
)
def test_words_of_another_alphabet_or_length_are_refused(native, symbols, width, lengths, weights):
    words = Words(symbols, width, array("I", lengths).tobytes(), array("Q", weights).tobytes())

    with pytest.raises(TrainingError, match="not made of the alphabet"):
        Training(Plan(BYTES, 5, "", (), Ties.LOWEST), words, native=native)


@pytest.mark.parametrize(
    ("width", "symbols", "lengths", "alphabet"),
    [
        (2, b"ab", [2], 256),
        (1, b"ab", [3], 256),
        (1, b"ab", [1], 256),
        (1, b"ab", [2], 255),
        (4, b"abc", [1], 256),
        (4, array("I", [5, 7]).tobytes(), [2], 7),
    ],
)
def test_words_that_are_not_what_they_are_said_to_be_are_refused(width, symbols, lengths, alphabet):
    weights = array("Q", [1] * len(lengths)).tobytes()

    with pytest.raises(ValueError, match="not what their sizes"):
        Merges(width, symbols, array("I", lengths).tobytes(), weights, alphabet, False)
    with pytest.raises(ValueError, match="not what their sizes"):
        Merges(1, b"ab", array("I", [2]).tobytes(), b"", 256, False)


@pytest.mark.parametrize("native", [True, False])
def test_words_counted_before_are_added_as_if_their_texts_had_come(native):
    pattern = next(pattern for pattern, family in FAMILIES.items() if family == "o200k")
    corpus = [*strings(600, seed=11), source_text(30_000), "x" * 400]
    before = count_pieces(corpus[:300], pattern, native=not native)
    counter = piece_counter(pattern, native=native)

    counter.add_words(before)
    for text in corpus[300:]:
        counter.add(text)

    assert counter.words() == count_pieces(corpus, pattern, native=native)


def test_words_counted_before_have_to_be_sound():
    counts = WordCounts("o200k", classes())
    for lengths, weights in (([3], [1]), ([2], [0]), ([2], [1, 1]), ([2], [2**63])):
        with pytest.raises(ValueError, match="not what their sizes"):
            counts.add_words(b"ab", array("I", lengths).tobytes(), array("Q", weights).tobytes())
    assert counts.words() == (b"", b"", b"")


def test_an_unknown_family_is_refused():
    with pytest.raises(ValueError, match="family"):
        WordCounts("none", classes())
    with pytest.raises(ValueError, match="class"):
        WordCounts("o200k", b"")


def test_an_object_in_use_says_so_to_another_thread():
    inside, done = threading.Event(), threading.Event()
    symbols = bytes(random.Random(5).choices(b"abcdefgh", k=300_000))
    words = words_of_pieces({symbols: 1})
    merges = Merges(1, symbols, words.lengths, words.weights, 256, False)

    def check() -> None:
        inside.set()
        assert done.wait(60)

    thread = threading.Thread(target=merges.run, args=(100, check))
    thread.start()
    assert inside.wait(60)
    try:
        with pytest.raises(RuntimeError, match="another call"):
            merges.run(1)
        with pytest.raises(RuntimeError, match="another call"):
            merges.made(0)
    finally:
        done.set()
        thread.join()
    assert len(merges.made(0)) == 100


def test_the_interpreters_lock_is_released_while_merging(request):
    """Another thread, which no switch by time can help, runs to its end while merges are made."""
    symbols = bytes(random.Random(6).choices(b"abcd", k=100_000))
    words = words_of_pieces({symbols: 1})
    request.addfinalizer(partial(sys.setswitchinterval, sys.getswitchinterval()))
    go = threading.Event()
    ran: list[bool] = []
    thread = threading.Thread(target=lambda: ran.append(go.wait(60)))
    thread.start()

    sys.setswitchinterval(1000)
    go.set()
    for _ in range(200):  # a busy machine may not let the thread run within one training
        merges = Merges(1, symbols, words.lengths, words.weights, 256, False)
        while not ran and merges.run(100) == 100:
            pass
        if ran:
            break
    seen = list(ran)

    thread.join()
    assert seen == [True]
