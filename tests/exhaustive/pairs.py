"""A vocabulary in the extension and in the tiktoken library, built from one rank file and one split pattern."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

import tiktoken

from adapters.bpe.vocabulary import read_ranks
from adapters.loader import read_verified
from adapters.manifest import read_manifest
from adapters.port import TokenizerSpec

Difference = tuple[str, list[int], list[int]]
"""A text, our ids, the reference's ids."""


def ranked_specs() -> dict[str, TokenizerSpec]:
    """Every tiktoken-style vocabulary that is here: the vendored ones, and those that the data directory holds."""
    manifest = read_manifest()
    specs = {name: spec for name, spec in manifest.vendored.items() if spec.family == "tiktoken"}
    if folder := os.environ.get("WEIGHBRIDGE_DATA_DIR"):
        asked = [entry.spec(Path(folder) / "vocabularies") for entry in manifest.on_request.values()]
        specs |= {spec.name: spec for spec in asked if spec.family == "tiktoken" and spec.path.is_file()}
    return specs


def distinct_names() -> list[str]:
    """Of the vocabularies that have ranks and split pattern in common, the first one's name alone."""
    first = {(spec.sha256, spec.pattern): name for name, spec in reversed(ranked_specs().items())}
    return sorted(first.values())


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

    def differing(self, texts: Iterable[str]) -> list[Difference]:
        """The texts of which ids or counts differ, with both ids; each text is compared on its own."""
        encode, count, expected = self.native.encode, self.native.count, self.reference.encode_ordinary
        found = []
        for text in texts:
            theirs = expected(text)
            ours = encode(text)
            if ours != theirs or count(text) != len(theirs):
                found.append((text, ours, theirs))
        return found
