"""What the extension's functions promise beside the ids: limits, deadlines, threads, and refusals."""

from __future__ import annotations

import base64
import sys
import threading
import tracemalloc

import pytest

from adapters.native._core import Vocabulary
from adapters.native.families import classes
from adapters.port import DeadlineExceeded, Stop
from tests.fuzz import long_string, strings

BYTES = b"".join(b"%b %d\n" % (base64.b64encode(bytes([byte])), byte) for byte in range(256))


def of(*merges: tuple[bytes, int]) -> Vocabulary:
    lines = b"".join(b"%b %d\n" % (base64.b64encode(token), rank) for token, rank in merges)
    return Vocabulary("r50k", BYTES + lines, classes())


def test_exactly_reaching_the_limit_fits(small_pair):
    for text in [*strings(300, seed=2, surrogates=False), long_string(5_000, seed=1), "a" * 5_000]:
        count = small_pair.native.count(text)
        assert small_pair.native.fits(text, count)
        assert count == 0 or not small_pair.native.fits(text, count - 1)


def test_a_long_piece_that_cannot_fit_is_refused_unmerged():
    vocabulary = of((b"aa", 256))
    assert not vocabulary.fits("a" * 200_000_000, 99_999_999)


def test_the_deadline_is_looked_at_every_64_kib(small_pair):
    looked: list[int] = []
    small_pair.native.count("a truck " * 100_000, lambda: looked.append(1))
    assert 800_000 / 65_536 <= len(looked) <= 800_000 / 65_536 + 2


def test_the_deadline_is_looked_at_within_one_long_piece(small_pair):
    looked: list[int] = []
    small_pair.native.count("ab" * 500_000, lambda: looked.append(1))
    assert len(looked) > 5


def test_a_passed_deadline_ends_a_count_and_the_next_one_is_right(small_pair):
    times = iter([0.0, 0.0, 2.0])
    stop = Stop(1.0, clock=lambda: next(times))
    with pytest.raises(DeadlineExceeded):
        small_pair.native.count("a truck " * 100_000, stop.check)
    assert next(times, None) is None
    assert small_pair.native.count("a truck " * 100_000) == 200_001
    with pytest.raises(DeadlineExceeded):
        small_pair.native.encode("ab" * 500_000, 0, Stop(0.0).check)


def test_a_check_may_count_itself(small_pair):
    inner: list[int] = []
    text = "a truck and another one " * 10_000
    count = small_pair.native.count(text, lambda: inner.append(small_pair.native.count("uncommonestish words")))
    assert count == small_pair.native.count(text)
    assert len(set(inner)) == 1


def test_threads_get_the_counts_that_one_gets(small_pair):
    texts = [long_string(6_000, seed) for seed in range(12)]
    alone = [small_pair.native.count(text) for text in texts]
    found: list[list[int]] = []

    def work() -> None:
        for _ in range(5):
            found.append([small_pair.native.count(text) for text in texts])  # noqa: PERF401 - a list each

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [alone] * 30


def test_a_long_text_leaves_the_interpreter_to_other_threads(small_pair):
    """With one switch a minute, another thread runs at all only if the count lets go of the interpreter."""
    before = sys.getswitchinterval()
    text = "".join(strings(60_000, seed=8, surrogates=False))
    started, ran = threading.Event(), threading.Event()

    def other() -> None:
        started.wait()
        ran.set()

    thread = threading.Thread(target=other)
    thread.start()
    sys.setswitchinterval(60)
    try:
        started.set()
        small_pair.native.count(text, lambda: ran.wait(5))
        assert ran.is_set()
    finally:
        sys.setswitchinterval(before)
        thread.join()


def test_merges_are_by_rank_and_not_by_length():
    vocabulary = of((b"ab", 256), (b"bc", 257), (b"abc", 258))
    assert vocabulary.encode("abcab") == [258, 256]
    assert of((b"bc", 256), (b"ab", 257), (b"abcd", 258)).encode("abcab") == [97, 256, 257]


def test_a_token_comes_from_the_two_that_its_bytes_are_merged_to():
    """``abc`` is ``a`` and ``bc``, which has the lower rank; a token may have a lower rank than those it comes from."""
    vocabulary = of((b"bc", 256), (b"ab", 257), (b"abc", 258), (b"abcabc", 259))
    assert vocabulary.encode("abcabc") == [259]
    assert vocabulary.encode("abcabcabc") == [259, 258]
    late = of((b"abcd", 256), (b"ab", 300), (b"cd", 301))
    assert late.encode("abcde") == [256, 101]


