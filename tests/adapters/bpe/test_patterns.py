"""Split patterns: the same pieces as tiktoken cuts, and a clear refusal of what cannot be translated."""

from __future__ import annotations

import random

import pytest
import tiktoken
from hypothesis import given
from hypothesis import strategies as st

from adapters.bpe.parser import parse
from adapters.bpe.patterns import Splitter, UnsupportedPattern
from adapters.manifest import read_manifest
from tests.fuzz import strings

PATTERNS = read_manifest().patterns


def reference_pieces(pattern: str, text: str) -> list[str]:
    """What tiktoken cuts: with a token for every part of the text, each piece is one token."""
    parts = {text[start:end].encode() for start in range(len(text)) for end in range(start + 1, len(text) + 1)}
    ranks = {bytes([byte]): byte for byte in range(256)}
    for part in sorted(parts):
        ranks.setdefault(part, len(ranks))
    library = tiktoken.Encoding("parts", pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
    return [library.decode_single_token_bytes(rank).decode() for rank in library.encode_ordinary(text)]


@pytest.mark.parametrize("name", PATTERNS)
def test_published_patterns_cut_odd_strings_as_the_library_does(name):
    splitter = Splitter(PATTERNS[name])
    for text in strings(250, seed=7, surrogates=False):
        assert splitter.split(text[:40]) == reference_pieces(PATTERNS[name], text[:40])


@pytest.mark.parametrize("name", PATTERNS)
def test_published_patterns_leave_nothing_out(name):
    splitter = Splitter(PATTERNS[name])
    for text in strings(1000, seed=8, surrogates=False):
        assert "".join(splitter.split(text)) == text


# Every construct that is translated, each on text that tells right from wrong.
@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("a{1,2}+a|b", "aab"),
        ("a{1,2}a|b", "aab"),
        ("a++b|a", "aaab a"),
        ("a*+b|.", "aab"),
        ("a?+ab|a", "aab"),
        ("[ab]+?b|.", "aabab"),
        ("a??b|.", "ab"),
        ("a{2}|a", "aaa"),
        ("a{2,}|.", "aaaab"),
        ("a{2,3}?|.", "aaaa"),
        ("(?>ab|a)b|.", "abb ab"),
        ("(?:ab|a)(?:c|bcd)?", "abcd"),
        ("(ab|a)c|.", "abac"),
        ("(?>a|ab)++c|.", "ababc"),
        ("(?:a|ab){1,2}+c|.", "ababc"),
        ("a(?=b)|.", "ab ac"),
        ("a(?!b)|.", "ab ac"),
        ("(?<=b)a|.", "ba ca"),
        ("(?<!b)a|.+", "ba"),
        ("^a|.", "aa"),
        (r"\Aa|.", "aa"),
        ("a$|.", "aa\n"),
        ("ab$|[^q]", "ab\nab\n"),
        ("ab$|[^q]", "ab\nab"),
        (r"a\z|[^q]", "aa\na"),
        (".+", "a\nb\r\x85\u2028c"),
        (r"\d+|\D", "12٣Ⅷ²x"),
        (r"\w+|\W", "aé_\u0301٣Ⅷ\u200d中-"),
        (r"\s+|\S", " \x1c\x85\u200b\u3000x"),
        (r"\pL+|\PL", "aé1中"),
        (r"\p{^L}+|\p{L}", "aé1中"),
        (r"\p{Nd}+|\p{Nl}|\p{No}|[^\p{N}]", "1٣Ⅷ²x"),
        (r"\p{Han}+|\p{Hiragana}|\P{Han}", "中々〇か゛x\U00020000"),
        (r"[\p{L}&&[^\p{Han}]]+|[\p{L}&&\p{Han}]|.", "abé中か"),
        (r"[\w&&[^\d]&&[^a-c]]+|.", "abcdef12_é"),
        ("[^a-c]+|[a-c]", "abcdé"),
        ("[a-cx-z[0-9]]+|.", "abz09m"),
        ("[]a]+|.", "a]b"),
        ("[^]a]+|.", "a]b"),
        ("[a-]+|.", "a-b"),
        ("[-a]+|.", "a-b"),
        (r"[a\-z]+|.", "a-zb"),
        (r"[\]\\^]+|.", "]\\^a"),
        (r"[\x41-\x43\u{e9}\u00EA]+|.", "ABCDéêë"),
        (r"\x{4e2d}|\u6587|.", "中文x"),
        (r"\t\n\r\f\v\a|.", "\t\n\r\f\v\a"),
        (r"\.\*\+\?\(\)\[\]\{\}\|\^\$\\\-\_\'\/\ \#|.", ".*+?()[]{}|^$\\-_'/ #x"),
        ("(?i:abc)+|.", "aBcABCabx"),
        ("(?i:sk)+|.", "SKsk\u017fks\u212a\u017f\u212akK"),
        ("(?i:[r-t]+)|.", "rST\u017fu"),
        ("(?i:[^s])+|.", "sS\u017fab"),
        (r"(?i:\s|\d|a(?-i:b))+|.", "A1 ab aB"),
        ("(?i:'s|'t|'re|'ve|'m|'ll|'d)|.", "'S'\u017f'LL'lL'K'x"),
        ("é+|.", "éée\u0301"),
        ("é*ab|.", "ééab"),
        ("x|]|}|-|,|:", "x]}-,:"),
        (r"\p{Lu}{2}|\p{Lu}\p{Ll}+|.", "ÄÖÜÄöüx"),
        ("[😀-😂]+|.", "😀😁😂😃"),
        (r"[\p{Co}\p{Cn}]+|.", "\ue000\U000e0fffa\U0010fffd"),
        ("a&&b|[a&]", "a&&b&a"),
    ],
)
def test_a_construct_cuts_as_the_library_does(pattern, text):
    assert Splitter(pattern).split(text) == reference_pieces(pattern, text)


