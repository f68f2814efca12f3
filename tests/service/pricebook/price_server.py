"""A real HTTP server on loopback that answers as it is told, and the price list it serves, made from the package's own.

``PriceServer`` pops one answer a request; the last one is given again and again. Requests are kept to be looked at.
"""

from __future__ import annotations

import dataclasses
import json
import socket
import struct
import threading
from collections.abc import Callable, Mapping, Sequence
from datetime import date, time
from decimal import Decimal
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

from genai_prices.data import providers as bundled
from genai_prices.types import ModelPrice, Provider

CORE = ("openai", "anthropic", "google", "mistral", "deepseek", "x-ai")
CANARIES = (("openai", "gpt-4o"), ("anthropic", "claude-opus-4-7"), ("deepseek", "deepseek-v4-flash"))


@cache
def core_providers() -> tuple[Provider, ...]:
    """The core providers as the package brings them: about 290 models, quick to parse."""
    return tuple(provider for provider in bundled if provider.id in CORE)


def raw_of(value: Any) -> Any:
    """``value`` in the second format of the data: what is absent is left out, prices are numbers, dates are text."""
    if isinstance(value, ModelPrice):
        return raw_of(vars(value))
    if dataclasses.is_dataclass(value):
        fields = [field.name for field in dataclasses.fields(value) if not field.name.startswith("_")]
        return raw_of({name.rstrip("_"): getattr(value, name) for name in fields})
    if isinstance(value, Mapping):
        return {key: raw_of(item) for key, item in value.items() if item is not None}
    if isinstance(value, list | tuple):
        return [raw_of(item) for item in value]
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    return value.isoformat() if isinstance(value, date | time) else value


def core_list(change: Callable[[list[Any]], Any] | None = None) -> bytes:
    """The list of the core providers as bytes, after ``change`` has been made to it."""
    raw = raw_of(core_providers())
    if change is not None:
        change(raw)
    return json.dumps(raw).encode()


def model_in(raw: Sequence[Any], provider: str, model: str) -> Any:
    """One model of a raw list, to be changed."""
    models = next(item for item in raw if item["id"] == provider)["models"]
    return next(item for item in models if item["id"] == model)


def scaled(prices: Any, factor: float) -> Any:
    """``prices`` of the raw form with every rate times ``factor``, up to 1,000 dollars."""
    if isinstance(prices, list):
        return [item | {"prices": scaled(item["prices"], factor)} for item in prices]
    return {key: _scaled_rate(rate, factor) for key, rate in prices.items()}


def _scaled_rate(rate: Any, factor: float) -> Any:
    if not isinstance(rate, dict):
        return min(rate * factor, 1000)
    tiers = [{"start": tier["start"], "price": _scaled_rate(tier["price"], factor)} for tier in rate["tiers"]]
    return {"base": _scaled_rate(rate["base"], factor), "tiers": tiers}


@dataclasses.dataclass(frozen=True)
class Answer:
    """What the server sends.

    Without ``length`` there is no Content-Length, and the body ends with the connection. ``part`` sends only so many
    bytes of it, ``reset`` then resets the connection, ``hang`` keeps it open, ``endless`` goes on with the body anew.
    """

    body: bytes = b""
    status: int = 200
    headers: Mapping[str, str] = dataclasses.field(default_factory=dict)
    length: bool = True
    part: int | None = None
    reset: bool = False
    hang: bool = False
    endless: bool = False


class PriceServer:
    """A server on an ephemeral port of 127.0.0.1, for a ``with`` block."""

    def __init__(self, *answers: Answer) -> None:
        self.answers = list(answers)
        self.requests: list[tuple[str, dict[str, str]]] = []
        self._over = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})

    @property
    def port(self) -> int:
        return self._server.server_address[1]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/data.json"

    def __enter__(self) -> PriceServer:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._over.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                server.requests.append((self.path, {key.lower(): value for key, value in self.headers.items()}))
                answer = server.answers.pop(0) if len(server.answers) > 1 else server.answers[0]
                try:
                    server._send(self, answer)
                except (BrokenPipeError, ConnectionResetError):
                    self.close_connection = True

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name http.server gives it
                pass

        return Handler

    def _send(self, handler: BaseHTTPRequestHandler, answer: Answer) -> None:
        handler.send_response(answer.status)
        for name, value in answer.headers.items():
            handler.send_header(name, value)
        if answer.length:
            handler.send_header("content-length", str(len(answer.body)))
        handler.send_header("connection", "close")
        handler.end_headers()
        handler.close_connection = True
        handler.wfile.write(answer.body[: answer.part])
        if answer.reset:
            handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            handler.rfile.close()  # it holds the socket open
            handler.connection.close()
        if answer.hang:
            self._over.wait()
        while answer.endless and not self._over.is_set():
            handler.wfile.write(answer.body)
