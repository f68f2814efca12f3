from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.service.webhooks.receiver import Receiver


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    started = Receiver()
    started.start()
    yield started
    started.stop()
