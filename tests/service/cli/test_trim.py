"""``weighbridge trim``: a body that fits, or as the HTTP route answers it."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from service.cli import cli

TURNS = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "What is the capital of France?"},
    {"role": "assistant", "content": "Paris."},
    {"role": "user", "content": "And of Italy?"},
]
BODY = {"model": "gpt-4o", "messages": TURNS, "temperature": 0.5}


@pytest.fixture(autouse=True)
def _data_dir(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEIGHBRIDGE_DATA_DIR", str(tmp_path_factory.mktemp("data")))


def invoke(*arguments: str, body: Any = BODY) -> Result:
    return CliRunner().invoke(cli, ["trim", *arguments], input=body if isinstance(body, str) else json.dumps(body))


def test_what_is_left_of_the_body_is_printed() -> None:
    result = invoke("--limit", "34")
    assert result.exit_code == 0
    assert json.loads(result.stdout) == BODY | {"messages": [TURNS[0], TURNS[3]]}
    assert "35 tokens before, 18 now; 2 turns dropped." in result.stderr


def test_json_is_what_the_route_answers(tmp_path: Path) -> None:
    file = tmp_path / "call.json"
    file.write_text(json.dumps(BODY))
    answer = json.loads(invoke(str(file), "--limit", "34", "--json").stdout)
    assert (answer["kept"], answer["tokens_after"], answer["fits"]) == ([0, 3], 18, True)
    assert answer["request"] == BODY | {"messages": [TURNS[0], TURNS[3]]}


def test_what_cannot_fit_exits_with_1_and_is_printed() -> None:
    result = invoke("--limit", "5")
    assert (result.exit_code, json.loads(result.stdout)["messages"]) == (1, [TURNS[0], TURNS[3]])
    assert "more than the limit" in result.stderr


def test_without_a_limit_it_fits_the_window_less_the_output() -> None:
    answer = json.loads(invoke("--max-output", "28000", "--json").stdout)
    assert (answer["limit"], answer["dropped"]) == (100_000, [])


@pytest.mark.parametrize(
    ("arguments", "body", "told"),
    [
        ((), "{", "line 1"),
        ((), {"messages": TURNS}, "Give a model (-m"),
        (("--limit", "0"), BODY, "--limit"),
        (("--max-output", "128000"), BODY, "max_output_tokens"),
        (("nowhere.json",), "", "No such file"),
    ],
)
def test_what_cannot_be_trimmed_ends_with_2_and_says_why(arguments: tuple[str, ...], body: Any, told: str) -> None:
    result = invoke(*arguments, body=body)
    assert (result.exit_code, result.stdout) == (2, "")
    assert told in result.stderr
