"""The extension beside the tiktoken library, for every tiktoken-style vocabulary.

Where the extension is not built these tests are skipped, unless WEIGHBRIDGE_REQUIRE_NATIVE says that it has to be.
"""

from __future__ import annotations

import os

import pytest
import tiktoken

from adapters.bpe.vocabulary import read_ranks
from adapters.loader import read_verified
from adapters.manifest import read_manifest
from adapters.native import AVAILABLE
from adapters.port import TokenizerSpec

SPECS = {name: spec for name, spec in read_manifest().vendored.items() if spec.family == "tiktoken"}
NAMES = [name for name in SPECS if name != "o200k_harmony"]  # the ranks and the pattern of o200k_base

if not AVAILABLE and os.environ.get("WEIGHBRIDGE_REQUIRE_NATIVE") != "1":
    collect_ignore_glob = ["test_*.py"]


class Pair:
    """The extension's vocabulary and tiktoken's, of one rank file; neither normalizes."""

    def __init__(self, spec: TokenizerSpec) -> None:
        from adapters.native.tokenizer import read_vocabulary

        data = read_verified(spec)
        self.spec = spec
        self.native = read_vocabulary(spec.pattern, data)
        self.reference = tiktoken.Encoding(
            spec.name, pat_str=spec.pattern, mergeable_ranks=read_ranks(data), special_tokens={}
        )

    def differing(self, texts: list[str]) -> list[tuple[str, list[int], list[int]]]:
        """The texts of which ids or counts differ, with both ids."""
        expected = self.reference.encode_ordinary_batch(texts, num_threads=1)
        found = [(text, self.native.encode(text), ids) for text, ids in zip(texts, expected, strict=True)]
        return [
            (text[:80], ours, theirs)
            for text, ours, theirs in found
            if ours != theirs or self.native.count(text) != len(theirs)
        ]


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
