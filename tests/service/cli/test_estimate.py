"""``weighbridge estimate``: the bounds, the limit, and the same answer as over HTTP. Prices are made up."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from service.api.pricing.work import estimate_work
from service.cli.environment import Environment
from service.settings import Settings

ROOT = Path(__file__).parents[3]
HELLO = "Hello, World!"  # 4 tokens in o200k_base and cl100k_base (tiktoken 0.14.0)
AT = ("--at", "2026-11-29T12:00:00Z")

Run = Callable[..., Result]


def fields(result: Result) -> dict[str, str]:
    """The facts by their label; the products stand beneath them."""
    return dict(line.split("\t") for line in result.stdout.splitlines() if line.count("\t") == 1)


def products(result: Result) -> list[list[str]]:
    return [line.split("\t") for line in result.stdout.splitlines() if line.count("\t") == 3]


def test_one_text_shows_tokens_context_range_products_and_the_source_of_the_price(run: Run) -> None:
    result = run("estimate", "-m", "acme/large", "--max-output", "100", *AT, text=HELLO)
    found = fields(result)
    revision = found["price"].partition("(")[2][:12]
    assert (result.exit_code, found) == (
        0,
        {
            "model": "acme/large",
            "tokens": "4 (exact)",
            "output": "100 expected, 100 at most",
            "context": "1000, fits, 896 left",
            "low": "0.00001",
            "expected": "0.00101",
            "high": "0.00109",  # 32 tokens more, which a chat message may take
            "price": f"price page ({revision}), to 2027-01-01, checked 2026-11-20",
        },
    )
    assert products(result) == [
        ["input", "4", "2.5 per million", "0.00001"],
        ["output", "100", "10 per million", "0.001"],
    ]
    assert "may take 32 tokens more" in result.stderr


def test_output_is_expected_up_to_the_models_own_limit(run: Run) -> None:
    result = run("estimate", "-m", "large", "--expected-output", "50", *AT, text=HELLO)
    assert fields(result)["output"] == "50 expected, 200 at most"
    assert (fields(result)["expected"], fields(result)["high"]) == ("0.00051", "0.00209")


@pytest.mark.parametrize(("output", "context"), [("964", "1000, fits, 32 left"), ("965", "1000, may not fit, 31 left")])
def test_the_context_window_has_to_hold_the_high_input_and_the_output(run: Run, output: str, context: str) -> None:
    assert fields(run("estimate", "-m", "large", "--max-output", output, *AT, text=HELLO))["context"] == context


def test_cache_reads_and_writes_have_their_own_rates(run: Run) -> None:
    options = ("--max-output", "0", "--cache-read", "3", "--cache-write", "1h")
    result = run("estimate", "-m", "large", *options, *AT, text=HELLO)
    assert products(result) == [
        ["cache_read", "3", "0.25 per million", "0.00000075"],
        ["cache_write_1h", "1", "5 per million", "0.000005"],
    ]
    assert fields(result)["high"] == "0.00018"  # 36 tokens, all written for an hour


def test_several_files_are_a_line_each_and_their_sum(run: Run, tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "[bold]two"
    one.write_text(HELLO)
    two.write_text(HELLO + HELLO)  # 8 tokens
    result = run("estimate", "-m", "large", "--max-output", "10", *AT, str(one), str(two))
    assert [line.split("\t") for line in result.stdout.splitlines()] == [
        ["4", "0.00001", "0.00011", "0.00019", str(one)],
        ["8", "0.00002", "0.00012", "0.0002", str(two)],
        ["12", "0.00003", "0.00023", "0.00039", "total"],
    ]
    assert f"{one}: The text is counted bare" in result.stderr


def test_tiny_amounts_are_printed_in_full(run: Run) -> None:
    result = run("estimate", "-m", "small", "--max-output", "0", *AT, text="Hello")
    assert fields(result)["low"] == "0.000000000001"
    assert "E-" not in result.output


@pytest.mark.parametrize(("limit", "code"), [("0.00109", 0), ("0.001089999999", 1), ("0", 1)])
def test_exactly_reaching_the_limit_fits(run: Run, limit: str, code: int) -> None:
    result = run("estimate", "-m", "large", "--max-output", "100", "--max-cost", limit, *AT, text=HELLO)
    assert (result.exit_code, fields(result)["high"]) == (code, "0.00109")
    assert ("more than" in result.stderr) == (code == 1)


def test_a_refusal_says_what_the_limit_pays_for(run: Run) -> None:
    options = ("--max-output", "100", *AT)
    refused = run("estimate", "-m", "large", *options, "--max-cost", "0.00059", text=HELLO)
    assert "With --max-output 50 it cannot." in refused.stderr
    assert run("estimate", "-m", "large", "--max-output", "50", "--max-cost", "0.00059", *AT, text=HELLO).exit_code == 0
    assert "The input alone" in run("estimate", "-m", "large", *options, "--max-cost", "0.00001", text=HELLO).stderr


def test_the_limit_holds_for_all_files_together(run: Run, tmp_path: Path) -> None:
    files = [tmp_path / "one", tmp_path / "two"]
    for file in files:
        file.write_text(HELLO)
    options = ("-m", "large", "--max-output", "100", *AT, *map(str, files))
    assert run("estimate", *options, "--max-cost", "0.00218").exit_code == 0
    assert run("estimate", *options, "--max-cost", "0.00217").exit_code == 1


def test_an_unknown_price_is_no_number_and_refuses_only_a_limit(run: Run) -> None:
    result = run("estimate", "-m", "secret", "--max-output", "100", *AT, text=HELLO)
    assert [fields(result)[name] for name in ("low", "expected", "high", "price")] == ["unknown"] * 4
    assert result.exit_code == 0
    limited = run("estimate", "-m", "secret", "--max-output", "100", "--max-cost", "1000", *AT, text=HELLO)
    assert (limited.exit_code, fields(limited)) == (1, fields(result))
    assert "The price is unknown" in limited.stderr


def test_without_any_bound_of_the_output_there_is_no_high_and_no_limit_holds(run: Run) -> None:
    result = run("estimate", "-m", "endless", *AT, text=HELLO)
    assert (result.exit_code, fields(result)["high"], fields(result)["context"]) == (0, "-", "unknown")
    limited = run("estimate", "-m", "endless", "--max-cost", "1", *AT, text=HELLO)
    assert limited.exit_code == 1
    assert "no upper bound" in limited.stderr


def test_a_free_model_costs_nothing_and_fits_any_limit(run: Run) -> None:
    result = run("estimate", "-m", "gift", "--max-cost", "0", *AT, text=HELLO)
    assert (result.exit_code, fields(result)["high"]) == (0, "0")
    assert fields(result)["price"].startswith("free, price page")


@pytest.mark.parametrize(
    ("at", "low"),
    [("2026-12-31T23:59:59Z", "0.00001"), ("2027-01-01", "0.000028"), ("2027-01-01T00:30:00+01:00", "0.00001")],
)
def test_the_price_is_the_one_in_force_at_the_time(run: Run, at: str, low: str) -> None:
    assert fields(run("estimate", "-m", "large", "--at", at, text=HELLO))["low"] == low


@pytest.mark.parametrize(
    ("at", "low"),
    [("2026-11-27T03:59:59Z", "0.000005"), ("2026-11-27T04:00:00Z", "unknown"), ("2026-11-28T02:00:00Z", "unknown")],
)
def test_a_service_tier_is_priced_in_its_hours_and_on_its_days(run: Run, at: str, low: str) -> None:
    assert fields(run("estimate", "-m", "large", "--tier", "batch", "--at", at, text=HELLO))["low"] == low


def test_a_region_multiplies_and_one_without_a_price_is_unknown(run: Run) -> None:
    us = run("estimate", "-m", "large", "--region", "us", "--max-output", "0", *AT, text=HELLO)
    assert fields(us)["low"] == "0.000011"
    assert products(us) == [["input", "4", "2.5 per million x 1.1", "0.000011"]]
    assert fields(run("estimate", "-m", "large", "--region", "moon", *AT, text=HELLO))["low"] == "unknown"


@pytest.mark.parametrize("command", ["estimate", "count"])
def test_a_model_of_which_only_the_price_is_known_cannot_be_counted(run: Run, command: str) -> None:
    spec = Environment(Settings.from_env()).priced.priced[0]
    result = run(command, "-m", spec.id, "-p", spec.provider, text=HELLO)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "there is no tokenizer for it" in result.stderr


def test_a_special_token_is_ordinary_text_and_pointed_out(run: Run) -> None:
    result = run("estimate", "-m", "large", *AT, text="<|endoftext|>")
    assert fields(result)["tokens"] == "7 (exact)"
    assert "<|endoftext|>" in result.stderr


def test_json_is_what_the_http_route_answers(run: Run, answered: Callable[..., bytes]) -> None:
    options = ("--max-output", "100", "--expected-output", "60", "--cache-read", "2", "--cache-write", "5m", *AT)
    result = run("estimate", "-m", "large-latest", *options, "--max-cost", "0.5", "--json", text=HELLO)
    body = {
        "model": "large-latest",
        "text": HELLO,
        "max_output_tokens": 100,
        "expected_output_tokens": 60,
        "cache": {"read_tokens": 2, "write": "5m"},
        "max_cost_usd": "0.5",
        "at": AT[1],
    }
    expected = answered(lambda services: estimate_work(services, json.dumps(body).encode(), None), "o200k_base")
    assert (result.exit_code, result.stdout.encode()) == (0, expected + b"\n")


def test_json_of_several_files_is_what_the_http_route_answers(
    run: Run, tmp_path: Path, answered: Callable[..., bytes]
) -> None:
    texts = [HELLO, "", "你好，世界！"]
    files = [tmp_path / str(number) for number in range(3)]
    for file, text in zip(files, texts, strict=True):
        file.write_text(text)
    result = run("estimate", "-m", "acme/small", "--region", "us", *AT, "--json", *map(str, files))
    body = json.dumps({"model": "acme/small", "texts": texts, "region": "us", "at": AT[1]}).encode()
    expected = answered(lambda services: estimate_work(services, body, None), "cl100k_base")
    assert result.stdout.encode() == expected + b"\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "--model"),
        (["-m", "acme/larg"], "Unknown model"),
        (["-m", "large", "--at", "2026-11-29T12:00:00"], "with its offset"),
        (["-m", "large", "--at", "yesterday"], "with its offset"),
        (["-m", "large", "--at", "2026-02-30"], "with its offset"),
        (["-m", "large", "--at", "0001-01-01T00:00:00+01:00"], "with its offset"),
        (["-m", "large", "--max-cost", "-1"], "at least 0"),
        (["-m", "large", "--max-cost", "NaN"], "at least 0"),
        (["-m", "large", "--max-cost", "1e-13"], "12 decimal places"),
        (["-m", "large", "--max-cost", "a lot"], "at least 0"),
        (["-m", "large", "--max-output", "-1"], "--max-output"),
        (["-m", "large", "--tier", "gold"], "--tier"),
        (["-m", "large", "--cache-write", "2h"], "--cache-write"),
        (["-m", "large", "--cache-read", "5"], "more than the input can have"),
        (["-m", "large", "absent"], "absent: No such file"),
    ],
)
def test_what_cannot_be_estimated_is_refused_without_a_number(run: Run, arguments: list[str], message: str) -> None:
    result = run("estimate", *arguments, text=HELLO)
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr


def test_as_a_process_it_needs_no_web_framework(priced: Path) -> None:
    code = (
        "import sys; from service.cli import cli; "
        "cli(['estimate', '-m', 'acme/large', '--json'], standalone_mode=False); "
        "sys.exit(str({'fastapi', 'starlette', 'uvicorn', 'prometheus_client', 'rich'} & set(sys.modules) or '') or 0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, input=HELLO.encode(), capture_output=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert json.loads(done.stdout)["tokens"] == 4
