"""Sizes of pictures from their first bytes, whole, cut short, damaged and absurd."""

import base64
import struct
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.rendering.pictures import Base64File, HeaderSizer

SIZER = HeaderSizer()

# Made with Pillow 12: 30 x 20 pixels of one colour; the turned one has EXIF orientation 6. JPEGs are cut short.
PICTURES = {
    "png": (
        "iVBORw0KGgoAAAANSUhEUgAAAB4AAAAUCAIAAAAVyRqTAAAAI0lEQVR4nGM8ISfHQBvARCNzR40eNXrU6FGjR40eNZqmRgMAzMcB"
        "LHC3nzkAAAAASUVORK5CYII="
    ),
    "jpeg_turned": (
        "/9j/4AAQSkZJRgABAQAAAQABAAD/4QAiRXhpZgAATU0AKgAAAAgAAQESAAMAAAABAAYAAAAAAAD/2wBDAP//////////////////"
        "////////////////////////////////////////////////////////////////////2wBDAf//////////////////////////"
        "////////////////////////////////////////////////////////////wAARCAAUAB4DASIAAhEBAxEB/8QAHwAAAQUBAQEB"
        "AQEAAAAAAAAAAAECAwQFBgcICQoL/8QAtRAAAgEDAwIEAwUFBAQAAAF9AQIDAAQRBRIhMUEGE1FhByJxFDKBkaEII0KxwRVS0fAk"
        "M2JyggkKFhcYGRolJicoKSo0NTY3ODk6Q0RFRkdISUpTVFVWV1hZWmNkZWZnaGlqc3R1dnd4eXqDhIWGh4iJipKTlJWWl5iZmqKj"
    ),
    "progressive": (
        "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAP//////////////////////////////////////////////////////////////////"
        "////////////////////2wBDAf//////////////////////////////////////////////////////////////////////////"
        "////////////wgARCAAUAB4DASIAAhEBAxEB/8QAFQABAQAAAAAAAAAAAAAAAAAAAAH/xAAVAQEBAAAAAAAAAAAAAAAAAAAAAf/a"
        "AAwDAQACEAMQAAABglAAA//EABQQAQAAAAAAAAAAAAAAAAAAADD/2gAIAQEAAQUCT//EABQRAQAAAAAAAAAAAAAAAAAAACD/2gAI"
        "AQMBAT8BH//EABQRAQAAAAAAAAAAAAAAAAAAACD/2gAIAQIBAT8BH//EABQQAQAAAAAAAAAAAAAAAAAAADD/2gAIAQEABj8CT//E"
    ),
    "webp": ("UklGRkAAAABXRUJQVlA4IDQAAAAQAwCdASoeABQAP83i624/tzEqKAgD8DmJZQDGfBuidgAA/tDKbv2/WvP3IvkjecxAAAAA"),
    "webp_lossless": ("UklGRh4AAABXRUJQVlA4TBEAAAAvHcAEAAdQjyLXo/+BiOh/AAA="),
    "webp_extended": (
        "UklGRnQAAABXRUJQVlA4WAoAAAAIAAAAHQAAEwAAVlA4IDQAAAAQAwCdASoeABQAP83i624/tzEqKAgD8DmJZQDGfBuidgAA/tDK"
        "bv2/WvP3IvkjecxAAAAARVhJRhoAAABNTQAqAAAACAABARIAAwAAAAEABgAAAAAAAA=="
    ),
    "avif": (
        "AAAAIGZ0eXBhdmlmAAAAAGF2aWZtaWYxbWlhZk1BMUIAAADrbWV0YQAAAAAAAAAhaGRscgAAAAAAAAAAcGljdAAAAAAAAAAAAAAA"
        "AAAAAAAOcGl0bQAAAAAAAQAAAB5pbG9jAAAAAEQAAAEAAQAAAAEAAAETAAAAJgAAAChpaW5mAAAAAAABAAAAGmluZmUCAAAAAAEA"
        "AGF2MDFDb2xvcgAAAABqaXBycAAAAEtpcGNvAAAAFGlzcGUAAAAAAAAAHgAAABQAAAAQcGl4aQAAAAADCAgIAAAADGF2MUOBAAwA"
        "AAAAE2NvbHJuY2x4AAEADQAGgAAAABdpcG1hAAAAAAAAAAEAAQQBAoMEAAAALm1kYXQSAAoJGBE7NogIaDQgMhcf94eFFd///+LA"
        "AACLMfbraf5aD+pR4A=="
    ),
}
SIZES = dict.fromkeys(PICTURES, (30, 20)) | {"jpeg_turned": (20, 30)}


