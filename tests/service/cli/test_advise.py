"""``weighbridge advise``: a line for each way to save, or all of it as the HTTP route answers it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from service.api.saving.advise import advise_work
from service.api.services import Services

Run = Callable[..., Result]
Answered = Callable[..., bytes]

AT = ("--at", "2026-11-29T12:00:00Z")
TEXT = 'Sum:   up {"a": 1,\n   "b": 2}'
BODY = {"model": "large", "max_tokens": 9, "messages": [{"role": "user", "content": TEXT}]}


def test_each_way_that_applies_is_a_line(run: Run) -> None:
    result = run("advise", "-m", "large", *AT, text=TEXT)
    assert result.exit_code == 0, result.stderr
    lines = [line.split("\t") for line in result.stdout.splitlines()]
    assert lines[0] == ["model", "acme/large"]
    assert [line[0] for line in lines[3:]] == ["minified_json", "white_space", "combined"]
    codes = {line[0]: line[1:] for line in lines}
    saved = int(codes["minified_json"][0])
    assert saved > 0
    assert codes["minified_json"][2] == f"text:{TEXT.index('1,') - 1} and 2 more"
    assert codes["combined"][2] == "minified_json, white_space"


@pytest.mark.parametrize("whole", [False, True])
def test_json_is_what_the_route_answers(run: Run, answered: Answered, tmp_path: Path, whole: bool) -> None:
    options: dict[str, Any] = {"at": "2026-11-29T12:00:00Z", "alternative_text": "Be brief."}
    (tmp_path / "other.txt").write_text("Be brief.")
    (tmp_path / "call.json").write_text(json.dumps(BODY))
    (tmp_path / "text.txt").write_text(TEXT)
    if whole:
        arguments = ("--request", str(tmp_path / "call.json"))
        body = options | {"request": BODY}
    else:
        arguments = ("-m", "large", str(tmp_path / "text.txt"))
        body = options | {"model": "large", "text": TEXT}
    result = run("advise", *arguments, "--alternative", str(tmp_path / "other.txt"), "--json", *AT)
    assert result.exit_code == 0, result.stderr
    told = json.loads(result.stdout)

    def ask(services: Services) -> bytes:
        return advise_work(services, json.dumps(body).encode(), None)

    route = answered(ask, "o200k_base").replace(b'"request.', b'"')  # a path there goes through the field's name
    assert told == json.loads(route)


@pytest.mark.parametrize(
    ("arguments", "text", "told"),
    [
        ((), "x", "Give a model (-m"),
        (("-m", "large", "a.txt", "b.txt"), "", "one FILE"),
        (("-m", "large", "nowhere.txt"), "", "No such file"),
        (("-m", "large", "--alternative", "nowhere.txt"), "x", "No such file"),
        (("-m", "large", "--cache-read", "99"), "x", "more than the input"),
        (("--request", "-", "-m", "large"), "{", "line 1"),
    ],
)
def test_what_cannot_be_advised_on_ends_with_2(run: Run, arguments: tuple[str, ...], text: str, told: str) -> None:
    result = run("advise", *arguments, text=text)
    assert (result.exit_code, result.stdout) == (2, "")
    assert told in result.stderr
