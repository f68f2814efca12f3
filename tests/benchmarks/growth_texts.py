"""Texts of one shape in any size: a merge that is not linear in the size of a piece shows in them."""

from __future__ import annotations

import base64
import random
import string
from collections.abc import Callable

SIZES = (10_000, 100_000, 1_000_000, 10_000_000)
MOST_SECONDS = 20.0  # a size that would take longer is left out


def _letters(size: int) -> str:
    return "".join(random.Random(size).choices(string.ascii_lowercase, k=size))


def _base64(size: int) -> str:
    return base64.b64encode(random.Random(size).randbytes(size)).decode()[:size]


TEXTS: dict[str, Callable[[int], str]] = {
    "a": lambda size: "a" * size,
    "blanks": lambda size: " " * size,
    "newlines": lambda size: "\n" * size,
    "random a-z": _letters,
    "base64": _base64,
    "你": lambda size: "你" * size,
}
