"""``weighbridge count`` and ``tokenize``: as Unix tools, with the counts of the reference libraries."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from service.cli import cli

ROOT = Path(__file__).parents[3]


@pytest.fixture(autouse=True)
def _data_dir(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEIGHBRIDGE_DATA_DIR", str(tmp_path_factory.mktemp("data")))


def invoke(*arguments: str, text: str | bytes = "") -> Result:
    return CliRunner().invoke(cli, list(arguments), input=text)


# Measured with tiktoken 0.14.0 (o200k_base, cl100k_base), NFC and tiktoken (qwen), mistral-common 1.13.1 (tekken).
SIX = [
    ("Hello, World!", 4, 4, 4, 4),
    ("你好，世界！", 4, 7, 4, 4),
    ("function fibonacci(n) {", 5, 5, 5, 6),
    ("console.log(result)", 4, 4, 4, 4),
    ("const x = arr.map(i => i * 2)", 12, 12, 12, 12),
    ("📧 Email: user@example.com", 7, 8, 6, 9),
]


@pytest.mark.parametrize("column", range(4), ids=["o200k_base", "cl100k_base", "qwen", "tekken"])
def test_several_files_are_a_line_each_and_a_total(tmp_path: Path, column: int) -> None:
    name = ["o200k_base", "cl100k_base", "qwen", "tekken"][column]
    expected = [row[1 + column] for row in SIX]
    files = [tmp_path / str(number) for number in range(6)]
    for file, (text, *_) in zip(files, SIX, strict=True):
        file.write_text(text)
    result = invoke("count", "-t", name, *map(str, files))
    lines = [(int(tokens), label) for tokens, label in map(str.split, result.stdout.splitlines())]
    assert lines == [*zip(expected, map(str, files), strict=True), (sum(expected), "total")]
    assert (result.exit_code, result.stderr) == (0, "")


@pytest.mark.parametrize("arguments", [[], ["-"]])
def test_one_input_prints_only_the_number(arguments: list[str]) -> None:
    result = invoke("count", "-t", "o200k_base", *arguments, text="Hello, World!")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "4\n", "")


def test_an_empty_text_has_no_tokens() -> None:
    assert invoke("count", "-t", "o200k_base").stdout == "0\n"


def test_a_model_is_counted_with_its_own_vocabulary() -> None:
    result = invoke("count", "-m", "gpt-4o", text="📧 Email: user@example.com")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "7\n", "")


def test_json_has_the_same_shape_for_one_input_and_for_several(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("Hello, World!")
    one = json.loads(invoke("count", "-m", "gpt-4o", "--json", str(tmp_path / "a")).stdout)
    two = json.loads(invoke("count", "-m", "gpt-4o", "--json", str(tmp_path / "a"), "-", text="你好，世界！").stdout)
    assert one.keys() == two.keys()
    assert (two["tokens"], two["low"], two["high"], two["accuracy"]) == (8, 8, 8, "exact")
    assert two["tokenizer"]["name"] == "o200k_base"
    assert [(item["tokens"], item["characters"], item["utf8_bytes"]) for item in two["items"]] == [
        (4, 13, 13),
        (4, 6, 18),
    ]
    assert [item["file"] for item in two["items"]] == [str(tmp_path / "a"), "-"]


@pytest.mark.parametrize(("limit", "code"), [("4", 0), ("3", 1), ("0", 1)])
def test_exactly_reaching_the_limit_fits(limit: str, code: int) -> None:
    result = invoke("count", "-t", "o200k_base", "--limit", limit, text="Hello, World!")
    assert (result.exit_code, result.stdout) == (code, "4\n")
    assert ("more than the limit" in result.stderr) == (code == 1)


def test_an_inexact_count_is_said_so_and_its_upper_bound_meets_the_limit() -> None:
    answer = json.loads(invoke("count", "-m", "gemini-2.5-pro", "--json", text="Hello, World!").stdout)
    assert answer["accuracy"] != "exact"
    assert answer["low"] <= answer["tokens"] < answer["high"]
    plain = invoke("count", "-m", "gemini-2.5-pro", "--limit", str(answer["tokens"]), text="Hello, World!")
    assert plain.stdout == f"{answer['tokens']}\n"
    assert f"between {answer['low']} and {answer['high']}" in plain.stderr
    assert plain.exit_code == 1


def test_a_special_token_is_text_unless_asked_for_and_is_pointed_out() -> None:
    text = invoke("count", "-t", "o200k_base", text="<|endoftext|>")
    assert (text.exit_code, text.stdout) == (0, "7\n")
    assert "<|endoftext|>" in text.stderr
    parsed = invoke("count", "-t", "o200k_base", "--special", "parse", text="<|endoftext|>")
    assert (parsed.exit_code, parsed.stdout, parsed.stderr) == (0, "1\n", "")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "Give a model (-m) or a tokenizer (-t)"),
        (["-m", "gpt-4o", "-t", "qwen"], "not both"),
        (["-t", "no-such"], "No vocabulary has that name"),
        (["-t", "llama3"], "weighbridge vocab add llama3"),
        (["-m", "gpt-4oo"], "gpt-4o"),
        (["-t", "qwen", "absent"], "absent: No such file"),
        (["-t", "qwen", "-", "-"], "only once"),
        (["-t", "qwen", "--limit", "-1"], "--limit"),
        (["-t", "qwen", "--special", "yes"], "--special"),
    ],
)
def test_what_cannot_be_counted_is_refused_without_a_number(arguments: list[str], message: str) -> None:
    result = invoke("count", *arguments, text="x")
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr


def test_one_file_that_is_no_utf8_refuses_them_all(tmp_path: Path) -> None:
    (tmp_path / "good").write_text("fine")
    (tmp_path / "bad").write_bytes("fünf".encode("latin-1"))
    result = invoke("count", "-t", "qwen", str(tmp_path / "good"), str(tmp_path / "bad"))
    assert (result.exit_code, result.stdout) == (2, "")
    assert "bad: not UTF-8 at byte 1." in result.stderr


def test_tokenize_prints_the_ids_on_one_line() -> None:
    # tiktoken 0.14.0, o200k_base, encode_ordinary
    result = invoke("tokenize", "-t", "o200k_base", text="Hello, World!")
    assert (result.exit_code, result.stdout) == (0, "13225 11 5922 0\n")


def test_tokenize_shows_pieces_with_their_spans() -> None:
    result = invoke("tokenize", "-t", "cl100k_base", "--pieces", text="你 [b]\n")
    assert [line.split("\t") for line in result.stdout.splitlines()] == [
        ["57668", '"你"', "0", "1"],
        ["510", '" ["', "1", "3"],
        ["65", '"b"', "3", "4"],
        ["933", r'"]\n"', "4", "6"],
    ]


def test_tokenize_says_where_a_vocabulary_only_counts() -> None:
    for more in ((), ("--pieces",)):
        result = invoke("tokenize", "-m", "claude-sonnet-4-5", *more, text="Hello")
        assert result.exit_code == 2
        assert "'claude_v3' was reconstructed from counts" in result.stderr
    assert invoke("count", "-t", "claude_v3", text="hello, world").stdout.split()[0] == "3"


def test_tokenize_parses_special_tokens_when_asked_to() -> None:
    result = invoke("tokenize", "-t", "o200k_harmony", "--special", "parse", text="<|start|>a<|end|>")
    assert (result.exit_code, result.stdout) == (0, "200006 64 200007\n")


def test_tokenize_gives_pieces_as_json() -> None:
    answer = json.loads(invoke("tokenize", "-t", "o200k_base", "--pieces", "--json", text="a 你").stdout)
    assert answer["tokens"] == len(answer["pieces"])
    assert bytes(byte for piece in answer["pieces"] for byte in piece["bytes"]).decode() == "a 你"


def test_a_closed_pipe_ends_the_command_quietly() -> None:
    env = os.environ | {"PYTHONUNBUFFERED": "1"}
    command = [sys.executable, "-m", "service", "tokenize", "-t", "o200k_base"]
    process = subprocess.Popen(
        command, cwd=ROOT, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdin
    assert process.stdout
    assert process.stderr
    with process:
        process.stdout.close()
        process.stdin.write(b"word " * 100_000)
        process.stdin.close()
        errors = process.stderr.read()
    assert (process.returncode, errors) == (141, b"")


def test_as_a_process_it_reads_standard_input_and_prints_the_number() -> None:
    command = [sys.executable, "-m", "service", "count", "-t", "o200k_base"]
    done = subprocess.run(command, cwd=ROOT, input=b"Hello, World!", capture_output=True, check=True)
    assert (done.stdout, done.stderr) == (b"4\n", b"")


def test_counting_loads_one_vocabulary_only() -> None:
    code = (
        "import sys, adapters.loader as l; opened = []; real = l.read_verified; "
        "l.read_verified = lambda spec: opened.append(spec.name) or real(spec); "
        "from service.cli import cli; cli(['count', '-t', 'qwen'], standalone_mode=False); sys.exit(opened != ['qwen'])"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, input=b"x", check=True)


def test_a_large_file_is_read_part_by_part_and_counted_as_a_whole(tmp_path: Path) -> None:
    mark = "<|im_end|>"
    sentence = "A truck is weighed; 地磅。\n"
    head = sentence * (4 * 1024 * 1024 // len(sentence.encode()))
    head += "x" * (4 * 1024 * 1024 - 5 - len(head.encode()))
    file = tmp_path / "large"
    file.write_bytes((head + mark + sentence).encode())  # the mark lies across the border of two parts
    result = invoke("count", "-t", "o200k_base", "--json", str(file))
    [item] = json.loads(result.stdout)["items"]
    parts = [json.loads(invoke("count", "-t", "o200k_base", "--json", text=t).stdout) for t in (head, mark + sentence)]
    assert item["tokens"] == sum(part["tokens"] for part in parts)
    assert item["characters"] == len(head + mark + sentence)
    assert [(w["offset"], w["occurrences"]) for w in item["warnings"]] == [(len(head), 1)]


def test_a_wrong_byte_far_into_a_file_is_named_by_its_place(tmp_path: Path) -> None:
    file = tmp_path / "large"
    data = "你".encode() * (2 * 1024 * 1024)
    for damage in (b"\xff", b"\xe4\xbd"):
        file.write_bytes(data + damage)
        result = invoke("count", "-t", "o200k_base", str(file))
        assert (result.exit_code, result.stdout) == (2, "")
        assert f"not UTF-8 at byte {len(data)}." in result.stderr
