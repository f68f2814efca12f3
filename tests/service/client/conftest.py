"""Both clients are held to the same, over scripts and over the service itself."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.service.client.script import Asker
from tests.service.conftest import ServerProcess

ADMIN_KEY = "an-admin-key-of-the-tests"


@pytest.fixture(params=["waits", "awaited"])
def asker(request: pytest.FixtureRequest) -> Asker:
    return Asker(request.param)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """The service in a process of its own, with keys."""
    settings = {"WEIGHBRIDGE_VOCABULARIES": "o200k_base", "WEIGHBRIDGE_ADMIN_KEY": ADMIN_KEY}
    process = ServerProcess(tmp_path_factory.mktemp("client"), settings)
    try:
        process.wait_until_ready()
        yield process
    finally:
        if process.process.poll() is None:
            process.process.kill()
            process.process.wait(30)
