"""One attempt at a time: what is sent, to which address, and what becomes of every way to fail."""

from __future__ import annotations

import asyncio
import base64
import ipaddress
import shutil
import socket
import ssl
import subprocess
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest

from service.domain.spending.alerts import AlertKind, Delivery, Target
from service.webhooks import Outcome, Sender, signature
from service.webhooks.addresses import is_public, resolved

SECRET = b"0123456789abcdef-of-the-test"
DELIVERY = Delivery("evt_1", "t", AlertKind.BUDGET_WARNING, b'{"id":"evt_1"}', 1, datetime(2026, 11, 30, tzinfo=UTC))


def send(target: Target, delivery: Delivery = DELIVERY, **options: object) -> Outcome:
    async def work() -> Outcome:
        sender = Sender(**options)
        try:
            return await sender.send(target, delivery)
        finally:
            await sender.close()

    return asyncio.run(work())


def allowed(url: str) -> Target:
    return Target(url, SECRET, allow_private=True)


def resolving(*addresses: str):
    async def resolve(_host: str, _port: int) -> list[str]:
        return list(addresses)

    return resolve


class Recorded(httpx.AsyncBaseTransport):
    """Takes requests in place of the network; ``refused`` are addresses where nobody answers."""

    def __init__(self, *refused: str, status: int = 200, **more: object) -> None:
        self.asked: list[httpx.Request] = []
        self._refused = refused
        self._status = status
        self._more = more

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request)
        if request.url.host in self._refused:
            raise httpx.ConnectError("refused")
        return httpx.Response(self._status, **self._more)


def test_a_delivery_is_signed_as_the_standard_says(receiver):
    assert send(allowed(receiver.url), now=lambda: 1764484496.9) is Outcome.DELIVERED
    got = receiver.next()
    got.verify(SECRET)
    assert (got.path, got.body, got.id) == ("/hook?x=1", DELIVERY.body, "evt_1")
    assert got.headers["webhook-timestamp"] == "1764484496"
    assert got.headers["host"] == f"127.0.0.1:{receiver.port}"
    assert got.headers["content-type"] == "application/json"


def test_a_signature_of_the_standards_own_example():
    secret = base64.b64decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    body = b'{"test": 2432232314}'
    expected = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
    assert signature(secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, body) == expected


@pytest.mark.parametrize(
    ("status", "outcome"),
    [
        (200, Outcome.DELIVERED),
        (202, Outcome.DELIVERED),
        (204, Outcome.DELIVERED),
        (301, Outcome.REDIRECTED),
        (307, Outcome.REDIRECTED),
        (400, Outcome.STATUS),
        (410, Outcome.STATUS),
        (500, Outcome.STATUS),
    ],
)
def test_only_an_answer_of_success_is_a_delivery(receiver, status, outcome):
    receiver.statuses.append(status)
    assert send(allowed(receiver.url)) is outcome


def test_a_redirect_is_not_followed(receiver):
    receiver.statuses.append(307)
    receiver.location = f"http://127.0.0.1:{receiver.port}/elsewhere"
    assert send(allowed(receiver.url)) is Outcome.REDIRECTED
    assert receiver.next().path == "/hook?x=1"
    assert receiver.got.empty()


PRIVATE = [
    *("127.0.0.1", "127.8.8.8", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "0.0.0.0", "100.64.0.1"),
    *(
        "224.0.0.1",
        "255.255.255.255",
        "192.0.2.1",
        "240.0.0.1",
        "::1",
        "::",
        "fe80::1",
        "fe80::1%eth0",
        "fc00::1",
        "fec0::1",
    ),
    *("::ffff:127.0.0.1", "::ffff:10.0.0.1", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "2002:7f00:1::", "ff02::1"),
    *("64:ff9b:1::1", "2001:db8::1", "::127.0.0.1", "nonsense", ""),
]


@pytest.mark.parametrize("address", PRIVATE)
def test_an_address_that_is_not_public_is_refused(address):
    assert not is_public(address)
    transport = Recorded()
    target = Target("https://hook.example/", SECRET)
    assert send(target, resolve=resolving(address), transport=transport) is Outcome.ADDRESS_REFUSED
    assert transport.asked == []


@pytest.mark.parametrize(
    "address", ["8.8.8.8", "1.1.1.1", "2606:4700:4700::1111", "64:ff9b::808:808", "2002:808:808::"]
)
def test_a_public_address_is_not(address):
    assert is_public(address)


def test_one_private_address_among_public_ones_refuses_them_all():
    transport = Recorded()
    target = Target("https://hook.example/", SECRET)
    outcome = send(target, resolve=resolving("8.8.8.8", "127.0.0.1"), transport=transport)
    assert (outcome, transport.asked) == (Outcome.ADDRESS_REFUSED, [])


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "[::1]", "[::ffff:127.0.0.1]", "2130706433", "0x7f.1"])
def test_names_and_odd_spellings_of_this_machine_are_refused(host):
    transport = Recorded()
    outcome = send(Target(f"https://{host}/", SECRET), transport=transport)
    assert (outcome, transport.asked) == (Outcome.ADDRESS_REFUSED, [])


