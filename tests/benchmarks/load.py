"""Sends requests as fast as a server answers: by wrk where it is installed, else by one connection of our own."""

from __future__ import annotations

import re
import shutil
import statistics
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path

CONNECTIONS = 8
_SCRIPT = Path(__file__).with_name("post.lua")
_UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0}


@dataclass(frozen=True, slots=True)
class Load:
    """What came of it: answers, and the seconds in which half and all but a hundredth of them arrived."""

    requests: int
    seconds: float
    half: float
    most: float


def client() -> str:
    """What sends the requests, for the table's title."""
    return (
        f"wrk, {CONNECTIONS} connections" if shutil.which("wrk") else "one connection in Python (wrk is not installed)"
    )


def load(url: str, bodies: Path, headers: Mapping[str, str], seconds: int, bound: Sequence[str] = ()) -> Load:
    """POST the lines of ``bodies`` to ``url``; ``bound`` stands before the command. Raises where one is refused."""
    if not shutil.which("wrk"):
        return _by_hand(url, bodies, headers, seconds)
    command = [
        *bound,
        "wrk",
        "-t1",
        f"-c{CONNECTIONS}",
        f"-d{seconds}s",
        "--timeout",
        "30s",
        "--latency",
        "-s",
        _SCRIPT,
    ]
    options = ["--", bodies, *(f"{name}={value}" for name, value in headers.items())]
    printed = subprocess.run([*command, url, *options], capture_output=True, text=True, check=True).stdout
    if "Non-2xx" in printed:
        raise RuntimeError(f"{url} refused requests:\n{printed}")
    return _read(printed)


def _read(printed: str) -> Load:
    total = re.search(r"(\d+) requests in ([\d.]+)(\w+)", printed)
    times = dict(re.findall(r"^ +(50|99)% +([\d.]+(?:us|ms|s|m))$", printed, re.MULTILINE))
    if total is None:
        raise RuntimeError(f"wrk said something else:\n{printed}")
    seconds = float(total[2]) * _UNITS[total[3]]
    return Load(int(total[1]), seconds, _seconds(times.get("50")), _seconds(times.get("99")))


def _seconds(text: str | None) -> float:
    found = re.fullmatch(r"([\d.]+)([a-z]+)", text or "")
    return float(found[1]) * _UNITS[found[2]] if found else float("nan")


def _by_hand(url: str, bodies: Path, headers: Mapping[str, str], seconds: int) -> Load:
    host, _, path = url.removeprefix("http://").partition("/")
    connection, lines, times = HTTPConnection(host), bodies.read_bytes().splitlines(), list[float]()
    start = time.perf_counter()
    while time.perf_counter() - start < seconds:
        begun = time.perf_counter()
        connection.request("POST", f"/{path}", lines[len(times) % len(lines)], dict(headers))
        answer = connection.getresponse()
        answer.read()
        if answer.status != 200:
            raise RuntimeError(f"{url} answered {answer.status}")
        times.append(time.perf_counter() - begun)
    connection.close()
    cuts = statistics.quantiles(times, n=100) if len(times) > 1 else times * 100
    return Load(len(times), time.perf_counter() - start, cuts[49], cuts[98])
