"""``weighbridge prices``: its rows, its imports and comparisons, and where the list comes from. Prices are made up."""

import hashlib
import json
import tomllib
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from click.testing import Result
from genai_prices.data import providers as bundled

from service.api.pricing.work import price_list
from service.domain.ports import Snapshot
from service.pricebook.canaries import Canary
from service.pricebook.snapshots import FILE_NAME, FileSnapshots
from tests.service.pricebook.price_server import raw_of

Run = Callable[..., Result]

LONG_INPUT = "input 2.5 (above 2000: 5), cache_read 0.25, cache_write 3, cache_write_1h 5, output 10 (above 2000: 15)"
LARGE = [
    line.split("|")
    for line in (
        "acme|large|batch|-|-|Mon-Fri 01:00-04:00|input 1.25, output 5|price page|2026-11-20",
        "acme|large|standard|2027-01-01|-|-|input 7, output 70|price page|2026-11-20",
        f"acme|large|standard|-|2027-01-01|-|{LONG_INPUT}, web_searches 10 per thousand|price page|2026-11-20",
    )
]


def rows(result: Result) -> list[list[str]]:
    return [line.split("\t") for line in result.stdout.splitlines()]


@pytest.mark.parametrize(
    "arguments",
    [
        ["large", "-p", "acme"],
        ["list", "large", "-p", "acme"],
        ["-p", "ACME", " Large "],
        ["acme/large"],
        ["large-latest"],
    ],
)
def test_a_models_rows_have_dates_tiers_hours_source_and_day(run: Run, arguments: list[str]) -> None:
    result = run("prices", *arguments)
    assert (result.exit_code, result.stderr) == (0, "")
    assert sorted(rows(result)) == sorted(LARGE)


def test_a_providers_rows_are_those_of_all_its_models(run: Run) -> None:
    found = rows(run("prices", "-p", "acme"))
    assert {row[1] for row in found} == {"large", "small", "endless", "gift"}
    assert [row[6] for row in found if row[1] == "gift"] == ["free"]
    assert [row[6] for row in found if row[1] == "small"] == ["input 0.000001, output 0.5"]


def test_without_a_model_every_row_is_listed(run: Run) -> None:
    found = rows(run("prices"))
    assert {row[0] for row in found} > {"acme", "openai", "anthropic"}
    assert {len(row) for row in found} == {9}


@pytest.mark.parametrize(("arguments", "query"), [(["large"], ("", "large")), (["-p", "acme"], ("acme", ""))])
def test_json_is_what_the_http_route_answers(
    run: Run, answered: Callable[..., bytes], arguments: list[str], query: tuple[str, str]
) -> None:
    expected = answered(lambda services: price_list(services, *query))
    assert run("prices", *arguments, "--json").stdout.encode() == expected + b"\n"


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["-p", "nobody"], 1, "No price is listed"),
        (["secret", "-p", "acme"], 1, "No price is listed"),
        (["no-such-model"], 2, "Unknown model"),
        (["large", "extra"], 2, "unexpected extra argument"),
        (["--colour"], 2, "--colour"),
        (["diff"], 2, "FILE"),
        (["diff", "absent"], 2, "absent: No such file"),
        (["import-litellm", "absent"], 2, "absent: No such file"),
    ],
)
def test_what_is_not_there_is_refused_without_a_row(run: Run, arguments: list[str], code: int, message: str) -> None:
    result = run("prices", *arguments)
    assert (result.exit_code, result.stdout) == (code, "")
    assert message in result.stderr


def test_a_price_that_the_file_gets_wrong_is_refused_with_its_line(run: Run, priced: Path) -> None:
    path = priced / "weighbridge.toml"
    path.write_text(path.read_text().replace('input_mtok = "7"', 'input_mtok = "-7"'))
    result = run("prices", "large")
    line = path.read_text()[: path.read_text().index('"-7"')].count("\n") + 1
    assert (result.exit_code, result.stdout) == (2, "")
    assert f"weighbridge.toml:{line}:" in result.stderr


