"""Texts written shorter: what may be left out of them, as edits, each found in linear time.

A finder takes all texts of a request and answers the edits of each; a text's edits are in order and do not overlap.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias

from adapters.port import Stop
from service.domain.jsonspans import json_spans
from service.domain.request import Message, Part, Request, Text, ToolCall, ToolResult


class Edit(NamedTuple):
    """The characters from ``start`` to ``end`` give way to ``text``."""

    start: int
    end: int
    text: str = ""


@dataclass(frozen=True, slots=True)
class Passage:
    """A text of a request and its path. ``arguments`` says that it is a tool call's, and so JSON or nothing."""

    text: str
    path: str
    arguments: bool = False


Edits: TypeAlias = Sequence[Sequence[Edit]]
Finder: TypeAlias = Callable[[Sequence[Passage], Stop | None], Edits]

_FENCE = re.compile(r"^[ ]{0,3}(`{3,}|~{3,})", re.MULTILINE)
_LINE_END = re.compile(r"(?<![ \t])[ \t]*\r?\n[ \t\r\n]*|(?<![ \t\r\n])[ \t]+\Z")
_INNER_BLANKS = re.compile(r"(?<=[^\s]) {2,}(?=[^\s])")
_CJK = "\u3001-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff01-\uff60\U00020000-\U0003ffff"
_CJK_BLANKS = re.compile(f"(?<=[{_CJK}])[ \t\u3000]+(?=[{_CJK}])")
_POLLED = 4096


def passages(request: Request) -> list[Passage]:
    """Every text that its sender wrote or a tool answered, and the arguments of calls, in order."""
    return [passage for message in request.messages for part in message.parts for passage in _of(part)]


def _of(part: Part) -> Iterator[Passage]:
    if isinstance(part, Text):
        yield Passage(part.text, part.path)
    elif isinstance(part, ToolCall):
        yield Passage(part.arguments, part.path, arguments=True)
    elif isinstance(part, ToolResult):
        for inner in part.parts:
            yield from _of(inner)


def rewritten(request: Request, edits: Edits) -> Request:
    """``request`` with each text edited; ``edits`` are those of its ``passages``."""
    waiting = iter(edits)
    return replace(request, messages=tuple(_message(message, waiting) for message in request.messages))


def _message(message: Message, waiting: Iterator[Sequence[Edit]]) -> Message:
    return replace(message, parts=tuple(_part(part, waiting) for part in message.parts))


def _part(part: Part, waiting: Iterator[Sequence[Edit]]) -> Part:
    if isinstance(part, Text):
        return replace(part, text=edited(part.text, next(waiting)))
    if isinstance(part, ToolCall):
        return replace(part, arguments=edited(part.arguments, next(waiting)))
    if isinstance(part, ToolResult):
        return replace(part, parts=tuple(_part(inner, waiting) for inner in part.parts))
    return part


def edited(text: str, edits: Iterable[Edit]) -> str:
    """Make ``edits`` in ``text``: "a  b" with [Edit(1, 3, " ")] is "a b"."""
    pieces: list[str] = []
    place = 0
    for start, end, new in edits:
        pieces += (text[place:start], new)
        place = end
    return "".join((*pieces, text[place:]))


def minified_json(texts: Sequence[Passage], stop: Stop | None) -> Edits:
    """Leave out the blanks between the tokens of JSON; strings, numbers, keys and their order stay."""
    return [[Edit(start, end) for start, end in json_spans(passage.text, stop).blanks] for passage in texts]


def white_space(texts: Sequence[Passage], stop: Stop | None) -> Edits:
    """Leave out blanks at the ends of lines, all but one of empty lines in a row and of blanks between words.

    Indentation, code between fences and JSON stay as they are.
    """
    return [_found(passage, (_LINE_END, _INNER_BLANKS), stop) for passage in texts]


def spaced_cjk(texts: Sequence[Passage], stop: Stop | None) -> Edits:
    """Leave out blanks between Chinese or Japanese characters; code between fences and JSON stay as they are."""
    return [_found(passage, (_CJK_BLANKS,), stop) for passage in texts]


def _found(passage: Passage, patterns: Sequence[re.Pattern[str]], stop: Stop | None) -> list[Edit]:
    if passage.arguments:
        return []
    text = passage.text
    found = sorted(edit for pattern in patterns for edit in _matches(pattern, text, stop))
    return _outside(found, _left_alone(text, stop)) if found else []


def _matches(pattern: re.Pattern[str], text: str, stop: Stop | None) -> Iterator[Edit]:
    for number, match in enumerate(pattern.finditer(text)):
        if stop is not None and not number % _POLLED:
            stop.check()
        old = match.group()
        new = _line_end(old) if pattern is _LINE_END else " " if pattern is _INNER_BLANKS else ""
        if new != old:
            yield Edit(match.start(), match.end(), new)


def _line_end(blanks: str) -> str:
    """At most one empty line, without blanks, and the indentation of what follows."""
    lines = blanks.count("\n")
    if not lines:
        return ""
    if blanks.count("\r") != blanks.count("\r\n"):
        return blanks
    indentation = blanks[blanks.rindex("\n") + 1 :]
    return ("\r\n" if "\r\n" in blanks else "\n") * min(lines, 2) + indentation


def _left_alone(text: str, stop: Stop | None) -> list[tuple[int, int]]:
    """Where code between fences and JSON stand, in order."""
    return sorted((*_fenced(text), *json_spans(text, stop).spans))


def _fenced(text: str) -> Iterator[tuple[int, int]]:
    opened: re.Match[str] | None = None
    for fence in _FENCE.finditer(text):
        if opened is None:
            opened = fence
        elif fence.group(1).startswith(opened.group(1)):
            yield opened.start(1), fence.end()
            opened = None
    if opened is not None:
        yield opened.start(1), len(text)


def _outside(edits: Sequence[Edit], places: Sequence[tuple[int, int]]) -> list[Edit]:
    """The ``edits`` that touch none of ``places``; both in order."""
    kept, at, reach = [], 0, -1
    for edit in edits:
        while at < len(places) and places[at][0] < edit.end:
            reach = max(reach, places[at][1])
            at += 1
        if reach <= edit.start:
            kept.append(edit)
    return kept
