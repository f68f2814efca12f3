"""The services that are compared over HTTP: ours, the one anyone would write first, and LiteLLM's proxy."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]
LITELLM = ROOT / ".venv" / "litellm" / "bin" / "litellm"
_LITELLM_KEY = "sk-benchmark"
_START_SECONDS = 600  # LiteLLM imports for long on a busy machine


@dataclass(frozen=True, slots=True)
class Service:
    """How a service is started, and what is asked of it."""

    name: str
    command: Callable[[int, Path], Sequence[str | Path]]
    path: str
    body: Callable[[str], dict[str, str]]
    headers: Mapping[str, str] = field(default_factory=dict)

    def all_headers(self) -> dict[str, str]:
        """With the type of the body."""
        return {"content-type": "application/json", **self.headers}


@dataclass(frozen=True, slots=True)
class Running:
    """A started service."""

    service: Service
    port: int
    process_id: int

    @property
    def url(self) -> str:
        """Where texts are counted."""
        return f"http://127.0.0.1:{self.port}{self.service.path}"

    def cpu_seconds(self) -> float:
        """Time that all processes of the service have had of the processor, ended threads and children included."""
        return cpu_seconds(session=self.process_id)


def cpu_seconds(*, session: int = -1, parent: int = -1) -> float:
    """Time that the processes of a session, or the children of a process, have had of the processor."""
    ticks = 0
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:  # it has ended meanwhile
            continue
        if session == int(fields[3]) or parent == int(fields[1]):
            ticks += sum(map(int, fields[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


def _litellm(port: int, folder: Path) -> list[str | Path]:
    model = {"model_name": "gpt-4o", "litellm_params": {"model": "openai/gpt-4o", "api_key": "none"}}
    config = folder / "litellm.yaml"  # JSON is YAML too
    config.write_text(json.dumps({"model_list": [model], "general_settings": {"master_key": _LITELLM_KEY}}))
    return [LITELLM, "--config", config, "--host", "127.0.0.1", "--port", str(port)]


SERVICES = (
    Service(
        "weighbridge",
        lambda port, _: [sys.executable, "-m", "service", "serve", "--port", str(port)],
        "/v1/count",
        lambda text: {"model": "gpt-4o", "text": text},
    ),
    Service(
        "minimal FastAPI + tiktoken",
        lambda port, _: [sys.executable, "-m", "tests.benchmarks.minimal", str(port)],
        "/v1/count",
        lambda text: {"model": "gpt-4o", "text": text},
    ),
    Service(
        "LiteLLM proxy",
        _litellm,
        "/utils/token_counter",
        lambda text: {"model": "gpt-4o", "prompt": text},
        {"authorization": f"Bearer {_LITELLM_KEY}"},
    ),
)


def installed() -> list[Service]:
    """The services that can be started here."""
    return [service for service in SERVICES if service.name != "LiteLLM proxy" or LITELLM.exists()]


@contextmanager
def running(service: Service, bound: Sequence[str] = ()) -> Iterator[Running]:
    """``service``, started and answering; ``bound`` stands before its command."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with tempfile.TemporaryDirectory() as name:
        offline = {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "LITELLM_TELEMETRY": "False", "NO_DOCS": "True"}
        env = os.environ | {"PYTHONPATH": str(ROOT), "WEIGHBRIDGE_DATA_DIR": name} | offline
        command = [*bound, *service.command(port, Path(name))]
        quiet = subprocess.DEVNULL
        process = subprocess.Popen(command, cwd=ROOT, env=env, stdout=quiet, stderr=quiet, start_new_session=True)
        try:
            found = Running(service, port, process.pid)
            _wait(found, process)
            yield found
        finally:
            process.terminate()
            process.wait(30)


def _wait(started: Running, process: subprocess.Popen[bytes]) -> None:
    body = json.dumps(started.service.body("Hello, World!")).encode()
    end = time.monotonic() + _START_SECONDS
    while time.monotonic() < end:
        if process.poll() is not None:
            raise RuntimeError(f"{started.service.name} ended with {process.returncode}")
        request = urllib.request.Request(started.url, body, started.service.all_headers())
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:
                if answer.status == 200:
                    return
        except OSError:
            time.sleep(0.1)
    raise TimeoutError(f"{started.service.name} does not answer")
