"""``weighbridge models``."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from service.cli import cli


@pytest.fixture(autouse=True)
def data_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("WEIGHBRIDGE_DATA_DIR", str(tmp_path))
    return tmp_path


def models(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["models", *arguments])


def test_a_model_is_listed_with_its_tokenizer_accuracy_and_window() -> None:
    rows = [line.split("\t") for line in models().stdout.splitlines()]
    assert ["openai", "gpt-4o", "o200k_base", "exact", "128000"] in rows
    assert rows == sorted(rows, key=lambda row: row[:2])


@pytest.mark.parametrize("text", ["GPT-4O", " gpt-4o ", "o200k_base"])
def test_the_filter_looks_at_ids_and_tokenizers_in_any_case(text: str) -> None:
    every, filtered = models().stdout.splitlines(), models(text).stdout.splitlines()
    assert any("\tgpt-4o\t" in line for line in filtered)
    assert 0 < len(filtered) < len(every)


def test_a_filter_that_matches_nothing_exits_with_1() -> None:
    result = models("no such model")
    assert (result.exit_code, result.stdout) == (1, "")


def test_a_model_without_its_vocabulary_shows_the_stand_in(data_dir: Path) -> None:
    before = {row["id"]: row for row in json.loads(models("llama", "--json").stdout)}
    waiting = [row for row in before.values() if row["tokenizer"] == "llama3" and row["stand_in"]]
    assert waiting
    assert {(row["installed"], row["accuracy"]) for row in waiting} == {(False, "approximate")}
    (data_dir / "vocabularies").mkdir()
    (data_dir / "vocabularies" / "llama3.tiktoken").touch()
    after = {row["id"]: row for row in json.loads(models("llama", "--json").stdout)}
    assert {(after[row["id"]]["installed"], after[row["id"]]["stand_in"]) for row in waiting} == {(True, None)}


def test_a_broken_configuration_is_refused(data_dir: Path) -> None:
    (data_dir / "weighbridge.toml").write_text("[[model]]\ncolour = 'red'\n")
    result = models()
    assert (result.exit_code, result.stdout) == (2, "")
    assert "colour" in result.stderr


def test_a_setting_that_is_wrong_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEIGHBRIDGE_WORKERS", "many")
    result = models()
    assert (result.exit_code, result.stdout) == (2, "")
    assert "WEIGHBRIDGE_WORKERS" in result.stderr
