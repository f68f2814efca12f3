"""JSON that stands in a text: where its objects and arrays are, and the blanks in them that mean nothing.

One pass from left to right, whatever the text holds: what turns out to be no JSON is given up at once, and what was
complete inside it is kept. Nothing is decoded, so numbers, escapes, doubled keys and their order stay as they are.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from adapters.port import Stop

_OPENING = re.compile(r"[{\[]")
_BLANKS = re.compile(r"[ \t\n\r]*")
_SCALAR = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|true|false|null")
_SPECIAL = re.compile(r'["\\\x00-\x1f]')
_ESCAPE = re.compile(r'\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})')
_POLLED = 4096
_DEEPEST = 512

_FIRST, _KEY, _COLON, _VALUE, _NEXT = range(5)
"""What has to come: the first item or the end; a key; a colon; a value; a comma or the end."""

_AFTER = {(",", _NEXT): _VALUE, (":", _COLON): _VALUE}
"""What has to come after a mark, where that mark had to come."""


@dataclass(slots=True)
class _Open:
    """An object or array that is not closed yet. ``told`` says that it holds a key, itself or further in."""

    start: int
    is_object: bool
    expects: int = _FIRST
    told: bool = False
    inner: list[tuple[int, int]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class JsonSpans:
    """``spans`` are the places (start, end) of the JSON values in a text; ``blanks`` those of the blanks in them."""

    spans: list[tuple[int, int]]
    blanks: list[tuple[int, int]]


def json_spans(text: str, stop: Stop | None = None) -> JsonSpans:
    """Every object with a key, every array that holds one, and a text that is JSON as a whole. Takes linear time.

    An array of plain values within other text is left alone: ``[ ]`` and ``[ 1 ]`` are a box and a note there.
    """
    if "{" not in text and "[" not in text:
        return JsonSpans([], [])
    scan = _Scan(text, stop)
    scan.run()
    return JsonSpans(scan.spans, _within(scan.blanks, scan.spans))


class _Scan:
    """One reading of a text."""

    def __init__(self, text: str, stop: Stop | None) -> None:
        self.text = text
        self.spans: list[tuple[int, int]] = []
        self.blanks: list[tuple[int, int]] = []
        self._stack: list[_Open] = []
        self._whole = (len(text) - len(text.lstrip()), len(text.rstrip()))
        self._stop = stop

    def run(self) -> None:
        """Read to the end."""
        place = steps = 0
        while True:
            steps += 1
            if self._stop is not None and not steps % _POLLED:
                self._stop.check()
            if not self._stack:
                found = _OPENING.search(self.text, place)
                if found is None:
                    return
                self._stack.append(_Open(found.start(), found.group() == "{"))
                place = found.end()
                continue
            begin = _BLANKS.match(self.text, place).end()  # type: ignore[union-attr]  # matches the empty text too
            end = self._token(begin)
            if end < 0:
                self._give_up()
                continue
            if begin > place:
                self.blanks.append((place, begin))
            place = end

    def _token(self, at: int) -> int:
        """Take the token at ``at``: where it ends, -1 where none fits there."""
        top = self._stack[-1]
        character = self.text[at : at + 1]
        if character == ("}" if top.is_object else "]") and top.expects in (_FIRST, _NEXT):
            return self._close(at + 1)
        after = _AFTER.get((character, top.expects))
        if after is not None:
            top.expects = _KEY if after == _VALUE and character == "," and top.is_object else after
            return at + 1
        if top.is_object and top.expects in (_FIRST, _KEY):
            top.expects, top.told = _COLON, True
            return self._string(at) if character == '"' else -1
        if top.expects in (_FIRST, _VALUE):
            top.expects = _NEXT
            return self._value(character, at)
        return -1

    def _value(self, character: str, at: int) -> int:
        """Take the value that begins with ``character``, or its opening."""
        if character == '"':
            return self._string(at)
        if character not in ("{", "["):
            found = _SCALAR.match(self.text, at)
            return found.end() if found else -1
        if len(self._stack) == _DEEPEST:
            return -1
        self._stack.append(_Open(at, character == "{"))
        return at + 1

    def _string(self, at: int) -> int:
        """The end of the string that begins at ``at``, -1 where it is none."""
        place = at + 1
        while (found := _SPECIAL.search(self.text, place)) is not None:
            if found.group() == '"':
                return found.end()
            escape = _ESCAPE.match(self.text, found.start())
            if escape is None:
                return -1
            place = escape.end()
        return -1

    def _close(self, end: int) -> int:
        done = self._stack.pop()
        if self._stack:
            parent = self._stack[-1]
            parent.told = parent.told or done.told
            if done.told:
                parent.inner.append((done.start, end))
        elif done.told or (done.start, end) == self._whole:
            self.spans.append((done.start, end))
        return end

    def _give_up(self) -> None:
        """What is open is no JSON; what was closed within it is."""
        self.spans += [span for opened in self._stack for span in opened.inner]
        self._stack.clear()


def _within(places: list[tuple[int, int]], spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Those ``places`` that lie in one of ``spans``; both in order."""
    kept, at = [], 0
    for start, end in places:
        while at < len(spans) and spans[at][1] <= start:
            at += 1
        if at < len(spans) and spans[at][0] <= start and end <= spans[at][1]:
            kept.append((start, end))
    return kept
