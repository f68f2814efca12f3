"""The counters beside PyPI ctok, which measured their vocabularies: the same counts on every text.

Left out are characters that the interpreter's older Unicode, which ctok asks, sees in another way.
"""

from __future__ import annotations

import lzma
import re
from pathlib import Path

import pytest

from adapters.claude.characters import PLANE, small_letter, traits
from adapters.port import well_formed
from tests.adapters.claude.conftest import SPECS, counters
from tests.adapters.claude.reference import (
    VERSIONS,
    ctok,
    entry_by_ctok,
    expected,
    same_unicode,
    small_by_ctok,
    strings_of_all_kinds,
)
from tests.fuzz import strings

GENERATIONS = [pytest.param(name, marks=pytest.mark.xdist_group(f"ctok-{name}")) for name in VERSIONS]
ROOT = Path(__file__).parents[3]
MARKS = {"⟨bow⟩": b"\xf8", "⟨eow⟩": b"\xf9", "⟨shift⟩": b"\xfa", "⟨caps⟩": b"\xfb"}


def differing(name: str, texts: list[str], engine: str) -> list[tuple[str, int, int]]:
    """The texts that a counter and ctok count in another way, with both counts."""
    counter = counters(engine)[name]
    found = [(text, counter.count(text), expected(name, text) if text else 0) for text in texts]
    return [row for row in found if row[1] != row[2]]


def kept(texts: list[str]) -> list[str]:
    """The texts that both see alike: nearly all of them."""
    alike = [text for text in map(well_formed, texts) if same_unicode(text)]
    assert len(alike) > 0.95 * len(texts)
    return alike


@pytest.mark.parametrize("engine", ["native", "python"])
@pytest.mark.parametrize("name", GENERATIONS)
def test_hostile_strings_count_alike(name: str, engine: str) -> None:
    assert differing(name, kept(list(strings(2_000, seed=101))), engine) == []


@pytest.mark.parametrize("engine", ["native", "python"])
@pytest.mark.parametrize("name", GENERATIONS)
def test_all_kinds_of_characters_side_by_side_count_alike(name: str, engine: str) -> None:
    assert differing(name, kept(list(strings_of_all_kinds(2_000, seed=102))), engine) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", GENERATIONS)
def test_twenty_thousand_strings_of_each_sort_count_alike(name: str) -> None:
    texts = [*strings(20_000, seed=103), *strings_of_all_kinds(20_000, seed=104)]
    assert differing(name, kept(texts), "native") == []


@pytest.mark.parametrize("name", GENERATIONS)
def test_whole_documents_count_alike(name: str) -> None:
    files = [ROOT / "README.md", ROOT / "LICENSE", ROOT / "adapters/native/scan.c", ROOT / "service/data/hosts.toml"]
    texts = [file.read_text(encoding="utf-8") for file in (*files, *sorted(ROOT.glob("adapters/*.py")))]
    texts += ["".join(strings(300, seed=seed, surrogates=False)) for seed in range(5)]
    assert differing(name, [text for text in texts if same_unicode(text)], "native") == []


@pytest.mark.slow
@pytest.mark.parametrize("name", GENERATIONS)
def test_every_character_counts_alike_between_letters_blanks_and_digits(name: str) -> None:
    frames = ("{}", "a{}b", " {} ", "1{} 2", "x {}'s", "({})", "A{}B C")
    step = 7  # a seventh of the plane for each frame
    texts = [
        frame.format(chr(number))
        for shift, frame in enumerate(frames)
        for number in range(shift, PLANE, step)
        if not 0xD800 <= number < 0xE000
    ]
    assert differing(name, [text for text in texts if same_unicode(text)], "native") == []


def test_a_character_is_of_the_kind_that_ctok_finds() -> None:
    """But for those that the interpreter's Unicode 14 does not know, and five that are small letters since 15.1."""
    numbers = [number for number in range(PLANE) if not 0xD800 <= number < 0xF900]
    other = {number for number in numbers if traits()[number] != entry_by_ctok(number)}
    later = {0x5C8, 0x5C9, 0x897, 0xCF3, 0xECE, 0x1C89, 0x1C8A, 0xA7CB, 0xA7CC, 0xA7CD, 0xA7DA, 0xA7DB, 0xA7DC}
    assert other <= later | {0x10FC, 0xA7F2, 0xA7F3, 0xA7F4, 0xAB69}


def test_a_small_letter_is_the_one_that_ctok_writes() -> None:
    numbers = [number for number in range(PLANE) if not 0xD800 <= number < 0xE000]
    other = {number for number in numbers if small_letter(chr(number)) != small_by_ctok(number)}
    assert other <= {0xA7CC, 0xA7CE, 0xA7D2, 0xA7D4, 0xA7DA, 0xA7DC}  # of Unicode 16 and 17


@pytest.mark.parametrize(("name", "version"), [("claude_v3", "3.0"), ("claude_v4_7", "4.7")])
def test_the_vendored_pieces_are_those_of_the_package(name: str, version: str) -> None:
    from ctok.main import _vocabulary

    tokens = _vocabulary("v" + version.removesuffix(".0"))["tokens"]
    pieces = {bytes.fromhex(prefix) for prefix in tokens["bytes_fallback"]}
    pieces |= {packed(piece) for group, found in tokens.items() if group != "bytes_fallback" for piece in found}
    pieces |= {packed(piece) + MARKS["⟨eow⟩"] for piece in tokens["contractions"]}
    file = b"".join(piece + b"\xff" for piece in sorted(pieces))
    assert lzma.decompress(SPECS[name].path.read_bytes()) == file
    assert len(pieces) == SPECS[name].size
    assert ctok.pieces(version).keys() == {piece for found in tokens.values() for piece in found}


def packed(piece: str) -> bytes:
    """A piece in ctok's notation as bytes of the marked stream."""
    atoms = re.findall(r"⟨(?:bow|eow|shift|caps|0x..)⟩|.", piece, re.DOTALL)
    return b"".join(
        MARKS.get(atom) or (bytes.fromhex(atom[3:5]) if atom.startswith("⟨0x") else atom.encode()) for atom in atoms
    )
