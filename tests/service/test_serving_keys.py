"""Keys and servers that run: made on the command line meanwhile, revoked in another process, set in a setting."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest
from click.testing import CliRunner

from service.app.keys import LOOPBACK, key_ring, open_keys, reach_of
from service.app.secret import service_secret
from service.cli import cli
from service.domain.keys.keyring import Gate, Reach
from service.settings import InvalidSetting, Settings
from service.store.ledger import sql_ledger
from tests.service.store.conftest import place, postgres
from tests.service.store.places import Place

__all__ = ["place", "postgres"]

MARK = "zebra7secret"
BODY = {"model": "gpt-4o", "text": "Hello, World!"}
FEW = {"vocabularies": "o200k_base"}


def count(url: str, key: str = "", **headers: str) -> int:
    given = ({"authorization": f"Bearer {key}"} if key else {}) | headers
    return httpx.post(f"{url}/v1/count", json=BODY, headers=given, timeout=30).status_code


def until(condition: Callable[[], bool]) -> None:
    for _ in range(600):
        if condition():
            return
        time.sleep(0.05)
    raise TimeoutError


@pytest.mark.xdist_group("server")
def test_keys_made_and_revoked_elsewhere_act_in_services_that_run(serve, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("WEIGHBRIDGE_DATA_DIR", str(tmp_path))

    def keys(*arguments: str) -> str:
        result = CliRunner().invoke(cli, ["keys", *arguments])
        assert result.exit_code == 0, result.output
        return result.stdout.strip()

    one, two = serve(**FEW), serve(**FEW)
    assert [count(server.url) for server in (one, two)] == [200, 200]
    admin = keys("create", "ops", "--scope", "admin")
    app = keys("create", "app", "--scope", "count", "--project", "search")
    for server in (one, two):
        until(lambda url=server.url: count(url) == 401)
        until(lambda url=server.url: count(url, app) == 200)
    with httpx.Client(base_url=one.url, headers={"x-api-key": admin}) as client:
        made = client.post("/v1/keys", json={"name": "other", "scopes": ["count"]}).json()
        until(lambda: count(two.url, made["key"]) == 200)
        assert client.delete(f"/v1/keys/{made['id']}").status_code == 200
        assert count(one.url, made["key"]) == 401
        until(lambda: count(two.url, made["key"]) == 401)
        keys("revoke", app[3:19])
        until(lambda: count(one.url, app) == 401)
        assert [count(server.url, admin) for server in (one, two)] == [200, 200]
        until(lambda: client.get(f"/v1/keys/{admin[3:19]}").json()["last_used_at"] is not None)


@pytest.mark.xdist_group("server")
def test_an_admin_key_that_is_set_opens_a_service_that_others_can_reach_and_is_written_nowhere(
    serve, tmp_path: Path, monkeypatch
) -> None:
    monkeypatch.setenv("WEIGHBRIDGE_DATA_DIR", str(tmp_path))
    text = f"{MARK}-an-admin-key"
    (tmp_path / "admin").write_text(text + "\n")
    server = serve(arguments=("--host", "0.0.0.0"), admin_key_file=str(tmp_path / "admin"), **FEW)
    answers = []
    with httpx.Client(base_url=server.url, headers={"host": "weighbridge.example"}) as client:
        assert [client.get(path).status_code for path in ("/livez", "/readyz", "/docs")] == [200, 200, 200]
        for path in ("/v1/count", "/nowhere", "/v1beta/models/m:countTokens", "/v1/messages/count_tokens", "/tokenize"):
            for key in ("", text[:-1], text):
                headers = {"authorization": f"Bearer {key}"} if key else {}
                answers.append(client.post(path, json={}, headers=headers))
                answers.append(client.post(f"{path}?key={key}", json={}))
                answers.append(client.post(path, json={}, headers={"x-goog-api-key": key, "x-api-key": key}))
        assert client.get("/metrics").status_code == 401
        client.headers["x-api-key"] = text
        made = client.post("/v1/keys", json={"name": "app", "scopes": ["count"]}).json()
        rotated = client.post(f"/v1/keys/{made['id']}/rotate").json()
        metrics = client.get("/metrics").text
        (admin,) = [key for key in client.get("/v1/keys").json()["keys"] if "admin" in key["scopes"]]
        assert client.delete(f"/v1/keys/{admin['id']}").status_code == 409
        assert client.delete(f"/v1/keys/{admin['id']}?force=true").status_code == 200
        assert count(server.url, rotated["key"]) == 200
        assert CliRunner().invoke(cli, ["keys", "revoke", made["id"]]).exit_code == 0
        until(lambda: count(server.url, rotated["key"]) == 401)  # the last one: and yet nothing is open
        assert [client.get(path).status_code for path in ("/v1/keys", "/v1/models", "/livez")] == [401, 401, 200]
        assert count(server.url) == 401
    server.stop()
    assert {answer.status_code for answer in answers} == {400, 401, 404, 422}
    written = "".join(answer.text + str(answer.headers) for answer in answers) + metrics + server.log.read_text()
    assert not [secret for secret in (MARK, made["key"], made["id"], rotated["key"][20:]) if secret in written]


@pytest.mark.xdist_group("server")
def test_without_a_key_a_service_that_others_could_reach_does_not_start(serve) -> None:
    server = serve(ready=False, arguments=("--host", "0.0.0.0"), **FEW)
    assert server.process.wait(60) == 2
    assert "WEIGHBRIDGE_ADMIN_KEY" in server.log.read_text()
    server = serve(arguments=("--host", "0.0.0.0", "--insecure"), **FEW)
    assert count(server.url, host="weighbridge.example") == 200


class Start:
    """What a start does with keys, over a place's database, with settings of its own."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.said: list[str] = []

    def __call__(self, reach: Reach = Reach.LOOPBACK, **settings: str) -> Gate:
        chosen = Settings(self.place.folder, database_url=self.place.url, **{"secret": "s" * 64, **settings})
        ledger = sql_ledger(chosen.database_url, chosen.data_dir, lambda: datetime.now(UTC))
        ring = key_ring(chosen, ledger, service_secret(chosen))
        try:
            open_keys(ring, ledger, reach, self.said.append)
        finally:
            asyncio.run(ledger.close())
        return ring.gate


