"""The extension beside the engine in plain Python, and the files that it refuses."""

from __future__ import annotations

import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.claude import PlainTiles, Tiling, read_pieces, small_letters, traits
from adapters.native import AVAILABLE
from adapters.port import Marking, VocabularyDamaged
from tests.adapters.claude.conftest import counters

if not AVAILABLE and os.environ.get("WEIGHBRIDGE_REQUIRE_NATIVE") != "1":
    pytest.skip("the extension was not built", allow_module_level=True)

from adapters.native.claude import NativeTiles

MARKINGS = [Marking(a, b, c) for a in (False, True) for b in (False, True) for c in (False, True)]
# A small vocabulary in which pieces overlap and marks stand alone or at the ends of pieces.
SMALL = sorted(
    {
        b"\xf8", b"\xf9", b"\xfa", b"\xfb", b"\xf8a", b"a\xf9", b"ab", b"abc", b"bcd\xf9", b"\xfa\xf8ab",
        b"\xfb\xf8ab\xf9", b"\n\n", b"\n\n\n", b"  ", b"'s", b"'s\xf9", b"12", b"123", b"!!", b"!\xf9", b"\xf8!",
        b"\xe4\xbd", "你好".encode(), "好".encode(), "\u3000 ".encode(), b"=" * 7, b"=" * 64,
    }
)  # fmt: skip
FILE = b"".join(piece + b"\xff" for piece in SMALL)
LETTERS = "abcdABCD'sStT12³½!=. \n\t你好\u3000éÉİẞſ\u0301ा👍\u2019\u00a0\0\x07\ue000\ufe0fⒶⅧ"


def native(file: bytes) -> NativeTiles:
    return NativeTiles(file, traits(), small_letters())


SMALL_NATIVE, SMALL_PLAIN = native(FILE), PlainTiles(Tiling(read_pieces(FILE)))


@settings(deadline=None)
@given(st.text(st.sampled_from(LETTERS), min_size=1, max_size=60), st.sampled_from(MARKINGS))
def test_both_engines_tile_alike_with_a_small_vocabulary(text: str, marking: Marking) -> None:
    count = SMALL_PLAIN.count(text, marking)
    assert SMALL_NATIVE.count(text, marking) == count
    for limit in {0, max(count - 1, 0), count, count + 1}:
        assert SMALL_NATIVE.fits(text, marking, limit) is SMALL_PLAIN.fits(text, marking, limit) is (limit >= count)


@settings(deadline=None)
@given(st.text())
def test_both_engines_count_any_text_alike(text: str) -> None:
    plain = counters("python")
    for name, counter in counters("native").items():
        assert counter.count(text) == plain[name].count(text)


def by_brute_force(stretch: bytes) -> int:
    """The least number of pieces and single bytes, by all ways to begin."""
    fewest = [0]
    for end in range(1, len(stretch) + 1):
        whole = (start for start in range(end) if end - start == 1 or stretch[start:end] in set(SMALL))
        fewest.append(1 + min(fewest[start] for start in whole))
    return fewest[-1]


@settings(deadline=None)
@given(st.binary(min_size=1, max_size=40) | st.lists(st.sampled_from(SMALL), min_size=1).map(b"".join))
def test_a_stretch_is_made_of_the_least_number_of_pieces(stretch: bytes) -> None:
    assert Tiling(SMALL).fewest(stretch) == by_brute_force(stretch)


@pytest.mark.parametrize("file", [b"", b"a", b"a\xffb", b"b\xffa\xff", b"a\xffa\xff", b"\xff", b"a\xff\xff"], ids=repr)
def test_a_file_out_of_order_is_refused_by_both(file: bytes) -> None:
    for read in (native, read_pieces):
        with pytest.raises(VocabularyDamaged, match="in order, each one once and ended by the byte FF"):
            read(file)


@pytest.mark.parametrize(
    "piece",
    [b"a\xf8b", b"a\xf9b", b"a\xfa", b"\xf8\xfaa", b"a b", b" a", b"a\n", b"\xf8 ", b" \xf9", b"\xf8\xf8", b"\xf9\xf9"],
)
def test_a_piece_across_a_border_is_refused_by_both(piece: bytes) -> None:
    for read in (native, read_pieces):
        with pytest.raises(VocabularyDamaged, match="reaches across a border"):
            read(piece + b"\xff")


def test_tables_of_another_size_are_refused() -> None:
    with pytest.raises(VocabularyDamaged, match="one entry for every code point"):
        NativeTiles(FILE, traits()[:-1], small_letters())


def test_a_piece_longer_than_the_extension_takes_is_refused() -> None:
    with pytest.raises(VocabularyDamaged):
        native(b"a" * 256 + b"\xff")
    assert native(b"a" * 255 + b"\xff").count("=" + "a" * 255, MARKINGS[0]) == 4
