"""The official clients count over a real socket, and raise their own errors."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.service.api.dialects.reading import png
from tests.service.conftest import ServerProcess

pytestmark = pytest.mark.xdist_group("sdks")
HERE = Path(__file__).parent
INSTALLED = HERE.parents[1] / ".sdks"

SCHEMA = {"type": "object", "properties": {"place": {"type": "string"}}, "required": ["place"]}
TOOL = {"name": "weather", "description": "The weather of a place"}
HELLO = [{"role": "user", "content": "What is a weighbridge?"}]
PICTURE = png(640, 480)
SHOWN = {"type": "input_image", "image_url": f"data:image/png;base64,{PICTURE}", "detail": "auto"}
SOURCE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PICTURE}}
ASKED = [{"role": "user", "parts": [{"text": "What is a weighbridge?"}]}]
INLINE = {"inlineData": {"mimeType": "image/png", "data": PICTURE}}
GPT, CLAUDE, GEMINI = "gpt-4o", "claude-sonnet-4-5", "gemini-2.5-flash"
DECLARED = [{"functionDeclarations": [TOOL]}]

CASES: dict[str, dict[str, Any]] = {
    "openai": {
        "text": {"model": GPT, "input": "What is a weighbridge?", "instructions": "Be brief."},
        "chat": {"model": GPT, "input": [*HELLO, {"role": "assistant", "content": "A scale."}, *HELLO]},
        "tools": {
            "model": GPT,
            "input": HELLO,
            "tools": [{"type": "function", **TOOL, "parameters": SCHEMA, "strict": True}],
            "tool_choice": "required",
        },
        "image": {"model": GPT, "input": [{"role": "user", "content": [{"type": "input_text", "text": "?"}, SHOWN]}]},
        "unknown": {"model": "zebra-7", "input": "Hello"},
        "wrong": {"model": GPT, "input": [{"role": "zebra", "content": "Hello"}]},
    },
    "anthropic": {
        "text": {"model": CLAUDE, "messages": HELLO},
        "chat": {
            "model": CLAUDE,
            "system": "Be brief.",
            "messages": [*HELLO, {"role": "assistant", "content": "A scale."}, *HELLO],
        },
        "tools": {
            "model": CLAUDE,
            "messages": HELLO,
            "tools": [{**TOOL, "input_schema": SCHEMA}],
            "tool_choice": {"type": "any"},
        },
        "image": {"model": CLAUDE, "messages": [{"role": "user", "content": [SOURCE, {"type": "text", "text": "?"}]}]},
        "unknown": {"model": "zebra-7", "messages": HELLO},
        "wrong": {"model": CLAUDE, "messages": [{"role": "zebra", "content": "Hello"}]},
    },
    "anthropic_vertex": {
        "text": {"model": "claude-sonnet-4-5@20250929", "messages": HELLO},
        "unknown": {"model": "zebra-7", "messages": HELLO},
    },
    "gemini": {
        "text": {"model": GEMINI, "contents": "What is a weighbridge?"},
        "chat": {"model": f"models/{GEMINI}", "contents": ASKED},
        "image": {"model": GEMINI, "contents": [{"role": "user", "parts": [{"text": "?"}, INLINE]}]},
        "unknown": {"model": "zebra-7", "contents": "Hello"},
        "wrong": {"model": GEMINI, "contents": [{"role": "zebra", "parts": [{"text": "Hello"}]}]},
    },
    "vertex": {
        "text": {"model": GEMINI, "contents": "What is a weighbridge?"},
        "tools": {
            "model": GEMINI,
            "contents": ASKED,
            "systemInstruction": {"parts": [{"text": "Be brief."}]},
            "tools": DECLARED,
        },
        "image": {"model": GEMINI, "contents": [{"role": "user", "parts": [{"text": "?"}, INLINE]}]},
        "unknown": {"model": "zebra-7", "contents": "Hello"},
    },
}
DIALECTS = {
    "openai": "openai_responses",
    "anthropic": "anthropic",
    "anthropic_vertex": "anthropic",
    "gemini": "gemini",
    "vertex": "gemini",
}
FAILING = ("unknown", "wrong")
MAJORS = {
    "current": {"openai": "3", "anthropic": "2", "google": "3"},
    "previous": {"openai": "2", "anthropic": "0", "google": "1"},
    "node": {"openai": "6", "anthropic": "1", "google": "2"},
}
WORDS = {
    "openai": {"unknown": "model_not_found", "wrong": "invalid_request"},
    "anthropic": {"unknown": "not_found_error", "wrong": "invalid_request_error"},
    "anthropic_vertex": {"unknown": "not_found_error"},
    "gemini": {"unknown": "NOT_FOUND", "wrong": "INVALID_ARGUMENT"},
    "vertex": {"unknown": "NOT_FOUND"},
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    process = ServerProcess(tmp_path_factory.mktemp("sdks"), {})
    process.wait_until_ready()
    yield process
    assert process.stop() == 0


def run(name: str, server: ServerProcess) -> dict[str, Any]:
    folder = INSTALLED / name
    if not (folder / ".done").exists():
        pytest.skip(f"the clients of the set {name} are not installed: `make sdks`")
    if name == "node":
        shutil.copy(HERE / "node" / "calls.mjs", folder)
        command = ["node", str(folder / "calls.mjs"), server.url]
    else:
        command = [str(folder / "bin" / "python"), str(HERE / "calls.py"), server.url]
    env = {key: value for key, value in os.environ.items() if "proxy" not in key.lower()}
    done = subprocess.run(
        command, check=False, input=json.dumps(CASES), capture_output=True, text=True, env=env, timeout=240
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def wanted(server: ServerProcess) -> dict[str, int]:
    """The counts of /v1/count for the same requests."""
    counts = {}
    for vendor, cases in CASES.items():
        for name, case in cases.items():
            if name in FAILING:
                continue
            seller = "vertex_ai/" if vendor.endswith("vertex") else ""
            model = seller + case["model"].removeprefix("models/")
            request = {field: value for field, value in case.items() if field != "model"}
            body = {"model": model, "request": request, "dialect": DIALECTS[vendor]}
            answer = httpx.post(f"{server.url}/v1/count", json=body)
            counts[f"{vendor}.{name}"] = answer.json()["tokens"]
    return counts


@pytest.mark.parametrize("name", MAJORS)
def test_every_client_counts_as_the_service_does_and_raises_its_own_errors(
    server: ServerProcess, wanted: dict[str, int], name: str
) -> None:
    told = run(name, server)
    assert {sdk: version.split(".")[0] for sdk, version in told["versions"].items()} == MAJORS[name]
    assert set(told["answers"]) == ({"async"} if name == "node" else {"sync", "async"})
    for way, answers in told["answers"].items():
        asked = [vendor for vendor in (*CASES, "anthropic_beta") if name != "node" or vendor != "anthropic_vertex"]
        assert {call.split(".")[0] for call in answers} == set(asked), way
        assert len(answers) == sum(len(CASES[vendor.replace("_beta", "")]) for vendor in asked), way
        for call, answer in answers.items():
            vendor, case = call.replace("_beta", "").split(".")
            if case in FAILING:
                check_error(name, vendor, case, answer)
            else:
                assert answer == {"tokens": wanted[f"{vendor}.{case}"]}, (way, call)


def check_error(name: str, vendor: str, case: str, answer: dict[str, Any]) -> None:
    own = {"unknown": "NotFoundError", "wrong": "BadRequestError"}[case]
    google = "ApiError" if name == "node" else "ClientError"
    status = {"unknown": 404, "wrong": 400}[case]
    expected = {"error": own, "status": status, "word": WORDS[vendor][case], "identified": True}
    if vendor in ("gemini", "vertex"):
        expected = {"error": google, "status": status, "word": WORDS[vendor][case]}
    assert answer == expected, (name, vendor, case)


def test_no_key_of_a_client_reaches_the_log(server: ServerProcess) -> None:
    headers = {"authorization": "Bearer sk-zebra7secret", "x-api-key": "sk-zebra7secret"}
    path = f"/v1beta/models/{GEMINI}:countTokens?key=sk-zebra7secret"
    answer = httpx.post(server.url + path, json={"contents": "Hello"}, headers=headers)
    assert answer.status_code == 200
    httpx.post(f"{server.url}/v1/messages/count_tokens?beta=true&key=sk-zebra7secret", json={}, headers=headers)
    metrics = httpx.get(f"{server.url}/metrics").text
    assert "zebra7" not in metrics + server.log.read_text()
