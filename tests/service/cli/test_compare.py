"""``weighbridge compare``: the table of the six strings, the order by cost, scripts, and the HTTP route's answer."""

import contextlib
import json
import os
import pty
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result
from rich.cells import cell_len

from service.api.pricing.work import compare_work
from service.configfile.shipped import compared_models

ROOT = Path(__file__).parents[3]
AT = ("--at", "2026-11-29T12:00:00Z")

# Measured with tiktoken 0.14.0 (o200k_base, cl100k_base), NFC and tiktoken (qwen), mistral-common 1.13.1 (tekken).
SIX = {
    "Hello, World!": (4, 4, 4, 4),
    "你好，世界！": (4, 7, 4, 4),
    "function fibonacci(n) {": (5, 5, 5, 6),
    "console.log(result)": (4, 4, 4, 4),
    "const x = arr.map(i => i * 2)": (12, 12, 12, 12),
    "📧 Email: user@example.com": (7, 8, 6, 9),
}
NAMES = ("o200k_base", "cl100k_base", "qwen", "tekken")
SIZES = {"o200k_base": "200019", "cl100k_base": "100277", "qwen": "151646", "tekken": "131072"}

Run = Callable[..., Result]


def rows(result: Result) -> list[list[str]]:
    return [line.split("\t") for line in result.stdout.splitlines()]


def given(*texts: str) -> list[str]:
    return [word for text in texts for word in ("--text", text)]


def test_the_six_strings_give_the_table_of_the_four_tokenizers(run: Run) -> None:
    result = run("compare", *given(*SIX), *(word for name in NAMES for word in ("-t", name)))
    characters = sum(map(len, SIX))
    expected = [
        [name, *map(str, tokens), str(sum(tokens)), f"{sum(tokens) / characters:.3f}", SIZES[name], "exact", "-"]
        for name, tokens in zip(NAMES, zip(*SIX.values(), strict=True), strict=True)
    ]
    assert (result.exit_code, result.stderr) == (0, "")
    assert rows(result) == sorted(expected, key=lambda row: int(row[7]))


def test_files_are_compared_as_texts_are(run: Run, tmp_path: Path) -> None:
    files = [tmp_path / str(number) for number in range(6)]
    for file, text in zip(files, SIX, strict=True):
        file.write_text(text)
    assert rows(run("compare", *map(str, files), "-t", "qwen")) == rows(run("compare", *given(*SIX), "-t", "qwen"))


def test_one_text_shows_tokens_ratio_bounds_and_dollars_the_cheapest_first(run: Run) -> None:
    models = ("-m", "secret", "-m", "large", "-m", "small", "-m", "gift")
    result = run("compare", *models, "--max-output", "100", *AT, text="Hello, World!")
    assert rows(result) == [
        ["acme/gift", "4", "0.308", "4-4", "0"],
        ["acme/small", "4", "0.308", "4-4", "0.000050000004"],
        ["acme/large", "4", "0.308", "4-4", "0.00101"],
        ["acme/secret", "4", "0.308", "4-4", "unknown"],
    ]
    assert result.stderr == "weighbridge: acme/secret: No price is known for this model at this provider.\n"


def test_several_texts_are_a_call_each(run: Run) -> None:
    result = run("compare", *given("Hello, World!", ""), "-m", "large", "--max-output", "100", *AT)
    assert rows(result) == [["acme/large", "4", "0", "4", "0.308", "200019", "exact", "0.00201"]]


def test_without_a_limit_the_dollars_are_those_of_the_text_and_that_is_said(run: Run) -> None:
    result = run("compare", "-m", "large", *AT, text="Hello, World!")
    assert rows(result)[0][-1] == "0.00001"
    assert "the text alone" in result.stderr
    assert "the text alone" not in run("compare", "-t", "qwen", text="x").stderr


def test_an_empty_text_has_no_ratio(run: Run) -> None:
    assert rows(run("compare", "-t", "qwen")) == [["qwen", "0", "-", "0-0", "-"]]


def test_without_models_those_of_the_package_are_compared(run: Run) -> None:
    answer = json.loads(run("compare", "--max-output", "10", "--json", text="Hello, World!").stdout)
    assert len(answer["rows"]) == len(compared_models())
    assert {row["cost"]["status"] for row in answer["rows"]} <= {"priced", "free", "unknown"}


