"""Ids and counts are tiktoken's own: on odd strings, on code points in context, on long pieces."""

from __future__ import annotations

import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from adapters.manifest import read_manifest
from adapters.native.families import FAMILIES
from tests.exhaustive.points import LONG_CONTEXTS, in_contexts, telling_points
from tests.fuzz import long_string, strings

# Letters of every kind, marks, digits, white space and the rest: what the patterns tell apart, in every order.
ALPHABET = "aZzS sſ'lLvedm1٣½你ªǅʰé\u0301\u0903\n\r\t \u00a0\u3000\u2028/!_.\0👍\U000e0001"
PARTS = (
    "a", "b", "Z", "The", "don't", "'s", "'S", "'LL", "'ve", "'x", "'re", "'", "''", " ", "  ", "\n", "\r\n", "\n\n",
    "\t", "   ", "1", "22", "333", "4444", "12345678", ".", "...", "/", "//", "!", "(", '";', "{\n", "_", "\0", "\x1f",
    "\x0b", "\x0c", "word", "WORD", "camelCase", "HTTPServer", "é", "你", "ſ", "\u0301", "\u00a0", "\u2028",
    "a" * 20, "-" * 20, " " * 30,
)  # fmt: skip


def test_the_extension_knows_the_split_pattern_of_every_published_vocabulary():
    assert set(read_manifest().patterns.values()) == set(FAMILIES)


def test_twenty_thousand_odd_strings(pair):
    assert pair.differing([*strings(20_000, seed=4, surrogates=False), long_string(150_000, seed=9)]) == []


def test_code_points_in_context(pair):
    points = telling_points()
    texts = [*in_contexts(map(chr, points))]
    assert (len(points), len(texts)) == (19_778, 138_446)
    assert pair.differing(texts)[:3] == []


def test_code_points_within_long_stretches(pair):
    texts = in_contexts(map(chr, telling_points()[::7]), LONG_CONTEXTS)
    assert pair.differing(texts)[:3] == []


def test_chinese_beside_everything(pair):
    """Characters are taken as one token where what stands beside them allows it."""
    draw = random.Random(12)
    han = "的一是不了在人有我他这中大来上个国，。、「」：！的是のにをはがで가나다лоеаиé"
    beside = [
        *han,
        *han,
        *han,
        "a",
        " ",
        "\n",
        "'s",
        "e\u0301",
        "👍",
        "\ue000",
        "𠀀",
        "鱻",
        "龘",
        "\u0800",
        "\uffff",
        "ß",
    ]
    texts = ["".join(draw.choices(beside, k=draw.randint(2, 80))) for _ in range(12_000)]
    texts += ["".join(chr(draw.randrange(0x4E00, 0x9FA6)) for _ in range(draw.randint(2, 60))) for _ in range(6_000)]
    texts.append("".join(draw.choices(beside, k=40_000)))
    assert pair.differing(texts)[:3] == []


def test_every_order_of_kinds_of_characters(pair):
    draw = random.Random(pair.spec.name)
    texts = ["".join(draw.choices(ALPHABET, k=draw.randint(1, 24))) for _ in range(30_000)]
    assert pair.differing(texts)[:3] == []


def test_ascii_texts_longer_than_one_window(pair):
    """Starts of pieces in ASCII are found 64 bytes at a time."""
    draw = random.Random(pair.spec.sha256)
    ascii_characters = [chr(number) for number in range(128)]
    texts = ["".join(draw.choices(ascii_characters, k=draw.randint(80, 300))) for _ in range(4_000)]
    for _ in range(12_000):
        parts = PARTS if draw.random() < 0.5 else draw.sample(PARTS, 4)
        texts.append("".join(draw.choices(parts, k=draw.randint(30, 100))) + "x" * draw.randint(0, 90))
    assert pair.differing(texts)[:3] == []


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(st.sampled_from(ALPHABET), max_size=60) | st.text(st.characters(exclude_categories=["Cs"])))
def test_any_text(pair, text):
    assert pair.differing([text]) == []


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    part=st.text(st.sampled_from("abteh 你-_=\n0"), min_size=1, max_size=6),
    times=st.integers(20, 300),
    rest=st.text(st.sampled_from("ab c"), max_size=3),
)
def test_repeated_parts(pair, part, times, rest):
    assert pair.differing([part * times + rest]) == []


