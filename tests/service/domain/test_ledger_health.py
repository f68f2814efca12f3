"""Whether the ledger can be used, as one process sees it, and what its operator reads."""

from __future__ import annotations

from service.domain.spending.health import WRITES_REMEMBERED, LedgerHealth


class Seen:
    """A health with a clock of the test's own and what was told."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.told: list[str] = []
        self.health = LedgerHealth(self.told.append, lambda: self.now)


def test_it_starts_until_the_first_look() -> None:
    seen = Seen()
    assert seen.health.word == "starting"
    seen.health.wrote(None)
    assert seen.health.word == "starting"
    seen.health.looked(None)
    assert (seen.health.word, seen.told) == ("up", [])


def test_each_change_is_told_once() -> None:
    seen = Seen()
    for problem in ("gone", "gone", "busy", None, None):
        seen.health.looked(problem)
    assert seen.told == [
        "budgets and spend cannot be used: gone",
        "budgets and spend cannot be used: busy",
        "budgets and spend can be used again",
    ]


def test_a_write_that_failed_counts_for_a_while_though_reads_work() -> None:
    seen = Seen()
    seen.health.looked(None)
    seen.health.wrote("the disk is full")
    seen.now += WRITES_REMEMBERED - 1
    seen.health.looked(None)
    assert seen.health.word == "down"
    seen.now += 1
    assert seen.health.word == "up"
    seen.health.looked(None)
    assert seen.told == ["budgets and spend cannot be used: the disk is full", "budgets and spend can be used again"]


def test_a_ledger_that_can_be_read_again_can_be_written_too() -> None:
    seen = Seen()
    seen.health.wrote("gone")
    seen.health.looked("gone")
    seen.health.looked(None)
    assert (seen.health.word, len(seen.told)) == ("up", 2)


def test_a_write_that_works_ends_it_at_once() -> None:
    seen = Seen()
    seen.health.looked(None)
    seen.health.wrote("the disk is full")
    seen.health.wrote(None)
    assert (seen.health.word, seen.told[-1]) == ("up", "budgets and spend can be used again")