@pytest.mark.parametrize("name", ["list", "import-litellm", "diff", "status"])
def test_each_command_has_its_exit_codes_in_its_help(run: Run, name: str) -> None:
    assert "Exit codes: 0" in run("prices", name, "--help").stdout
    assert f"\n  {name} " in run("prices", "--help").stdout


OTHERS = {
    "sample_spec": {"input_cost_per_token": 0},
    "acme-plus": {
        "litellm_provider": "openai",
        "mode": "chat",
        "input_cost_per_token": 3e-06,
        "output_cost_per_token": 1.5e-05,
        "input_cost_per_token_above_200k_tokens": 6e-06,
        "input_cost_per_token_batches": 1.5e-06,
        "source": "a price page",
    },
    "anthropic/acme-minus": {"litellm_provider": "anthropic", "input_cost_per_token": 1e-07},
    "nobody/model": {"litellm_provider": "nobody", "input_cost_per_token": 1e-06},
}


@pytest.fixture
def litellm(tmp_path: Path) -> Path:
    path = tmp_path / "litellm.json"
    path.write_text(json.dumps(OTHERS))
    return path


def test_imported_rows_are_toml_that_the_configuration_file_takes(run: Run, litellm: Path, priced: Path) -> None:
    result = run("prices", "import-litellm", str(litellm), "--checked", "2026-11-25")
    assert result.exit_code == 0
    assert [row["model"] for row in tomllib.loads(result.stdout)["price"]] == ["acme-plus", "acme-plus", "acme-minus"]
    assert "nobody/model" in result.stderr
    path = priced / "weighbridge.toml"
    path.write_text(path.read_text() + "\n" + result.stdout)
    assert sorted(rows(run("prices", "acme-plus"))) == [
        ["openai", "acme-plus", "batch", "-", "-", "-", "input 1.5", "a price page", "2026-11-25"],
        [
            *("openai", "acme-plus", "standard", "-", "-", "-"),
            *("input 3 (above 200000: 6), output 15", "a price page", "2026-11-25"),
        ],
    ]


def test_an_import_may_be_of_one_provider_with_a_source_of_its_own(run: Run, litellm: Path) -> None:
    result = run("prices", "import-litellm", "-", "-p", "anthropic", "--source", "reviewed", text=litellm.read_text())
    [row] = tomllib.loads(result.stdout)["price"]
    assert (row["provider"], row["model"], row["source"], "checked" in row) == (
        "anthropic",
        "acme-minus",
        "reviewed",
        False,
    )


def test_an_import_may_leave_out_what_the_price_book_has(run: Run, litellm: Path, priced: Path) -> None:
    path = priced / "weighbridge.toml"
    path.write_text(path.read_text() + '[[price]]\nprovider = "openai"\nmodel = "acme-plus"\ninput_mtok = "1"\n')
    result = run("prices", "import-litellm", "--lacking", str(litellm))
    found = [(row["model"], row.get("service_tier")) for row in tomllib.loads(result.stdout)["price"]]
    assert found == [("acme-plus", "batch"), ("acme-minus", None)]


