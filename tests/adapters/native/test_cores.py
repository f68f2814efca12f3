"""A large text on several cores: the same count, and no more threads than cores."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from adapters.loader import LoaderOptions, Vocabularies
from adapters.native.cores import WORTH_SHARING, Cores
from adapters.port import DeadlineExceeded, Stop
from tests.adapters.native.conftest import SPECS
from tests.fuzz import long_string

ENGLISH = "A weighbridge weighs trucks, 42 of them, before it's charged.\n" * 20_000
CHINESE = "地磅在货车过磅之前先称重，然后再收费。" * 40_000


def shared_on(cores: Cores, name: str = "o200k_base"):
    return Vocabularies(SPECS, LoaderOptions(cores=cores)).load(name)


@pytest.mark.parametrize("name", ["r50k_base", "o200k_base", "qwen", "claude_legacy"])
def test_the_count_on_several_cores_is_the_count_on_one(name):
    alone = Vocabularies(SPECS).load(name)
    cores = Cores(4)
    shared = shared_on(cores, name)
    for text in (ENGLISH, CHINESE, long_string(WORTH_SHARING + 1, seed=3), "x" * (WORTH_SHARING + 1)):
        assert len(text) > WORTH_SHARING
        assert shared.count(text) == alone.count(text)
    assert cores.busy == 0


class Slow:
    """A vocabulary whose count of a part waits; it notes the threads and the parts."""

    def __init__(self, waiting: threading.Event, parts: int = 8) -> None:
        self.waiting = waiting
        self.threads: set[int] = set()
        self.counted: list[tuple[int, int]] = []
        self.parts = parts

    def borders(self, text: str, step: int) -> list[int]:
        return list(range(1, self.parts + 1))

    def count(self, text: str, check, start: int = 0, end: int = -1) -> int:
        if check is not None:
            check()
        self.threads.add(threading.get_ident())
        self.counted.append((start, end))
        assert self.waiting.wait(30)
        return end - start if end >= 0 else self.parts


def _until(condition) -> None:
    pause = threading.Event()
    for _ in range(3_000):
        if condition():
            return
        pause.wait(0.01)
    raise TimeoutError


def test_a_lone_text_uses_every_core_and_texts_beyond_the_cores_get_no_helper():
    cores, gate = Cores(3), threading.Event()
    first, second, third = (Slow(gate) for _ in range(3))
    with ThreadPoolExecutor(3) as callers:
        counts = [callers.submit(cores.count, first, "", None)]
        _until(lambda: len(first.threads) == 3)
        assert cores.busy == 3
        counts += [callers.submit(cores.count, other, "", None) for other in (second, third)]
        _until(lambda: second.counted and third.counted)
        assert second.counted == third.counted == [(0, -1)]
        gate.set()
        assert [count.result() for count in counts] == [8, 8, 8]
    assert sorted(first.counted) == [(i, i + 1) for i in range(8)]
    assert cores.busy == 0


def test_a_helper_leaves_once_there_are_more_texts_than_cores():
    cores, gate, other_gate = Cores(2), threading.Event(), threading.Event()
    first, second = Slow(gate, parts=50), Slow(other_gate)
    with ThreadPoolExecutor(2) as callers:
        one = callers.submit(cores.count, first, "", None)
        _until(lambda: len(first.threads) == 2)
        other = callers.submit(cores.count, second, "", None)
        _until(lambda: len(second.counted) == 1)
        assert cores.busy == 3
        gate.set()
        assert one.result() == 50
        assert cores.busy == 1
        other_gate.set()
        assert other.result() == 8
    assert cores.busy == 0


def test_the_deadline_ends_all_parts_and_frees_the_cores():
    cores = Cores(4)
    with pytest.raises(DeadlineExceeded):
        shared_on(cores).count(ENGLISH, stop=Stop(0.0))
    _until(lambda: cores.busy == 0)
    assert shared_on(cores).count("a truck") == 2


def test_a_failure_in_a_helper_reaches_the_caller():
    cores, gate = Cores(2), threading.Event()
    gate.set()
    asked = threading.Semaphore(0)
    caller = threading.get_ident()

    def check() -> None:
        if threading.get_ident() != caller:
            asked.release()
            raise DeadlineExceeded("late")
        asked.acquire(timeout=30)
        asked.release()

    with pytest.raises(DeadlineExceeded, match="late"):
        cores.count(Slow(gate), "", check)
    _until(lambda: cores.busy == 0)


def test_one_core_counts_alone():
    gate = threading.Event()
    gate.set()
    alone = Slow(gate)
    assert Cores(1).count(alone, "", None) == 8
    assert alone.counted == [(0, -1)]
