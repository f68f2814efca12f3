"""Requests a second of ``POST /v1/count`` beside a minimal FastAPI and tiktoken service, one client, kept alive."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path

from tests.benchmarks.corpora import corpora

ROUNDS = 3
SECONDS = 2.0
SIZES = (1_000, 10_000, 100_000, 1_000_000)
ROOT = Path(__file__).parents[2]


def run() -> None:
    """Print requests a second at four sizes, best of three, interleaved, and the ratio of the two services."""
    text = corpora()["english"]
    with _server("service", "serve", "--port") as ours, _server("tests.benchmarks.minimal") as minimal:
        print("\nPOST /v1/count, English, o200k_base: requests a second")
        for size in SIZES:
            bodies = _bodies(text, size)
            best = {ours: 0.0, minimal: 0.0}
            for _ in range(ROUNDS):
                best = {port: max(rate, _rate(port, bodies)) for port, rate in best.items()}
            rates = f"weighbridge {best[ours]:8.0f}, minimal FastAPI + tiktoken {best[minimal]:8.0f}"
            print(f"  {size:9,} characters: {rates}, ratio {best[ours] / best[minimal]:.2f}")


def _bodies(text: str, size: int) -> list[bytes]:
    step = max(1, (len(text) - size) // 200)
    parts = [text[start : start + size] for start in range(0, max(1, len(text) - size), step)]
    return [json.dumps({"model": "gpt-4o", "text": part}).encode() for part in parts[:200]]


def _rate(port: int, bodies: list[bytes]) -> float:
    connection = HTTPConnection("127.0.0.1", port)
    headers = {"content-type": "application/json"}
    sent, start = 0, time.perf_counter()
    while (passed := time.perf_counter() - start) < SECONDS:
        connection.request("POST", "/v1/count", bodies[sent % len(bodies)], headers)
        answer = connection.getresponse()
        if answer.status != 200:
            raise RuntimeError(f"status {answer.status}")
        answer.read()
        sent += 1
    connection.close()
    return sent / passed


@contextmanager
def _server(*command: str) -> Iterator[int]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with tempfile.TemporaryDirectory() as data:
        env = os.environ | {"PYTHONPATH": str(ROOT), "WEIGHBRIDGE_DATA_DIR": data}
        process = subprocess.Popen(
            [sys.executable, "-m", *command, str(port)], env=env, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL
        )
        try:
            _wait(port)
            yield port
        finally:
            process.terminate()
            process.wait(30)


def _wait(port: int) -> None:
    for _ in range(600):
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise TimeoutError(f"nothing listens on {port}")