@pytest.mark.parametrize("text", ["ab12cd", "éa12cé", "12", "", "1é"])
def test_text_that_the_pattern_does_not_match_is_left_out(text):
    pattern = r"\p{L}+"

    assert Splitter(pattern).split(text) == reference_pieces(pattern, text)


@pytest.mark.parametrize(
    ("pattern", "construct"),
    [
        ("", "is empty"),
        ("a*", "match the empty text"),
        ("a|", "match the empty text"),
        ("$", "match the empty text"),
        ("(?=a)", "match the empty text"),
        (r"a\b", r"the escape '\\b', at character 2"),
        (r"\Ba", r"the escape '\\B'"),
        (r"a\Z", r"the escape '\\Z'"),
        (r"\Ga", r"the escape '\\G'"),
        (r"a\K", r"the escape '\\K'"),
        (r"\h+", r"the escape '\\h'"),
        (r"\R+", r"the escape '\\R'"),
        (r"\X", r"the escape '\\X'"),
        (r"(a)\1", r"the escape '\\1'"),
        (r"\k<a>", r"the escape '\\k'"),
        (r"\<a", r"the escape '\\<'"),
        (r"\é", r"the escape '\\é'"),
        ("a\\", "it ends too early"),
        ("(?P<name>a)", r"the group '\(\?P<'"),
        ("(?<name>a)", r"the group '\(\?<n'"),
        ("(?i)a", r"the group '\(\?i\)'"),
        ("(?s:.)", r"the group '\(\?s:'"),
        ("(?(1)a|b)", r"the group '\(\?\(1'"),
        ("(a", "a group without its"),
        ("a)", r"'\)' without a '\('"),
        ("[a", "a class without its"),
        ("[]", "a class without its"),
        ("[a[b]", "a class without its"),
        ("[[:alpha:]]", r"\[:alpha:\]"),
        ("[a--b]", "the set operation '--'"),
        ("[a~~b]", "the set operation '~~'"),
        ("[z-a]", "a range whose end comes before its start"),
        (r"[a-\d]", "a class at the end of a range"),
        ("[a-[b]]", "a bracket at the end of a range"),
        (r"\p{Klingon}", "a property without a table"),
        (r"\p{L", "a property that is not of the form"),
        (r"\p{sc=Han}", "a property that is not of the form"),
        (r"\x{110000}", "the number of no character"),
        (r"\ud800", "the number of no character"),
        ("(?i:é)", "a character beyond ASCII where case is ignored"),
        ("(?i:[à-ä])", "a character beyond ASCII where case is ignored"),
        (r"(?i:\p{L})", r"'\\p' where case is ignored"),
        (r"(?i:\w)", r"'\\w' where case is ignored"),
        ("*a", "with nothing to repeat"),
        ("{2}a", "a repetition with nothing to repeat"),
        ("a{,2}b", r"'\{' that is no repetition"),
        ("a{", r"'\{' that is no repetition"),
        ("a**", "a repetition of a repetition"),
        ("a+*", "a repetition of a repetition"),
        ("a{2}{3}", "a repetition of a repetition"),
        ("a{3,2}", "a repetition that is not from 0 to 1000"),
        ("a{1001}", "a repetition that is not from 0 to 1000"),
        ("a{0}b", "a repetition that is not from 0 to 1000"),
        ("(?:a?)+b", "a repetition of what can be empty"),
        ("^*a", "a repetition of what can be empty"),
        ("(?=a)+a", "a repetition of what can be empty"),
        ("(?<=a+)b", "look-behind requires fixed-width"),
        ("(?:" * 60 + "a" + ")" * 60, "more than 50 groups"),
        ("[" * 30 + "a" + "]" * 30, "more than 20 brackets"),
    ],
)
def test_a_pattern_that_cannot_be_translated_is_refused_with_the_construct(pattern, construct):
    with pytest.raises(UnsupportedPattern, match=construct):
        Splitter(pattern)


