"""Routes that spend, over SQLite and over a real PostgreSQL server."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from service.api.services import Services
from service.app import build_services
from service.settings import Settings
from tests.service.api.spending.desk import CONFIG, Desk, desk_over
from tests.service.store.places import Place


@pytest.fixture(scope="session")
def own_services(tmp_path_factory: pytest.TempPathFactory) -> Services:
    folder = tmp_path_factory.mktemp("spending")
    (folder / "weighbridge.toml").write_text(CONFIG)
    return build_services(Settings(data_dir=folder, log="off", vocabularies=("o200k_base",)))


@pytest.fixture
def desk(place: Place, own_services: Services) -> Iterator[Desk]:
    desk = desk_over(place, own_services)
    desk.do(desk.ledger.open())
    yield desk
    asyncio.run(desk.ledger.close())


@pytest.fixture
def file_desk(own_services: Services, tmp_path: Path) -> Iterator[Desk]:
    """As ``desk``, over SQLite alone: for what is decided before the ledger is asked."""
    desk = desk_over(Place("", tmp_path / "data"), own_services)
    yield desk
    asyncio.run(desk.ledger.close())
