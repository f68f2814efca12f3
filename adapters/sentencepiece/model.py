"""What a SentencePiece model file says of itself, read from its protobuf form.

The library tells neither the model's kind nor its normalizer, and its message classes need a package it does not bring.
Field numbers are those of the published ``sentencepiece_model.proto``.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum

Value = int | bytes
_ENTRIES, _TRAINER, _NORMALIZER, _DENORMALIZER = 1, 2, 3, 5
_VARINT, _FIXED64, _LENGTH, _FIXED32 = 0, 1, 2, 5


class ModelKind(IntEnum):
    """How a model cuts a text; the numbers are the file's."""

    UNIGRAM = 1
    BPE = 2
    WORD = 3
    CHAR = 4


class EntryKind(IntEnum):
    """What an entry of the vocabulary is for; the numbers are the file's."""

    NORMAL = 1
    UNKNOWN = 2
    CONTROL = 3
    USER_DEFINED = 4
    UNUSED = 5
    BYTE = 6


@dataclass(frozen=True, slots=True)
class Entry:
    """One piece of the vocabulary; its id is its place in the file."""

    piece: str
    score: float
    kind: EntryKind


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """The settings of a model that decide how texts and pieces correspond.

    ``rewrites``: characters are replaced before the cut. ``squeezes``: runs of white space shrink to one, and those at
    the ends go. ``dummy_prefix``: a space is put before the text, or after it with ``space_last``. ``denormalizes``:
    decoding replaces characters.
    """

    kind: ModelKind
    byte_fallback: bool
    space_last: bool
    dummy_prefix: bool
    squeezes: bool
    rewrites: bool
    denormalizes: bool


def read_facts(data: bytes) -> ModelFacts:
    """Settings of the model in ``data``, with the format's defaults. Raises ``ValueError`` for a broken message."""
    messages = {number: value for number, value in _fields(data) if number != _ENTRIES}
    trainer = _message(messages, _TRAINER)
    normalizer = _message(messages, _NORMALIZER)
    return ModelFacts(
        kind=ModelKind(_integer(trainer, 3, ModelKind.UNIGRAM)),
        byte_fallback=bool(_integer(trainer, 35, 0)),
        space_last=bool(_integer(trainer, 24, 0)),
        dummy_prefix=bool(_integer(normalizer, 3, 1)),
        squeezes=bool(_integer(normalizer, 4, 1)),
        rewrites=bool(normalizer.get(2)),
        denormalizes=bool(_message(messages, _DENORMALIZER).get(2)),
    )


def read_entries(data: bytes) -> list[Entry]:
    """The vocabulary of the model in ``data``, in order of id. Raises ``ValueError`` for a broken message."""
    return [_entry(value) for number, value in _fields(data) if number == _ENTRIES and isinstance(value, bytes)]


def _entry(message: bytes) -> Entry:
    fields = dict(_fields(message))
    piece, score = fields.get(1, b""), fields.get(2, bytes(4))
    if not isinstance(piece, bytes) or not isinstance(score, bytes):
        raise ValueError("an entry's piece or score has another type")
    return Entry(piece.decode(), struct.unpack("<f", score)[0], EntryKind(_integer(fields, 3, EntryKind.NORMAL)))


def _message(fields: Mapping[int, Value], number: int) -> dict[int, Value]:
    value = fields.get(number, b"")
    return dict(_fields(value)) if isinstance(value, bytes) else {}


def _integer(fields: Mapping[int, Value], number: int, default: int) -> int:
    value = fields.get(number, default)
    return value if isinstance(value, int) else default


def _fields(data: bytes) -> Iterator[tuple[int, Value]]:
    """(number, value) of each field of a message: a varint as an integer, anything else as its bytes."""
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        number, wire = key >> 3, key & 7
        if wire == _VARINT:
            value, at = _varint(data, at)
            yield number, value
            continue
        if wire == _LENGTH:
            size, at = _varint(data, at)
        elif wire in (_FIXED32, _FIXED64):
            size = 4 if wire == _FIXED32 else 8
        else:
            raise ValueError(f"wire type {wire} is not in use")
        if at + size > len(data):
            raise ValueError("the message ends too early")
        yield number, data[at : at + size]
        at += size


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """The integer at ``at`` in base 128, lowest digit first, and where it ends."""
    value = shift = 0
    while at < len(data) and shift < 70:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
    raise ValueError("an integer ends too early or is too long")
