"""``weighbridge cost``: published cases to the last digit. Prices are made up or those of the case."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from service.api.pricing.work import cost_work
from service.cli.environment import Environment
from service.settings import Settings

AT = ("--at", "2026-11-29T12:00:00Z")

Run = Callable[..., Result]


def fields(result: Result) -> dict[str, str]:
    return dict(line.split("\t") for line in result.stdout.splitlines() if line.count("\t") == 1)


def products(result: Result) -> list[list[str]]:
    return [line.split("\t") for line in result.stdout.splitlines() if line.count("\t") == 3]


CASES = [  # the shared cases by their id: rates, usage, dollars
    ("K01", "input 2.5 cache_read 1.25 output 10", "--input 2006 --cache-read 1920 --output 300", "0.005615"),
    ("K02", "input 1.25 cache_read 0.125 output 10", "--input 9126 --cache-read 4864 --output 3197", "0.0379055"),
    ("K04", "input 3 cache_write 3.75", "--input 1000 --cache-write 1000", "0.00375"),
    ("K06", "input 0.5 cache_read 0.05 output 3", "--input 20212 --cache-read 16298 --output 931", "0.0055649"),
    (
        "K07",
        "input 5 cache_write 6.25 cache_write_1h 10",
        "--input 344139 --cache-write 344139 --cache-write-1h 344139",
        "3.44139",
    ),
    ("K12", "input 2 cache_read 0.2 cache_write 2.5", "--input 2600 --cache-read 2000 --cache-write 400", "0.0018"),
    ("R04", "output 8 output_reasoning 3", "--output 1000 --reasoning 900", "0.0035"),
]


@pytest.mark.parametrize(("rates", "usage", "usd"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_known_usage_costs_what_the_published_case_says(
    run: Run, priced: Path, rates: str, usage: str, usd: str
) -> None:
    words = rates.split()
    price = "".join(f'{unit}_mtok = "{rate}"\n' for unit, rate in zip(words[::2], words[1::2], strict=True))
    names = 'provider = "openai"\n{} = "case-model"\n'
    text = f"[[model]]\n{names.format('id')}[[price]]\n{names.format('model')}{price}"
    (priced / "weighbridge.toml").write_text(text)
    result = run("cost", "-m", "case-model", *usage.split())
    assert (result.exit_code, fields(result)["cost"]) == (0, usd)


def test_every_product_is_shown_and_fees_come_on_top(run: Run) -> None:
    usage = ("--input", "1000", "--output", "100", "--cache-read", "400", "--unit", "web_searches=3")
    result = run("cost", "-m", "large", *usage, *AT)
    assert products(result) == [
        ["input", "600", "2.5 per million", "0.0015"],
        ["cache_read", "400", "0.25 per million", "0.0001"],
        ["output", "100", "10 per million", "0.001"],
        ["web_searches", "3", "10 per thousand", "0.03"],
    ]
    assert fields(result)["cost"] == "0.0326"


@pytest.mark.parametrize(("tokens", "usd"), [("2000", "0.006"), ("2001", "0.011505")])
def test_a_tier_is_for_more_input_than_its_threshold_and_prices_output_too(run: Run, tokens: str, usd: str) -> None:
    result = run("cost", "-m", "large", "--input", tokens, "--output", "100", *AT)
    assert fields(result)["cost"] == usd
    assert ("(above 2000 input tokens)" in result.stdout) == (tokens == "2001")


def test_usage_may_be_json_on_standard_input_or_in_a_file(run: Run, tmp_path: Path) -> None:
    usage = '{"input_tokens": 1000, "cache_read_tokens": 400, "output_tokens": 100, "web_searches": "3"}'
    (tmp_path / "usage.json").write_text(usage)
    results = [run("cost", "-m", "large", "--usage", "-", *AT, text=usage)]
    results += [run("cost", "-m", "large", "--usage", str(tmp_path / "usage.json"), *AT)]
    assert [fields(result)["cost"] for result in results] == ["0.0326"] * 2


def test_a_fallback_to_another_rate_is_said(run: Run) -> None:
    result = run("cost", "-m", "endless", "--input", "10", "--cache-read", "5", *AT)
    assert (result.exit_code, fields(result)["cost"]) == (0, "0.00001")
    assert "cache_read has no rate of its own" in result.stderr


@pytest.mark.parametrize(
    ("usage", "message"),
    [
        (("-m", "secret", "--input", "1"), "No price is known"),
        (("-m", "large", "--input", "1", "--unit", "input_audio_tokens=1"), "No rate is known for input_audio"),
        (("-m", "large", "--input", "1", "--tier", "flex"), "service tier flex"),
        (("-m", "large", "--input", "1", "--region", "moon"), "this region"),
    ],
)
def test_an_unknown_cost_is_never_nothing_and_exits_with_1(run: Run, usage: tuple[str, ...], message: str) -> None:
    result = run("cost", *usage, *AT)
    assert (result.exit_code, fields(result)["cost"]) == (1, "unknown")
    assert message in result.stderr


def test_a_free_model_costs_nothing(run: Run) -> None:
    result = run("cost", "-m", "gift", "--input", "1000", *AT)
    assert (result.exit_code, fields(result)["cost"]) == (0, "0")


def test_a_model_that_only_the_price_list_knows_can_be_asked_for(run: Run) -> None:
    spec = Environment(Settings.from_env()).priced.priced[0]
    result = run("cost", "-m", spec.id, "-p", spec.provider, "--input", "1")
    assert fields(result)["model"] == f"{spec.provider}/{spec.id}"


@pytest.mark.parametrize(("tier", "code"), [("standard", 0), ("flex", 1)])
def test_json_is_what_the_http_route_answers(run: Run, answered: Callable[..., bytes], tier: str, code: int) -> None:
    usage = {"input_tokens": 3000, "output_tokens": 7, "cache_write_tokens": 9, "web_searches": "2"}
    body = {"model": "acme/large", "usage": usage, "region": "us", "at": AT[1], "service_tier": tier}
    options = ("--input", "3000", "--output", "7", "--cache-write", "9", "--unit", "web_searches=2", "--tier", tier)
    result = run("cost", "-m", "acme/large", *options, "--region", "us", *AT, "--json")
    expected = answered(lambda services: cost_work(services, json.dumps(body).encode(), None))
    assert (result.exit_code, result.stdout.encode()) == (code, expected + b"\n")


@pytest.mark.parametrize(
    ("arguments", "text", "message"),
    [
        (["-m", "large"], "", "Say what was used"),
        (["--input", "1"], "", "--model"),
        (["-m", "no-such-model", "--input", "1"], "", "Unknown model"),
        (["-m", "large", "--input", "1", "--cache-read", "2"], "", "contradicts itself"),
        (["-m", "large", "--output", "1", "--reasoning", "2"], "", "contradicts itself"),
        (["-m", "large", "--input", "-1"], "", "--input"),
        (["-m", "large", "--unit", "web_searches"], "", "such as web_searches=3"),
        (["-m", "large", "--unit", "wishes=3"], "", "No unit has that name. Known: input_tokens"),
        (["-m", "large", "--unit", "web_searches=-3"], "", "at least 0"),
        (["-m", "large", "--unit", "web_searches=1", "--unit", "web-searches=2"], "", "web_searches is given twice"),
        (["-m", "large", "--input", "1", "--unit", "input_tokens=1"], "", "input_tokens is given twice"),
        (["-m", "large", "--unit", "input_tokens=1.5"], "", "whole numbers"),
        (["-m", "large", "--unit", "input_tokens=1000000000001"], "", "whole numbers, at most 1000000000000"),
        (["-m", "large", "--usage", "-", "--input", "1"], "{}", "not both"),
        (["-m", "large", "--usage", "absent"], "", "absent: No such file"),
        (["-m", "large", "--usage", "-"], "[", "standard input: "),
        (["-m", "large", "--usage", "-"], '{"input": 1}', "Unknown field. Allowed here: input_tokens"),
        (["-m", "large", "--usage", "-"], '{"input_tokens": 1.5}', "(usage.input_tokens)"),
        (["-m", "large", "--usage", "-"], '{"web_searches": "-1"}', "(usage.web_searches)"),
    ],
)
def test_what_cannot_be_priced_is_refused_without_a_number(
    run: Run, arguments: list[str], text: str, message: str
) -> None:
    result = run("cost", *arguments, text=text)
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr


RESPONSE = {
    "id": "c",
    "object": "chat.completion",
    "model": "acme/large",
    "service_tier": "default",
    "usage": {
        "prompt_tokens": 1000,
        "completion_tokens": 100,
        "total_tokens": 1100,
        "prompt_tokens_details": {"cached_tokens": 400},
    },
}
CHUNK = {"id": "c", "object": "chat.completion.chunk", "model": "acme/large", "choices": [{"finish_reason": "stop"}]}
LAST = {"id": "c", "object": "chat.completion.chunk", "choices": [], "usage": RESPONSE["usage"]}
SENT = f": a comment\nevent: chunk\ndata: {json.dumps(CHUNK)}\n\ndata: {json.dumps(LAST)}\n\ndata: [DONE]\n\n"


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(RESPONSE),
        json.dumps(RESPONSE, indent=2),
        json.dumps([CHUNK, LAST]),
        f"{json.dumps(CHUNK)}\n{json.dumps(LAST)}\n",
        SENT,
    ],
    ids=["whole", "indented", "list", "lines", "server-sent events"],
)
def test_a_vendors_response_is_priced_however_it_was_kept(run: Run, tmp_path: Path, text: str) -> None:
    (tmp_path / "response").write_text(text)
    results = [
        run("cost", "--response", "-", *AT, text=text),
        run("cost", "--response", str(tmp_path / "response"), *AT),
    ]
    assert [fields(result)["cost"] for result in results] == ["0.0026"] * 2
    assert fields(results[0])["model"] == "acme/large"


def test_the_tier_that_served_goes_before_the_option_which_is_said(run: Run) -> None:
    result = run(
        "cost", "--response", "-", "--tier", "batch", *AT, text=json.dumps(RESPONSE | {"service_tier": "flex"})
    )
    assert (result.exit_code, fields(result)["cost"]) == (1, "unknown")
    assert "served in another tier" in result.stderr


def test_a_vendors_usage_is_read_as_it_stands(run: Run) -> None:
    usage = json.dumps({"input_tokens": 600, "cache_read_input_tokens": 400, "output_tokens": 100})
    assert fields(run("cost", "-m", "large", "--usage", "-", *AT, text=usage))["cost"] == "0.0026"


def test_json_of_a_response_is_what_the_http_route_answers(run: Run, answered: Callable[..., bytes]) -> None:
    body = {"response": RESPONSE, "at": AT[1]}
    result = run("cost", "--response", "-", *AT, "--json", text=json.dumps(RESPONSE))
    assert (
        result.stdout.encode()
        == answered(lambda services: cost_work(services, json.dumps(body).encode(), None)) + b"\n"
    )


@pytest.mark.parametrize(
    ("arguments", "text", "message"),
    [
        (["--response", "-"], "nothing of the kind", "standard input: neither JSON nor a stream"),
        (["--response", "-"], '{"a": ', "line 1, column"),
        (["--response", "-"], "", "(response): There is no usage"),
        (["--response", "-"], "[" * 100_000, "nested too deeply"),
        (["--response", "-"], '"text"', "Give the events of a stream as objects"),
        (["--response", "-", "--input", "3"], "{}", "not both"),
        (["--response", "-", "-m", "large"], '{"usage": {"prompt_tokens": 3}}', "(response.usage.completion_tokens)"),
        (["--usage", "-"], "{}", "--model NAME"),
        (["-m", "large", "--usage", "-", "--dialect", "klingon"], "{}", "--dialect"),
    ],
)
def test_a_response_that_cannot_be_read_says_what_is_wrong(
    run: Run, arguments: list[str], text: str, message: str
) -> None:
    result = run("cost", *arguments, text=text)
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr
