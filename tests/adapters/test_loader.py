"""The loader: what is verified before a tokenizer serves, and that it is built once."""

from __future__ import annotations

import dataclasses
import hashlib
import lzma
import threading
from pathlib import Path

import pytest

import adapters.loader
from adapters.loader import LoaderOptions, Vocabularies, read_verified
from adapters.manifest import read_manifest
from adapters.port import (
    EngineMissing,
    Family,
    KnownAnswer,
    TokenizerError,
    TokenizerSpec,
    UnknownVocabulary,
    VocabularyDamaged,
    VocabularyMissing,
)

SPECS = read_manifest().vendored
R50K = SPECS["r50k_base"]


def _copied(spec: TokenizerSpec, directory: Path, change=lambda data: data) -> TokenizerSpec:
    path = directory / spec.path.name
    path.write_bytes(change(spec.path.read_bytes()))
    return dataclasses.replace(spec, path=path)


def _flipped(data: bytes) -> bytes:
    return data[:1000] + bytes([data[1000] ^ 1]) + data[1001:]


def _other_content(packed: bytes) -> bytes:
    return lzma.compress(lzma.decompress(packed).replace(b"IQ== 0", b"Ig== 0"))


@pytest.mark.parametrize("damage", [_flipped, lambda b: b[:-100], lambda _: b"", _other_content, lambda _: b"text"])
def test_a_damaged_file_is_refused_with_its_name_and_hash_and_is_left_alone(tmp_path, damage):
    spec = _copied(R50K, tmp_path, damage)
    before = spec.path.read_bytes()
    with pytest.raises(VocabularyDamaged) as refusal:
        Vocabularies({"r50k_base": spec}).load("r50k_base")
    assert str(spec.path) in str(refusal.value)
    assert spec.sha256 in str(refusal.value)
    assert spec.path.read_bytes() == before


def test_a_wrong_hash_is_shown_beside_the_expected_one(tmp_path):
    spec = _copied(R50K, tmp_path, _other_content)
    found = hashlib.sha256(lzma.decompress(spec.path.read_bytes())).hexdigest()
    with pytest.raises(VocabularyDamaged, match=f"expected sha256 {spec.sha256}, found {found}"):
        read_verified(spec)


def test_a_file_that_grows_beyond_its_stated_size_is_not_unpacked(tmp_path):
    spec = _copied(R50K, tmp_path, lambda _: lzma.compress(b"\0" * 50_000_000))
    with pytest.raises(VocabularyDamaged, match="longer than stated"):
        read_verified(spec)


def test_a_file_that_is_not_there_is_missing_not_damaged(tmp_path):
    spec = dataclasses.replace(R50K, path=tmp_path / "none.xz")
    with pytest.raises(VocabularyMissing, match="vocab add"):
        Vocabularies({"r50k_base": spec}).load("r50k_base")


def test_an_unknown_name_is_answered_with_the_known_ones():
    with pytest.raises(UnknownVocabulary, match="r50k_base"):
        Vocabularies({"r50k_base": R50K}).load("r60k_base")


def test_a_wrong_known_answer_stops_the_vocabulary():
    spec = dataclasses.replace(R50K, known_answer=KnownAnswer("Hello", (1, 2, 3)))
    with pytest.raises(VocabularyDamaged, match="known answer"):
        Vocabularies({"r50k_base": spec}).load("r50k_base")


def test_a_wrong_pattern_is_found_by_the_known_answer():
    spec = dataclasses.replace(R50K, pattern=r"\S+|\s+")
    with pytest.raises(VocabularyDamaged, match="known answer"):
        Vocabularies({"r50k_base": spec}).load("r50k_base")


def test_every_vendored_vocabulary_has_a_known_answer():
    answers = {name: spec.known_answer for name, spec in SPECS.items()}
    assert [name for name, known in answers.items() if known is None or max(len(known.ids), known.tokens) < 8] == []


def test_a_counter_has_to_give_the_known_number_of_tokens():
    spec = dataclasses.replace(SPECS["claude_v3"], known_answer=KnownAnswer("Hello", tokens=2))
    with pytest.raises(VocabularyDamaged, match="does not give the known answer with the engine 'python'"):
        Vocabularies({"claude_v3": spec}).load("claude_v3")


@pytest.mark.parametrize("change", ["folds_quotes", "capitals", "opened"])
@pytest.mark.parametrize("name", ["claude_v3", "claude_v4_7", "claude_v4_8"])
def test_a_wrong_marking_is_found_by_the_known_answer(name, change):
    marking = SPECS[name].marking
    wrong = dataclasses.replace(marking, **{change: not getattr(marking, change)})
    spec = dataclasses.replace(SPECS[name], marking=wrong)
    with pytest.raises(VocabularyDamaged, match="known answer"):
        Vocabularies({name: spec}).load(name)


