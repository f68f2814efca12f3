"""The special tokens that a model's own tokenizer puts around a text when it is asked to add them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Wrapping:
    """Literals of the special tokens ``before`` and ``after`` a text, in order."""

    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()


NO_WRAPPING = Wrapping()
