"""What sounds, films and documents take, by the vendors' rates, and what is bounded by the context window alone."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from decimal import Decimal

from service.domain.amounts import Amount
from service.domain.catalog import Accuracy
from service.domain.request import Audio, Document, Unknown, Unseen, Video
from service.domain.rules import Scope

LARGEST_WINDOW = 10_000_000
"""Tokens; no model known has a larger context window, so no request that is answered is longer."""

_SLOWEST_SOUND = 500  # bytes a second: the leanest speech codecs in use
_FASTEST_SOUND = 400_000  # bytes a second: uncompressed, two channels, 48 kHz, with room
_UNKNOWN_FRAME = 100  # tokens around a block of an unknown type
_SMALLEST_PAGE = 400  # bytes a page of a PDF takes at the least, compressed


@dataclass(frozen=True, slots=True)
class AudioRule:
    """Tokens a second of sound, with the lowest and the highest rate that are known."""

    scope: Scope
    per_second: Decimal
    low_per_second: Decimal
    high_per_second: Decimal

    def amount(self, audio: Audio) -> Amount:
        """What ``audio`` takes; where its length is unknown, what a file of that size can hold at the most."""
        if audio.seconds is not None:
            return _timed(audio.seconds, self.per_second, self.low_per_second, self.high_per_second)
        if audio.bytes is None:
            return unbounded("remote_media")
        longest = math.ceil(Decimal(audio.bytes) / _SLOWEST_SOUND * self.high_per_second)
        likely = math.ceil(Decimal(audio.bytes) / 16_000 * self.per_second)  # 128 kbit/s, the most common rate
        low = math.floor(Decimal(audio.bytes) / _FASTEST_SOUND * self.low_per_second)
        return Amount(likely, low, longest).because(Accuracy.APPROXIMATE, "media_length_unknown")


@dataclass(frozen=True, slots=True)
class VideoRule:
    """Tokens a frame, and a second of its sound; one frame a second where the request does not say."""

    scope: Scope
    per_frame: int
    high_per_frame: int
    sound_per_second: int
    low_detail: int = 0

    def amount(self, video: Video) -> Amount:
        """What ``video`` takes; of unknown length, anything up to the context window."""
        if video.seconds is None:
            return unbounded("remote_media" if video.source != "inline" else "media_length_unknown")
        frame = self.low_detail if self.low_detail and "low" in video.detail.lower() else self.per_frame
        frames = max(1, math.ceil(video.seconds * (video.fps or 1)))
        tokens = frames * frame + math.ceil(video.seconds) * self.sound_per_second
        high = frames * max(frame, self.high_per_frame) + math.ceil(video.seconds + 1) * (self.sound_per_second + 8)
        return Amount(tokens, frames * min(frame, self.per_frame), high).because(
            Accuracy.APPROXIMATE, "media_estimated"
        )


@dataclass(frozen=True, slots=True)
class DocumentRule:
    """Tokens a page of a PDF, text and picture together."""

    scope: Scope
    per_page: int
    low_per_page: int
    high_per_page: int

    def amount(self, document: Document) -> Amount:
        """What ``document`` takes; where its pages are not known, what a file of that size can hold at the most."""
        if document.pages is not None:
            tokens, low, high = (n * document.pages for n in (self.per_page, self.low_per_page, self.high_per_page))
            return Amount(tokens, low, high).because(Accuracy.APPROXIMATE, "document_estimated")
        if document.bytes is None:
            return unbounded("file_not_included" if document.source == "file" else "remote_media")
        pages = max(1, document.bytes // _SMALLEST_PAGE)
        likely = self.per_page * max(1, document.bytes // 50_000)
        amount = Amount(likely, min(1, document.bytes), self.high_per_page * pages)
        return amount.because(Accuracy.APPROXIMATE, "document_pages_unknown")


def unseen(part: Unseen) -> Amount:
    """What content may take that the request only refers to: anything up to the context window."""
    return unbounded(part.reason)


def unsupported(told: Amount) -> Amount:
    """What a block of an unknown type may take, whose JSON text takes ``told``: nothing, or a preamble more than that.

    The largest recorded is 96 tokens, around the summary of a compacted conversation.
    """
    amount = replace(told, low=0, high=told.high + max(_UNKNOWN_FRAME, told.high))
    return amount.because(Accuracy.APPROXIMATE, "unsupported_part")


def sealed(part: Unknown) -> Amount:
    """What the binary data in a block of an unknown type may take: nothing, or as much as text of its size."""
    if not part.sealed_bytes:
        return Amount()
    return Amount(0, 0, part.sealed_bytes).because(Accuracy.APPROXIMATE, "unsupported_part")


def unbounded(reason: str) -> Amount:
    """An amount that nothing but the context window bounds."""
    return Amount(accuracy=Accuracy.APPROXIMATE, reasons=(reason,), unbounded=True)


def _timed(seconds: float, likely: Decimal, least: Decimal, most: Decimal) -> Amount:
    length = Decimal(str(seconds))
    tokens, low, high = math.ceil(length * likely), math.floor(length * least), math.ceil((length + 1) * most)
    return Amount(tokens, low, high).because(Accuracy.APPROXIMATE, "media_estimated")
