"""A stopped training as a file: what goes on from it is what would have been, and a damaged file is refused."""

from __future__ import annotations

import json

import pytest

from adapters.bpe.state import dump_training, load_state
from adapters.bpe.train import Ties, Training, TrainingError, begin, begin_words, train, train_words

TEXT = ["weigh the truck, then weigh the load; 秤秤秤 weighs\n" * 3]
ENGINES = pytest.mark.parametrize("native", [True, False])


def stopped(merges: int, *, native: bool = True) -> Training:
    training = begin(TEXT, size=320, pattern="o200k", special=["<s>"], ties="first_seen", native=native)

    def check() -> None:
        if len(training.rows) >= merges:
            raise TimeoutError

    if native:  # it asks rarely
        whole = begin(TEXT, size=320, pattern="o200k", special=["<s>"], ties="first_seen")
        whole.run()
        training.repeat(whole.rows[:merges])
    else:
        with pytest.raises(TimeoutError):
            training.run(check=check)
    assert len(training.rows) == merges
    return training


@ENGINES
@pytest.mark.parametrize("merges", [0, 1, 12, 23])
def test_a_training_goes_on_from_its_file_with_either_engine(native, merges):
    data = dump_training(stopped(merges, native=native))

    for engine in (True, False):
        again = load_state(data, native=engine)
        assert len(again.rows) == merges
        assert dump_training(again) == data
        again.run()
        assert again.vocabulary == train(TEXT, size=320, pattern="o200k", special=["<s>"], ties="first_seen")


@ENGINES
def test_a_word_level_training_goes_on_from_its_file(native):
    counts = {"lów": 5, "lówer": 2, "newest": 6, "widest": 3}
    again = load_state(dump_training(begin_words(counts, merges=9, ties=Ties.LOWEST)), native=native)
    again.run()

    assert again.vocabulary == train_words(counts, merges=9, ties=Ties.LOWEST)
    assert len(again.vocabulary.merges) == 9


def test_a_training_of_no_words_goes_on():
    training = load_state(dump_training(begin([], size=300, pattern="o200k")))
    training.run()

    assert training.vocabulary.merges == ()


def test_a_changed_or_cut_file_is_refused():
    data = dump_training(stopped(5))

    for place in (*range(0, len(data), 97), len(data) - 1):
        with pytest.raises(TrainingError, match="Train anew"):
            load_state(data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :])
    for place in (0, 1, data.index(b"\n"), len(data) - 8):
        with pytest.raises(TrainingError, match="Train anew"):
            load_state(data[:place])


@pytest.mark.parametrize("data", [b"", b"[]\n", b"null", b'{"format": "weighbridge-training"}\n', b"\xff", b"[" * 9**6])
def test_what_is_no_state_is_refused(data):
    with pytest.raises(TrainingError, match="no stopped training"):
        load_state(data)


def test_a_file_of_another_version_or_byte_order_is_refused():
    data = dump_training(stopped(2))
    line, _, body = data.partition(b"\n")
    for key, value in (("version", 2), ("byteorder", "middle"), ("format", "other")):
        changed = json.dumps({**json.loads(line), key: value}).encode() + b"\n" + body
        with pytest.raises(TrainingError, match="version"):
            load_state(changed)
