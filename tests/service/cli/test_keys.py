"""``weighbridge keys``."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from service.cli import cli


@pytest.fixture(autouse=True)
def data_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("WEIGHBRIDGE_DATA_DIR", str(tmp_path / "data"))
    return tmp_path / "data"


def keys(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["keys", *arguments])


def made(*arguments: str) -> str:
    """The key that is printed, alone on standard output."""
    result = keys("create", *arguments)
    assert result.exit_code == 0, result.output
    assert re.fullmatch(r"wb_[0-9a-f]{16}_[0-9a-f]{64}\n", result.stdout)
    return result.stdout.strip()


def listed(*arguments: str) -> list[list[str]]:
    result = keys("list", *arguments)
    assert result.exit_code == 0, result.output
    return [line.split("\t") for line in result.stdout.splitlines()]


def test_keys_are_made_and_listed_without_their_text() -> None:
    assert listed() == []
    admin = made("ops", "--scope", "admin")
    options = ("--scope", "count", "--scope", "spend:write", "--expires", "2999-01-01", "--rate-limit", "9/hour")
    app = made("the app", "--project", "search", *options)
    first, second = listed()
    assert first[:4] == [admin[3:19], "default", "ops", "admin"]
    assert second[:4] == [app[3:19], "search", "the app", "count spend:write"]
    assert second[5:] == ["2999-01-01T00:00:00Z", "-", "active"]
    assert listed("--project", "search") == [second]
    assert not [key for key in (admin, app) if key[20:] in keys("list", "--revoked").output]


def test_a_key_is_rotated_and_revoked() -> None:
    admin = made("ops", "--scope", "admin")
    key_id = admin[3:19]
    rotated = keys("rotate", key_id, "--overlap", "60")
    assert rotated.stdout.startswith(f"wb_{key_id}_")
    assert rotated.stdout.strip() != admin
    refused = keys("revoke", key_id)
    assert (refused.exit_code, "last valid key" in refused.stderr) == (1, True)
    assert keys("revoke", key_id, "--force").stdout == f"{key_id} is revoked\n"
    assert listed() == []
    assert [row[-1] for row in listed("--revoked")] == ["revoked"]


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (("create", "app", "--scope", "count"), 1, "first key"),
        (("create", "app"), 2, "--scope"),
        (("create", "app", "--scope", "all"), 2, "--scope"),
        (("create", "", "--scope", "admin"), 2, "name"),
        (("create", "app", "--scope", "admin", "--project", "a b"), 2, "project"),
        (("create", "app", "--scope", "admin", "--expires", "2020-01-01"), 2, "lies ahead"),
        (("create", "app", "--scope", "admin", "--rate-limit", "9"), 2, "600/minute"),
        (("rotate", "zebra"), 2, "keys list"),
        (("rotate", "0" * 16), 2, "no key"),
        (("rotate", "0" * 16, "--overlap", "-1"), 2, "overlap"),
        (("revoke", "0" * 16), 2, "no key"),
        (("reset",), 2, "--yes"),
    ],
)
def test_what_cannot_be_is_told_with_its_exit_code(arguments: tuple[str, ...], code: int, says: str) -> None:
    result = keys(*arguments)
    assert (result.exit_code, says in result.stderr) == (code, True), result.output
    assert result.stdout == ""


def test_a_key_of_another_secret_is_refused_until_all_are_reset(monkeypatch: pytest.MonkeyPatch) -> None:
    made("ops", "--scope", "admin")
    monkeypatch.setenv("WEIGHBRIDGE_SECRET", "another secret of this test")
    refused = keys("create", "app", "--scope", "count")
    assert (refused.exit_code, refused.stdout) == (2, "")
    monkeypatch.setenv("WEIGHBRIDGE_SECRET", "another-secret-of-this-test")
    refused = keys("create", "app", "--scope", "count")
    assert (refused.exit_code, "another secret" in refused.stderr) == (1, True)
    assert keys("reset", "--yes").stdout == "1 keys revoked\n"
    made("ops", "--scope", "admin")


def test_a_database_that_cannot_be_used_is_told(data_dir: Path) -> None:
    data_dir.mkdir()
    (data_dir / "ledger.sqlite").write_bytes(b"no database" * 1000)
    result = keys("list")
    assert (result.exit_code, "no SQLite database" in result.stderr) == (1, True)
