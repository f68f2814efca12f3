"""Counting a text that arrives in parts, exactly as if it had come whole, in memory that does not grow with it.

What has arrived is counted up to the last place where the vocabulary's pieces allow a cut, and the rest waits for more.
A vocabulary that knows no such places (SentencePiece, Hugging Face's) is given the whole text at its end. What waits is
bounded either way: beyond the bound the text is refused, never miscounted.
"""

from __future__ import annotations

from typing import Protocol

from adapters.port import CountStream, Cuttable, Stop, StretchTooLong, TokenCounter, Tokenizer
from adapters.special import LiteralStream
from adapters.unicode import normalize, settled

LONGEST_STRETCH = 64 * 1024 * 1024
"""Code points without a cut that are held at most, unless a caller sets another bound."""

_NEAR = 4096  # code points from the end of a part in which nearly always a cut is found


class CuttableTokenizer(Tokenizer, Cuttable, Protocol):
    """A tokenizer that knows where a text may be cut."""


def count_stream(
    tokenizer: TokenCounter, parse_special: bool = False, *, longest: int = LONGEST_STRETCH
) -> CountStream:
    """A stream that ``tokenizer`` counts; it holds at most about ``longest`` code points beside the part it is given.

    With ``parse_special`` the literal of a special token is the one token it names, if the vocabulary has ids.
    """
    if not (isinstance(tokenizer, Tokenizer) and isinstance(tokenizer, Cuttable)):
        return _WholeStream(tokenizer, longest, parse_special=parse_special)
    cuttable: CuttableTokenizer = tokenizer
    return _ParsingStream(cuttable, longest) if parse_special else _CutStream(cuttable, longest)


class _Held:
    """Text that waits for more. ``last`` is its last character, empty where nothing waits."""

    def __init__(self, longest: int, why: str) -> None:
        self._longest = longest
        self._why = why
        self._parts: list[str] = []
        self._size = 0
        self.last = ""

    def add(self, text: str) -> None:
        """Hold ``text`` too. Raises ``StretchTooLong``."""
        if not text:
            return
        self._parts.append(text)
        self._size += len(text)
        self.last = text[-1]
        if self._size > self._longest:
            raise StretchTooLong(
                f"A stretch of the text, longer than {self._longest} characters, has no place to cut it: {self._why}. "
                "Count it in parts of your own."
            )

    def take(self) -> str:
        """All that waited."""
        text = "".join(self._parts)
        self._parts.clear()
        self._size = 0
        self.last = ""
        return text


class _WholeStream:
    """Holds all that arrives, for a tokenizer that must see a text whole."""

    def __init__(self, counter: TokenCounter, longest: int, *, parse_special: bool) -> None:
        self._counter = counter
        self._parse = parse_special
        self._held = _Held(longest, f"the vocabulary {counter.name!r} has to see a text whole")

    def feed(self, text: str, *, stop: Stop | None = None) -> None:
        del stop
        self._held.add(text)

    def finish(self, *, stop: Stop | None = None) -> int:
        if self._parse and isinstance(self._counter, Tokenizer):
            return len(self._counter.encode(self._held.take(), parse_special=True, stop=stop))
        return self._counter.count(self._held.take(), stop=stop)


class _CutStream:
    """Counts up to the last cut of what has arrived; with a normalizer, of what later text can no longer change."""

    def __init__(self, counter: CuttableTokenizer, longest: int) -> None:
        self._counter = counter
        self._total = 0
        self._raw = _Held(longest, "no character in it begins anew")
        self._ordinary = _Held(longest, "nothing in it is sure to end a piece, as a blank behind a word is")

    def feed(self, text: str, *, stop: Stop | None = None) -> None:
        form = self._counter.normalizer
        if not form:
            self._add(text, stop)
            return
        border = settled(form, text)
        if border < 0:
            self._raw.add(text)
            return
        begun = self._raw.take() + text[:border]
        self._raw.add(text[border:])
        self._add(normalize(form, begun, stop=stop), stop)

    def finish(self, *, stop: Stop | None = None) -> int:
        form, raw = self._counter.normalizer, self._raw.take()
        self._ordinary.add(normalize(form, raw, stop=stop) if form else raw)
        return self._total + self._counter.count(self._ordinary.take(), stop=stop)

    def _add(self, ordinary: str, stop: Stop | None) -> None:
        last = self._ordinary.last
        cut = self._cut(last + ordinary) - len(last)
        if cut + len(last) > 0:
            self._total += self._counter.count(self._ordinary.take() + ordinary[:cut], stop=stop)
            ordinary = ordinary[cut:]
        self._ordinary.add(ordinary)

    def _cut(self, text: str) -> int:
        """The last cut of ``text``; where it is near the end, as nearly always, the rest is not looked at."""
        far = max(0, len(text) - _NEAR)
        near = self._counter.cut(text[far:])
        return far + near if near else self._counter.cut(text)


class _ParsingStream:
    """Counts what stands between the literals of special tokens, each stretch apart, and one for each literal."""

    def __init__(self, tokenizer: CuttableTokenizer, longest: int) -> None:
        self._tokenizer = tokenizer
        self._longest = longest
        self._literals = LiteralStream(tokenizer.special_tokens)
        self._stretch = _CutStream(tokenizer, longest)
        self._undecided = ""  # what may be the beginning of a literal
        self._total = 0

    def feed(self, text: str, *, stop: Stop | None = None) -> None:
        self._feed(text, stop, last=False)

    def finish(self, *, stop: Stop | None = None) -> int:
        self._feed("", stop, last=True)
        return self._total + self._stretch.finish(stop=stop)

    def _feed(self, text: str, stop: Stop | None, *, last: bool) -> None:
        start = self._literals.reached
        text = self._undecided + text
        done = 0
        for place, literal in self._literals.feed(text[len(self._undecided) :], last=last, stop=stop):
            self._stretch.feed(text[done : place - start], stop=stop)
            self._total += self._stretch.finish(stop=stop) + 1
            self._stretch = _CutStream(self._tokenizer, self._longest)
            done = place - start + len(literal)
        sure = self._literals.reached - start
        self._stretch.feed(text[done:sure], stop=stop)
        self._undecided = text[sure:]
