"""A reservation is settled alike, whether this process made it or another did."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from service.api.holding.recent import RecentHolds
from service.app import layered
from service.app.assembly import inner_app
from service.domain.spending.budgets import Spender
from service.domain.spending.ledger import NO_ESTIMATE, Hold, HoldState
from tests.service.conftest import Api

ASKED = {"model": "gpt-4o", "text": "Hello, World!", "max_output_tokens": 100}
USAGES = [
    {"usage": {"prompt_tokens": 1000, "completion_tokens": 100, "total_tokens": 1100}},
    {"partial": True},
    {"usage": {"output_tokens": 7}, "partial": True},
    {"usage": {"input_tokens": 5, "output_tokens": 7, "reasoning_tokens": 8}},
]


def _hold(number: int, project: str = "p") -> Hold:
    now = datetime(2026, 11, 30, tzinfo=UTC)
    return Hold(
        f"h{number}", Spender(project), HoldState.HELD, 1, None, now, now, price_revision="", estimate=NO_ESTIMATE,
        budgets=(),
    )  # fmt: skip


def test_the_last_ones_are_kept():
    recent = RecentHolds(most=2)
    made = [recent.note(_hold(number)) for number in range(3)]
    assert [recent.find("p", hold.id) for hold in made] == [None, *made[1:]]


def test_a_project_finds_its_own_only():
    recent = RecentHolds()
    recent.note(_hold(1))
    assert recent.find("q", "h1") is None


class Reading:
    """A ledger that counts how often a hold is read."""

    def __init__(self, ledger):
        self._ledger = ledger
        self.reads = 0

    def __getattr__(self, name):
        return getattr(self._ledger, name)

    async def hold(self, project, hold_id):
        self.reads += 1
        return await self._ledger.hold(project, hold_id)


@pytest.fixture
def processes(services, place):
    """Two processes over one ledger."""

    def process():
        ledger = Reading(place.ledger())
        own = replace(services, ledger=ledger, now=place.clock, recent_holds=RecentHolds())
        return Api(layered(inner_app(own), own)), ledger

    both = process(), process()
    yield both
    for _, ledger in both:
        asyncio.run(ledger.close())


@pytest.mark.parametrize("usage", USAGES)
def test_what_is_booked_does_not_depend_on_who_made_it(processes, usage):
    (maker, own), (other, foreign) = processes
    answers = []
    for api in (maker, other):
        held = maker.post("/v1/reservations", ASKED)
        assert held.status_code == 201, held.text
        settled = api.post(f"/v1/reservations/{held.json()['id']}/settle", usage)
        assert settled.status_code == 200, settled.text
        answers.append({k: v for k, v in settled.json().items() if k not in ("id", "entry_id")})
    assert answers[0] == answers[1]
    assert (own.reads, foreign.reads) == (0, 1)


def test_a_reservation_that_ended_meanwhile_is_late_all_the_same(processes):
    (maker, own), (other, _) = processes
    held = maker.post("/v1/reservations", ASKED).json()
    assert other.post(f"/v1/reservations/{held['id']}/release", {}).status_code == 200
    settled = maker.post(f"/v1/reservations/{held['id']}/settle", USAGES[0]).json()
    assert "late" in settled["flags"]
    assert own.reads == 0