def png(width: int, height: int, rest: bytes = b"") -> bytes:
    header = b"IHDR" + struct.pack(">LLBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">L", 13) + header + struct.pack(">L", zlib.crc32(header)) + rest


def jpeg(*segments: bytes, width: int = 640, height: int = 480) -> bytes:
    size = b"\xff\xc0" + struct.pack(">HBHHB", 17, 8, height, width, 3) + bytes(9)
    return b"\xff\xd8" + b"".join(segments) + size + b"\xff\xda\0\x02"


def segment(size: int) -> bytes:
    return b"\xff\xe1" + struct.pack(">H", size + 2) + bytes(size)


GIF = b"GIF89a" + struct.pack("<HH", 640, 480) + bytes(3)
BMP = b"BM" + bytes(16) + struct.pack("<ll", 640, -480) + bytes(40)


@pytest.mark.parametrize("name", PICTURES)
def test_each_format_has_its_size(name: str) -> None:
    encoded = PICTURES[name]
    assert SIZER.encoded(encoded) == SIZES[name]
    assert SIZER(base64.b64decode(encoded + "=" * (-len(encoded) % 4))) == SIZES[name]


@pytest.mark.parametrize(
    "data", [png(640, 480), jpeg(), GIF, BMP, png(640, 480, b"tail"), jpeg(segment(60_000), segment(60_000))]
)
def test_a_header_made_by_hand_has_its_size(data: bytes) -> None:
    assert SIZER(data) == (640, 480)


@pytest.mark.parametrize(
    "shape", ["{}", "data:image/png;base64,{}", "DATA:image/png;charset=x;BASE64,{}", "data:;base64,{}"]
)
def test_base64_and_data_urls_are_read(shape: str) -> None:
    assert SIZER.encoded(shape.format(base64.b64encode(png(640, 480)).decode())) == (640, 480)


def test_base64_may_be_broken_into_lines_url_safe_or_without_padding() -> None:
    data = jpeg(b"\xff\xe0\x00\x12" + b"\xfb\xef\xbe" * 5 + b"\xff", segment(100))
    broken = base64.encodebytes(data).decode()
    safe = base64.urlsafe_b64encode(data).decode()
    assert "-" in safe
    assert SIZER.encoded(broken) == SIZER.encoded(safe) == SIZER.encoded(safe.rstrip("=")) == (640, 480)


def test_only_what_the_header_needs_is_decoded() -> None:
    head = base64.b64encode(png(640, 480, bytes(33))).decode()
    assert SIZER.encoded(head + "!" * 10_000_000) == (640, 480)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "data:",
        "data:image/png,%89PNG",
        "data:image/svg+xml;base64,PHN2Zy8+",
        "https://example.com/a.png",
        "é" * 99,
        "====",
        "A",
    ],
)
def test_what_is_no_picture_has_no_size(text: str) -> None:
    assert SIZER.encoded(text) is None


@pytest.mark.parametrize(
    "data",
    [
        b"", b"\x89PNG\r\n\x1a\n", png(0, 480), png(640, 0), png(2**31, 5), png(65_536, 5), jpeg()[:8],
        b"<svg width='5'/>", b"II*\0" + bytes(60), b"P6 640 480 255 ", b"GIF89a\x80\x02",
    ],
)  # fmt: skip
def test_damaged_absurd_and_other_files_have_no_size(data: bytes) -> None:
    assert SIZER(data) is None


def test_the_largest_side_is_65535() -> None:
    assert SIZER(png(65_535, 65_535)) == (65_535, 65_535)


def test_a_jpeg_of_a_hundred_segments_is_read_and_one_of_a_hundred_thousand_is_not() -> None:
    assert SIZER(jpeg(*[segment(0)] * 100)) == (640, 480)
    assert SIZER(jpeg(*[segment(0)] * 100_000)) is None


BEGINNINGS = st.sampled_from(
    [
        b"",
        png(640, 480),
        jpeg(segment(9)),
        GIF,
        BMP,
        *(base64.b64decode(PICTURES[n]) for n in ("avif", "webp", "webp_extended")),
    ]
)


@given(BEGINNINGS, st.integers(0, 400), st.binary(max_size=80), st.integers(0, 400))
@settings(max_examples=500, deadline=None)
def test_no_bytes_raise_and_both_ways_agree(beginning: bytes, kept: int, noise: bytes, place: int) -> None:
    data = beginning[:kept]
    data = data[:place] + noise + data[place + len(noise) :]
    size = SIZER(data)
    assert size is None or all(0 < side <= 65_535 for side in size)
    assert SIZER.encoded(base64.b64encode(data).decode()) == size


@given(st.text(max_size=60))
def test_no_text_raises(text: str) -> None:
    SIZER.encoded(text)
    SIZER.encoded("data:image/png;base64," + text)


@given(st.binary(max_size=50), st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60)), max_size=5))
def test_base64_reads_as_the_file_it_holds(data: bytes, places: list[tuple[int, int]]) -> None:
    file = Base64File(base64.b64encode(data).decode())
    for place, size in places:
        assert file.seek(place) == place
        assert file.read(size) == data[place : place + size]
    assert file.seek(0, 2) == len(data)
