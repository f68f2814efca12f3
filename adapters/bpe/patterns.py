r"""Splits text into pieces exactly as tiktoken does, with the standard library's ``re``.

A pattern can tell characters apart only by the sets it names. So every character beyond ASCII is replaced by one that
stands for all of its kind (those in the same of the pattern's sets), and the pattern is rewritten for this small
alphabet. The text keeps its length, ``re`` compares against sets of a few characters, and which character is a letter
is ours to say.

Worked example: ``\p{L}+|\s`` knows three kinds beyond ASCII. In the order in which they occur, U+0080 stands for all
that is in neither set, U+0081 for white space and U+0082 for letters; the pattern becomes
``[A-Za-z\x82]+|[\t-\r \x81]``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import accumulate, islice, pairwise

from adapters.bpe.parser import parse
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
    character_sets,
    opening,
)
from adapters.unicode import LAST_CODE_POINT, Ranges, union

__all__ = ["Splitter", "UnsupportedPattern"]

_FIRST_BEYOND_ASCII = 0x80
_AT_ONCE = 1 << 16  # characters translated in one call


class Splitter:
    """Cuts text into the pieces that are encoded each for itself.

    ``pattern`` is a split pattern as tiktoken takes it. Raises ``UnsupportedPattern``. Text that the pattern does not
    match is left out, as tiktoken leaves it out; the patterns of published vocabularies match everything. Text must be
    well formed. Holds about 1.1 MB.
    """

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        tree = parse(pattern)
        alphabet = _Alphabet(character_sets(tree))
        self._kinds = alphabet.kinds
        try:
            self._regex = re.compile(_render(tree, alphabet))
        except re.error as error:
            raise UnsupportedPattern(f"The split pattern cannot be used: {error.msg}.") from None

    def split(self, text: str) -> list[str]:
        """The pieces of ``text``, in order."""
        if text.isascii():
            return self._regex.findall(text)
        found = self._regex.findall(self._translated(text))
        ends = list(accumulate(map(len, found), initial=0))
        if ends[-1] == len(text):
            return [text[start:end] for start, end in pairwise(ends)]
        return [text[start:end] for start, end in self.spans(text)]

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Start and end, in code points, of every piece."""
        return map(re.Match.span, self._regex.finditer(self._translated(text)))

    def batches(self, text: str, size: int) -> Iterator[list[str]]:
        """The pieces of ``text`` in lists of ``size``, so that a long text needs no list of all its pieces."""
        if text.isascii():
            pieces: Iterator[str] = map(re.Match.group, self._regex.finditer(text))
            while batch := list(islice(pieces, size)):
                yield batch
            return
        spans = self.spans(text)
        while cuts := list(islice(spans, size)):
            yield [text[start:end] for start, end in cuts]

    def _translated(self, text: str) -> str:
        if text.isascii():
            return text
        kinds = self._kinds
        if len(text) <= _AT_ONCE:
            return text.translate(kinds)
        # One call would keep every other thread waiting to its end.
        return "".join(text[at : at + _AT_ONCE].translate(kinds) for at in range(0, len(text), _AT_ONCE))


class _Alphabet:
    """The kinds of characters that a pattern's sets tell apart.

    ``kinds`` maps a code point to the character that stands for it: a string as long as Unicode, which
    ``str.translate`` indexes. As long as there are at most 128 kinds it takes one byte for a code point.
    """

    def __init__(self, sets: list[Ranges]) -> None:
        numbers = {ranges: number for number, ranges in enumerate(dict.fromkeys(sets))}
        stands_for: dict[int, int] = {}  # signature (a bit for each set) -> code point
        parts = [chr(code_point) for code_point in range(_FIRST_BEYOND_ASCII)]
        for start, end, signature in _signatures(numbers):
            representative = stands_for.setdefault(signature, _FIRST_BEYOND_ASCII + len(stands_for))
            parts.append(chr(representative) * (end - start))
        self.kinds = "".join(parts)
        self._members = {
            ranges: [representative for signature, representative in stands_for.items() if signature >> number & 1]
            for ranges, number in numbers.items()
        }

    def translated(self, ranges: Ranges) -> Ranges:
        """A set of the pattern over this alphabet."""
        ascii_part = [(first, min(last, 0x7F)) for first, last in ranges if first <= 0x7F]
        return union((*ascii_part, *((member, member) for member in self._members[ranges])))


def _signatures(numbers: dict[Ranges, int]) -> Iterator[tuple[int, int, int]]:
    """Start, end (exclusive) and signature of the stretches beyond ASCII whose characters are in the same sets."""
    flips: dict[int, int] = {_FIRST_BEYOND_ASCII: 0}
    for ranges, number in numbers.items():
        for first, last in ranges:
            if last >= _FIRST_BEYOND_ASCII:
                for edge in (max(first, _FIRST_BEYOND_ASCII), last + 1):
                    flips[edge] = flips.get(edge, 0) ^ (1 << number)
    signature = 0
    for edge, following in pairwise(sorted({*flips, LAST_CODE_POINT + 1})):
        signature ^= flips[edge]
        yield edge, following, signature


def _render(node: Node, alphabet: _Alphabet) -> str:
    """``node`` in the notation of ``re``, over ``alphabet``; no group of it captures."""
    match node:
        case Characters(ranges):
            return _render_set(alphabet.translated(ranges))
        case Sequence(items):
            return "".join(_render(item, alphabet) for item in items)
        case Alternation(options):
            return "(?:" + "|".join(_render(option, alphabet) for option in options) + ")"
        case Repeat():
            return _render_repeat(node, _render(node.item, alphabet))
        case Atomic(item) | Look(item):
            return f"({opening(node)}{_render(item, alphabet)})"
        case Edge(end):
            return r"\Z" if end else r"\A"


def _render_repeat(node: Repeat, item: str) -> str:
    high = "" if node.high is None else node.high
    bounds = f"{{{node.low},{high}}}"
    if isinstance(node.item, Characters):
        return f"{item}{bounds}{node.greed}"
    if node.greed is Greed.POSSESSIVE:
        # The same by definition, and safe from a fault of early 3.11 releases in possessive groups.
        return f"(?>(?:{item}){bounds})"
    return f"(?:{item}){bounds}{node.greed}"


def _render_set(ranges: Ranges) -> str:
    if not ranges:
        return "(?!)"
    return "[" + "".join(f"{_escaped(first)}-{_escaped(last)}" for first, last in ranges) + "]"


def _escaped(number: int) -> str:
    return f"\\x{number:02x}" if number <= 0xFF else f"\\U{number:08x}"
