"""The libraries that are compared: how each is opened, counts a text, and gives its ids as a list.

Special tokens are ordinary text throughout. A library is imported only when it is opened, each in a process of its own.
"""

from __future__ import annotations

import importlib.util
import os
import tempfile
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from adapters.bpe.vocabulary import read_ranks
from adapters.loader import LoaderOptions, Vocabularies, read_verified
from adapters.manifest import read_manifest
from adapters.native.cores import Cores
from adapters.port import Tokenizer, TokenizerSpec
from adapters.tiktoken import build_encoding

OURS, REFERENCE = "weighbridge", "tiktoken"
COMPARED = ("o200k_base", "cl100k_base")
"""Vocabularies that every peer has."""
CLAUDE = {"claude_v3": ("3.0", 7)}
"""Vocabularies beside ctok alone: its version, and the tokens of the frame that it adds."""


@dataclass(frozen=True, slots=True)
class Peer:
    """An opened library."""

    count: Callable[[str], int]
    encode: Callable[[str], list[int]]


def reference_of(vocabulary: str) -> str:
    """Name of the peer whose answers are right by definition."""
    return "ctok" if vocabulary in CLAUDE else REFERENCE


def available(vocabulary: str) -> list[str]:
    """Names of the peers that know ``vocabulary`` and are installed; ours first."""
    known = [name for name, (_, only) in _PEERS.items() if vocabulary in (only or (vocabulary,))]
    if vocabulary in CLAUDE:
        known.remove(REFERENCE)
    return [name for name in known if importlib.util.find_spec(_PEERS[name][0]) is not None]


def missing() -> list[str]:
    """Names of the peers that are not installed."""
    return [name for name, (module, _) in _PEERS.items() if importlib.util.find_spec(module) is None]


def open_peer(name: str, vocabulary: str) -> Peer:
    """The library ``name`` with ``vocabulary``."""
    return _OPENERS[name](read_manifest().vendored[vocabulary])


def _weighbridge(engine: str) -> Callable[[TokenizerSpec], Peer]:
    def opened(spec: TokenizerSpec) -> Peer:
        options = LoaderOptions(engine=engine, cores=Cores(len(os.sched_getaffinity(0))))  # type: ignore[arg-type]
        tokenizer = Vocabularies(read_manifest().vendored, options).load(spec.name)
        return Peer(tokenizer.count, tokenizer.encode if isinstance(tokenizer, Tokenizer) else _no_ids)

    return opened


def _no_ids(text: str) -> list[int]:
    raise NotImplementedError(f"a vocabulary that only counts: no ids of {len(text)} characters")


def _ctok(spec: TokenizerSpec) -> Peer:
    import ctok

    version, frame = CLAUDE[spec.name]
    return Peer(lambda text: ctok.token_count(text, version) - frame, _no_ids)


def _tiktoken(spec: TokenizerSpec) -> Peer:
    encode = build_encoding(spec.name, spec.pattern, read_ranks(read_verified(spec))).encode_ordinary
    if not spec.normalizer:
        return Peer(lambda text: len(encode(text)), encode)
    form = spec.normalizer
    normalize = unicodedata.normalize  # another version of Unicode than ours, which these corpora do not show
    return Peer(lambda text: len(encode(normalize(form, text))), lambda text: encode(normalize(form, text)))  # type: ignore[arg-type]


def _gigatoken(spec: TokenizerSpec) -> Peer:
    import gigatoken

    scheme = {"o200k_base": "o200k", "cl100k_base": "gpt4"}[spec.name]
    with _rank_file(spec) as path:
        encode = gigatoken.Tokenizer.from_tiktoken(path, pretokenizer=scheme).encode
    return Peer(lambda text: len(encode(text)), lambda text: encode(text).tolist())


def _fastokens(spec: TokenizerSpec) -> Peer:
    import fastokens

    with _rank_file(spec) as path:
        encode = fastokens.Tokenizer.from_tiktoken(str(path), encoding=spec.name).encode_ordinary
    return Peer(lambda text: len(encode(text)), lambda text: encode(text).ids)


def _toktok(spec: TokenizerSpec) -> Peer:
    import toktok

    opened = toktok._encoding(spec.name)  # its public batch_count costs ten microseconds a call
    return Peer(opened.count, opened.encode_ordinary)


def _rs_bpe(spec: TokenizerSpec) -> Peer:
    import rs_bpe

    opened = getattr(rs_bpe.openai, spec.name)()
    return Peer(opened.count, opened.encode)


def _quicktok(spec: TokenizerSpec) -> Peer:
    import quicktok

    opened = quicktok.get_encoding(spec.name)
    return Peer(opened.count, opened.encode_ordinary)


class _rank_file(tempfile.TemporaryDirectory[str]):  # noqa: N801 - a context manager, used as a function
    """The rank file, decompressed, under the name that it is published by."""

    def __init__(self, spec: TokenizerSpec) -> None:
        super().__init__()
        self._spec = spec

    def __enter__(self) -> Path:  # type: ignore[override]
        path = Path(super().__enter__()) / f"{self._spec.name}.tiktoken"
        path.write_bytes(read_verified(self._spec))
        return path


# Module, and the vocabularies that it knows; () for any.
_PEERS: dict[str, tuple[str, tuple[str, ...]]] = {
    OURS: ("adapters", ()),
    REFERENCE: ("tiktoken", ()),
    "weighbridge (python)": ("adapters", COMPARED),
    "gigatoken": ("gigatoken", COMPARED),
    "fastokens": ("fastokens", COMPARED),
    "toktok-rs": ("toktok", COMPARED),
    "rs-bpe": ("rs_bpe", COMPARED),
    "quicktok-v1": ("quicktok", COMPARED),
    "ctok": ("ctok", tuple(CLAUDE)),
}
_OPENERS: dict[str, Callable[[TokenizerSpec], Peer]] = {
    OURS: _weighbridge("native"),
    REFERENCE: _tiktoken,
    "weighbridge (python)": _weighbridge("python"),
    "gigatoken": _gigatoken,
    "fastokens": _fastokens,
    "toktok-rs": _toktok,
    "rs-bpe": _rs_bpe,
    "quicktok-v1": _quicktok,
    "ctok": _ctok,
}
