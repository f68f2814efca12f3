"""``weighbridge count`` and ``estimate`` with ``--request``: a vendor's body, counted as the service counts it."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from service.api.weighing.schemas import Dialect
from service.cli import cli
from service.cli.requesting import DIALECTS
from tests.service.api.dialects.reading import png

BODY = {
    "model": "gpt-4o",
    "max_tokens": 50,
    "messages": [
        {"role": "system", "content": "Turn jargon into plain words."},
        {"role": "user", "content": "Hello, how are you?"},
    ],
}


@pytest.fixture(autouse=True)
def _data_dir(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEIGHBRIDGE_DATA_DIR", str(tmp_path_factory.mktemp("data")))


def invoke(*arguments: str, body: Any = BODY) -> Result:
    text = body if isinstance(body, str) else json.dumps(body)
    return CliRunner().invoke(cli, list(arguments), input=text)


def test_a_request_is_counted_with_all_that_frames_it() -> None:
    assert invoke("count", "--request", "-").stdout == "23\n"
    assert invoke("count", "--request", "-", "-m", "gpt-5").stdout == "22\n"


def test_templates_and_pictures_count_as_in_the_service() -> None:
    picture = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{png(1024, 1024)}"}}
    body = {"model": "gpt-4o", "messages": [{"role": "user", "content": [picture]}]}
    assert invoke("count", "--request", "-", body=body).stdout == f"{765 + 7}\n"
    qwen = {"model": "qwen3-8b", "messages": BODY["messages"][1:]}
    assert invoke("count", "--request", "-", "--dialect", "vllm", body=qwen).stdout == "14\n"


def test_json_tells_the_parts_apart(tmp_path: Path) -> None:
    file = tmp_path / "call.json"
    file.write_text(json.dumps(BODY))
    answer = json.loads(invoke("count", "--request", str(file), "--json").stdout)
    assert answer["tokens"] == sum(answer["breakdown"].values()) == 23
    assert answer["accuracy"] == "exact"


def test_an_estimate_takes_model_and_output_limit_from_the_body() -> None:
    answer = json.loads(invoke("estimate", "--request", "-", "--json", "--at", "2026-11-29T12:00:00Z").stdout)
    assert (answer["input_tokens"], answer["max_output_tokens"]) == (23, 50)
    assert answer["cost"]["expected"] == "0.0005575"  # 23 at 2.5 dollars and 50 at 10 for a million


@pytest.mark.parametrize(
    ("arguments", "body", "told"),
    [
        (("count", "--request", "-"), {"messages": []}, "The request holds no message"),
        (
            ("count", "--request", "-"),
            {"messages": [{"role": "user", "content": 5}], "model": "gpt-4o"},
            "messages[0].content",
        ),
        (("count", "--request", "-"), {"messages": [{"role": "user", "content": "x"}]}, "Give a model (-m"),
        (("count", "--request", "-"), "{", "line 1"),
        (("count", "--request", "-"), "[]", "Expected `object`"),
        (("count", "--request", "-", "a.txt"), BODY, "not both"),
        (("count", "--request", "-", "-t", "o200k_base"), BODY, "not a tokenizer"),
        (("count", "--request", "nowhere.json"), "", "No such file"),
        (("estimate",), "x", "Give a model (-m"),
        (("count", "--request", "-", "-m", "text-embedding-3-small"), BODY, "takes text"),
    ],
)
def test_what_cannot_be_counted_ends_with_2_and_says_why(arguments: tuple[str, ...], body: Any, told: str) -> None:
    result = invoke(*arguments, body=body)
    assert (result.exit_code, result.stdout) == (2, "")
    assert told in result.stderr


def test_the_dialects_offered_are_those_of_the_service() -> None:
    assert Dialect.__args__ == DIALECTS
