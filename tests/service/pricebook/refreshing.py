"""A refresher with all that it touches, and lists that differ from the good one in one way."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
from genai_prices.types import Provider

from service.domain.ports import SnapshotStore
from service.pricebook.refresh import Bundled, Refresher, RefreshOptions, RefreshOutcome
from service.pricebook.snapshots import FILE_NAME, FileSnapshots
from tests.service.pricebook.price_server import CANARIES, Answer, core_list, core_providers, model_in, scaled

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
CHECKED = date(2026, 11, 10)
GOOD = core_list()
ETAG = '"one"'


class Bench:
    """A refresher and all that it touches: ``table`` is the one reference that a swap replaces."""

    def __init__(self, url: str, folder: Path, **options: Any) -> None:
        self.now = NOW
        self.outcomes: list[RefreshOutcome] = []
        self.pauses: list[float] = []
        self.table: tuple[str, str, str, list[Provider]] = ("bundled", "", "2026-11-10", list(core_providers()))
        self.swaps = 0
        self.store: SnapshotStore = FileSnapshots(folder)
        self.file = folder / FILE_NAME
        self.options = RefreshOptions(url, CANARIES, **options)
        self.last_pause: int | None = None
        self._runner = asyncio.Runner()
        self.client = httpx.AsyncClient(trust_env=False)
        self.refresher = self.started()

    def started(self) -> Refresher:
        """A refresher as a fresh process would build it."""
        return Refresher(
            self.client,
            self.options,
            Bundled(core_providers(), CHECKED),
            store=self.store,
            accept=self.accept,
            listen=self.outcomes.append,
            clock=lambda: self.now,
            sleep=self._pause,
            random=lambda: 0.5,
        )

    def accept(self, providers: list[Provider], source: str, revision: str, checked: str) -> None:
        self.table = (source, revision, checked, providers)
        self.swaps += 1

    def refresh(self) -> tuple[str, str]:
        outcome = self._runner.run(self.refresher.refresh())
        assert self.outcomes[-1] is outcome
        return outcome.status, outcome.reason

    def restart(self) -> tuple[str, str]:
        """Start anew on the bundled list, with the file that is there."""
        self.table = ("bundled", "", "2026-11-10", list(core_providers()))
        self.refresher = self.started()
        outcome = self.refresher.restore()
        return outcome.status, outcome.reason

    def run(self, work: Any) -> Any:
        return self._runner.run(work)

    def close(self) -> None:
        self._runner.run(self.client.aclose())
        self._runner.close()

    async def _pause(self, seconds: float) -> None:
        self.pauses.append(seconds)
        if len(self.pauses) == self.last_pause:
            raise asyncio.CancelledError


@contextmanager
def benches(folder: Path) -> Iterator[Callable[..., Bench]]:
    """Builds benches with one data directory."""
    made: list[Bench] = []

    def build(url: str, **options: Any) -> Bench:
        made.append(Bench(url, folder, **options))
        return made[-1]

    yield build
    for one in made:
        one.close()


def good(change: Callable[[list[Any]], Any] | None = None) -> Answer:
    return Answer(core_list(change), headers={"etag": ETAG})


def revision(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()


def halved(raw: list[Any]) -> None:
    for provider in raw:
        del provider["models"][::2]


def ten_times(raw: list[Any]) -> None:
    for provider in raw:
        for model in provider["models"]:
            model["prices"] = scaled(model["prices"], 10)
            for variant in model.get("price_variants", ()):
                variant["prices"] = scaled(variant["prices"], 10)


def wrong_unit(raw: list[Any]) -> None:
    model_in(raw, "openai", "gpt-4o")["prices"] = {"input_mtok": 2_500, "output_mtok": 10}


def without_newest(raw: list[Any]) -> None:
    """The list as it was before the newest price that has begun."""
    dated = [entry for provider in raw for model in provider["models"] for entry in _entries(model)]
    starts = {entry.get("constraint", {}).get("start_date", "") for entry in dated}
    newest = max(start for start in starts if start <= NOW.date().isoformat())
    for provider in raw:
        for model in provider["models"]:
            for key in ("prices", "price_variants"):
                if isinstance(model.get(key), list):
                    model[key] = [e for e in model[key] if e.get("constraint", {}).get("start_date") != newest]


def _entries(model: Any) -> list[Any]:
    prices = model["prices"] if isinstance(model["prices"], list) else []
    return [*prices, *model.get("price_variants", ())]


def dearer(raw: list[Any]) -> None:
    model = model_in(raw, "openai", "gpt-4o")
    model["prices"] = scaled(model["prices"], 2)


def input_price(table: tuple[str, str, str, list[Provider]]) -> Any:
    openai = next(provider for provider in table[3] if provider.id == "openai")
    return next(model for model in openai.models if model.id == "gpt-4o").get_prices(NOW).input_mtok


def run_until(desk: Bench, pauses: int) -> None:
    """Let it run until it is cancelled in its so many-th pause."""
    desk.last_pause = pauses
    with pytest.raises(asyncio.CancelledError):
        desk.run(desk.refresher.run_forever())
