"""The ledger goes away under a running service and comes back: money is refused at once, counts go on."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from tests.service.conftest import ServerProcess
from tests.service.store.server import PostgresServer, binaries

pytestmark = pytest.mark.xdist_group("server")

ENOUGH = 10.0
"""Seconds: far above the two or three that the ledger takes to give up, and far below what a hanging call would."""

COUNTED = {"model": "gpt-4o", "text": "Hello, World!"}
MONEY: list[tuple[str, str, dict[str, Any] | None]] = [
    ("POST", "/v1/budgets", {"name": "while-down"}),
    ("GET", "/v1/budgets", None),
    ("GET", "/v1/budgets/team-a", None),
    ("PATCH", "/v1/budgets/team-a", {"limit_usd": "100"}),
    ("DELETE", "/v1/budgets/team-a", None),
    ("POST", "/v1/reservations", {"amount_usd": "1"}),
    ("POST", "/v1/usage", {"model": "gpt-4o", "cost_usd": "1"}),
    ("GET", "/v1/spend", None),
    ("GET", "/v1/spend/entries", None),
    ("GET", "/v1/refusals", None),
]


@pytest.fixture
def postgres_server() -> Iterator[PostgresServer]:
    folder = binaries()
    if folder is None:
        pytest.skip("PostgreSQL is not installed: apt-get install postgresql")
    server = PostgresServer(folder)
    yield server
    server.remove()


def until(server: ServerProcess, word: str) -> None:
    """Wait until the probe, which never fails, says so of the ledger."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        answer = httpx.get(f"{server.url}/readyz")
        assert answer.status_code == 200
        if answer.json()["ledger"] == word:
            return
        time.sleep(0.05)
    raise AssertionError(server.log.read_text())


def said(server: ServerProcess, text: str) -> None:
    """Wait until the operator reads ``text``."""
    deadline = time.monotonic() + 60
    while text not in server.log.read_text():
        assert time.monotonic() < deadline, server.log.read_text()
        time.sleep(0.05)


def ask(server: ServerProcess, method: str, path: str, body: Any = None) -> httpx.Response:
    return httpx.request(method, f"{server.url}{path}", json=body, timeout=60)


def refused(server: ServerProcess, method: str, path: str, body: Any) -> str:
    """What the service says of a ledger that is down: at once, and when to ask again."""
    started = time.monotonic()
    answer = ask(server, method, path, body)
    assert time.monotonic() - started < ENOUGH
    assert (answer.status_code, answer.json()["code"]) == (503, "ledger_unavailable"), answer.text
    assert int(answer.headers["retry-after"]) >= 1
    detail: str = answer.json()["detail"]
    return detail


def test_postgresql_stops_under_the_running_service(
    serve: Callable[..., ServerProcess], postgres_server: PostgresServer
) -> None:
    url = postgres_server.new_database()
    server = serve(database_url=url, secret="0123456789abcdef" * 4, vocabularies="o200k_base")
    until(server, "up")
    assert ask(server, "POST", "/v1/budgets", {"name": "team-a", "limit_usd": "10"}).status_code == 201
    hold = ask(server, "POST", "/v1/reservations", {"amount_usd": "4"}).json()
    postgres_server.stop()
    with ThreadPoolExecutor(len(MONEY)) as askers:
        for detail in askers.map(lambda each: refused(server, *each), MONEY * 2):
            assert "database server" in detail
            assert "counts as refused; send it again" in detail
    until(server, "down")
    assert ask(server, "POST", "/v1/count", COUNTED).json()["tokens"] == 4
    assert ask(server, "POST", "/v1/estimate", COUNTED | {"max_output_tokens": 5}).status_code == 200
    assert "weighbridge_ledger_up 0.0" in httpx.get(f"{server.url}/metrics").text
    said(server, "budgets and spend cannot be used: the database server does not answer")
    postgres_server.start()
    until(server, "up")
    said(server, "budgets and spend can be used again")
    assert [each["name"] for each in ask(server, "GET", "/v1/budgets").json()["budgets"]] == ["team-a"]
    settled = ask(server, "POST", f"/v1/reservations/{hold['id']}/settle", {"cost_usd": "3"})
    assert settled.status_code == 200, settled.text
    body = ask(server, "GET", "/v1/budgets/team-a").json()
    assert (body["spent_usd"], body["held_usd"], body["limit_usd"]) == ("3", "0", "10")
    assert server.stop() == 0


@pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="a limit is set on another process, which Linux can")
def test_the_disk_is_full_under_the_running_service(serve: Callable[..., ServerProcess]) -> None:
    """A limit on the size of files stands in for the disk: SQLite is told that it cannot write on."""
    server = serve(vocabularies="o200k_base", log="off")
    until(server, "up")
    assert ask(server, "POST", "/v1/budgets", {"name": "team-a", "limit_usd": "1000000"}).status_code == 201
    size = (server.log.parent / "ledger.sqlite-wal").stat().st_size
    resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (size + 100_000, resource.RLIM_INFINITY))
    admitted, answer = 0, ask(server, "POST", "/v1/reservations", {"amount_usd": "1"})
    while answer.status_code == 201:
        admitted += 1
        assert admitted < 1000
        answer = ask(server, "POST", "/v1/reservations", {"amount_usd": "1"})
    problem = answer.json()["detail"]
    assert (answer.status_code, answer.json()["code"]) == (503, "ledger_unavailable")
    assert "the disk is full" in problem or "reading or writing the ledger's file failed" in problem
    until(server, "down")
    said(server, "budgets and spend cannot be used: ")
    assert ask(server, "POST", "/v1/count", COUNTED).json()["tokens"] == 4
    body = ask(server, "GET", "/v1/budgets/team-a").json()  # a full disk can be read
    assert (body["open_holds"], body["held_usd"]) == (admitted, str(admitted))
    resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    assert ask(server, "POST", "/v1/reservations", {"amount_usd": "1"}).status_code == 201
    until(server, "up")
    assert ask(server, "GET", "/v1/budgets/team-a").json()["open_holds"] == admitted + 1
    assert server.stop() == 0


def test_a_data_directory_that_cannot_be_made(serve: Callable[..., ServerProcess]) -> None:
    server = serve(vocabularies="o200k_base", data_dir="/proc/nowhere")
    until(server, "down")
    assert "cannot be" in refused(server, "POST", "/v1/budgets", {"name": "b"})
    assert "/proc" not in refused(server, "GET", "/v1/budgets", None)
    assert ask(server, "POST", "/v1/count", COUNTED).json()["tokens"] == 4
    said(server, "budgets and spend cannot be used: ")
    assert server.stop() == 0
