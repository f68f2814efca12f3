"""Strings that break tokenizers, drawn repeatably: the same seed gives the same strings, on any machine."""

from __future__ import annotations

import random
import string
from collections.abc import Callable, Iterator

_SPACES = (
    " ",
    "  ",
    "   ",
    "\t",
    "\n",
    "\r",
    "\r\n",
    "\n\n",
    " \n",
    "\u00a0",
    "\u3000",
    "\u2009",
    "\u2028",
    "\x85",
    "\x0b",
)
_ENDINGS = ("s", "t", "re", "ve", "m", "ll", "d", "S", "T", "RE", "LL", "D", "ſ", "lL", "x", "")
_APOSTROPHES = ("'", "’", "＇", "`", "''")
_WORDS = (
    "the", "The", "THE", "weighbridge", "supercalifragilistic", "naïve", "straße", "STRASSE", "İstanbul", "Ǆungla", "ǅ",
    "ﬁne", "Привет", "мир", "γλῶσσα", "שלום", "مرحبا", "नमस्ते", "สวัสดี", "გამარჯობა", "camelCaseWord", "snake_case_word",
    "HTTPServer2", "iPhone15", "e\u0301te\u0301", "a\u030a", "ᾳ", "Åä",
)  # fmt: skip
_HAN = "你好世界上海人工智能的一是不了在有和这中大为来我他要们时地道出会也龥龦㐀𠀀豈"
_CJK = _HAN + "こんにちはカタカナー゠ゟｶﾞ안녕하세요한국어ㄱ각" + "，。！？「」、：；（）《》・"
_PICTURES = ("👍", "👍🏽", "👨‍👩‍👧‍👦", "🏳️‍🌈", "🇩🇪", "🇩", "1️⃣", "❤️", "☺", "🦙", "\U0001fae8", "\U0001fac6", "⚙︎", "♥")
_MARKS = (
    "\u0300\u0301\u0308\u030a\u0323\u0328\u0345\u05b0\u0651\u093c\u09be\u0e38"
    "\u1161\u11a8\u20e3\u3099\ufe0f\u200d\u200c\u200b\u00ad"
)
_LITERALS = (
    "<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|fim_prefix|>", "<|endofprompt|>", "<EOT>", "<META_START>",
    "<s>", "</s>", "[INST]", "[/INST]", "[CLS]", "[SEP]", "[MASK]", "[UNK]", "<unk>", "<0x41>", "▁", "##ing", "Ġ",
    "</w>", "<think>", "<｜begin▁of▁sentence｜>", "<start_of_turn>", "[control_12]", "<|begin_of_text|>",
    "<SPECIAL_20>", "<|eot_id|>", "<pad>",
)  # fmt: skip
_SNIPPETS = (
    "def f(x):\n    return x ** 2  # square\n", "for (int i = 0; i < n; ++i) {\n\t\tsum += a[i];\n\t}\n",
    "https://a.example/b?c=d&e=%20f#g",
    '{"a": [1, 2, 3], "b": null}', "SELECT * FROM t WHERE id='x';", "<div class=\"a\">&nbsp;</div>", "a/b\\c\r\n\r\n",
    "x=-1.5e-10;", "It's 5 o'clock; they'll say \"no\".", "Hello, World!",
    "-- \n--\n", "....", "!!!???", "$1,234.56 (€99)", "A\tB\tC\n1\t2\t3\n",
)  # fmt: skip
_CONTROLS = "\0\x01\x07\x08\x0b\x0c\x1b\x1c\x1f\x7f\x80\x9f\ufeff\ufffe\uffff\U0001ffff"
_NUMERALS = "0123456789" * 3 + "٣०৪๓½Ⅷ①三²𝟘"
_RANGES = (
    (0x20, 0x7F), (0x80, 0x250), (0x250, 0x800), (0x800, 0x1100), (0x1100, 0x2000), (0x2000, 0x3000),
    (0x3000, 0xA000), (0xA000, 0xD800), (0xE000, 0xF900), (0xF900, 0x10000), (0x10000, 0x12000), (0x12000, 0x18000),
    (0x1B000, 0x1E000), (0x1E000, 0x20000), (0x20000, 0x33480), (0xE0000, 0x110000),
)  # fmt: skip

Draw = random.Random