def test_a_character_is_taken_at_once_only_where_no_merge_of_lower_rank_crosses_it():
    han, other = "的".encode(), "是".encode()
    merges = [(han[:2], 300), (han, 301)]
    assert of(*merges).encode("的的") == [301, 301]
    crossing = (han[2:] + other[:1], 299)
    assert of(*merges, crossing).encode("的是") == [300, 299, *other[1:]]
    assert of(*merges, crossing).encode("的的") == [301, 301]
    after = (han[2:] + other[:1], 302)
    assert of(*merges, after).encode("的是") == [301, *other]


def test_a_token_that_no_merge_leads_to_is_found_as_a_whole_piece_alone():
    vocabulary = of((b"xyz", 300))
    assert vocabulary.encode("xyz") == [300]
    assert vocabulary.encode("xyzx") == [120, 121, 122, 120]


def test_tokens_that_differ_in_trailing_zero_bytes_are_told_apart():
    vocabulary = of((b"\0\0", 256), (b"\0\0\0\0", 257))
    assert vocabulary.encode("\0" * 2) == [256]
    assert vocabulary.encode("\0" * 3) == [256, 0]
    assert vocabulary.encode("\0" * 4) == [257]


def test_long_tokens_that_begin_and_end_alike_are_told_apart():
    first, second = b"x" * 8 + b"a" + b"y" * 8, b"x" * 8 + b"b" + b"y" * 8
    vocabulary = of((first, 300), (second, 301))
    assert vocabulary.encode(first.decode()) == [300]
    assert vocabulary.encode(second.decode()) == [301]
    assert vocabulary.count("x" * 8 + "c" + "y" * 8) == 17


def test_ranks_may_have_gaps_and_any_order():
    vocabulary = Vocabulary("r50k", b"YWI= 4294967294\n" + BYTES, classes())
    assert vocabulary.encode("ab") == [4_294_967_294]
    assert vocabulary.bytes_of(4_294_967_294) == b"ab"
    assert vocabulary.bytes_of(256) is None
    assert vocabulary.highest_rank == 4_294_967_294
    assert vocabulary.encode("ab", 1000) == [4_294_968_294]


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        (b"", "malformed"),
        (b"IQ== x\n", "malformed"),
        (b"IQ= 0\n", "malformed"),
        (b"IR== 0\n", "malformed"),
        (b"IQ==\n", "malformed"),
        (b"= 0\n", "malformed"),
        (b"IQ== 4294967295\n", "malformed"),
        (b"IQ== 00000000001\n", "malformed"),
        (b"IQ== 0 1\n", "malformed"),
        (b"IQ== 0\nIQ== 1\n", "repeats"),
        (b"IQ== 0\nIg== 0\n", "repeats"),
        (b"IQ== 0\n", "lacks single bytes"),
        (BYTES + b"YQ== 300\n", "repeats"),
        (BYTES + b"YWJj" * 22_000 + b" 300\n", "longer"),
    ],
)
def test_a_rank_file_that_cannot_be_used_is_refused(lines, says):
    with pytest.raises(ValueError, match=says):
        Vocabulary("r50k", lines, classes())


def test_a_rank_file_with_more_tokens_than_numbers_is_refused():
    lines = [b"%b %d\n" % (base64.b64encode(b"\0" + rank.to_bytes(3)), rank) for rank in range(256, 2**20 - 1)]
    with pytest.raises(ValueError, match="more than 1,048,574"):
        Vocabulary("r50k", BYTES + b"".join(lines), classes())


def test_blank_lines_and_windows_line_ends_are_read():
    assert Vocabulary("r50k", BYTES.replace(b"\n", b"\r\n") + b"\n\n", classes()).size == 256


def test_an_unknown_family_and_a_short_class_table_are_refused():
    with pytest.raises(ValueError, match="family"):
        Vocabulary("r60k", BYTES, classes())
    with pytest.raises(ValueError, match="code point"):
        Vocabulary("r50k", BYTES, b"\0" * 1000)


def test_arguments_of_other_types_are_refused(small_pair):
    for call in (lambda: small_pair.native.count(b"a"), lambda: small_pair.native.fits("a", -1.5)):
        with pytest.raises(TypeError):
            call()
    with pytest.raises(UnicodeEncodeError):
        small_pair.native.count("\ud800")


def test_nothing_is_kept_of_a_text(small_pair):
    tracemalloc.start()
    try:
        for _ in range(200):
            small_pair.native.encode("weighbridge " * 500)
        before = tracemalloc.get_traced_memory()[0]
        for _ in range(200):
            small_pair.native.encode("weighbridge " * 500)
        assert tracemalloc.get_traced_memory()[0] - before < 10_000
    finally:
        tracemalloc.stop()
