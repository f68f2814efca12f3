"""Every tiktoken-style vocabulary in plain Python, beside the library itself built from the same ranks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest
import tiktoken
from tokenizers import normalizers

from adapters.bpe.tokenizer import BpeTokenizer
from adapters.bpe.vocabulary import read_ranks
from adapters.loader import read_verified
from adapters.manifest import read_manifest
from adapters.port import Family, TokenizerSpec, well_formed

_SPECS = {name: spec for name, spec in read_manifest().vendored.items() if spec.family is Family.TIKTOKEN}
_NORMALIZERS = {"": str, "NFC": normalizers.NFC().normalize_str, "NFKC": normalizers.NFKC().normalize_str}


@dataclass(frozen=True)
class Twins:
    """One vocabulary twice."""

    spec: TokenizerSpec
    plain: BpeTokenizer
    library: tiktoken.Encoding

    def expected(self, text: str) -> list[int]:
        """Ids of ordinary text by the reference libraries alone."""
        normal = _NORMALIZERS[self.spec.normalizer](well_formed(text))
        return [rank + self.spec.rank_offset for rank in self.library.encode(normal, disallowed_special=())]


@pytest.fixture(scope="session")
def load_twins() -> Callable[[str], Twins]:
    """Loads a vocabulary by name, once in a worker."""
    loaded: dict[str, Twins] = {}

    def load(name: str) -> Twins:
        if name not in loaded:
            spec = _SPECS[name]
            ranks = read_ranks(read_verified(spec))
            library = tiktoken.Encoding(name, pat_str=spec.pattern, mergeable_ranks=ranks, special_tokens={})
            loaded[name] = Twins(spec, BpeTokenizer(spec, ranks), library)
        return loaded[name]

    return load


@pytest.fixture(params=[pytest.param(name, marks=pytest.mark.xdist_group(name)) for name in _SPECS])
def twins(request, load_twins) -> Twins:
    """Each vocabulary in turn."""
    return load_twins(request.param)


@pytest.fixture
def cl100k(load_twins) -> Twins:
    """A vocabulary without a normalizer."""
    return load_twins("cl100k_base")