@pytest.fixture
def start(place: Place) -> Start:
    return Start(place)


def test_a_start_reads_the_keys_before_the_first_request(start: Start) -> None:
    assert start() is Gate.OPEN
    assert start(Reach.INSECURE) is Gate.OPEN
    with pytest.raises(InvalidSetting, match="--insecure"):
        start(Reach.EXPOSED)
    for _ in range(2):
        assert start(Reach.EXPOSED, admin_key="an admin key of a test".replace(" ", "-")) is Gate.KEYS
    assert [start(reach) for reach in Reach] == [Gate.KEYS] * 3
    assert start.said == []


def test_a_start_with_another_secret_is_refused(start: Start) -> None:
    start()
    with pytest.raises(InvalidSetting, match="another secret"):
        start(secret="t" * 64)
    assert start() is Gate.OPEN


@pytest.mark.xdist_group("server")
def test_a_secret_file_that_was_replaced_is_refused_until_the_keys_are_reset(
    serve, tmp_path: Path, monkeypatch
) -> None:
    assert serve(admin_key="0123456789abcdef", **FEW).stop() == 0
    (tmp_path / "secret").write_text("0" * 64)
    server = serve(ready=False, **FEW)
    assert server.process.wait(60) == 2
    assert "another secret" in server.log.read_text()
    monkeypatch.setenv("WEIGHBRIDGE_DATA_DIR", str(tmp_path))
    assert CliRunner().invoke(cli, ["keys", "reset", "--yes"]).stdout == "1 keys revoked\n"
    assert count(serve(**FEW).url) == 200


@pytest.mark.parametrize("admin", ["short", "has a blank in it, see"])
def test_an_admin_key_that_is_none_is_refused(start: Start, admin: str) -> None:
    with pytest.raises(InvalidSetting, match="WEIGHBRIDGE_ADMIN_KEY") as refused:
        start(admin_key=admin)
    assert admin not in str(refused.value)


def test_where_the_database_cannot_be_read_a_start_goes_on_and_nothing_passes(start: Start) -> None:
    start.place.folder.mkdir(parents=True)
    (start.place.folder / "ledger.sqlite").write_bytes(b"no database" * 1000)
    start.place.url = start.place.url and "postgresql://tester@127.0.0.1:1/none"
    for reach in Reach:
        assert start(reach) is Gate.CLOSED
    assert len([line for line in start.said if "every request is refused" in line]) == 3


def test_without_a_ledger_and_without_a_place_for_one_there_is_no_key_to_be_missed(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    nowhere = Start(Place("", tmp_path / "file" / "data"))
    assert [nowhere(reach) for reach in (Reach.LOOPBACK, Reach.INSECURE)] == [Gate.OPEN, Gate.OPEN]
    assert nowhere(Reach.EXPOSED) is Gate.CLOSED
    assert nowhere(admin_key="0123456789abcdef") is Gate.CLOSED


def test_who_can_reach_a_service_is_told_by_its_host() -> None:
    assert {reach_of(host, insecure=True) for host in LOOPBACK} == {Reach.LOOPBACK}
    assert [reach_of("0.0.0.0", insecure=word) for word in (False, True)] == [Reach.EXPOSED, Reach.INSECURE]
