"""Both clients are held to the same."""

from __future__ import annotations

import pytest

from tests.service.client.script import Asker


@pytest.fixture(params=["waits", "awaited"])
def asker(request: pytest.FixtureRequest) -> Asker:
    return Asker(request.param)
