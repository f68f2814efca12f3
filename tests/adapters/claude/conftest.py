"""The claude family's counters, by both engines."""

from __future__ import annotations

import pytest

from adapters.loader import LoaderOptions, Vocabularies
from adapters.manifest import read_manifest
from adapters.port import TokenCounter, TokenizerSpec

SPECS: dict[str, TokenizerSpec] = {
    name: spec for name, spec in read_manifest().vendored.items() if spec.family == "claude"
}
_LOADERS = {engine: Vocabularies(SPECS, LoaderOptions(engine=engine)) for engine in ("native", "python")}  # type: ignore[arg-type]  # a literal


def counters(engine: str) -> dict[str, TokenCounter]:
    """Every counter by its vocabulary's name."""
    return _LOADERS[engine].load_all()


@pytest.fixture(params=["native", "python"])
def by_name(request: pytest.FixtureRequest) -> dict[str, TokenCounter]:
    """Every counter of one engine."""
    return counters(request.param)
