"""Fixtures for every test."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def cases() -> Path:
    """The folder with the shared cases, read in place; ``WEIGHBRIDGE_TEST_CASES`` names it."""
    folder = os.environ.get("WEIGHBRIDGE_TEST_CASES")
    if not folder:
        pytest.skip("WEIGHBRIDGE_TEST_CASES is not set: the shared cases are elsewhere")
    return Path(folder)
