"""The extension beside the tiktoken library, for every tiktoken-style vocabulary.

Where the extension is not built these tests are skipped, unless WEIGHBRIDGE_REQUIRE_NATIVE says that it has to be.
"""

from __future__ import annotations

import os

import pytest

from adapters.manifest import read_manifest
from adapters.native import AVAILABLE
from tests.exhaustive.pairs import Pair, distinct_names

SPECS = {name: spec for name, spec in read_manifest().vendored.items() if spec.family == "tiktoken"}
NAMES = [name for name in distinct_names() if name in SPECS]

if not AVAILABLE and os.environ.get("WEIGHBRIDGE_REQUIRE_NATIVE") != "1":
    collect_ignore_glob = ["test_*.py"]

_PAIRS: dict[str, Pair] = {}


@pytest.fixture(params=[pytest.param(name, marks=pytest.mark.xdist_group(f"native-{name}")) for name in NAMES])
def pair(request: pytest.FixtureRequest) -> Pair:
    if request.param not in _PAIRS:
        _PAIRS.clear()
        _PAIRS[request.param] = Pair(SPECS[request.param])
    return _PAIRS[request.param]


@pytest.fixture
def small_pair() -> Pair:
    if "r50k_base" not in _PAIRS:
        _PAIRS["r50k_base"] = Pair(SPECS["r50k_base"])
    return _PAIRS["r50k_base"]
