"""Counting one text that arrives in parts: the answer is the one that the whole text gets."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from adapters.port import CountStream, Stop, TokenCounter
from service.domain.catalog import Measures
from service.domain.counting import Count, Scale, hit_notices, measured
from service.domain.literals import Literal, gathered

_OVERLAP = 64  # characters of a part that are measured with the next one too: what repeats across their border is seen


class TextStream:
    """Counts a text on ``scale`` as ``count_text`` does, part by part, in memory that does not grow with the text.

    Parts are well formed. ``begin`` opens a stream of a tokenizer, in which special tokens are parsed or not. Where the
    count is not exact the bounds may be a little wider than those of the whole text.
    """

    def __init__(
        self,
        scale: Scale,
        begin: Callable[[TokenCounter, bool], CountStream],
        *,
        path: str = "text",
        parse_special: bool = False,
    ) -> None:
        self._scale = scale
        self._path = path
        self._parse = parse_special and not scale.stand_in
        self._warned = scale.scanner.stream()
        self._hits: dict[str, list[int]] = {}
        self._characters = self._bytes = 0
        self._seen = Measures()
        self._tail = ""
        self._counter = begin(scale.tokenizer, self._parse)

    def feed(self, text: str, *, stop: Stop | None = None) -> None:
        """Take the next part. Raises ``DeadlineExceeded``, ``StretchTooLong``."""
        if not text:
            return
        self._characters += len(text)
        self._bytes += len(text) if text.isascii() else len(text.encode())
        self._note(self._warned.feed(text, stop=stop))
        if self._scale.estimator is not None:
            self._seen += self._scale.estimator.measure(self._tail + text)
            self._tail = (self._tail + text[-_OVERLAP:])[-_OVERLAP:]
        self._counter.feed(text, stop=stop)

    def finish(self, *, stop: Stop | None = None) -> Count:
        """The count of the whole text, which ends here. Raises ``DeadlineExceeded``."""
        self._note(self._warned.feed("", last=True, stop=stop))
        counted = self._counter.finish(stop=stop)
        hits = [Literal(literal, offset, occurrences) for literal, (offset, occurrences) in self._hits.items()]
        notices = hit_notices(self._scale, hits, self._path, parse_special=self._parse)
        estimator = self._scale.estimator
        bounds = estimator.bounds_of(counted, self._seen) if estimator else (counted, counted, counted)
        return measured(self._scale, bounds, self._characters, self._bytes, (*self._scale.notices, *notices))

    def _note(self, found: Iterator[tuple[int, str]]) -> None:
        for hit in gathered(found):
            self._hits.setdefault(hit.literal, [hit.offset, 0])[1] += hit.occurrences