def test_the_connection_goes_to_the_address_that_was_checked():
    transport = Recorded()
    asked = []

    async def resolve(host: str, port: int) -> list[str]:
        asked.append((host, port))
        return ["8.8.8.8"] if len(asked) == 1 else ["127.0.0.1"]  # as a name does whose owner means harm

    target = Target("https://hook.example:8443/path", SECRET)
    assert send(target, resolve=resolve, transport=transport) is Outcome.DELIVERED
    [request] = transport.asked
    assert asked == [("hook.example", 8443)]
    assert str(request.url) == "https://8.8.8.8:8443/path"
    assert request.headers["host"] == "hook.example:8443"
    assert request.extensions["sni_hostname"] == "hook.example"


def test_where_one_address_does_not_answer_the_next_is_tried():
    transport = Recorded("2606:4700:4700::1111")
    found = resolving("2606:4700:4700::1111", "1.1.1.1")
    assert send(Target("https://hook.example/", SECRET), resolve=found, transport=transport) is Outcome.DELIVERED
    assert [request.url.host for request in transport.asked] == ["2606:4700:4700::1111", "1.1.1.1"]


def test_without_tls_only_where_it_is_allowed():
    target = Target("http://hook.example/", SECRET)
    options = {"resolve": resolving("8.8.8.8"), "transport": Recorded()}
    assert send(target, **options) is Outcome.ADDRESS_REFUSED
    assert send(replace(target, allow_private=True), **options) is Outcome.DELIVERED


def test_a_body_without_an_end_is_not_read():
    async def endless():
        while True:
            yield b"x" * 65536

    transport = Recorded(content=endless())
    assert send(allowed("http://hook.example/"), resolve=resolving("8.8.8.8"), transport=transport) is Outcome.DELIVERED


def test_a_receiver_that_says_nothing_is_waited_for_no_longer_than_the_limit():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/"
        assert send(allowed(url), seconds=0.2) is Outcome.TIMEOUT


def test_nobody_there_and_no_such_name_are_unreachable():
    with socket.create_server(("127.0.0.1", 0)) as gone:
        port = gone.getsockname()[1]
    assert send(allowed(f"http://127.0.0.1:{port}/")) is Outcome.UNREACHABLE

    async def unknown(_host: str, _port: int) -> list[str]:
        raise socket.gaierror(-2, "Name or service not known")

    assert send(Target("https://hook.invalid/", SECRET), resolve=unknown) is Outcome.UNREACHABLE
    assert send(Target("https://hook.invalid/", SECRET), resolve=resolving()) is Outcome.UNREACHABLE


def test_what_is_no_http_is_unreachable():
    async def work() -> Outcome:
        async def answer(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(b"220 mail.example ESMTP\r\n")
            writer.close()

        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        sender = Sender()
        async with server:
            port = server.sockets[0].getsockname()[1]
            outcome = await sender.send(allowed(f"http://127.0.0.1:{port}/"), DELIVERY)
        await sender.close()
        return outcome

    assert asyncio.run(work()) is Outcome.UNREACHABLE


def test_the_system_resolves_a_name_of_this_machine():
    found = asyncio.run(resolved("localhost", 80))
    assert found
    assert all(ipaddress.ip_address(address).is_loopback for address in found)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate of hook.test alone, with its key."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("openssl is not installed: apt-get install openssl")
    path = tmp_path_factory.mktemp("tls") / "hook.pem"
    names = ["-subj", "/CN=hook.test", "-addext", "subjectAltName=DNS:hook.test"]
    command = [openssl, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    command += ["-days", "2", *names, "-keyout", str(path), "-out", str(path.with_suffix(".crt"))]
    subprocess.run(command, check=True, capture_output=True)
    path.write_text(path.read_text() + path.with_suffix(".crt").read_text())
    return path


@pytest.mark.parametrize(("host", "outcome"), [("hook.test", Outcome.DELIVERED), ("other.test", Outcome.UNREACHABLE)])
def test_over_tls_the_certificate_is_that_of_the_name_though_the_address_is_asked(certificate, host, outcome):
    names: list[str | None] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(DELIVERY.body)
        writer.write(b"HTTP/1.1 204 No Content\r\n\r\n")
        writer.close()

    async def work() -> Outcome:
        own = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        own.load_cert_chain(certificate)
        own.sni_callback = lambda _socket, name, _context: names.append(name)
        trusting = ssl.create_default_context(cafile=str(certificate.with_suffix(".crt")))
        server = await asyncio.start_server(answer, "127.0.0.1", 0, ssl=own)
        port = server.sockets[0].getsockname()[1]
        sender = Sender(resolve=resolving("127.0.0.1"), transport=httpx.AsyncHTTPTransport(verify=trusting))
        async with server:
            found = await sender.send(allowed(f"https://{host}:{port}/"), DELIVERY)
        await sender.close()
        return found

    assert asyncio.run(work()) is outcome
    assert names == [host]
