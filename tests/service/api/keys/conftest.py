"""A service with keys of a test's own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from service.api.services import Services
from tests.service.api.keys.keyed import KeyedApi


@pytest.fixture
def keyed(services: Services, tmp_path: Path) -> Iterator[KeyedApi]:
    api = KeyedApi(services, tmp_path)
    yield api
    api.close()
