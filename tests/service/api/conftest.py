"""The service over a ledger of a test's own, on SQLite and on PostgreSQL."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from service.api.services import Services
from tests.service.api.ledgers import LedgerApi
from tests.service.store.conftest import place, postgres
from tests.service.store.places import Place

__all__ = ["place", "postgres"]


@pytest.fixture
def ledger_api(place: Place, services: Services) -> Iterator[LedgerApi]:
    api = LedgerApi(services, place)
    yield api
    asyncio.run(api.ledger.close())
