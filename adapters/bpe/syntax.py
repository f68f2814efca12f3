"""Split patterns as a tree: the regular expressions of tiktoken, as far as split patterns use them.

tiktoken hands its pattern to Rust's ``fancy-regex``. What is read here means exactly what it means there, on that
library's version of Unicode; whatever else a pattern holds is refused by name, never guessed at.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from adapters.port import TokenizerError
from adapters.unicode import Ranges


class UnsupportedPattern(TokenizerError):
    """A split pattern holds a construct that cannot be translated exactly; the message names it and its position."""


class Greed(StrEnum):
    """How a repetition takes and gives back; the value is its mark behind the quantifier."""

    GREEDY = ""
    LAZY = "?"
    POSSESSIVE = "+"


@dataclass(frozen=True, slots=True)
class Characters:
    """One character out of a set."""

    ranges: Ranges


@dataclass(frozen=True, slots=True)
class Sequence:
    """One node after another."""

    items: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Alternation:
    """The first option that lets the whole pattern match."""

    options: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """A node ``low`` to ``high`` times; ``high`` is ``None`` where there is no limit."""

    item: Node
    low: int
    high: int | None
    greed: Greed


@dataclass(frozen=True, slots=True)
class Atomic:
    """A node that gives nothing back once it has matched."""

    item: Node


@dataclass(frozen=True, slots=True)
class Look:
    """A condition on the text that follows, or precedes."""

    item: Node
    ahead: bool
    negative: bool


@dataclass(frozen=True, slots=True)
class Edge:
    """The start or the end of the whole text."""

    end: bool


Node = Characters | Sequence | Alternation | Repeat | Atomic | Look | Edge


def opening(node: Atomic | Look) -> str:
    """What stands behind the bracket of such a group, in every notation that is written here."""
    if isinstance(node, Atomic):
        return "?>"
    return f"?{'' if node.ahead else '<'}{'!' if node.negative else '='}"


def shortest(node: Node) -> int:
    """The fewest characters that ``node`` can match."""
    match node:
        case Characters():
            return 1
        case Sequence(items):
            return sum(map(shortest, items))
        case Alternation(options):
            return min(map(shortest, options))
        case Repeat(item, low):
            return low * shortest(item)
        case Atomic(item):
            return shortest(item)
        case Look() | Edge():
            return 0


def character_sets(node: Node) -> list[Ranges]:
    """Every set of characters in ``node``, in order, with repetitions."""
    match node:
        case Characters(ranges):
            return [ranges]
        case Sequence(parts) | Alternation(parts):
            return [ranges for part in parts for ranges in character_sets(part)]
        case Repeat(item) | Atomic(item) | Look(item):
            return character_sets(item)
        case Edge():
            return []
