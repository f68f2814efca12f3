"""The reader of configuration and data files: what it takes, and what it refuses with which line."""

from __future__ import annotations

import hashlib
import lzma
from decimal import Decimal
from pathlib import Path

import pytest

from adapters.manifest import read_manifest
from adapters.port import Family
from service.configfile import Config, load_catalog, read_config
from service.domain.catalog import Accuracy
from service.domain.errors import InvalidConfig, UnknownModel
from service.domain.spending.alerts import AlertKind

PATTERNS = {"words": r"\w+|\W+"}
RANKS = b"YQ== 0\nYg== 1\n"
SHA256 = hashlib.sha256(RANKS).hexdigest()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "own.tiktoken").write_bytes(RANKS)
    return tmp_path


def read(folder: Path, text: str, **options: object) -> Config:
    path = folder / "weighbridge.toml"
    path.write_text(text, encoding="utf-8")
    return read_config(path, PATTERNS, **options)  # type: ignore[arg-type]


def refusal(folder: Path, text: str, **options: object) -> InvalidConfig:
    with pytest.raises(InvalidConfig) as refused:
        read(folder, text, **options)
    return refused.value


TOKENIZER = f"""
[[tokenizer]]
name = "own"
family = "tiktoken"
file = "own.tiktoken"
sha256 = "{SHA256}"
pattern = "words"
"""


def test_a_tokenizer_and_a_model_of_the_users_are_read(folder: Path) -> None:
    config = read(
        folder,
        TOKENIZER
        + """
normalizer = "NFC"
special = {"<|stop|>" = 2}

[[model]]
provider = "Acme"
id = "Acme-Large"
aliases = ["acme large"]
tokenizer = "own"
context_window = 32_000
max_output_tokens = 4096
source = "https://example.com/models"
checked = 2026-11-29
""",
        vocabularies=["o200k_base"],
    )
    (spec,) = config.tokenizers
    assert (spec.name, spec.family, spec.path) == ("own", Family.TIKTOKEN, folder / "own.tiktoken")
    assert (spec.sha256, spec.pattern, spec.normalizer, dict(spec.special)) == (
        SHA256,
        r"\w+|\W+",
        "NFC",
        {"<|stop|>": 2},
    )
    (model,) = config.models
    assert (model.provider, model.id, model.aliases) == ("acme", "acme-large", ("acme-large",))
    assert (model.tokenizer, model.accuracy, model.own_bounds) == ("own", Accuracy.EXACT, None)
    assert (model.context_window, model.max_output_tokens, model.kind) == (32_000, 4096, "chat")
    assert (model.source, model.checked) == ("https://example.com/models", "2026-11-29")


def test_a_pattern_may_be_a_regular_expression(folder: Path) -> None:
    config = read(folder, TOKENIZER.replace('"words"', r"'\p{L}++|.'"))
    assert config.tokenizers[0].pattern == r"\p{L}++|."


def test_a_file_that_is_not_there_is_empty_unless_it_is_required(tmp_path: Path) -> None:
    assert read_config(tmp_path / "none.toml", PATTERNS, required=False) == Config()
    with pytest.raises(InvalidConfig, match="does not exist"):
        read_config(tmp_path / "none.toml", PATTERNS)


def test_defaults_hold_for_every_model_that_does_not_say_otherwise(folder: Path) -> None:
    text = """
[defaults]
provider = "acme"
tokenizer = "cl100k_base"
[[model]]
id = "a"
[[model]]
id = "b"
kind = "embedding"
provider = "other"
"""
    one, two = read(folder, text).models
    assert (one.provider, one.tokenizer, one.kind) == ("acme", "cl100k_base", "chat")
    assert (two.provider, two.tokenizer, two.kind) == ("other", "cl100k_base", "embedding")


def test_an_estimator_of_the_files_own_stands_in(folder: Path) -> None:
    config = read(
        folder,
        """
[[estimator]]
name = "mine"
tokenizer = "cl100k_base"
factor = 1.1
low = "0.9"
high = 2
slack = 0

[[model]]
provider = "acme"
id = "closed"
estimator = "mine"
""",
    )
    (model,) = config.models
    assert model.estimator is not None
    assert (model.tokenizer, model.accuracy) == (None, Accuracy.APPROXIMATE)
    assert (model.estimator.factor, model.estimator.low, model.estimator.high) == (
        Decimal("1.1"),
        Decimal("0.9"),
        Decimal(2),
    )
    assert model.estimator.slack == 0


def test_an_estimator_of_the_package_can_be_named(folder: Path) -> None:
    config = read(folder, '[[model]]\nprovider = "acme"\nid = "closed"\nestimator = "closed"\n')
    assert config.models[0].estimator is not None


