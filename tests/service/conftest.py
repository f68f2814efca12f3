"""Finished services with the real vocabularies, once per worker; asked in process, or in one of their own."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest

from service.api.services import Services
from service.app import build_app, build_services
from service.settings import Settings


class Api:
    """Asks an ASGI application in this process."""

    def __init__(self, app: Any) -> None:
        self.app = app

    def request(self, method: str, path: str, **options: Any) -> httpx.Response:
        async def ask() -> httpx.Response:
            transport = httpx.ASGITransport(app=self.app, raise_app_exceptions=True)
            async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
                return await client.request(method, path, **options)

        return asyncio.run(ask())

    def get(self, path: str, **options: Any) -> httpx.Response:
        return self.request("GET", path, **options)

    def post(self, path: str, body: Any, **options: Any) -> httpx.Response:
        """POST ``body``: bytes as they are, anything else as JSON."""
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        headers = {"content-type": "application/json"} | options.pop("headers", {})
        return self.request("POST", path, content=content, headers=headers, **options)

    def count(self, **body: Any) -> dict[str, Any]:
        answer = self.post("/v1/count", body)
        assert answer.status_code == 200, answer.text
        return answer.json()


@pytest.fixture(scope="session")
def services(tmp_path_factory: pytest.TempPathFactory) -> Services:
    return build_services(Settings(data_dir=tmp_path_factory.mktemp("data"), log="off"))


@pytest.fixture(scope="session")
def api(services: Services) -> Api:
    return Api(build_app(services))


class ServerProcess:
    """The service as an operator runs it: ``weighbridge serve`` in a process of its own."""

    def __init__(self, data_dir: Path, env: dict[str, str], arguments: Sequence[str] = ()) -> None:
        self.port = _free_port()
        self.log = data_dir / "log"
        command = [sys.executable, "-m", "service", "serve", "--port", str(self.port), *arguments]
        variables = {k: v for k, v in os.environ.items() if not k.startswith("WEIGHBRIDGE_")}
        variables |= {"WEIGHBRIDGE_DATA_DIR": str(data_dir), "PYTHONPATH": str(Path(__file__).parents[2])} | env
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, env=variables)
        self.url = f"http://127.0.0.1:{self.port}"

    def wait_until_ready(self) -> None:
        for _ in range(600):
            if self.process.poll() is not None:
                raise RuntimeError(self.log.read_text())
            try:
                if httpx.get(f"{self.url}/readyz").status_code == 200:
                    return
            except httpx.TransportError:
                time.sleep(0.05)
        raise TimeoutError(self.log.read_text())

    def stop(self) -> int:
        self.process.terminate()
        return self.process.wait(60)


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., ServerProcess]]:
    """Start servers with settings of their own; they are stopped afterwards."""
    started: list[ServerProcess] = []

    def start(*, ready: bool = True, arguments: Sequence[str] = (), **settings: str) -> ServerProcess:
        env = {f"WEIGHBRIDGE_{name.upper()}": value for name, value in settings.items()}
        server = ServerProcess(tmp_path, env, arguments)
        started.append(server)
        if ready:
            server.wait_until_ready()
        return server

    yield start
    for server in started:
        if server.process.poll() is None:
            server.process.kill()
            server.process.wait(30)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
