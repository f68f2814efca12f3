"""The group: summaries, lazy imports, and errors as exit codes."""

import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from adapters.port import UnknownVocabulary, VocabularyDamaged
from service import __version__
from service.cli import cli
from service.cli.group import BadInput, LazyGroup, Refusal
from service.settings import InvalidSetting

ROOT = Path(__file__).parents[3]


def run(*arguments: str, **options: object) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "service", *arguments], cwd=ROOT, capture_output=True, check=False, **options
    )  # type: ignore[call-overload,no-any-return]


def test_the_version_is_the_packages() -> None:
    done = run("--version")
    assert (done.returncode, done.stdout.decode()) == (0, f"weighbridge {__version__}\n")


def test_every_command_in_the_list_exists_and_has_a_summary() -> None:
    shown = CliRunner().invoke(cli, ["--help"]).output
    names = cli.list_commands(click.Context(cli))
    assert names == [
        *("count", "tokenize", "models", "estimate", "compare", "cost"),
        *("advise", "trim", "prices", "vocab", "ledger", "keys", "train", "serve"),
    ]
    for name in names:
        assert cli.get_command(click.Context(cli), name).name == name  # type: ignore[union-attr]
        assert f"  {name} " in shown


@pytest.mark.parametrize(
    "name", ["count", "tokenize", "models", "estimate", "compare", "cost", "advise", "trim", "prices", "train", "serve"]
)
def test_every_command_documents_its_exit_codes(name: str) -> None:
    assert "Exit codes: 0" in CliRunner().invoke(cli, [name, "--help"]).output


def test_help_and_version_import_no_tokenizer_and_no_web_framework() -> None:
    code = (
        "import sys; from service.cli import cli; cli(['--help'], standalone_mode=False); "
        "heavy = {'tiktoken', 'tokenizers', 'sentencepiece', 'fastapi', 'uvicorn', 'rich', 'msgspec'}; "
        "heavy |= {'genai_prices', 'httpx'}; "
        "sys.exit(str(heavy & set(sys.modules)) if heavy & set(sys.modules) else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


def test_an_unknown_command_is_a_usage_error() -> None:
    assert CliRunner().invoke(cli, ["weigh"]).exit_code == 2


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (VocabularyDamaged("damaged"), 1),
        (Refusal("over the limit"), 1),
        (BadInput("not UTF-8"), 2),
        (UnknownVocabulary("no such vocabulary"), 2),
        (InvalidSetting("WEIGHBRIDGE_PORT is wrong"), 2),
    ],
)
def test_an_error_for_the_user_is_a_message_and_an_exit_code(error: Exception, code: int) -> None:
    group = LazyGroup("weighbridge", lazy={"fail": ("tests", "")})
    group.get_command = lambda ctx, name: failing(error)  # type: ignore[method-assign]
    result = CliRunner().invoke(group, ["fail"])
    assert (result.exit_code, result.stdout) == (code, "")
    assert result.stderr == f"Error: {error}\n"


def failing(error: Exception) -> click.Command:
    @click.command()
    def fail() -> None:
        raise error

    return fail


def test_an_error_that_nobody_foresaw_is_not_hidden() -> None:
    group = LazyGroup("weighbridge", lazy={"fail": ("tests", "")})
    group.get_command = lambda ctx, name: failing(ZeroDivisionError("bug"))  # type: ignore[method-assign]
    assert isinstance(CliRunner().invoke(group, ["fail"]).exception, ZeroDivisionError)
