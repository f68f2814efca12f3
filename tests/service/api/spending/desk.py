"""The service over a ledger of the test's own, with prices of a configuration file and a clock of the test's."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from decimal import Decimal
from typing import Any

import httpx

from service.api.services import Services
from service.app import build_app
from service.domain.spending.budgets import NANO, BudgetSpec, Terms, Totals
from service.domain.spending.ledger import Entry, EntryQuery
from service.store.ledger import SqlLedger
from tests.service.conftest import Api
from tests.service.store.places import Place, audited

CONFIG = """
[[model]]
provider = "local"
id = "own"
aliases = ["own-latest"]
tokenizer = "o200k_base"
context_window = 200000
max_output_tokens = 100

[[model]]
provider = "local"
id = "cheap"
tokenizer = "o200k_base"
context_window = 1000
max_output_tokens = 100

[[model]]
provider = "local"
id = "gratis"
tokenizer = "o200k_base"
max_output_tokens = 100

[[model]]
provider = "local"
id = "unpriced"
tokenizer = "o200k_base"
max_output_tokens = 100

[[model]]
provider = "local"
id = "endless"
tokenizer = "o200k_base"

[[model]]
provider = "local"
id = "uncountable"
max_output_tokens = 100

[[price]]
provider = "local"
model = "own"
to = 2026-11-21
input_mtok = "2.5"
cache_read_mtok = "1.25"
output_mtok = "10"
source = "test"
checked = 2026-11-01

[[price]]
provider = "local"
model = "own"
from = 2026-11-21
input_mtok = "250"
output_mtok = "1000"
source = "test"
checked = 2026-11-01

[[price]]
provider = "local"
model = "own"
service_tier = "flex"
input_mtok = "1.25"
output_mtok = "5"
source = "test"
checked = 2026-11-01

[[price]]
provider = "local"
model = "cheap"
input_mtok = "1"
output_mtok = "1"
source = "test"
checked = 2026-11-01

[[price]]
provider = "local"
model = "endless"
input_mtok = "1"
output_mtok = "1"
source = "test"
checked = 2026-11-01

[[price]]
provider = "local"
model = "uncountable"
input_mtok = "1"
output_mtok = "1"
source = "test"
checked = 2026-11-01

[[price]]
provider = "local"
model = "gratis"
free = true
source = "test"
checked = 2026-11-01
"""


@dataclass
class Desk:
    """Asks the service, and looks into its ledger."""

    place: Place
    ledger: SqlLedger
    services: Services
    api: Api

    def do(self, work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run(work)

    def budget(self, name: str = "team-a", limit: str | None = "10", *, project: str = "default", **more: Any) -> None:
        terms = Terms(None if limit is None else int(Decimal(limit) * NANO), more.pop("limit_tokens", None))
        self.do(self.ledger.create_budget(BudgetSpec(project, name, terms, **more), by="test"))

    def totals(self, name: str = "team-a") -> Totals:
        return self.do(self.ledger.budget("default", name)).totals

    def entries(self) -> Sequence[Entry]:
        return self.do(self.ledger.entries(EntryQuery())).items

    def audit(self) -> None:
        self.do(audited(self.ledger))

    def reserve(self, **body: Any) -> httpx.Response:
        return self.api.post("/v1/reservations", body)

    def held(self, **body: Any) -> dict[str, Any]:
        answer = self.reserve(**body)
        assert answer.status_code == 201, answer.text
        return answer.json()

    def settle(self, hold: dict[str, Any], **body: Any) -> httpx.Response:
        return self.api.post(f"/v1/reservations/{hold['id']}/settle", body)

    def settled(self, hold: dict[str, Any], **body: Any) -> dict[str, Any]:
        answer = self.settle(hold, **body)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def together(self, requests: Sequence[tuple[str, Any, dict[str, str]]]) -> list[httpx.Response]:
        """POST all of them at once."""

        async def ask() -> list[httpx.Response]:
            transport = httpx.ASGITransport(app=self.api.app)
            async with httpx.AsyncClient(transport=transport, base_url="http://localhost", timeout=60) as client:
                kind = {"content-type": "application/json"}
                return await asyncio.gather(
                    *(
                        client.post(path, content=json.dumps(body).encode(), headers=kind | headers)
                        for path, body, headers in requests
                    )
                )

        return asyncio.run(ask())


def desk_over(place: Place, services: Services) -> Desk:
    """A desk over a ledger in ``place``."""
    ledger = place.ledger()
    mine = replace(services, ledger=ledger, now=place.clock, compared=("local/own", "local/cheap"))
    return Desk(place, ledger, mine, Api(build_app(mine)))


def refusal_counts(desk: Desk) -> list[tuple[str, str | None, str | None, int]]:
    """What was noted of refusals: reason, budget, model and how often."""
    desk.do(desk.ledger.keep_up_once())
    now, day = desk.place.clock(), timedelta(days=1)
    found = desk.do(desk.ledger.refusals("default", now - day, now + day))
    return sorted((r.refusal.reason, r.refusal.budget, r.refusal.model, r.count) for r in found)
