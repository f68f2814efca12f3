"""A stopped training as a file: a line of JSON, then words and merges as the machine holds them."""

from __future__ import annotations

import hashlib
import json
import sys
from array import array
from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, NoReturn

from adapters.bpe.merging import Check, Row
from adapters.bpe.training import Plan, Ties, Training, TrainingError
from adapters.bpe.words import Words

_FORMAT = "weighbridge-training"
_VERSION = 1


@dataclass(frozen=True, slots=True)
class Reading:
    """A training whose corpus is not read to its end.

    ``inputs`` are paths with the sizes in bytes that they had. All before number ``at`` are counted in ``words``, and
    so are the first ``offset`` bytes of that one. The plan of a word-level vocabulary has no alphabet yet.
    """

    plan: Plan
    words: Words
    inputs: tuple[tuple[str, int], ...]
    at: int
    offset: int


def dump_training(training: Training) -> bytes:
    """The file from which ``load_state`` makes the same training again."""
    words = training.words
    merges = array("Q", chain.from_iterable(training.rows)).tobytes()
    return _dump(training.plan, {"width": words.width}, (words.symbols, words.lengths, words.weights, merges))


def dump_reading(reading: Reading) -> bytes:
    """The file from which ``load_state`` makes the same reading again."""
    words = reading.words
    where = {"width": words.width, "inputs": reading.inputs, "at": reading.at, "offset": reading.offset}
    return _dump(reading.plan, where, (words.symbols, words.lengths, words.weights, b""))


def load_state(data: bytes, *, native: bool = True, check: Check | None = None) -> Training | Reading:
    """What was written: a reading, or a training with its merges made again. Raises ``TrainingError``."""
    line, _, body = data.partition(b"\n")
    try:
        head: dict[str, Any] = json.loads(line)
        checksum = head.pop("checksum")
        if head["format"] != _FORMAT or head["version"] != _VERSION or head["byteorder"] != sys.byteorder:
            _refuse("it is not of this version and this machine's byte order")
        if checksum != _checksum(head, body):
            _refuse("its content is not what its checksum says")
        plan, (words, rows) = _plan(head), _parts(head, body)
        if "inputs" in head:
            inputs = tuple((str(path), int(size)) for path, size in head["inputs"])
            return Reading(plan, words, inputs, int(head["at"]), int(head["offset"]))
        training = Training(plan, words, native=native, check=check)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, Base64Error):
        _refuse("it cannot be read")
    training.repeat(rows)
    return training


def _dump(plan: Plan, more: Mapping[str, object], parts: Sequence[bytes]) -> bytes:
    head: dict[str, object] = {
        "format": _FORMAT,
        "version": _VERSION,
        "byteorder": sys.byteorder,
        "alphabet": [b64encode(token).decode() for token in plan.alphabet],
        "merges": plan.merges,
        "pattern": plan.pattern,
        "special": plan.special,
        "ties": plan.ties,
        "end_of_word": plan.end_of_word,
        "sizes": [len(part) for part in parts],
        **more,
    }
    body = b"".join(parts)
    line = json.dumps({**head, "checksum": _checksum(head, body)})
    return line.encode() + b"\n" + body


def _plan(head: Mapping[str, Any]) -> Plan:
    """What was to be trained. The checksum vouches for the types."""
    return Plan(
        alphabet=tuple(b64decode(token, validate=True) for token in head["alphabet"]),
        merges=int(head["merges"]),
        pattern=str(head["pattern"]),
        special=tuple(map(str, head["special"])),
        ties=Ties(head["ties"]),
        end_of_word=str(head["end_of_word"]),
    )


def _parts(head: Mapping[str, Any], body: bytes) -> tuple[Words, list[Row]]:
    sizes: list[int] = head["sizes"]
    if len(sizes) != 4 or sum(sizes) != len(body):
        _refuse("a part is missing")
    cut: list[bytes] = []
    for size in sizes:
        start = sum(map(len, cut))
        cut.append(body[start : start + size])
    symbols, lengths, weights, merges = cut
    numbers = iter(memoryview(merges).cast("Q").tolist())
    return Words(symbols, head["width"], lengths, weights), list(zip(numbers, numbers, numbers, strict=True))


def _checksum(head: Mapping[str, object], body: bytes) -> str:
    digest = hashlib.sha256(json.dumps(head, sort_keys=True).encode())
    digest.update(body)
    return digest.hexdigest()


def _refuse(finding: str) -> NoReturn:
    raise TrainingError(f"This is no stopped training that can go on: {finding}. Train anew.")