def strings(count: int, seed: int, *, surrogates: bool = True) -> Iterator[str]:
    """``count`` strings of 0 to about 100 code points, most of them short; ``surrogates`` allows lone ones."""
    draw = Draw(seed)
    kinds = [*_KINDS, _lone_surrogates] if surrogates else list(_KINDS)
    for _ in range(count):
        if draw.random() < 0.5:
            yield draw.choice(kinds)(draw)
        else:
            yield "".join(draw.choice(kinds)(draw) for _ in range(draw.randint(2, 4)))


def long_string(length: int, seed: int) -> str:
    """At least ``length`` code points of everything, without surrogates."""
    parts: list[str] = []
    size = 0
    for part in strings(length, seed, surrogates=False):
        parts.append(part)
        size += len(part)
        if size >= length:
            break
    return "".join(parts)


def _several(draw: Draw, choices: str | tuple[str, ...], most: int) -> str:
    return "".join(draw.choice(choices) for _ in range(draw.randint(1, most)))


def _white_space(draw: Draw) -> str:
    run = draw.choice(_SPACES) * draw.choice((1, 2, 3, 5, 17)) if draw.random() < 0.3 else _several(draw, _SPACES, 5)
    return draw.choice(("", "a", "1", ".", "好")) + run + draw.choice(("", "a", "1", ".", "好"))


def _contraction(draw: Draw) -> str:
    return (
        draw.choice((*_WORDS, "", " I", "1"))
        + draw.choice(_APOSTROPHES)
        + draw.choice(_ENDINGS)
        + draw.choice(("", " ", "x"))
    )


def _number(draw: Draw) -> str:
    return (
        draw.choice(("", " ", "-", "$", "x"))
        + _several(draw, _NUMERALS, 12)
        + draw.choice(("", ".5", "%", ",000", "th"))
    )


def _words(draw: Draw) -> str:
    return "".join(
        draw.choice(_WORDS) + draw.choice((" ", " ", ", ", "-", "_", "\n", "")) for _ in range(draw.randint(1, 4))
    )


def _cjk(draw: Draw) -> str:
    return draw.choice(("", " ", "a")) + _several(draw, _CJK, 10)


def _emoji(draw: Draw) -> str:
    return draw.choice(("", " ", "ok")) + _several(draw, _PICTURES, 3)


def _combining(draw: Draw) -> str:
    return draw.choice("aeouAEO가คक ") + _several(draw, _MARKS, 4) + draw.choice(("", "a", " "))


def _control(draw: Draw) -> str:
    return draw.choice(("", "a", " ")) + _several(draw, _CONTROLS, 3) + draw.choice(("", "b", "\n"))


def _private_use(draw: Draw) -> str:
    return _several(draw, "\ue000\ue001\uf8ff\U000f0000\U0010fffd", 3)


def _literal(draw: Draw) -> str:
    return draw.choice(("", " ", "a", "\n")) + draw.choice(_LITERALS) + draw.choice(("", " ", "a", "\n"))


def _fragment(draw: Draw) -> str:
    snippet = draw.choice(_SNIPPETS)
    start = draw.randrange(len(snippet))
    return snippet[start : start + draw.randint(1, 30)]


def _scalar(draw: Draw) -> str:
    low, high = draw.choice(_RANGES)
    return chr(draw.randrange(low, high))


def _scalars(draw: Draw) -> str:
    if draw.random() < 0.5:
        low, high = draw.choice(_RANGES)
        return "".join(chr(draw.randrange(low, high)) for _ in range(draw.randint(1, 6)))
    return "".join(_scalar(draw) for _ in range(draw.randint(1, 6)))


def _repeated(draw: Draw) -> str:
    return draw.choice((*string.printable, "你", "é", "👍", "ab", " a", "\r\n", "_-")) * draw.choice(
        (2, 3, 4, 7, 16, 33)
    )


def _ascii(draw: Draw) -> str:
    return _several(draw, string.printable, 20)


def _empty(draw: Draw) -> str:
    return ""


def _lone_surrogates(draw: Draw) -> str:
    return (
        draw.choice(("", "a", " "))
        + draw.choice(("\ud83d", "\udc4d", "\udc4d\ud83d", "\ud83d\udc4d"))
        + draw.choice(("", "a"))
    )


_KINDS: tuple[Callable[[Draw], str], ...] = (
    _white_space, _contraction, _number, _words, _cjk, _emoji, _combining, _control, _private_use, _literal, _fragment,
    _scalars, _repeated, _ascii, _empty,
)  # fmt: skip
