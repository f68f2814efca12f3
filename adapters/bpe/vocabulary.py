"""Rank files: one line for each token, its bytes in base64 and its rank, as tiktoken reads and writes them."""

from __future__ import annotations

import re
from base64 import b64encode
from binascii import Error as Base64Error
from binascii import a2b_base64
from collections.abc import Mapping

from adapters.port import VocabularyDamaged

_LARGEST = 2**32 - 2  # tiktoken keeps ranks in 32 bits, and the greatest number for itself
_LINE = re.compile(rb"([A-Za-z0-9+/]+={0,2})[ \t]+([0-9]{1,10})\r?")
_FILE = re.compile(rb"(?:(?:[A-Za-z0-9+/]+={0,2}[ \t]+[0-9]{1,10})?\r?(?:\n|\Z))*+")


def read_ranks(data: bytes) -> dict[bytes, int]:
    """Every token's bytes and its rank, in the order of the file.

    Empty lines are skipped. Raises ``VocabularyDamaged`` with the number of the line that is malformed, or that repeats
    a token or a rank, and for a file without any token.
    """
    fields = data.split()
    if not _FILE.fullmatch(data):
        raise _first_error(data)
    try:
        tokens = [a2b_base64(field, strict_mode=True) for field in fields[::2]]
    except Base64Error:
        raise _first_error(data) from None
    numbers = list(map(int, fields[1::2]))
    ranks = dict(zip(tokens, numbers, strict=True))
    if len(ranks) < len(tokens) or len(set(numbers)) < len(tokens) or max(numbers, default=0) > _LARGEST:
        raise _first_error(data)
    if not ranks:
        raise VocabularyDamaged("The rank file holds no token.")
    return ranks


def write_ranks(ranks: Mapping[bytes, int]) -> bytes:
    """The rank file of ``ranks``, lowest rank first."""
    lines = (b"%b %d\n" % (b64encode(token), rank) for token, rank in sorted(ranks.items(), key=lambda item: item[1]))
    return b"".join(lines)


def _first_error(data: bytes) -> VocabularyDamaged:
    """What is wrong with the first bad line; reading line by line is slow, and only done once it is known to fail."""
    seen: dict[bytes | int, int] = {}  # token or rank -> number of its line
    for number, line in enumerate(data.split(b"\n"), start=1):
        if not line.strip(b"\r"):
            continue
        found = _LINE.fullmatch(line)
        try:
            token = a2b_base64(found[1], strict_mode=True) if found else None
        except Base64Error:
            token = None
        if found is None or token is None:
            return VocabularyDamaged(f'Line {number} of the rank file is not "base64 rank".')
        rank = int(found[2])
        if rank > _LARGEST:
            return VocabularyDamaged(f"Line {number} of the rank file has a rank above {_LARGEST}.")
        for what, key in (("token", token), ("rank", rank)):
            if key in seen:
                return VocabularyDamaged(f"Line {number} of the rank file repeats the {what} of line {seen[key]}.")
            seen[key] = number
    raise AssertionError("a rank file that fails as a whole has a line that fails")