@given(st.text(st.sampled_from(r"ab1\pLd{}[]()|*+?^$.-&:=!<>,2"), max_size=12))
def test_any_pattern_is_either_used_or_refused(pattern):
    try:
        splitter = Splitter(pattern)
    except UnsupportedPattern:
        return
    text = "ab1 a-b{2}"
    assert all(piece and piece in text for piece in splitter.split(text))


@given(st.text(st.sampled_from("ab1 中é'"), max_size=60), st.sampled_from(sorted(PATTERNS)))
def test_spans_and_batches_are_the_same_pieces(text, name):
    splitter = Splitter(PATTERNS[name])
    pieces = splitter.split(text)

    assert [text[start:end] for start, end in splitter.spans(text)] == pieces
    batches = list(splitter.batches(text, 3))
    assert [piece for batch in batches for piece in batch] == pieces
    assert all(len(batch) == 3 for batch in batches[:-1])


def test_a_long_text_is_cut_like_its_beginning():
    splitter = Splitter(PATTERNS["o200k"])
    unit = "naïve 你好, it's 12345\r\n"

    assert splitter.split(unit * 10_000) == splitter.split(unit) * 10_000


# One piece of a million characters must neither recurse nor look back over all of it again and again.
@pytest.mark.parametrize("name", PATTERNS)
@pytest.mark.parametrize("unit", [" ", "\n", "a", "A", "!", "é", "中", "\u0301", "\u3000", "aB ", "' "])
def test_a_million_characters_are_cut_without_a_loss(name, unit):
    text = unit * (1_000_000 // len(unit)) + "x"

    assert "".join(Splitter(PATTERNS[name]).split(text)) == text


def test_random_patterns_of_classes_cut_as_the_library_does():
    rng = random.Random(9)
    sets = (r"\p{L}", r"\s", r"[^\s\p{L}]", r"\p{Lu}", "[a-z]", r"\S", r"[\p{M}\p{N}]", "é", " ", r"[^a]", r"\P{N}")
    ends = ("", "+", "?", "*", "++", "?+", "{1,2}", "{1,2}+", "+?", "(?!x)")
    for _ in range(300):
        parts = ["".join(rng.choice(sets) + rng.choice(ends) for _ in range(rng.randint(1, 3))) for _ in range(3)]
        pattern = "|".join(parts)
        try:
            parse(pattern)
        except UnsupportedPattern:
            continue
        text = "".join(rng.choice("aAbxé É\n1٣\u0301中!") for _ in range(14))
        assert Splitter(pattern).split(text) == reference_pieces(pattern, text), pattern
