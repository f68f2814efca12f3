"""For which models a row of counting rules holds, and finding the row that does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Protocol, TypeVar

from service.domain.catalog import ModelSpec


@dataclass(frozen=True, slots=True)
class Asked:
    """What a request is counted for: the model, its seller, the wire form it came in, and the day (``YYYY-MM-DD``)."""

    model: ModelSpec
    seller: str
    dialect: str = ""
    day: str = ""


@dataclass(frozen=True, slots=True)
class Scope:
    """What a row of rules is about: a vendor (``*``: any), and of its models those whose id one of ``models`` matches.

    ``sellers`` and ``dialects`` narrow it further; none means all. ``start`` is the first day of the row, ``end`` the
    day after its last, empty where it has none. ``source`` and ``checked`` say where the row comes from, and when.
    """

    provider: str = "*"
    models: tuple[str, ...] = ()
    sellers: tuple[str, ...] = ()
    dialects: tuple[str, ...] = ()
    start: str = ""
    end: str = ""
    source: str = ""
    checked: str = ""

    def holds(self, asked: Asked) -> bool:
        """Whether the row is about what is asked."""
        return (
            self.provider in ("*", asked.model.provider)
            and (not self.models or any(fnmatchcase(asked.model.id, pattern) for pattern in self.models))
            and (not self.sellers or asked.seller in self.sellers)
            and (not self.dialects or asked.dialect in self.dialects)
            and self.start <= (asked.day or self.start)
            and (not self.end or "" < asked.day < self.end)
        )


class Scoped(Protocol):
    """A row of rules."""

    @property
    def scope(self) -> Scope:
        """What the row is about."""
        ...


R = TypeVar("R", bound=Scoped)


def decisive(rows: Sequence[R], asked: Asked) -> R | None:
    """The last of ``rows`` that holds; ``None`` where none does."""
    return next((row for row in reversed(rows) if row.scope.holds(asked)), None)