@pytest.mark.parametrize(("engine", "served"), [("native", "native"), ("library", "python"), ("python", "python")])
def test_a_counter_is_served_by_the_engine_that_was_chosen(engine, served):
    specs = {name: SPECS[name] for name in ("claude_v3", "claude_v4_7", "claude_v4_8")}
    counters = Vocabularies(specs, LoaderOptions(engine=engine)).load_all()
    assert {counter.engine for counter in counters.values()} == {served}
    assert [counter.count("hello, world") for counter in counters.values()] == [3, 4, 4]


def test_a_counter_falls_to_plain_python_and_says_so_where_the_extension_is_missing(monkeypatch):
    monkeypatch.setattr(adapters.loader, "AVAILABLE", False)
    told = []
    loader = Vocabularies(SPECS, LoaderOptions(on_fallback=lambda *fallback: told.append(fallback)))
    assert loader.load("claude_v4_8").count("hello, world") == 4
    assert told == [("claude_v4_8", "python")]
    with pytest.raises(EngineMissing, match="WEIGHBRIDGE_REQUIRE_NATIVE"):
        Vocabularies(SPECS, LoaderOptions(require_native=True)).load("claude_v4_8")


def test_an_engine_that_gives_other_ids_is_replaced_by_the_next_and_told_of(monkeypatch):
    class Wrong(adapters.loader.TiktokenTokenizer):
        def encode(self, text: str, *, parse_special: bool = False) -> list[int]:
            return super().encode(text, parse_special=parse_special)[1:]

    monkeypatch.setattr(adapters.loader, "TiktokenTokenizer", Wrong)
    told: list[tuple[str, str]] = []
    options = LoaderOptions("library", on_fallback=lambda name, engine: told.append((name, engine)))
    tokenizer = Vocabularies({"r50k_base": R50K}, options).load("r50k_base")
    assert tokenizer.engine == "python"
    assert told == [("r50k_base", "python")]
    assert tokenizer.count("Hello, world!") == 4


def test_the_python_engine_serves_when_it_is_chosen():
    tokenizer = Vocabularies({"r50k_base": R50K}, LoaderOptions(engine="python")).load("r50k_base")
    assert tokenizer.engine == "python"
    assert tokenizer.encode("“wrote jack a letter”") == [447, 250, 42910, 14509, 257, 3850, 447, 251]  # case C14


def _own(tmp_path: Path, **changes: object) -> TokenizerSpec:
    ranks = lzma.decompress(R50K.path.read_bytes())
    path = tmp_path / "own.tiktoken"
    path.write_bytes(ranks)
    digest = hashlib.sha256(ranks).hexdigest()
    spec = TokenizerSpec(name="own", family=Family.TIKTOKEN, path=path, sha256=digest, pattern=R50K.pattern)
    return dataclasses.replace(spec, **changes)


def test_a_pattern_that_leaves_text_out_is_refused(tmp_path):
    with pytest.raises(VocabularyDamaged, match="leaves some text out"):
        Vocabularies({"own": _own(tmp_path, pattern="[a-z]+")}).load("own")


def test_a_special_token_with_the_id_of_ordinary_text_is_refused(tmp_path):
    with pytest.raises(VocabularyDamaged, match=r"<\|x\|>"):
        Vocabularies({"own": _own(tmp_path, special={"<|x|>": 5})}).load("own")
    assert Vocabularies({"own": _own(tmp_path, special={"<|x|>": 60_000})}).load("own").vocab_size == 60_001


def test_an_error_while_loading_names_the_vocabulary(tmp_path):
    path = tmp_path / "own.tiktoken"
    path.write_bytes(b"")
    spec = _own(tmp_path, path=path, sha256=hashlib.sha256(b"").hexdigest())
    path.write_bytes(b"")
    with pytest.raises(TokenizerError, match="'own'"):
        Vocabularies({"own": spec}).load("own")


def test_threads_that_ask_at_once_get_one_tokenizer():
    vocabularies = Vocabularies({"r50k_base": R50K})
    start = threading.Barrier(8)
    got: list[object] = []

    def load() -> None:
        start.wait()
        got.append(vocabularies.load("r50k_base"))

    threads = [threading.Thread(target=load) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(got) == 8
    assert len(set(map(id, got))) == 1


def test_vocabularies_that_share_a_file_share_its_ranks():
    vocabularies = Vocabularies({name: SPECS[name] for name in ("o200k_base", "o200k_harmony")})
    base, harmony = vocabularies.load("o200k_base"), vocabularies.load("o200k_harmony")
    assert base.encode("<|start|>a", parse_special=True) != harmony.encode("<|start|>a", parse_special=True)
    assert base.encode("<|start|>a") == harmony.encode("<|start|>a")


def test_a_registered_file_without_a_known_answer_is_compared_with_the_slow_engine(tmp_path):
    ranks = lzma.decompress(R50K.path.read_bytes())
    path = tmp_path / "own.tiktoken"
    path.write_bytes(ranks)
    own = TokenizerSpec(
        name="own", family=Family.TIKTOKEN, path=path, sha256=hashlib.sha256(ranks).hexdigest(), pattern=R50K.pattern
    )
    tokenizer = Vocabularies({"own": own}).load("own")
    assert tokenizer.count("Hello, world!") == 4
    assert tokenizer.vocab_size == 50256