def test_pieces_of_every_length_around_the_sizes_at_which_the_method_changes(pair):
    draw = random.Random(3)
    letters = "".join(draw.choices("etaoinshrdlu", k=400))
    han = "".join(draw.choices("的一是不了在人有我他这中大来上个国", k=140))
    texts = [text[:size] for text in (letters, "a" * 400, "=" * 400, " " * 400, han) for size in range(1, 300)]
    assert pair.differing(texts)[:3] == []


SCRIPTS = {
    "han": "的一是不了在人有我他这中大来上个国，。鱻龘",
    "rare han": "龘鱻麤爨籲鸞讟灩钃厵",
    "kana": "のにをはがでとたしなアイスト゚ーンル。",
    "hangul": "가나다라이는을에한국어의 힣",
    "cyrillic": "оеаинтсрвлкмдпУЖЁ",
    "emoji": "👍😀👩\u200d💻🏽❤\ufe0f🇩🇪",
    "marks": "हिन्दीไทยe\u0301\u0903é",
    "all": "的我のア가한оЖαßéÉǅª👍𠀀٣½’—，。 a'sB1\n\u3000\u00a0\u0301",
}


def _completed(token: bytes, draw: random.Random) -> str:
    """The token in whole characters: what it has of the first and of the last one, with bytes that complete them."""
    inner = len(token) - len(token.lstrip(bytes(range(0x80, 0xC0))))
    head = bytes([draw.choice(b"\xe3\xe5\xe6\xe7\xe8\xe9"), draw.randrange(0x80, 0xC0)])[: 3 - inner] if inner else b""
    tail = bytes(draw.choices(range(0x80, 0xC0), k=2))
    return next(text for cut in range(3) if (text := _decoded(head + token + tail[:cut])) or cut == 2)