def test_a_model_with_nothing_to_count_with_is_unknown(folder: Path) -> None:
    assert read(folder, '[[model]]\nprovider = "a"\nid = "b"\n').models[0].accuracy is Accuracy.UNKNOWN


MODEL = '[[model]]\nprovider = "a"\nid = "b"\n'


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("a = 1\nb = ?", 2, "Not TOML"),
        ('\n[[model]]\nid = "b"', 2, "needs 'provider'"),
        ("colour = 1", 1, "Unknown section 'colour'. Allowed: [[tokenizer]], [[estimator]], [[model]]"),
        ('# [[model]]\n\n[model]\nid = "b"', 3, "write [[model]]"),
        ("model = 5", 1, "write [[model]]"),
        (MODEL + "colour = 1", 4, "Unknown key 'colour' in [[model]]. Allowed: provider, id, aliases"),
        (MODEL + MODEL.replace('"b"', "7"), 6, "'id' must be a string"),
        (MODEL + MODEL.replace('"b"', '"  "'), 6, "'id' must be a string that is not blank"),
        (MODEL + MODEL, 4, "already names the model 'b'"),
        (MODEL + MODEL.replace('"b"', '"c"') + 'aliases = ["B"]', 4, "a/b already names the model 'b'"),
        (MODEL + 'aliases = "c"', 4, "list of strings"),
        (MODEL + "aliases = [1]", 4, "list of strings"),
        (MODEL + "context_window = 0", 4, "whole number of at least 1"),
        (MODEL + "context_window = true", 4, "whole number"),
        (MODEL + "context_window = 1.5", 4, "whole number"),
        (MODEL + "context_window = '8k'", 4, "whole number"),
        (MODEL + "kind = 'video'", 4, "'chat', 'embedding', 'completion'"),
        (MODEL + "accuracy = 'sure'", 4, "'exact', 'close', 'approximate', 'unknown'"),
        (MODEL + "accuracy = 'exact'", 4, "unknown at best"),
        (MODEL + "tokenizer = 'cl100k_base'\naccuracy = 'close'", 5, "'bounds'"),
        (
            MODEL + "tokenizer = 'cl100k_base'\nbounds = 'assumed_o200k_base'\naccuracy = 'close'",
            5,
            "another tokenizer",
        ),
        (MODEL + "estimator = 'nobody'", 4, "No such estimator. Known: "),
        (MODEL + "checked = 'today'", 4, "a date, such as 2026-11-29"),
        (MODEL + "checked = 2026-11-29T10:00:00Z", 4, "a date"),
        (MODEL + f"aliases = ['{'x' * 513}']", 4, "longer than 512"),
        ('[defaults]\nid = "b"', 2, "Unknown key 'id' in [defaults]"),
        ("[[estimator]]\nname = 'e'\ntokenizer = 't'\nfactor = 1\nlow = 2\nhigh = 3\nslack = 1", 4, "low <= factor"),
        ("[[estimator]]\nname = 'e'\ntokenizer = 't'\nfactor = 1\nlow = 1\nhigh = inf\nslack = 1", 6, "'high' must be"),
        ("[[estimator]]\nname = 'e'\ntokenizer = 't'\nfactor = 1\nlow = -1\nhigh = 1\nslack = 1", 5, "'low' must be"),
        (
            "[[estimator]]\nname = 'e'\ntokenizer = 't'\nfactor = 'x'\nlow = 1\nhigh = 1\nslack = 1",
            4,
            "'factor' must be",
        ),
        ("[[estimator]]\nname = 'e'\ntokenizer = 't'\nfactor = 1\nlow = 1\nhigh = 1", 1, "needs 'slack'"),
    ],
)
def test_what_is_wrong_is_refused_with_its_line_and_what_is_allowed(
    folder: Path, text: str, line: int, says: str
) -> None:
    refused = refusal(folder, text)
    assert says in str(refused)
    assert refused.line == line
    assert str(refused).startswith(f"{folder / 'weighbridge.toml'}:{line}: ")


