r"""The marked stream in plain Python: words without capitals and between borders, a blank between two words left out.

``Hello, world`` becomes ``SHIFT OPEN hello CLOSE | , CLOSE | OPEN world CLOSE``, where ``|`` stands between stretches
that no piece of a vocabulary crosses. The rules are those of the reconstruction (PyPI ctok, MIT); the native engine
follows the same ones.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from adapters.claude.characters import DOTTED_I, PLANE, SHARP_S, Kind, Trait, small_letter, traits
from adapters.port import Marking

OPEN, CLOSE, SHIFT, CAPS = b"\xf8", b"\xf9", b"\xfa", b"\xfb"
"""The marks: a word begins, it ends, its first letter is a capital, all its letters are. No byte of UTF-8 is one."""

_SYMBOLS = "LSDNV_P0owm"  # one for each Kind
_RUN = re.compile(r"m+|w[wm]*|_+|P+|[0o]+|[LV]+|S[SV]*|[DN][DNV]*")
_WORDS = frozenset({Kind.WORD, Kind.MARK})
_CONTRACTED = frozenset({"s", "t", "d", "m", "ll", "re", "ve"})
_LEAST_CAPITALS = 4


@dataclass(frozen=True, slots=True)
class Run:
    """Neighbouring characters of one kind; ``digits`` if all are decimal digits, or all other numbers."""

    kind: Kind
    text: str
    digits: bool

    @property
    def opens_bordered(self) -> bool:
        """Whether the first character takes a border as punctuation does."""
        return _borders(self.text[0])

    @property
    def closes_bordered(self) -> bool:
        """Whether the last character takes a border as punctuation does."""
        return _borders(self.text[-1])

    @property
    def opens_digits(self) -> bool:
        """Whether the run is a number whose first digit takes a border: all but ASCII ones do."""
        return self.digits and _kind(self.text[0]) != Kind.DIGIT

    @property
    def closes_digits(self) -> bool:
        """Whether the run is a number whose last digit takes a border."""
        return self.digits and _kind(self.text[-1]) != Kind.DIGIT

    @property
    def ends_at_border(self) -> bool:
        """Whether an apostrophe behind the run cannot contract it with the word behind."""
        return self.kind == Kind.PUNCTUATION or self.closes_bordered or self.closes_digits


def stretches(text: str, marking: Marking, *, led_by_blank: bool) -> Iterator[bytes]:
    """The marked stream of ``text``, cut where no piece of a vocabulary crosses.

    ``text`` is clean and does not end in a newline; ``led_by_blank`` says that it began with a blank before cleaning.
    """
    if marking.opened and led_by_blank and text[:1] == " " and text[1:2] != " ":
        text = text[1:]
    pending = OPEN if marking.opened and not text else b""
    blank = False  # one stands between a closed word and what follows
    for before, previous, run, following in _windows(text):
        if previous is None:
            pending = _head(marking, run, following)
        if run.kind == Kind.SPACE:
            yield pending
            blank = run.text == " " and pending.endswith(CLOSE)
            pending = b"" if blank else run.text.encode()
            continue
        marked = _marked(marking, before, previous, run, following)
        opens = marked[:1] in (OPEN, SHIFT, CAPS)
        if blank and not opens:
            yield b" "
        if opens or pending.endswith(CLOSE) or (previous is not None and previous.kind == Kind.SPACE):
            yield pending
            pending = b""
        blank = False
        pending += marked
    yield pending
    if blank:
        yield b" "


def _head(marking: Marking, first: Run, following: Run | None) -> bytes:
    """The border that a message opens with, where its first run has none of its own."""
    if not marking.opened:
        return b""
    if _opens_word(first, following):
        return b" "
    own = first.kind in _WORDS or first.kind == Kind.PUNCTUATION or first.opens_bordered or first.opens_digits
    return b"" if own or first.text[0] == " " else OPEN


def _windows(text: str) -> Iterator[tuple[Run | None, Run | None, Run, Run | None]]:
    """Every run, with the two before it and the one behind it."""
    before: Run | None = None
    previous: Run | None = None
    run: Run | None = None
    for match in _RUN.finditer(_kinds(text)):
        following = _run(text, match)
        if run:
            yield before, previous, run, following
        before, previous, run = previous, run, following
    if run:
        yield before, previous, run, None


def _marked(marking: Marking, before: Run | None, previous: Run | None, run: Run, following: Run | None) -> bytes:
    """A run with its marks."""
    body = run.text
    if run.kind == Kind.WORD:
        carried = previous is not None and previous.kind == Kind.MARK
        case, body = (b"", body) if carried else mark_case(body, capitals=marking.capitals)
        return case + (b"" if carried or _contracted(before, previous, run.text) else OPEN) + body.encode() + CLOSE
    if run.kind == Kind.MARK:
        goes_on = following is not None and following.kind == Kind.WORD
        return OPEN + body.encode() + (b"" if goes_on else CLOSE)
    opens = _blank_before(marking, previous)
    closes = following is not None and following.kind == Kind.SPACE and re.match(" (?! )", following.text) is not None
    if run.kind == Kind.PUNCTUATION or run.opens_bordered or run.closes_bordered:
        punctuation = run.kind == Kind.PUNCTUATION
        opens = opens and not _opens_word(run, following)
        opens = opens and (punctuation or run.opens_bordered)
        closes = closes and (punctuation or run.closes_bordered)
    else:
        opens, closes = opens and run.opens_digits, closes and run.closes_digits
    return (OPEN if opens else b"") + body.encode() + (CLOSE if closes else b"")


def mark_case(word: str, *, capitals: bool) -> tuple[bytes, str]:
    """A mark and the word in small letters: ``Hello`` is ``SHIFT hello``; ``WiFi`` stays as it is, without a mark.

    With ``capitals`` a word of four letters or more, all of them capitals, has a mark too.
    """
    if SHARP_S in word:
        return b"", word
    if capitals and DOTTED_I not in word and _all_capitals(word):
        return CAPS, "".join(map(small_letter, word))
    first, *others = (_has(letter, Trait.CAPITAL) and letter != DOTTED_I for letter in word)
    return (SHIFT, "".join(map(small_letter, word))) if first and not any(others) else (b"", word)


def _all_capitals(word: str) -> bool:
    """Whether a word of at least four characters has capitals, and no letter that is none."""
    if len(word) < _LEAST_CAPITALS or not any(_has(letter, Trait.CAPITAL) for letter in word):
        return False
    return not any(_has(letter, Trait.SMALL) or _has(letter, Trait.FIXED) for letter in word)


def _contracted(before: Run | None, previous: Run | None, word: str) -> bool:
    """Whether an apostrophe joins the word to what stands before: ``it's``."""
    if word not in _CONTRACTED or previous is None or previous.text != "'":
        return False
    return before is None or not before.ends_at_border


