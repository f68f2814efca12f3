"""A trained vocabulary: what training gives, how it is kept in a file, and the tokenizer made from it."""

from __future__ import annotations

import hashlib
import json
from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import NoReturn

from adapters.bpe.tokenizer import BpeTokenizer
from adapters.bpe.vocabulary import write_ranks
from adapters.port import Family, TokenizerError, TokenizerSpec, VocabularyDamaged

_FORMAT = "weighbridge-bpe"
_VERSION = 1
_KEYS = {"format", "version", "pattern", "ties", "end_of_word", "special", "alphabet", "merges"}


class WordLevel(TokenizerError):
    """A word-level vocabulary was asked for what only a byte-level one can do."""


@dataclass(frozen=True, slots=True)
class Merge:
    """Two tokens that became one, and how often they were neighbours at that moment."""

    left: bytes
    right: bytes
    frequency: int


@dataclass(frozen=True)
class TrainedVocabulary:
    """The merges in the order in which they were made, and what else a tokenizer needs.

    ``alphabet`` are the tokens that training started from. ``pattern`` is the split pattern itself. ``special`` are the
    literals of special tokens, whose ids follow all others. ``end_of_word`` is empty for a byte-level vocabulary.
    """

    alphabet: tuple[bytes, ...]
    merges: tuple[Merge, ...]
    pattern: str
    special: tuple[str, ...]
    ties: str
    end_of_word: str = ""

    @cached_property
    def ranks(self) -> Mapping[bytes, int]:
        """Rank of every token: the alphabet first, then what each merge made."""
        tokens = (*self.alphabet, *(merge.left + merge.right for merge in self.merges))
        return MappingProxyType({token: rank for rank, token in enumerate(tokens)})

    @cached_property
    def special_tokens(self) -> Mapping[str, int]:
        """Id of every special token."""
        return MappingProxyType({literal: len(self.ranks) + index for index, literal in enumerate(self.special)})

    @property
    def size(self) -> int:
        """How many ids there are, special tokens included."""
        return len(self.ranks) + len(self.special)

    def byte_level(self) -> TrainedVocabulary:
        """The vocabulary itself, if it can encode text. Raises ``WordLevel`` if it cannot."""
        if self.end_of_word:
            raise WordLevel("A word-level vocabulary shows merges of words. Train on bytes for one that encodes text.")
        return self

    def tokenizer(self, name: str) -> BpeTokenizer:
        """The tokenizer of this vocabulary. Raises ``WordLevel``."""
        ranks = self.byte_level().ranks
        return BpeTokenizer(
            TokenizerSpec(
                name=name,
                family=Family.BPE,
                path=Path(),
                sha256=hashlib.sha256(write_ranks(ranks)).hexdigest(),
                size=self.size,
                pattern=self.pattern,
                special=self.special_tokens,
            ),
            ranks,
        )

    def dump(self) -> bytes:
        """The vocabulary as a file: JSON, one merge (two ids and the frequency) on a line, and a checksum."""
        ranks = self.ranks
        rows = [[ranks[merge.left], ranks[merge.right], merge.frequency] for merge in self.merges]
        content: dict[str, object] = {
            "format": _FORMAT,
            "version": _VERSION,
            "pattern": self.pattern,
            "ties": self.ties,
            "end_of_word": self.end_of_word,
            "special": list(self.special),
            "alphabet": [b64encode(token).decode() for token in self.alphabet],
            "merges": rows,
        }
        checksum = _checksum(content)
        del content["merges"]
        head = json.dumps({**content, "checksum": checksum}, indent=1).removesuffix("\n}")
        merges = ",\n".join(f"  {json.dumps(row)}" for row in rows)
        return f'{head},\n "merges": [\n{merges}\n ]\n}}\n'.encode()

    @classmethod
    def load(cls, data: bytes) -> TrainedVocabulary:
        """The vocabulary that ``dump`` wrote. Raises ``VocabularyDamaged``."""
        try:
            content = json.loads(data)
            checksum = content.pop("checksum")
            if content["format"] != _FORMAT or content["version"] != _VERSION:
                _refuse(f"it is not of the format {_FORMAT}, version {_VERSION}")
            if content.keys() != _KEYS or checksum != _checksum(content):
                _refuse("its content is not what its checksum says")
            texts = [*content["special"], *(content[key] for key in ("pattern", "ties", "end_of_word"))]
            if not all(isinstance(text, str) for text in texts):
                _refuse("a text is missing")
            alphabet = tuple(b64decode(token, validate=True) for token in content["alphabet"])
            return cls(
                alphabet=alphabet,
                merges=tuple(_replay(alphabet, content["merges"])),
                pattern=content["pattern"],
                special=tuple(content["special"]),
                ties=content["ties"],
                end_of_word=content["end_of_word"],
            )
        except (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError, Base64Error):
            _refuse("it cannot be read")


def _replay(alphabet: tuple[bytes, ...], rows: list[list[int]]) -> list[Merge]:
    """The merges of a file: ids turned into bytes, which each merge makes for the ones after it."""
    tokens = list(alphabet)
    known = set(tokens)
    if len(known) < len(tokens) or b"" in known:
        _refuse("its alphabet holds a token twice, or an empty one")
    merges: list[Merge] = []
    for left, right, frequency in rows:
        if not all(type(number) is int and number >= 0 for number in (left, right, frequency)):
            _refuse("a merge is not two ids and a frequency")
        merges.append(Merge(tokens[left], tokens[right], frequency))
        tokens.append(tokens[left] + tokens[right])
        if tokens[-1] in known:
            _refuse("a merge makes a token that is there already")
        known.add(tokens[-1])
    return merges


def _checksum(content: Mapping[str, object]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _refuse(finding: str) -> NoReturn:
    raise VocabularyDamaged(f"This is no trained vocabulary that can be used: {finding}. Train it anew.")