def test_entries_that_are_left_out_are_counted_or_named(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "many.json"
    entry = {"litellm_provider": "nobody", "input_cost_per_token": 1e-06}
    path.write_text(json.dumps({f"model-{number}": entry for number in range(5)}))
    brief = run("prices", "import-litellm", str(path)).stderr
    assert "unknown provider: 5 entries (model-0, model-1, model-2, ...)" in brief
    assert "model-4: unknown provider" in run("prices", "import-litellm", "-v", str(path)).stderr


@pytest.fixture
def canaries(monkeypatch: pytest.MonkeyPatch) -> None:
    models = [Canary("acme", "large", "acme/large"), Canary("acme", "endless", "acme/endless")]
    monkeypatch.setattr("service.cli.prices.read_canaries", lambda: models)


def test_lists_that_agree_have_no_difference(run: Run, canaries: None) -> None:
    other = {
        "acme/large": {
            "input_cost_per_token": 7e-06,
            "output_cost_per_token": 7e-05,
        },
        "acme/endless": {"input_cost_per_token": 1e-06, "output_cost_per_token": 2e-06},
    }
    result = run("prices", "diff", "-", "--at", "2027-01-01", text=json.dumps(other))
    assert (result.exit_code, result.output) == (0, "")


def test_each_disagreement_is_a_line_and_the_exit_code_says_so(run: Run, canaries: None) -> None:
    other = json.dumps({"acme/large": {"input_cost_per_token": 6e-06, "output_cost_per_token": 7e-05}})
    result = run("prices", "diff", "-", "--at", "2027-01-01", text=other)
    assert result.exit_code == 1
    assert rows(result) == [["acme", "large", "input_mtok", "7", "6"], ["acme", "endless", "price", "1", "-"]]
    assert "2 of 2 models" in result.stderr
    answer = json.loads(run("prices", "diff", "-", "--at", "2027-01-01", "--json", text=other).stdout)
    assert [(item["what"], item["ours"], item["theirs"]) for item in answer] == [
        ("input_mtok", "7", "6"),
        ("price", "1", None),
    ]


def test_the_models_of_the_package_are_compared(run: Run) -> None:
    result = run("prices", "diff", "-", text="{}")
    assert result.exit_code == 1
    assert len(rows(result)) >= 30


@pytest.mark.parametrize("command", ["diff", "import-litellm"])
@pytest.mark.parametrize("text", ["", "[1]", '{"a": 1}', "{" * 100_000, "NaN", '{"a": NaN}'])
def test_another_kind_of_file_is_refused(run: Run, command: str, text: str) -> None:
    result = run("prices", command, "-", text=text)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "standard input: this is not LiteLLM's" in result.stderr


def status(result: Result) -> dict[str, str]:
    return dict(row for row in rows(result))  # type: ignore[arg-type,misc]  # two fields in each


def test_status_says_where_the_prices_come_from(run: Run) -> None:
    result = run("prices", "status")
    assert result.exit_code == 0
    found = status(result)
    assert found["source"].startswith("genai-prices ")
    assert (found["own rows"], found["refresh"], found["last refresh"]) == ("6", "off", "-")
    assert int(found["models"]) > 1000
    as_json = json.loads(run("prices", "status", "--json").stdout)
    assert (as_json["refresh"], as_json["last_refresh"], as_json["own_rows"]) == ("off", None, 6)
    assert as_json["age_days"] == (datetime.now(UTC) - datetime.fromisoformat(f"{as_json['checked']}T00:00Z")).days


def test_status_names_the_copy_that_a_refresh_kept(run: Run, priced: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEIGHBRIDGE_PRICES_URL", "https://prices.test/secret-path")
    assert status(run("prices", "status"))["refresh"] == "no_copy"
    body = json.dumps(raw_of(bundled)).encode()
    now = datetime.now(UTC).replace(microsecond=0) - timedelta(days=2)
    sha256 = hashlib.sha256(body).hexdigest()
    FileSnapshots(priced).save(Snapshot(body, sha256, None, "https://prices.test/secret-path", now, now))
    result = run("prices", "status")
    found = status(result)
    assert (result.exit_code, found["refresh"], found["revision"], found["age days"]) == (0, "restored", sha256, "2")
    assert found["last refresh"] == now.isoformat().replace("+00:00", "Z")
    assert "secret-path" not in result.output
    monkeypatch.delenv("WEIGHBRIDGE_PRICES_URL")
    assert status(run("prices", "status"))["refresh"] == "off"


def test_a_copy_that_is_not_used_is_said(run: Run, priced: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEIGHBRIDGE_PRICES_URL", "https://prices.test/")
    (priced / FILE_NAME).write_bytes(b"{}\nnot a list")
    result = run("prices", "status")
    assert (result.exit_code, status(result)["refresh"], status(result)["last refresh"]) == (1, "damaged", "-")
    assert status(result)["source"].startswith("genai-prices ")
    assert "not used (damaged)" in result.stderr