def _opens_word(run: Run, following: Run | None) -> bool:
    """Whether the run is an apostrophe that opens the word behind it."""
    return run.text == "'" and following is not None and following.kind in _WORDS


def _blank_before(marking: Marking, previous: Run | None) -> bool:
    if previous is None:
        return marking.opened
    return previous.kind == Kind.SPACE and previous.text.endswith(" ")


def _run(text: str, match: re.Match[str]) -> Run:
    symbols = match.group()
    kind = Kind(_SYMBOLS.index(symbols[0]))
    digits = not symbols.strip("0o") or not symbols.strip("D") or not symbols.strip("N")
    return Run(Kind.LETTER if kind == Kind.SELECTOR else kind, text[match.start() : match.end()], digits)


def _kind(character: str) -> Kind:
    return Kind(_entry(character) & 0x0F)


def _has(character: str, trait: Trait) -> bool:
    return bool(_entry(character) & trait)


def _borders(character: str) -> bool:
    return _kind(character) == Kind.SELECTOR or _has(character, Trait.BORDERED)


def _entry(character: str) -> int:
    number = ord(character)
    return traits()[number] if number < PLANE else Kind.LETTER


class _Kinds(dict[int, str]):
    """For ``str.translate``: a character's symbol."""

    def __missing__(self, number: int) -> str:
        symbol = self[number] = _SYMBOLS[traits()[number] & 0x0F] if number < PLANE else _SYMBOLS[Kind.LETTER]
        return symbol


@cache
def _table() -> _Kinds:
    return _Kinds()


def _kinds(text: str) -> str:
    return text.translate(_table())
