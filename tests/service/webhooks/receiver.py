"""A receiver of webhooks in a thread, with answers that a test chooses; and another reading of signatures."""

from __future__ import annotations

import base64
import hashlib
import json
import queue
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Received:
    """One request."""

    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def id(self) -> str:
        return self.headers["webhook-id"]

    @property
    def told(self) -> dict[str, Any]:
        return json.loads(self.body)

    def verify(self, secret: bytes) -> None:
        """HMAC by its definition (RFC 2104), over what the headers say."""
        block = secret.ljust(64, b"\0") if len(secret) <= 64 else hashlib.sha256(secret).digest().ljust(64, b"\0")
        signed = f"{self.id}.{self.headers['webhook-timestamp']}.".encode() + self.body
        inner = hashlib.sha256(bytes(byte ^ 0x36 for byte in block) + signed).digest()
        outer = hashlib.sha256(bytes(byte ^ 0x5C for byte in block) + inner).digest()
        assert self.headers["webhook-signature"] == f"v1,{base64.b64encode(outer).decode()}"


@dataclass
class Receiver:
    """Answers ``statuses`` in turn, then 204."""

    statuses: list[int] = field(default_factory=list)
    got: queue.Queue[Received] = field(default_factory=queue.Queue)
    location: str = ""

    def start(self, port: int = 0) -> None:
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                status = receiver.statuses.pop(0) if receiver.statuses else 204
                self.send_response(status)
                if receiver.location:
                    self.send_header("location", receiver.location)
                self.end_headers()
                headers = {name.lower(): value for name, value in self.headers.items()}
                receiver.got.put(Received(self.path, headers, body))

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        self._thread.start()

    @property
    def port(self) -> int:
        return self._server.server_address[1]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook?x=1"

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def next(self) -> Received:
        return self.got.get(timeout=60)
