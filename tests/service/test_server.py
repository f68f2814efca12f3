"""The service in a process of its own, over real sockets."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from tests.fuzz import long_string
from tests.service.pricebook import price_server

pytestmark = pytest.mark.xdist_group("server")
MARK = "zebra7secret"
SLOW = {"engine": "python", "require_native": "0", "vocabularies": "o200k_base"}
"""Settings with which a count of megabytes takes seconds."""


def _post(url: str, body: object, **options: object) -> httpx.Response:
    return httpx.post(f"{url}/v1/count", json=body, timeout=120, **options)


def _wait_until_counting(client: httpx.Client, answer: Future[httpx.Response]) -> None:
    while b"weighbridge_pool_depth 0.0" in client.get("/metrics").content:
        assert not answer.done(), "answered before it was seen in the pool"
        time.sleep(0.01)


def test_probes_answer_while_ten_large_bodies_are_counted(serve):
    server = serve()
    text = "The quick brown fox jumps over the lazy dog. 你好，世界！ " * 170_000
    text = text[: 10 * 1024 * 1024 - len(text.encode()) + len(text)]
    probes = 0
    with ThreadPoolExecutor(10) as senders:
        answers = [senders.submit(_post, server.url, {"model": "gpt-4o", "text": text[i:]}) for i in range(10)]
        while not all(answer.done() for answer in answers):
            assert httpx.get(f"{server.url}/livez", timeout=5).status_code == 200
            assert httpx.get(f"{server.url}/readyz", timeout=5).status_code == 200
            probes += 2
            time.sleep(0.005)
    assert {answer.result().status_code for answer in answers} == {200}
    assert probes >= 6


def test_sigterm_lets_running_counts_end_and_exits_with_0(serve):
    server = serve(workers="1", **SLOW)
    body = {"model": "gpt-4o", "text": long_string(2_000_000, seed=1)}
    with ThreadPoolExecutor(1) as sender, httpx.Client(base_url=server.url, timeout=60) as watcher:
        answer = sender.submit(_post, server.url, body)
        _wait_until_counting(watcher, answer)
        server.process.send_signal(signal.SIGTERM)
        assert answer.result().json()["tokens"] > 500_000
    assert server.process.wait(60) == 0
    with pytest.raises(httpx.TransportError):
        httpx.get(f"{server.url}/livez")


def test_readiness_fails_on_open_connections_once_the_service_drains(serve):
    server = serve(workers="1", **SLOW)
    body = {"model": "gpt-4o", "text": long_string(2_000_000, seed=2)}
    with httpx.Client(base_url=server.url, timeout=60) as kept, ThreadPoolExecutor(1) as sender:
        assert kept.get("/readyz").json()["status"] == "ok"
        answer = sender.submit(_post, server.url, body)
        _wait_until_counting(kept, answer)
        with socket.create_connection(("127.0.0.1", server.port)) as probe:
            probe.sendall(b"GET /readyz HTTP/1.1\r\nHost: localhost\r\n")
            time.sleep(0.2)
            server.process.send_signal(signal.SIGTERM)
            time.sleep(0.3)
            probe.sendall(b"\r\n")
            reply = probe.recv(65536)
        assert reply == b"" or (b" 503 " in reply and b"shutting_down" in reply)
        assert answer.result().status_code == 200


def test_no_text_query_or_key_reaches_a_log_an_error_or_a_metric(serve):
    server = serve()
    headers = {"authorization": f"Bearer {MARK}", "x-api-key": MARK, "cookie": MARK, "user-agent": MARK}
    bodies: list[bytes] = [
        json.dumps({"model": "gpt-4o", "text": MARK}).encode(),
        json.dumps({"model": MARK, "text": MARK}).encode(),
        json.dumps({"model": "gpt-4o", "text": MARK, MARK: MARK}).encode(),
        json.dumps({"tokenizer": MARK, "text": MARK, "special_tokens": MARK}).encode(),
        f'{{"model": "gpt-4o", "text": "{MARK} \\ud83d"}}'.encode(),
        f'{{"model": "gpt-4o", "text": "{MARK}'.encode(),
        f'{{"model": "gpt-4o", "text": "{MARK}", "strict": {MARK}}}'.encode(),
        MARK.encode() * 100_000,
    ]
    answers = []
    with httpx.Client(base_url=server.url, headers=headers, timeout=60) as client:
        vendors = (f"/v1beta/models/{MARK}:countTokens?key={MARK}", "/v1/messages/count_tokens", "/tokenize", "/decode")
        own = ("/v1/count", "/v1/tokenize", "/v1/detokenize", f"/v1/{MARK}", f"/{MARK}?key={MARK}")
        for path in (*own, *vendors):
            for body in bodies:
                answers.append(client.post(path, content=body, headers={"content-type": "application/json"}))
                answers.append(client.post(path, content=body, headers={"content-type": f"text/{MARK}"}))
        answers += [client.get(f"/v1/models?key={MARK}"), client.request(MARK, f"/{MARK}")]
        answers.append(client.get("/livez", headers={"host": MARK, "origin": MARK}))
        answers.append(client.get("/docs", headers={"host": MARK}))
        metrics = client.get("/metrics").text
    with socket.create_connection(("127.0.0.1", server.port)) as broken:
        broken.sendall(f"GET /{MARK} {MARK} HTTP/1.1\r\n{MARK}\r\n\r\n".encode())
        broken.recv(65536)
    server.stop()
    refusals = [answer for answer in answers if answer.status_code >= 400]
    assert len(refusals) > 50
    assert {answer.status_code for answer in answers} <= {200, 400, 403, 404, 405, 413, 415, 422}
    assert not [answer.text for answer in refusals if MARK in answer.text or MARK in str(answer.headers)]
    assert MARK not in metrics
    log = server.log.read_text()
    assert len(log.splitlines()) > len(answers)
    assert MARK not in log


def test_each_request_is_one_json_line(serve):
    server = serve()
    httpx.get(f"{server.url}/nowhere?q=1", headers={"x-request-id": "id-1"})
    _post(server.url, {"model": "gpt-4o", "text": "Hello"}, headers={"x-request-id": "id-2"})
    server.stop()
    lines = [json.loads(line) for line in server.log.read_text().splitlines() if line.startswith("{")]
    by_id = {line["request_id"]: line for line in lines}
    wanted = ("method", "route", "status", "project")
    assert [by_id["id-1"][k] for k in wanted] == ["GET", "unmatched", 404, "default"]
    assert [by_id["id-2"][k] for k in wanted] == ["POST", "/v1/count", 200, "default"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", by_id["id-2"]["time"])
    assert by_id["id-2"]["ms"] > 0


def test_what_is_no_http_and_what_asks_for_another_protocol_adds_no_line_of_another_form(serve):
    server = serve()
    upgrade = b"GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
    for sent in (b"\x16\x03\x01 no http\r\n\r\n", upgrade, b"CONNECT /livez HTTP/1.1\r\nHost: localhost\r\n\r\n"):
        with socket.create_connection(("127.0.0.1", server.port), timeout=30) as connection:
            connection.sendall(sent)
            assert connection.recv(65536).startswith(b"HTTP/1.1 ")
    assert httpx.get(f"{server.url}/livez").status_code == 200
    server.stop()
    lines = server.log.read_text().splitlines()
    assert [line for line in lines if not line.startswith(("weighbridge ", "{"))] == []
    assert sum('"route":"/livez"' in line for line in lines) == 3


def test_a_body_sent_in_chunks_is_cut_off_at_the_limit_and_the_sender_sees_why(serve):
    server = serve(max_body_bytes="100000")

    def chunks():
        yield b'{"model": "gpt-4o", "text": "'
        for _ in range(300):
            yield b"a " * 500

    answer = httpx.post(f"{server.url}/v1/count", content=chunks(), headers={"content-type": "application/json"})
    assert (answer.status_code, answer.json()["code"]) == (413, "request_body_too_large")
    assert _post(server.url, {"model": "gpt-4o", "text": "Hello"}).json()["tokens"] == 1


def test_a_default_model_that_nobody_knows_stops_the_start(serve):
    server = serve(ready=False, default_model="gpt-4oo")
    assert server.process.wait(60) not in (0, None)
    log = server.log.read_text()
    assert "WEIGHBRIDGE_DEFAULT_MODEL: Unknown model. Nearest: gpt-4o" in log
    assert "Traceback" not in log


def test_a_registered_vocabulary_whose_file_is_damaged_stops_the_start(serve, tmp_path: Path):
    (tmp_path / "own.tiktoken").write_bytes(b"IQ== 0\n")
    config = '[[tokenizer]]\nname = "own"\nfamily = "tiktoken"\nfile = "own.tiktoken"\npattern = "cl100k"\n'
    (tmp_path / "weighbridge.toml").write_text(config + f'sha256 = "{"0" * 64}"\n')
    server = serve(ready=False)
    assert server.process.wait(60) not in (0, None)
    log = server.log.read_text()
    assert "own.tiktoken" in log
    assert "0" * 64 in log
    assert "2fb8c5bd" in log or re.search(r"[0-9a-f]{64}", log.replace("0" * 64, ""))
    assert "Traceback" not in log
    assert (tmp_path / "own.tiktoken").read_bytes() == b"IQ== 0\n"


def test_a_taken_port_is_a_clear_error(serve):
    first = serve()
    with socket.socket() as other:
        assert other.connect_ex(("127.0.0.1", first.port)) == 0
    second_log = first.log.with_name("second")

    with second_log.open("wb") as log:
        command = [sys.executable, "-m", "service", "serve", "--port", str(first.port)]
        assert subprocess.run(command, stdout=log, stderr=log, check=False, timeout=120).returncode != 0
    assert f"Port {first.port} of 127.0.0.1: address already in use" in second_log.read_text()
    assert "listening" not in second_log.read_text()
    assert "Traceback" not in second_log.read_text()


def test_many_clients_at_once_get_their_own_answers(serve):
    server = serve()
    wrong: list[tuple[int, int]] = []

    def ask(first: int) -> None:
        with httpx.Client(base_url=server.url, timeout=60) as client:
            for n in range(first, first + 100):
                answer = client.post("/v1/count", json={"tokenizer": "cl100k_base", "text": " a" * n}).json()
                if answer["tokens"] != n or answer["characters"] != 2 * n:
                    wrong.append((n, answer["tokens"]))

    threads = [threading.Thread(target=ask, args=(first,)) for first in range(1, 1200, 150)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_a_body_full_of_beginnings_of_special_tokens_holds_up_nobody(serve):
    server = serve()
    with ThreadPoolExecutor(1) as sender:
        answer = sender.submit(_post, server.url, {"tokenizer": "tekken", "text": "<" * 8_000_000})
        probes = 0
        while not answer.done():
            assert httpx.get(f"{server.url}/livez", timeout=5).status_code == 200
            probes += 1
            time.sleep(0.02)
    assert answer.result().status_code == 200
    assert probes > 3


def test_work_past_its_deadline_ends_and_frees_its_place(serve):
    server = serve(deadline_seconds="1", workers="1", queue_limit="0", **SLOW)
    late = _post(server.url, {"model": "gpt-4o", "text": long_string(4_000_000, seed=3)})
    assert (late.status_code, late.json()["code"]) == (503, "deadline_exceeded")
    for _ in range(200):
        if b"weighbridge_pool_depth 0.0" in httpx.get(f"{server.url}/metrics", timeout=30).content:
            break
        time.sleep(0.1)
    assert _post(server.url, {"model": "gpt-4o", "text": "a truck " * 3_000}).status_code == 200


def test_sighup_reloads_the_file_and_a_wrong_one_changes_nothing(serve, tmp_path: Path):
    server = serve(vocabularies="o200k_base,mistral_v3")

    def reload(config: str, says: str) -> None:
        (tmp_path / "weighbridge.toml").write_text(config)
        lines = server.log.read_text().count(says)
        server.process.send_signal(signal.SIGHUP)
        for _ in range(200):
            if server.log.read_text().count(says) > lines:
                return
            time.sleep(0.05)
        raise TimeoutError(server.log.read_text())

    own = '[[model]]\nprovider = "local"\nid = "own"\ntokenizer = "o200k_base"\n'
    assert _post(server.url, {"model": "own", "text": "Hello"}).json()["code"] == "unknown_model"
    reload(own, "was reloaded")
    assert _post(server.url, {"model": "own", "text": "Hello"}).json()["tokens"] == 1
    reload(own + "colour = 1\n", "was not reloaded")
    assert "weighbridge.toml:5" in server.log.read_text()
    assert _post(server.url, {"model": "own", "text": "Hello"}).json()["tokens"] == 1
    reload("", "was reloaded")
    assert _post(server.url, {"model": "own", "text": "Hello"}).json()["code"] == "unknown_model"
    assert server.stop() == 0


def _outcome(server, words: str) -> None:
    for _ in range(400):
        if words in httpx.get(f"{server.url}/metrics", timeout=60).text:
            return
        time.sleep(0.05)
    raise TimeoutError(server.log.read_text())


def _million(server) -> dict:
    body = {"model": "gpt-4o", "usage": {"input_tokens": 1_000_000}}
    return httpx.post(f"{server.url}/v1/cost", json=body, timeout=60).json()


def test_a_refresh_puts_newer_prices_in_service_and_they_outlive_a_restart(serve):
    raw = price_server.raw_of(list(price_server.bundled))
    price_server.model_in(raw, "openai", "gpt-4o")["prices"]["input_mtok"] = 3.5
    settings = {"vocabularies": "o200k_base,mistral_v3"}
    with price_server.PriceServer(price_server.Answer(json.dumps(raw).encode())) as source:
        server = serve(prices_url=source.url, **settings)
        _outcome(server, 'weighbridge_price_refresh_total{outcome="updated",reason="accepted"} 1.0')
        answer = _million(server)
        assert answer["cost"]["expected"] == "3.5"
        assert answer["price"]["source"].startswith("genai-prices from ")
        assert server.stop() == 0
        again = serve(prices_url=source.url, **settings)
        for _ in range(200):
            if _million(again)["cost"]["expected"] == "3.5":
                break
            time.sleep(0.05)
        assert _million(again)["cost"]["expected"] == "3.5"
        assert len(source.requests) == 1


@pytest.mark.parametrize("body", [b"[]", b"<html>", b'{"providers": []}'])
def test_a_refresh_with_a_bad_list_changes_nothing_and_a_metric_says_so(serve, body):
    with price_server.PriceServer(price_server.Answer(body)) as source:
        server = serve(vocabularies="o200k_base,mistral_v3", prices_url=source.url)
        _outcome(server, 'weighbridge_price_refresh_total{outcome="rejected"')
        answer = _million(server)
        assert answer["cost"]["expected"] == "2.5"
        assert answer["price"]["source"] == "genai-prices 0.2.3"


def test_a_refresh_from_a_place_without_encryption_stops_the_start(serve):
    server = serve(ready=False, prices_url="http://prices.example/data.json")
    assert server.process.wait(60) == 2
    assert "WEIGHBRIDGE_PRICES" in server.log.read_text()


def test_the_ledger_is_opened_at_the_start_and_a_place_that_cannot_be_used_does_not_stop_counting(serve, tmp_path):
    server = serve(vocabularies="o200k_base")
    for _ in range(100):
        if (tmp_path / "ledger.sqlite").exists():
            break
        time.sleep(0.05)
    assert (tmp_path / "ledger.sqlite").stat().st_size > 0 or (tmp_path / "ledger.sqlite-wal").stat().st_size > 0
    assert server.stop() == 0
    (tmp_path / "ledger.sqlite").write_bytes(b"no database" * 1000)
    for extra in tmp_path.glob("ledger.sqlite-*"):
        extra.unlink()
    server = serve(vocabularies="o200k_base")
    for _ in range(100):
        if "budgets and spend cannot be used" in server.log.read_text():
            break
        time.sleep(0.05)
    assert "no SQLite database" in server.log.read_text()
    refused = _post(server.url, {"model": "gpt-4o", "text": "Hello, World!"})  # a damaged file may hold keys
    assert (refused.status_code, refused.json()["code"]) == (503, "keys_unavailable")
    assert httpx.get(f"{server.url}/livez").status_code == 200
    server.stop()
    server = serve(vocabularies="o200k_base", data_dir=str(tmp_path / "log" / "data"))  # "log" is a file
    assert _post(server.url, {"model": "gpt-4o", "text": "Hello, World!"}).json()["tokens"] == 4
    assert server.stop() == 0
