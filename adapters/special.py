"""Special-token literals in text, found in time that grows with the text alone, however many literals there are.

Nearly all literals have one of a few shapes: an opening, some other characters, a closing one (``<|end|>``,
``[INST]``). So a text is searched for the shapes, and what is found is looked up: a vocabulary with a thousand literals
costs what one with three does.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from adapters.port import Stop

_WINDOW = 1 << 16
_SMALL_WINDOW = 1 << 12
_MANY = 16  # literals without a shape are tried one by one, so that more of them are sought in smaller windows
_NOTHING = re.compile(r"(?!)")


class LiteralFinder:
    """Finds the occurrences of ``literals``: the leftmost first, of those at one place the longest; none overlap."""

    __slots__ = ("_any", "_literals", "_longest", "_others", "_shapes", "_starts", "_window")

    def __init__(self, literals: Iterable[str]) -> None:
        self._literals = frozenset(filter(None, literals))
        self._longest = max(map(len, self._literals), default=0)
        self._starts = tuple(sorted({literal[:2] for literal in self._literals}))
        groups: dict[tuple[str, str], list[int]] = {}
        self._others: dict[str, list[str]] = {}
        for literal in sorted(self._literals, key=len, reverse=True):
            if _is_shaped(literal):
                groups.setdefault((literal[: 2 if len(literal) > 3 else 1], literal[-1]), []).append(len(literal))
            else:
                self._others.setdefault(literal[0], []).append(literal)
        self._shapes: dict[str, list[re.Pattern[str]]] = {}
        parts = [re.escape(literal) for others in self._others.values() for literal in others]
        self._window = _SMALL_WINDOW if len(parts) > _MANY else _WINDOW
        for (opening, last), sizes in groups.items():
            shortest, longest = (size - len(opening) - 1 for size in (min(sizes), max(sizes)))
            inner = f"[^{re.escape(opening[0] + last)}]{{{shortest},{longest}}}"
            parts.append(f"{re.escape(opening)}{inner}{re.escape(last)}")
            self._shapes.setdefault(opening[0], []).append(re.compile(parts[-1]))
        self._any = re.compile("|".join(parts)) if parts else _NOTHING

    def find_all(self, text: str, stop: Stop | None = None) -> Iterator[tuple[int, str]]:
        """Place and literal of every occurrence. Raises ``DeadlineExceeded`` if ``stop`` passes first."""
        if not any(start in text for start in self._starts):
            return
        position = 0
        for window in range(0, len(text), self._window):
            if stop is not None:
                stop.check()
            position = max(position, window)
            end = window + self._window
            while match := self._any.search(text, position, end + self._longest):
                place = match.start()
                if place >= end:
                    break
                literal = self._longest_at(text, place)
                if literal is None:
                    position = place + 1
                else:
                    yield place, literal
                    position = place + len(literal)

    def _longest_at(self, text: str, place: int) -> str | None:
        """The longest literal at ``place``; each shape allows one there at most, up to the first closing character."""
        first = text[place]
        matches = (shape.match(text, place) for shape in self._shapes.get(first, ()))
        shaped = (match.group() for match in matches if match and match.group() in self._literals)
        others = (literal for literal in self._others.get(first, ()) if text.startswith(literal, place))
        return max((*shaped, *others), key=len, default=None)


class LiteralStream:
    """Finds literals in a text that arrives in parts, as ``LiteralFinder`` finds them in the whole.

    ``reached`` is the place, in the whole text, up to which all literals have been told.
    """

    __slots__ = ("_finder", "_held", "_longest", "reached")

    def __init__(self, literals: Iterable[str]) -> None:
        known = [*filter(None, literals)]
        self._finder = LiteralFinder(known)
        self._longest = max(map(len, known), default=1)
        self._held = ""
        self.reached = 0

    def feed(self, text: str, *, last: bool = False, stop: Stop | None = None) -> Iterator[tuple[int, str]]:
        """Place and literal of the occurrences that are now sure; with ``last`` the text ends, and all of them are.

        Raises ``DeadlineExceeded`` if ``stop`` passes first.
        """
        text = self._held + text
        sure = len(text) - (0 if last else self._longest)  # the last place at which the longest literal would be seen
        done = 0
        for place, literal in self._finder.find_all(text, stop):
            if place > sure:
                break
            yield self.reached + place, literal
            done = place + len(literal)
        done = min(len(text), max(done, sure + 1))
        self._held = text[done:]
        self.reached += done


class SpecialTokens:
    """The special tokens of one vocabulary, as they stand in text."""

    __slots__ = ("_finder", "_ids")

    def __init__(self, special: Mapping[str, int]) -> None:
        self._ids = dict(special)
        self._finder = LiteralFinder(special)

    def split(self, text: str, stop: Stop | None = None) -> Iterator[tuple[str, int | None]]:
        """Cut ``text`` into stretches of ordinary text (id ``None``) and special tokens (their id), in order."""
        start = 0
        for place, literal in self._finder.find_all(text, stop):
            if place > start:
                yield text[start:place], None
            yield literal, self._ids[literal]
            start = place + len(literal)
        if start < len(text):
            yield text[start:], None


def _is_shaped(literal: str) -> bool:
    """Whether the first and the last character differ and stand nowhere else in ``literal``."""
    first, last = literal[0], literal[-1]
    return first != last and literal.count(first) == 1 and literal.count(last) == 1
