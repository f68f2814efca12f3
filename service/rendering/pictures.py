"""Sizes of pictures from their headers: PNG, JPEG, GIF, WebP, BMP, AVIF and HEIC; not a pixel is decoded.

Base64 is decoded where the header is read and nowhere else, so a picture of many megabytes costs microseconds. What a
file declares is believed up to 65,535 pixels a side, the most that any vendor takes. Sizes are those of the picture as
it is shown: an EXIF orientation that lays it on its side swaps width and height, as viewers do. (Vendors do not say
which of the two they count; of the rules known, tiles and patches give the same number for both.)
"""

from __future__ import annotations

import binascii
import io
import os
import re

import imagesize

_LARGEST = 65_535
_MOST_READS = 2_000  # a JPEG of a camera has some twenty segments before its size, of an editor some hundred
_MOST_BYTES = 1 << 19
_HEAD = 64
_DATA_URL = re.compile(r"data:[^,]{0,255};\s*base64\s*,", re.IGNORECASE)
_LINE = frozenset("\r\n")
_LONGEST_LINE = 128  # of base64 that is broken into lines; it has 64 or 76 characters
_PADDING = frozenset("= \r\n")
_URL_SAFE = str.maketrans("-_", "+/")

# Formats with a short binary header. Others that the library reads (SVG, TIFF, Netpbm) no vendor takes.
_KNOWN = re.compile(
    rb"\x89PNG\r\n\x1a\n|\xff\xd8|GIF8[79]a|RIFF.{4}WEBP|BM"
    rb"|.{4}ftyp.{0,52}?(?:avif|avis|heic|heix|hevc|hevx|heim|heis|mif1|msf1)",
    re.DOTALL,
)


class HeaderSizer:
    """The ``ImageSizer``: width and height, or ``None`` where a header is unknown, damaged or absurd. Never raises."""

    def __call__(self, data: bytes, /) -> tuple[int, int] | None:
        """The size of a picture whose file, or whose beginning, is ``data``."""
        return _size(_Reads(io.BytesIO(data)))

    def encoded(self, text: str, /) -> tuple[int, int] | None:
        """The size of a picture in base64, or in a ``data:`` URL."""
        url = _DATA_URL.match(text)
        if url is None and text[:5].lower() == "data:":
            return None
        return _size(_Reads(Base64File(text, url.end() if url else 0)))


class Base64File(io.RawIOBase):
    """The file that base64 ``text`` holds from ``start`` on; decoded where it is read. It ends where it is not base64.

    Line breaks, the URL-safe alphabet and missing padding are taken.
    """

    def __init__(self, text: str, start: int = 0) -> None:
        super().__init__()
        if not _LINE.isdisjoint(text[start : start + _LONGEST_LINE]):
            text, start = "".join(text[start:].split()), 0
        end = len(text)
        while end > start and text[end - 1] in _PADDING:
            end -= 1
        self._text = text
        self._start = start
        self._length = (end - start) * 3 // 4
        self._place = 0

    def seekable(self) -> bool:
        """Yes."""
        return True

    def readable(self) -> bool:
        """Yes."""
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Go to a place, counted from the beginning, from here or from the end."""
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._place, os.SEEK_END: self._length}[whence]
        self._place = max(0, base + offset)
        return self._place

    def tell(self) -> int:
        """The place."""
        return self._place

    def read(self, size: int = -1) -> bytes:
        """At most ``size`` bytes from here, all that are left where it is negative."""
        left = max(0, self._length - self._place)
        size = left if size < 0 else min(size, left)
        first, last = self._place // 3 * 4, -(-(self._place + size) // 3) * 4
        quads = self._text[self._start + first : self._start + last].translate(_URL_SAFE).rstrip("=")
        try:
            data = binascii.a2b_base64(quads + "=" * (-len(quads) % 4), strict_mode=True) if size else b""
        except ValueError:
            return b""
        data = data[self._place % 3 :][:size]
        self._place += len(data)
        return data


class _Reads:
    """A file that may be read so often and so much; what asks for more gets an error."""

    def __init__(self, file: io.RawIOBase | io.BytesIO) -> None:
        self._file = file
        self._reads = _MOST_READS
        self._bytes = _MOST_BYTES

    def read(self, size: int = -1) -> bytes:
        """At most ``size`` bytes. Raises ``ValueError`` for all that are left, and once there was enough."""
        self._reads -= 1
        self._bytes -= size
        if size < 0 or self._reads < 0 or self._bytes < 0:
            raise ValueError
        return self._file.read(size) or b""

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Go to a place."""
        self._reads -= 1
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        """The place."""
        return self._file.tell()


def _size(file: _Reads) -> tuple[int, int] | None:
    head = file.read(_HEAD)
    if not _KNOWN.match(head):
        return None
    width, height = imagesize.get(file)
    if not (0 < width <= _LARGEST and 0 < height <= _LARGEST):
        return None
    return width, height
