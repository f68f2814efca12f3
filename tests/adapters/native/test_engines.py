"""Which engine serves: native first, then the library, then plain Python; nobody is told but the listener."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path

import pytest

import adapters.loader
from adapters.loader import LoaderOptions, Vocabularies
from adapters.port import EngineMissing, Family, InvalidIds, Stop, TokenizerSpec, VocabularyDamaged
from tests.adapters.native.conftest import SPECS

R50K = {"r50k_base": SPECS["r50k_base"]}


@pytest.fixture
def told() -> list[tuple[str, str]]:
    return []


def load(told: list[tuple[str, str]], specs: dict[str, TokenizerSpec], **options: object):
    listener = lambda name, engine: told.append((name, engine))  # noqa: E731 - one line says it
    return Vocabularies(specs, LoaderOptions(on_fallback=listener, **options)).load(next(iter(specs)))


def own(tmp_path: Path, **changes: object) -> dict[str, TokenizerSpec]:
    data = b"".join(b"%b %d\n" % (base64.b64encode(bytes([byte])), byte) for byte in range(256))
    path = tmp_path / "own.tiktoken"
    path.write_bytes(data)
    values = {"pattern": R50K["r50k_base"].pattern, "sha256": hashlib.sha256(data).hexdigest(), **changes}
    return {"own": TokenizerSpec(name="own", family=Family.TIKTOKEN, path=path, **values)}


def test_native_serves_every_vocabulary_by_default():
    loaded = Vocabularies(SPECS).load_all()
    assert {name: tokenizer.engine for name, tokenizer in loaded.items()} == dict.fromkeys(SPECS, "native")


def test_the_library_and_python_serve_where_they_are_chosen(told):
    assert load(told, R50K, engine="library").engine == "tiktoken"
    assert load(told, R50K, engine="python").engine == "python"
    assert told == []


def test_without_the_extension_the_library_serves_and_the_listener_is_told(told, monkeypatch):
    monkeypatch.setattr(adapters.loader, "AVAILABLE", False)
    assert load(told, R50K).engine == "tiktoken"
    assert told == [("r50k_base", "tiktoken")]


def test_without_the_extension_nothing_loads_where_it_is_required(told, monkeypatch):
    monkeypatch.setattr(adapters.loader, "AVAILABLE", False)
    with pytest.raises(EngineMissing, match="C compiler"):
        load(told, R50K, require_native=True)


def test_an_extension_that_gives_other_ids_is_replaced(told, monkeypatch):
    class Wrong(adapters.loader.NativeTokenizer):
        def encode(self, text, *, parse_special=False, stop=None):
            return super().encode(text, parse_special=parse_special, stop=stop)[1:]

    monkeypatch.setattr(adapters.loader, "NativeTokenizer", Wrong)
    assert load(told, R50K).engine == "tiktoken"
    assert told == [("r50k_base", "tiktoken")]
    with pytest.raises(VocabularyDamaged, match="'native'"):
        load(told, R50K, require_native=True)


def test_a_registered_vocabulary_with_a_known_pattern_is_served_natively(told, tmp_path):
    tokenizer = load(told, own(tmp_path))
    assert (tokenizer.engine, tokenizer.count("añb"), tokenizer.vocab_size) == ("native", 4, 256)


def test_a_registered_vocabulary_with_another_pattern_is_served_by_the_library_without_a_word(told, tmp_path):
    tokenizer = load(told, own(tmp_path, pattern=r"[a-z]+|[\s\S]"), require_native=True)
    assert (tokenizer.engine, told) == ("tiktoken", [])


def test_special_tokens_with_ids_of_ordinary_text_are_refused(told, tmp_path):
    with pytest.raises(VocabularyDamaged, match=r"<\|x\|>"):
        load(told, own(tmp_path, special={"<|x|>": 5}))


def test_vocabularies_with_one_file_and_pattern_share_the_ranks():
    loaded = Vocabularies({name: SPECS[name] for name in ("o200k_base", "o200k_harmony")}).load_all()
    assert loaded["o200k_base"]._vocabulary is loaded["o200k_harmony"]._vocabulary
    assert loaded["o200k_harmony"].encode("<|start|>a", parse_special=True) == [200006, 64]


def test_vocabularies_built_together_are_each_read_once(monkeypatch):
    names = ("r50k_base", "cl100k_base", "o200k_base", "o200k_harmony")
    read, verified = list[str](), adapters.loader.read_verified
    monkeypatch.setattr(adapters.loader, "read_verified", lambda spec: read.append(spec.sha256) or verified(spec))
    loaded = Vocabularies({name: SPECS[name] for name in names}).load_all()
    assert sorted(read) == sorted({SPECS[name].sha256 for name in names})
    assert [loaded[name].count("Hello, World!") for name in names] == [4, 4, 4, 4]


def test_a_damaged_file_among_those_built_together_is_named(tmp_path):
    damaged = own(tmp_path, sha256="0" * 64)
    with pytest.raises(VocabularyDamaged, match=r"own\.tiktoken is damaged"):
        Vocabularies(R50K | damaged).load_all()


def test_a_lone_surrogate_counts_as_its_replacement(told):
    tokenizer = load(told, R50K)
    assert tokenizer.count("a\ud800b") == tokenizer.count("a\ufffdb")
    assert tokenizer.encode("a\ud83d\udc4d") == tokenizer.encode("a👍")


def test_a_deadline_reaches_the_extension(told):
    tokenizer = load(told, R50K)
    assert tokenizer.count("a truck", stop=Stop(1.0, clock=lambda: 0.0)) == 2
    with pytest.raises(Exception, match="deadline"):
        tokenizer.count("a truck", stop=Stop(1.0, clock=lambda: 2.0))


@pytest.mark.parametrize("token_id", [-1, 10**9, 2**32 - 1, 2**63, 2**64, True, 1.0, "1", None])
def test_an_id_outside_the_vocabulary_is_refused(told, token_id):
    with pytest.raises(InvalidIds, match="not in the vocabulary"):
        load(told, R50K).decode([token_id])
