"""Character classes of a split pattern: brackets, escapes, properties, and letters of either case."""

from __future__ import annotations

import re

from adapters.bpe.scanner import Scanner
from adapters.unicode import Ranges, UnknownProperty, code_points, complement, intersection, union

_DEEPEST = 20  # brackets inside each other
_CONTROLS = {"n": "\n", "r": "\r", "t": "\t", "f": "\f", "v": "\v", "a": "\a"}
_SHORTHANDS = {"s": "White_Space", "d": "Nd", "w": "Word"}
_HEXADECIMAL = re.compile(r"x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|[xu]\{([0-9A-Fa-f]{1,8})\}")
_PROPERTY = re.compile(r"(\^?)([A-Za-z_]+)\}|([A-Z])")
_LETTERS = ((0x41, 0x5A), (0x61, 0x7A))
# What simple case folding puts beside an ASCII letter, apart from its other case: long s and the Kelvin sign.
_BESIDE = {ord("s"): 0x17F, ord("k"): 0x212A}


def single(character: str, scanner: Scanner, ignore_case: bool) -> Ranges:
    """The set of one literal character, or of every one that equals it but for case."""
    number = ord(character)
    return either_case(((number, number),), scanner) if ignore_case else ((number, number),)


def either_case(ranges: Ranges, scanner: Scanner) -> Ranges:
    """``ranges`` of ASCII characters, and what simple case folding equates with them. Other characters are refused."""
    if ranges and ranges[-1][1] > 0x7F:
        raise scanner.error("a character beyond ASCII where case is ignored")
    letters = {number | 0x20 for pair in intersection(ranges, _LETTERS) for number in range(pair[0], pair[1] + 1)}
    other_forms = {form for letter in letters for form in (letter, letter ^ 0x20, _BESIDE.get(letter, letter))}
    return union((*ranges, *((form, form) for form in other_forms)))


def escaped_set(scanner: Scanner, ignore_case: bool) -> Ranges:
    r"""The set of an escape that stands for characters: ``\s``, ``\p{L}``, ``\n``, ``\x41``, ``\.``."""
    start = scanner.position
    scanner.next()
    letter = scanner.next()
    if letter.lower() in _SHORTHANDS:
        ranges = code_points(_SHORTHANDS[letter.lower()])
        if ignore_case and letter in "wW":
            raise scanner.error(f"'\\{letter}' where case is ignored", start)
        return ranges if letter.islower() else complement(ranges)
    if letter in "pP":
        if ignore_case:
            raise scanner.error(f"'\\{letter}' where case is ignored", start)
        ranges = _property(scanner, start)
        return ranges if letter == "p" else complement(ranges)
    scanner.position = start
    return single(escaped_character(scanner), scanner, ignore_case)


def escaped_character(scanner: Scanner) -> str:
    r"""The one character of an escape such as ``\n``, ``\x41`` or ``\.``."""
    start = scanner.position
    scanner.next()
    if number := _HEXADECIMAL.match(scanner.rest()):
        scanner.position += number.end()
        value = int(number[1] or number[2] or number[3], 16)
        if value > 0x10FFFF or 0xD800 <= value < 0xE000:
            raise scanner.error("the number of no character", start)
        return chr(value)
    letter = scanner.next()
    if letter in _CONTROLS:
        return _CONTROLS[letter]
    # Rust keeps < and > for word boundaries, and letters and digits for what may come.
    if letter.isalnum() or letter in "<>" or ord(letter) > 0x7F:
        raise scanner.error(f"the escape '\\{letter}'", start)
    return letter


def _property(scanner: Scanner, start: int) -> Ranges:
    braced = scanner.take("{")
    found = _PROPERTY.match(scanner.rest())
    if not found or braced is not bool(found[2]):
        raise scanner.error("a property that is not of the form \\p{Name}", start)
    scanner.position += found.end()
    try:
        ranges = code_points(found[2] or found[3])
    except UnknownProperty as error:
        raise scanner.error(f"a property without a table ({error})", start) from None
    return complement(ranges) if found[1] else ranges


class ClassReader:
    """Reads one bracketed class, with the brackets inside it."""

    def __init__(self, scanner: Scanner, ignore_case: bool) -> None:
        self._scanner = scanner
        self._ignore_case = ignore_case

    def read(self, depth: int = 0) -> Ranges:
        """The set of the class that starts here."""
        scanner = self._scanner
        start = scanner.position
        if scanner.pattern.startswith("[:", start) and depth:
            raise scanner.error("a class such as [:alpha:]")
        if depth > _DEEPEST:
            raise scanner.error(f"more than {_DEEPEST} brackets inside each other")
        scanner.next()
        negated = scanner.take("^")
        whole: Ranges | None = None
        parts: list[tuple[int, int]] = []
        first = True
        while first or not scanner.take("]"):
            if scanner.done:
                raise scanner.error("a class without its ']'", start)
            if scanner.take("&&"):
                whole = self._meet(whole, parts)
                parts = []
            else:
                parts += self._item(depth)
            first = False
        whole = self._meet(whole, parts)
        return complement(whole) if negated else whole

    def _meet(self, whole: Ranges | None, parts: list[tuple[int, int]]) -> Ranges:
        """What the operands of ``&&`` read so far have in common."""
        operand = union(parts)
        return operand if whole is None else intersection(whole, operand)

    def _item(self, depth: int) -> Ranges:
        scanner = self._scanner
        if scanner.peek() == "[":
            return self.read(depth + 1)
        if scanner.rest()[:2] in ("--", "~~"):
            raise scanner.error(f"the set operation {scanner.rest()[:2]!r}")
        if scanner.peek() == "\\" and scanner.rest()[1:2] in tuple("sSdDwWpP"):
            return escaped_set(scanner, self._ignore_case)
        start = scanner.position
        low = self._character()
        high = low
        if scanner.peek() == "-" and scanner.rest()[1:2] not in ("", "]", "-"):
            scanner.next()
            high = self._character()
        if ord(high) < ord(low):
            raise scanner.error("a range whose end comes before its start", start)
        span = ((ord(low), ord(high)),)
        return either_case(span, scanner) if self._ignore_case else span

    def _character(self) -> str:
        scanner = self._scanner
        if scanner.peek() == "[":
            raise scanner.error("a bracket at the end of a range")
        if scanner.peek() != "\\":
            return scanner.next()
        if scanner.rest()[1:2] in tuple("sSdDwWpP"):
            raise scanner.error("a class at the end of a range")
        return escaped_character(scanner)
