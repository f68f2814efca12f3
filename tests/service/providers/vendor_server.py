"""A real HTTP server on loopback that plays a vendor's counting endpoint, and does what it is told."""

from __future__ import annotations

import json
import socket
import struct
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any


@dataclass(frozen=True)
class Answer:
    """What is sent. ``reset`` breaks the connection instead, ``hang`` says nothing, ``endless`` never ends."""

    body: bytes = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    reset: bool = False
    hang: bool = False
    endless: bool = False


def counted(tokens: int, name: str = "input_tokens") -> Answer:
    return Answer(json.dumps({name: tokens}).encode())


@dataclass(frozen=True)
class Seen:
    path: str
    headers: Mapping[str, str]
    body: Any


class VendorServer:
    """For a ``with`` block. Answers are given in order, the last again and again; requests are kept."""

    def __init__(self, *answers: Answer) -> None:
        self.answers = list(answers)
        self.seen: list[Seen] = []
        self.over = threading.Event()
        self._arrived = threading.Condition()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def wait_for(self, requests: int) -> None:
        """Return once so many requests have arrived."""
        with self._arrived:
            assert self._arrived.wait_for(lambda: len(self.seen) >= requests, 60)

    def __enter__(self) -> VendorServer:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.over.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                with server._arrived:
                    server.seen.append(Seen(self.path, {k.lower(): v for k, v in self.headers.items()}, body))
                    server._arrived.notify_all()
                answer = server.answers.pop(0) if len(server.answers) > 1 else server.answers[0]
                try:
                    server._send(self, answer)
                except (BrokenPipeError, ConnectionResetError):
                    self.close_connection = True

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name http.server gives it
                pass

        return Handler

    def _send(self, handler: BaseHTTPRequestHandler, answer: Answer) -> None:
        handler.close_connection = True
        if answer.reset:
            handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            handler.rfile.close()  # it holds the socket open
            handler.connection.close()
            return
        if answer.hang:
            self.over.wait()
            return
        handler.send_response(answer.status)
        for name, value in answer.headers.items():
            handler.send_header(name, value)
        if not answer.endless:
            handler.send_header("content-length", str(len(answer.body)))
        handler.send_header("connection", "close")
        handler.end_headers()
        handler.wfile.write(answer.body)
        while answer.endless and not self.over.is_set():
            handler.wfile.write(answer.body)