def _decoded(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return ""


def test_borders_that_tokens_cross_with_parts_of_characters(pair):
    """Chinese is taken apart where no token crosses: so every token beside others of its kind, whole or in part."""
    draw = random.Random(pair.spec.name)
    tokens = [pair.native.bytes_of(rank) or b"" for rank in range(pair.native.highest_rank + 1)]
    chinese = [token for token in tokens if any(0xE3 <= byte <= 0xE9 for byte in token) or token[:1] >= b"\x80"]
    cut = [token for token in chinese if not _decoded(token)]
    texts = []
    for _ in range(6_000):
        chosen = draw.choices(chinese, k=4) + draw.choices(cut, k=4)
        texts.append("".join(_completed(token, draw) for token in draw.sample(chosen, k=8)) + draw.choice("的，的のa"))
    assert sum(map(len, texts)) > 50_000
    assert pair.differing(texts)[:3] == []


@pytest.mark.parametrize("script", SCRIPTS)
def test_pieces_of_every_length_in_every_script(pair, script):
    draw = random.Random(script)
    text = "".join(draw.choices(SCRIPTS[script], k=300))
    led = "".join(draw.choices(SCRIPTS[script], k=300))
    texts = [start + text[:size] for start in ("", " ", "，") for size in range(1, 301)]
    texts += [led[shift : shift + size] for size in range(1, 60) for shift in range(0, 60, 3)]
    assert pair.differing(texts)[:3] == []


# What the patterns treat in some way of their own, where most of a window is beyond ASCII.
MIXED_PARTS = (
    "我们", "的", "，", "。", "Привет", "МИР", "мирМир", "Hello", "WORLD", "'s", "'ll", "’s", "'ſ", "ſ", "été",
    "ÀÉ", "Éa", "中文A", "A中", "中Aa", "aA", "e\u0301", "E\u0301A", "\u0301", "हिन्दी", "ไทย", "مرحبا", "٣٤",
    "½", "Ⅷ", "１２３", "한국어", "カタカナー", "ǅ", "ʰ", " ", "  ", "\n", "\r\n", " \n ", "\t", "\u3000",
    "\u00a0", "1", "1234", "…", "——", "…'s", "/", "//\n", "!", "！", "“", "👍", "𠀀",
)  # fmt: skip


def test_texts_in_many_scripts_longer_than_one_window(pair):
    draw = random.Random(pair.spec.name)
    texts = []
    for _ in range(15_000):
        parts = MIXED_PARTS if draw.random() < 0.5 else draw.sample(MIXED_PARTS, 5)
        texts.append("".join(draw.choices(parts, k=draw.randint(20, 80))))
    assert pair.differing(texts)[:3] == []


LONG = {
    "a": "a" * 200_000,
    "blanks": " " * 200_000 + "x",
    "line breaks": "\n" * 200_000,
    "mixed white space": "\t \n\r\n  \u3000" * 25_000 + "x",
    "carets": "^" * 200_000,
    "letters": "".join(random.Random(5).choices("abcdefghijklmnopqrstuvwxyz", k=200_000)),
    "capitals": "".join(random.Random(6).choices("ABCDEFGHIJKLMNOPQRSTUVWXYZ", k=100_000)) + "你",
    "marks": "e" + "\u0301" * 60_000,
    "han": "你" * 60_000,
    "words": "weighbridge" * 20_000,
}


@pytest.mark.parametrize("kind", LONG)
def test_long_pieces(pair, kind):
    assert pair.differing([LONG[kind]]) == []


WORD_LETTERS = (
    "etaoinshrdlu", "ETAOINetaoin", "éèêëàçùœ", "оеаинтсрвлкмд", "ОЕАИоеаинт", "αειοτηνσ", "աիենրու", "აიესრნო",
    "اليمنرتبة", "שלוםהית", "कखगमरसािी", "কখগমরসািী", "กขคงนมรเา", "가나다라마바사", "のにをはがで", "的一是不了在",
    "ሀለሐመሠረሰ", "𐐨𐐩𐐪𐐫", "👍🎉🚀",
)  # fmt: skip


def test_new_words_of_every_script_side_by_side(pair):
    """No word comes twice, so that none is remembered: one at a time, and two of every length together."""
    draw = random.Random(21)
    sizes = [*range(1, 20), 24, 31, 40, 62, 63, 70]
    texts = []
    for scripts in [(script,) for script in WORD_LETTERS] + [WORD_LETTERS] * 30:
        words = ["".join(draw.choices(draw.choice(scripts), k=draw.choice(sizes))) for _ in range(draw.randint(1, 150))]
        texts.append(draw.choice((" ", "\n", ", ")).join(words))
    assert pair.differing(texts) == []
    assert pair.differing(texts) == []  # as remembered
    for text in texts:
        count = pair.native.count(text)
        assert pair.native.count_within(text, count) == count
        assert pair.native.count_within(text, count - 1) is None


ALPHABETS = (
    "a", "aaab", "ab", "etaoin", "abcdefghijklmnopqrstuvwxyz", "你", "你我他的是", "-_=", "лоеаи", "éèaß", "のにをは人",
    "가나다라", "\u0301\u0903e",
)  # fmt: skip


@pytest.mark.parametrize("alphabet", ALPHABETS)
def test_pieces_that_are_merged_stretch_by_stretch(pair, alphabet):
    """A stretch has 4,096 bytes: pieces of one to four, ending at every place around a border."""
    draw = random.Random(alphabet)
    sizes = [
        4_096 // len(alphabet[0].encode()) * stretches + shift for stretches in (1, 2, 3) for shift in (-1, 0, 1, 7)
    ]
    texts = ["".join(draw.choices(alphabet, k=size)) for size in sizes]
    texts += [("".join(draw.choices(alphabet, k=draw.randint(2, 9))) * size)[:size] for size in sizes]
    assert pair.differing(texts)[:3] == []


@pytest.mark.parametrize("character", ["a", " ", "\n", "^", "你"])
def test_a_million_of_one_character_decodes_to_itself(small_pair, character):
    text = character * 1_000_000
    ids = small_pair.native.encode(text)
    assert small_pair.native.count(text) == len(ids)
    assert b"".join(map(small_pair.native.bytes_of, ids)).decode() == text
