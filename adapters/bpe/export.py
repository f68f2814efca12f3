"""Writes a trained vocabulary for other libraries, which give the same ids with it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from adapters.bpe.parser import parse
from adapters.bpe.syntax import Alternation, Atomic, Characters, Edge, Greed, Look, Node, Repeat, Sequence, opening
from adapters.bpe.trained import TrainedVocabulary
from adapters.bpe.vocabulary import write_ranks
from adapters.unicode import Ranges

_SURROGATES = (0xD800, 0xDFFF)


def to_tiktoken(vocabulary: TrainedVocabulary) -> bytes:
    """The rank file that tiktoken reads; pattern and special tokens are given to it apart. Raises ``WordLevel``."""
    return write_ranks(vocabulary.byte_level().ranks)


def to_tokenizer_json(vocabulary: TrainedVocabulary) -> str:
    """The ``tokenizer.json`` that Hugging Face tokenizers reads. Raises ``WordLevel``.

    That library merges pairs in a fixed order where tiktoken goes by the rank of the result, so every way to make a
    token of two others is listed at the token's place. One case stays apart: of two ways to make the same token that
    overlap in a text (ab a and a ba, in ab a ba) tiktoken takes the left one, and that library the one listed first.
    """
    ranks = vocabulary.byte_level().ranks
    printable = _printable_bytes()
    spelled = {token: "".join(printable[byte] for byte in token) for token in ranks}
    split = {"type": "Split", "pattern": {"Regex": _render(parse(vocabulary.pattern))}}
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    content = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [_added(literal, number) for literal, number in vocabulary.special_tokens.items()],
        "normalizer": None,
        # What the pattern does not match is left out, as tiktoken leaves it out.
        "pre_tokenizer": {
            "type": "Sequence",
            "pretokenizers": [{**split, "behavior": "Removed", "invert": True}, byte_level],
        },
        "post_processor": None,
        "decoder": byte_level,
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": True,
            "vocab": {spelled[token]: rank for token, rank in ranks.items()},
            "merges": [[spelled[left], spelled[right]] for left, right in _ways(ranks)],
        },
    }
    return json.dumps(content, ensure_ascii=False, indent=1)


def _added(literal: str, number: int) -> dict[str, object]:
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    return {"id": number, "content": literal, **flags}


def _ways(ranks: Mapping[bytes, int]) -> Iterator[tuple[bytes, bytes]]:
    """Every way to make a token of two others, in the order of the tokens' ranks."""
    for token in sorted(ranks, key=ranks.__getitem__):
        cuts = ((token[:at], token[at:]) for at in range(1, len(token)))
        yield from sorted(
            (cut for cut in cuts if cut[0] in ranks and cut[1] in ranks), key=lambda cut: (ranks[cut[0]], ranks[cut[1]])
        )


def _printable_bytes() -> list[str]:
    """One printable character for each byte, by the rule of GPT-2.

    A byte that is printable in Latin-1 stands for itself; the others get the characters from U+0100 on, in order.
    """
    kept = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = iter(range(0x100, 0x200))
    return [chr(byte if byte in kept else next(others)) for byte in range(256)]


def _render(node: Node) -> str:
    r"""``node`` in the notation of Oniguruma, which that library uses, with every class spelled out.

    Spelled out because Oniguruma knows another version of Unicode. ``$`` is the end of a line there, and ``{n,m}+``
    repeats a repetition, so the end is ``\z`` and what is possessive is written as an atomic group.
    """
    match node:
        case Characters(ranges):
            return _render_set(ranges)
        case Sequence(items):
            return "".join(map(_render, items))
        case Alternation(options):
            return f"(?:{'|'.join(map(_render, options))})"
        case Repeat():
            return _render_repeat(node)
        case Atomic(item) | Look(item):
            return f"({opening(node)}{_render(item)})"
        case Edge(end):
            return r"\z" if end else r"\A"


def _render_repeat(node: Repeat) -> str:
    high = "" if node.high is None else node.high
    item = _render(node.item) if isinstance(node.item, Characters) else f"(?:{_render(node.item)})"
    mark = {(0, None): "*", (1, None): "+", (0, 1): "?"}.get((node.low, node.high), f"{{{node.low},{high}}}")
    if node.greed is Greed.POSSESSIVE:
        return f"(?>{item}{mark})"
    return item + mark + node.greed  # {n,n}? and not {n}?, which would make the whole optional


def _render_set(ranges: Ranges) -> str:
    spans = [_span(first, last) for pair in ranges for first, last in _without_surrogates(*pair)]
    return f"[{''.join(spans)}]" if spans else "(?!)"


def _span(first: int, last: int) -> str:
    return _character(first) if first == last else f"{_character(first)}-{_character(last)}"


def _without_surrogates(first: int, last: int) -> Iterator[tuple[int, int]]:
    if first < _SURROGATES[0]:
        yield first, min(last, _SURROGATES[0] - 1)
    if last > _SURROGATES[1]:
        yield max(first, _SURROGATES[1] + 1), last


def _character(number: int) -> str:
    character = chr(number)
    if number <= 0x20 or 0x7F <= number <= 0xA0:
        return f"\\x{{{number:x}}}"
    return f"\\{character}" if number < 0x7F and not character.isalnum() else character