def test_a_tokenizer_that_nobody_registered_is_refused_with_those_there_are(folder: Path) -> None:
    text = TOKENIZER + MODEL + 'tokenizer = "o300k"'
    refused = refusal(folder, text, vocabularies=["o200k_base"])
    assert "No such tokenizer. Known: o200k_base, own." in str(refused)
    assert refused.line == text.count("\n") + 1


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('"own.tiktoken"', '"gone.tiktoken"', "gone.tiktoken does not exist"),
        (f'"{SHA256}"', '"abc"', "64 lower-case hexadecimal digits"),
        ('"tiktoken"\n', '"wordpiece"\n', "'tiktoken', 'huggingface', 'sentencepiece', 'bpe'"),
        ('"tiktoken"\n', '"claude"\n', "'tiktoken', 'huggingface', 'sentencepiece', 'bpe'"),
        ('"words"', '"wordz"', "a regular expression or one of words"),
        ('"words"', '"(a"', "no regular expression"),
        ('"words"', '""', "a regular expression or one of words"),
        ('"own"', '"o w n"', "letters, digits"),
        ('pattern = "words"', 'pattern = "words"\nnormalizer = "NFD"', "'', 'NFC', 'NFKC'"),
        ('pattern = "words"', 'pattern = "words"\nspecial = {"<a>" = "1"}', "table of int values"),
        ('pattern = "words"', 'pattern = "words"\nspecial = {"<a>" = 1, "<b>" = 1}', "an id of its own"),
        ('pattern = "words"', 'pattern = "words"\nspecial = {"<a>" = -1}', "from 0 to"),
        ('family = "tiktoken"', 'family = "sentencepiece"', "brings its own pattern"),
        ('pattern = "words"', 'patern = "words"', "Unknown key 'patern'"),
    ],
)
def test_a_tokenizer_that_cannot_be_built_is_refused(folder: Path, old: str, new: str, says: str) -> None:
    assert old in TOKENIZER
    refused = refusal(folder, TOKENIZER.replace(old, new, 1))
    assert says in str(refused)
    assert refused.line > 1


def test_a_missing_hash_is_answered_with_the_files_own(folder: Path) -> None:
    refused = refusal(folder, TOKENIZER.replace(f'sha256 = "{SHA256}"\n', ""))
    assert f'sha256 = "{SHA256}"' in str(refused)
    (folder / "own.tiktoken.xz").write_bytes(lzma.compress(RANKS))
    text = TOKENIZER.replace(f'sha256 = "{SHA256}"\n', "").replace("own.tiktoken", "own.tiktoken.xz")
    assert f'sha256 = "{SHA256}"' in str(refusal(folder, text))
    (folder / "own.tiktoken.xz").write_bytes(b"no archive")
    assert "cannot be read" in str(refusal(folder, text))


def test_a_tokenizer_may_be_registered_once(folder: Path) -> None:
    refused = refusal(folder, TOKENIZER + TOKENIZER)
    assert "'own' is there twice" in str(refused)
    assert refused.line == TOKENIZER.count("\n") + 3


def test_a_file_that_is_not_utf_8_is_refused(folder: Path) -> None:
    (folder / "weighbridge.toml").write_bytes(b"# caf\xe9")
    with pytest.raises(InvalidConfig, match="not UTF-8"):
        read_config(folder / "weighbridge.toml", PATTERNS)


def test_the_users_models_are_put_over_the_packages(folder: Path) -> None:
    config = read(
        folder,
        TOKENIZER
        + """
[[model]]
provider = "openai"
id = "gpt-4o"
tokenizer = "own"

[[model]]
provider = "azure"
id = "Wrapper API"
tokenizer = "o200k_base"
""",
    )
    catalog, plain = load_catalog(config), load_catalog()
    assert plain.resolve("gpt-4o").model.tokenizer == "o200k_base"
    assert catalog.resolve("gpt-4o").model.tokenizer == "own"
    assert catalog.resolve("azure/gpt-4o-2024-08-06").model.tokenizer == "own"
    assert catalog.resolve("gpt-4o-mini") == plain.resolve("gpt-4o-mini")
    assert catalog.resolve("azure/wrapper-api").provider == "azure"
    assert catalog.resolve("wrapper api", "azure").model.id == "wrapper-api"
    with pytest.raises(UnknownModel):
        plain.resolve("azure/wrapper-api")


def test_two_models_of_the_data_that_claim_one_name_are_refused(tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    (tmp_path / "estimators.toml").touch()
    (tmp_path / "hosts.toml").touch()
    (tmp_path / "models" / "one.toml").write_text(MODEL)
    assert load_catalog(data=tmp_path).find("b").provider == "a"
    (tmp_path / "models" / "two.toml").write_text(MODEL.replace('"b"', '"c"') + 'aliases = ["b"]')
    with pytest.raises(InvalidConfig, match="a/b is claimed by two models"):
        load_catalog(data=tmp_path)


def test_the_example_shows_what_may_stand_in_the_file(folder: Path) -> None:
    text = (Path(__file__).parents[2] / "weighbridge.example.toml").read_text("utf-8").replace("0" * 64, SHA256)
    path = folder / "weighbridge.toml"
    path.write_text(text, encoding="utf-8")
    config = read_config(path, read_manifest().patterns, env={"HOOK_SECRET": "a secret of 24 characters"})
    assert [(model.id, model.tokenizer) for model in config.models] == [("own-8k", config.tokenizers[0].name)]
    assert [row.model for row in config.prices.rows] == ["own-8k"]
    assert [set(row.models) for row in config.prices.multipliers] == [{"gpt-4o"}]
    assert config.webhooks[0].events == frozenset(AlertKind)
    load_catalog(config)
