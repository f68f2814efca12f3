"""Every vocabulary through the loader: the vendored ones, and those on request that the data directory holds.

Each is loaded once in a worker, and all tests of one vocabulary run in the same worker.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from adapters.loader import LoaderOptions, Vocabularies
from adapters.manifest import Manifest, read_manifest
from adapters.port import Family, TokenCounter, Tokenizer, TokenizerSpec

_MANIFEST = read_manifest()
# Byte-level files without a normalizer; the manifest does not tell what a tokenizer.json does to a text.
_LOSSLESS_FILES = {"deepseek", "glm4"}


def _installed() -> dict[str, TokenizerSpec]:
    folder = os.environ.get("WEIGHBRIDGE_DATA_DIR")
    if not folder:
        return {}
    specs = [entry.spec(Path(folder) / "vocabularies") for entry in _MANIFEST.on_request.values()]
    return {spec.name: spec for spec in specs if spec.path.is_file()}


_SPECS: dict[str, TokenizerSpec] = {**_MANIFEST.vendored, **_installed()}


def _ranked(spec: TokenizerSpec) -> bool:
    return spec.family is Family.TIKTOKEN


def _has_ids(spec: TokenizerSpec) -> bool:
    return spec.family is not Family.CLAUDE


def _lossless(spec: TokenizerSpec) -> bool:
    return (_ranked(spec) and not spec.normalizer) or spec.name in _LOSSLESS_FILES


def _grouped(names: Iterable[str]) -> list[Any]:
    return [pytest.param(name, id=name, marks=pytest.mark.xdist_group(name)) for name in names]


def _tokenizer(vocabularies: Vocabularies, name: str) -> Tokenizer:
    tokenizer = vocabularies.load(name)
    assert isinstance(tokenizer, Tokenizer)
    return tokenizer


@pytest.fixture(scope="session")
def manifest() -> Manifest:
    """The package's own manifest."""
    return _MANIFEST


@pytest.fixture(scope="session")
def specs() -> dict[str, TokenizerSpec]:
    """Every vocabulary that is here, by name."""
    return _SPECS


@pytest.fixture(scope="session")
def vocabularies() -> Vocabularies:
    """The loader, as the service builds it."""
    return Vocabularies(_SPECS, LoaderOptions(cuttable=frozenset(_MANIFEST.patterns.values())))


@pytest.fixture(params=_grouped(_SPECS))
def any_counter(request: pytest.FixtureRequest, vocabularies: Vocabularies) -> TokenCounter:
    """Each vocabulary in turn."""
    return vocabularies.load(request.param)


@pytest.fixture(params=_grouped(name for name, spec in _SPECS.items() if _has_ids(spec)))
def any_tokenizer(request: pytest.FixtureRequest, vocabularies: Vocabularies) -> Tokenizer:
    """Each vocabulary that has ids."""
    return _tokenizer(vocabularies, request.param)


@pytest.fixture(params=_grouped(name for name, spec in _SPECS.items() if _lossless(spec)))
def lossless_tokenizer(request: pytest.FixtureRequest, vocabularies: Vocabularies) -> Tokenizer:
    """Each vocabulary whose ids hold every byte of a text."""
    return _tokenizer(vocabularies, request.param)


@pytest.fixture(params=_grouped(name for name, spec in _SPECS.items() if _ranked(spec)))
def ranked_tokenizer(request: pytest.FixtureRequest, vocabularies: Vocabularies) -> Tokenizer:
    """Each tiktoken-style vocabulary."""
    return _tokenizer(vocabularies, request.param)
