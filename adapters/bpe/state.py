"""A stopped training as a file: a line of JSON, then the words and the merges so far, as the machine holds them."""

from __future__ import annotations

import hashlib
import json
import sys
from array import array
from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from collections.abc import Mapping
from itertools import chain
from typing import NoReturn

from adapters.bpe.merging import Check, Row
from adapters.bpe.training import Plan, Ties, Training, TrainingError
from adapters.bpe.words import Words

_FORMAT = "weighbridge-training"
_VERSION = 1


def dump_training(training: Training) -> bytes:
    """The file from which ``load_training`` makes the same training again."""
    plan, words = training.plan, training.words
    merges = array("Q", chain.from_iterable(training.rows)).tobytes()
    parts = (words.symbols, words.lengths, words.weights, merges)
    head: dict[str, object] = {
        "format": _FORMAT,
        "version": _VERSION,
        "byteorder": sys.byteorder,
        "alphabet": [b64encode(token).decode() for token in plan.alphabet],
        "merges": plan.merges,
        "pattern": plan.pattern,
        "special": list(plan.special),
        "ties": plan.ties,
        "end_of_word": plan.end_of_word,
        "width": words.width,
        "sizes": [len(part) for part in parts],
    }
    body = b"".join(parts)
    line = json.dumps({**head, "checksum": _checksum(head, body)})
    return line.encode() + b"\n" + body


def load_training(data: bytes, *, native: bool = True, check: Check | None = None) -> Training:
    """The training that ``dump_training`` wrote, with its merges made again. Raises ``TrainingError``."""
    line, _, body = data.partition(b"\n")
    try:
        head = json.loads(line)
        checksum = head.pop("checksum")
        if head["format"] != _FORMAT or head["version"] != _VERSION or head["byteorder"] != sys.byteorder:
            _refuse("it is not of this version and this machine's byte order")
        if checksum != _checksum(head, body):
            _refuse("its content is not what its checksum says")
        plan, words, rows = _plan(head), *_parts(head, body)
        training = Training(plan, words, native=native, check=check)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, Base64Error):
        _refuse("it cannot be read")
    training.repeat(rows)
    return training


def _plan(head: Mapping[str, object]) -> Plan:
    """What was to be trained. The checksum vouches for the types."""
    content: dict[str, object] = dict(head)
    alphabet: object = content["alphabet"]
    special: object = content["special"]
    merges: object = content["merges"]
    if not (isinstance(alphabet, list) and isinstance(special, list) and isinstance(merges, int)):
        _refuse("a part is missing")
    return Plan(
        alphabet=tuple(b64decode(token, validate=True) for token in alphabet),
        merges=merges,
        pattern=str(content["pattern"]),
        special=tuple(map(str, special)),
        ties=Ties(str(content["ties"])),
        end_of_word=str(content["end_of_word"]),
    )


def _parts(head: Mapping[str, object], body: bytes) -> tuple[Words, list[Row]]:
    sizes, width = head["sizes"], head["width"]
    if not (isinstance(sizes, list) and len(sizes) == 4 and sum(sizes) == len(body) and isinstance(width, int)):
        _refuse("a part is missing")
    cut: list[bytes] = []
    for size in sizes:
        start = sum(map(len, cut))
        cut.append(body[start : start + size])
    symbols, lengths, weights, merges = cut
    numbers = iter(memoryview(merges).cast("Q").tolist())
    return Words(symbols, width, lengths, weights), list(zip(numbers, numbers, numbers, strict=True))


def _checksum(head: Mapping[str, object], body: bytes) -> str:
    digest = hashlib.sha256(json.dumps(head, sort_keys=True).encode())
    digest.update(body)
    return digest.hexdigest()


def _refuse(finding: str) -> NoReturn:
    raise TrainingError(f"This is no stopped training that can go on: {finding}. Train anew.")
