"""``weighbridge serve``: what it passes on, and what it refuses before anything is loaded."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from service.cli import cli, serve


@pytest.mark.parametrize(
    ("arguments", "passed"),
    [
        ([], ("127.0.0.1", 8000, False)),
        (["--host", "::1", "--port", "0"], ("::1", 0, False)),
        (["--host", "0.0.0.0", "--insecure"], ("0.0.0.0", 8000, True)),
    ],
)
def test_host_and_port_are_passed_on(
    arguments: list[str], passed: tuple[str, int, bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[tuple[str, int, bool]] = []
    monkeypatch.setattr(serve, "run", lambda host, port, *, insecure: calls.append((host, port, insecure)))
    assert CliRunner().invoke(cli, ["serve", *arguments]).exit_code == 0
    assert calls == [passed]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(["--host", "0.0.0.0"], "this machine only"), (["--port", "65536"], "--port"), (["--port", "http"], "--port")],
)
def test_an_address_that_others_can_reach_or_that_is_none_is_refused(arguments: list[str], message: str) -> None:
    result = CliRunner().invoke(cli, ["serve", *arguments])
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr


def test_a_wrong_setting_is_refused_before_anything_is_loaded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("WEIGHBRIDGE_DATA_DIR", str(tmp_path))
    monkeypatch.setenv("WEIGHBRIDGE_WORKERS", "none")
    result = CliRunner().invoke(cli, ["serve"])
    assert (result.exit_code, result.stdout) == (2, "")
    assert "WEIGHBRIDGE_WORKERS" in result.stderr
