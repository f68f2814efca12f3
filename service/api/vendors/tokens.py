"""Ids as model servers give them: the tokens that they put around a text, and texts from ids."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Annotated

from msgspec import Meta

from adapters.port import Tokenizer
from service.api.errors import ApiError
from service.domain.wrapping import NO_WRAPPING, Wrapping

Id = Annotated[int, Meta(ge=0, le=2**31 - 1)]
Ids = Annotated[list[Id], Meta(max_length=1_000_000)]


def wrapping_of(wrappings: Mapping[str, Wrapping], tokenizer: Tokenizer, path: str) -> tuple[list[int], list[int]]:
    """The ids that servers add before and after a text. Raises ``ApiError`` where they are not known."""
    wrapping = wrappings.get(tokenizer.name)
    if wrapping is None:
        if tokenizer.added_tokens:
            detail = f"Which special tokens this vocabulary adds is not known: send {path}: false."
            raise ApiError(422, "invalid_request", detail, path=path)
        wrapping = NO_WRAPPING
    special = tokenizer.special_tokens
    return [special[literal] for literal in wrapping.before], [special[literal] for literal in wrapping.after]


def literal_of(tokenizer: Tokenizer, wanted: int) -> str:
    """The literal of a special token's id."""
    return next(literal for literal, id_ in tokenizer.special_tokens.items() if id_ == wanted)


def text_of(tokenizer: Tokenizer, ids: Sequence[int], *, skip_special: bool) -> str:
    """The text of ``ids``, special tokens as their literals or left out. Raises ``InvalidIds``."""
    return "".join(_stretches(tokenizer, ids, skip_special=skip_special))


def _stretches(tokenizer: Tokenizer, ids: Sequence[int], *, skip_special: bool) -> Iterator[str]:
    literals = {id_: literal for literal, id_ in tokenizer.special_tokens.items()}
    for special, stretch in groupby(ids, literals.__contains__):
        if not special:
            yield tokenizer.decode(list(stretch))
        elif not skip_special:
            yield from (literals[id_] for id_ in stretch)
