"""Reads a split pattern into the tree of ``adapters.bpe.syntax``."""

from __future__ import annotations

import re

from adapters.bpe.classes import ClassReader, escaped_set, single
from adapters.bpe.scanner import Scanner
from adapters.bpe.syntax import (
    Alternation,
    Atomic,
    Characters,
    Edge,
    Greed,
    Look,
    Node,
    Repeat,
    Sequence,
    UnsupportedPattern,
    shortest,
)
from adapters.unicode import complement

_DEEPEST = 50  # nested groups; a split pattern has three
_MOST = 1000  # repetitions asked for by number
_BRACES = re.compile(r"\{(\d{1,9})(,(\d{1,9})?)?\}")
_LOOKS = {"(?=": (True, False), "(?!": (True, True), "(?<=": (False, False), "(?<!": (False, True)}
_FLAGS = {"(?:": None, "(?i:": True, "(?-i:": False}
_ANYTHING_BUT_LINE_FEED = complement(((0x0A, 0x0A),))


def parse(pattern: str) -> Node:
    """The tree of ``pattern``.

    Raises ``UnsupportedPattern`` for a construct outside the part of the language that split patterns use, and for a
    pattern that matches the empty text: tiktoken fails on the first empty piece.
    """
    if not pattern:
        raise UnsupportedPattern("The split pattern is empty. Give one, or the name of one.")
    reader = _Reader(pattern)
    node = reader.alternation(ignore_case=False, depth=0)
    if not reader.scanner.done:
        raise reader.scanner.error("')' without a '(' before it")
    if not shortest(node):
        raise UnsupportedPattern("The split pattern can match the empty text, which is no piece. Demand a character.")
    return node


class _Reader:
    def __init__(self, pattern: str) -> None:
        self.scanner = Scanner(pattern)

    def alternation(self, *, ignore_case: bool, depth: int) -> Node:
        if depth > _DEEPEST:
            raise self.scanner.error(f"more than {_DEEPEST} groups inside each other")
        options = [self._sequence(ignore_case, depth)]
        while self.scanner.take("|"):
            options.append(self._sequence(ignore_case, depth))
        return options[0] if len(options) == 1 else Alternation(tuple(options))

    def _sequence(self, ignore_case: bool, depth: int) -> Node:
        items: list[Node] = []
        while not self.scanner.done and self.scanner.peek() not in "|)":
            items.append(self._quantified(self._atom(ignore_case, depth)))
        return items[0] if len(items) == 1 else Sequence(tuple(items))

    def _atom(self, ignore_case: bool, depth: int) -> Node:
        scanner = self.scanner
        character = scanner.peek()
        if character == "(":
            return self._group(ignore_case, depth)
        if character == "[":
            return Characters(ClassReader(scanner, ignore_case).read())
        if character == "\\":
            return self._escape(ignore_case)
        if character in "*+?":
            raise scanner.error(f"{character!r} with nothing to repeat")
        if character == "{" and _BRACES.match(scanner.rest()):
            raise scanner.error("a repetition with nothing to repeat")
        scanner.next()
        if character == ".":
            return Characters(_ANYTHING_BUT_LINE_FEED)
        if character in "^$":
            return Edge(end=character == "$")
        return Characters(single(character, scanner, ignore_case))

    def _group(self, ignore_case: bool, depth: int) -> Node:
        scanner = self.scanner
        opening = scanner.take_longest((*_LOOKS, *_FLAGS, "(?>")) or scanner.take_capturing()
        inner_case = _FLAGS.get(opening)
        node = self.alternation(ignore_case=ignore_case if inner_case is None else inner_case, depth=depth + 1)
        if not scanner.take(")"):
            raise scanner.error("a group without its ')'")
        if opening in _LOOKS:
            ahead, negative = _LOOKS[opening]
            return Look(node, ahead, negative)
        return Atomic(node) if opening == "(?>" else node

    def _escape(self, ignore_case: bool) -> Node:
        scanner = self.scanner
        if edge := scanner.take_longest((r"\A", r"\z")):
            return Edge(end=edge == r"\z")
        return Characters(escaped_set(scanner, ignore_case))

    def _quantified(self, item: Node) -> Node:
        scanner = self.scanner
        start = scanner.position
        bounds = self._bounds()
        if bounds is None:
            return item
        if isinstance(item, Look | Edge) or not shortest(item):
            raise scanner.error("a repetition of what can be empty", start)
        greed = Greed(scanner.take_longest(("?", "+")))
        after = scanner.position
        if self._bounds() is not None:
            raise scanner.error("a repetition of a repetition", after)
        return Repeat(item, *bounds, greed)

    def _bounds(self) -> tuple[int, int | None] | None:
        """Least and greatest number of repetitions of the quantifier that stands here, if one does."""
        scanner = self.scanner
        mark = scanner.take_longest(("*", "+", "?"))
        if mark:
            return {"*": (0, None), "+": (1, None), "?": (0, 1)}[mark]
        braces = _BRACES.match(scanner.rest())
        if not braces:
            if scanner.peek() == "{":
                raise scanner.error("'{' that is no repetition; write \\{ for the character")
            return None
        low = int(braces[1])
        high = low if not braces[2] else int(braces[3]) if braces[3] else None
        if low > _MOST or (high is not None and (high > _MOST or high < low or not high)):
            raise scanner.error(f"a repetition that is not from 0 to {_MOST}, the lesser number first")
        scanner.position += braces.end()
        return low, high