def test_by_script_the_fewest_tokens_come_first(run: Run) -> None:
    result = run("compare", *given("你好，世界！ Hello"), "-t", "cl100k_base", "-t", "o200k_base", "--by-script")
    # tiktoken 0.14.0: cl100k_base 你 好 ， 世 界(2) ！ and " Hello"; o200k_base 你好 ， 世界 ！ and " Hello"
    assert rows(result) == [
        ["Latin", "o200k_base", "5", "1", "0.200"],
        ["Latin", "cl100k_base", "5", "1", "0.200"],
        ["Han", "o200k_base", "4", "2", "0.500"],
        ["Han", "cl100k_base", "4", "5", "1.250"],
        ["Common", "o200k_base", "3", "2", "0.667"],
        ["Common", "cl100k_base", "3", "2", "0.667"],
    ]


def test_texts_too_long_to_take_apart_are_said(run: Run) -> None:
    result = run("compare", "-t", "o200k_base", "--by-script", text="a " * 100_001)
    assert (result.exit_code, result.stdout) == (0, "")
    assert "up to 200000 characters" in result.stderr


@pytest.mark.parametrize("texts", [["Hello, World!"], list(SIX)])
def test_json_of_models_is_what_the_http_route_answers(
    run: Run, answered: Callable[..., bytes], texts: list[str]
) -> None:
    names = ["acme/secret", "acme/large", "gift", "small"]
    options = [word for name in names for word in ("-m", name)]
    result = run("compare", *given(*texts), *options, "--max-output", "9", "--region", "us", *AT, "--json")
    body = {"texts": texts, "models": names, "max_output_tokens": 9, "region": "us", "at": AT[1]}
    work = lambda services: compare_work(services, json.dumps(body).encode(), None)  # noqa: E731
    assert result.stdout.encode() == answered(work, "o200k_base", "cl100k_base", "qwen") + b"\n"


def test_json_of_tokenizers_is_what_the_http_route_answers(run: Run, answered: Callable[..., bytes]) -> None:
    text = "Привет, мир! 你好" + " x" * 100_000
    result = run("compare", "-t", "qwen", "-t", "o200k_base", "--json", text=text)
    body = {"text": text, "tokenizers": ["qwen", "o200k_base"]}
    work = lambda services: compare_work(services, json.dumps(body).encode(), None)  # noqa: E731
    assert result.stdout.encode() == answered(work, "o200k_base", "qwen") + b"\n"
    assert json.loads(result.stdout)["warnings"][0]["code"] == "by_script_omitted"


def test_on_a_terminal_no_line_is_wider_than_80_columns(priced: Path) -> None:
    master, slave = pty.openpty()
    command = [sys.executable, "-m", "service", "compare", *given(*SIX), "--max-output", "100"]
    with subprocess.Popen(
        command, cwd=ROOT, env=os.environ | {"TERM": "dumb"}, stdout=slave, stderr=subprocess.DEVNULL
    ) as process:
        os.close(slave)
        lines = read_all(master).decode().splitlines()
    assert process.returncode == 0
    assert max(map(cell_len, lines)) <= 80
    assert [line.split()[0] for line in lines if "tokens" in line or "dollars" in line] == ["model", "model"]


def read_all(master: int) -> bytes:
    """What is written to a pseudo-terminal until its other end is closed, which Linux reports as an error."""
    data = b""
    with os.fdopen(master, "rb", buffering=0) as file, contextlib.suppress(OSError):
        while chunk := file.read(65536):
            data += chunk
    return data


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-m", "large", "-t", "qwen"], "not both"),
        (["--text", "x", "file"], "not both"),
        (["-m", "no-such-model"], "Unknown model"),
        (["-t", "no-such"], "No vocabulary has that name"),
        (["absent"], "absent: No such file"),
        (["--text", "caf\udce9"], "--text is not UTF-8"),
        (["--max-output", "many"], "--max-output"),
    ],
)
def test_what_cannot_be_compared_is_refused_without_a_table(run: Run, arguments: list[str], message: str) -> None:
    result = run("compare", *arguments, text="x")
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr
