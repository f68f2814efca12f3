"""A Redis server of the tests' own, on a free port of this machine; it keeps nothing on the disk."""

from __future__ import annotations

import shutil
import signal
import socket
import subprocess
import time


class RedisServer:
    """Started at once. ``freeze`` makes it silent without closing a connection."""

    def __init__(self) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port: int = probe.getsockname()[1]
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self.start()

    def start(self) -> None:
        command = ["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        for _ in range(600):
            try:
                if self.ask(b"PING") == b"+PONG\r\n":
                    return
            except ConnectionError:
                time.sleep(0.02)
        raise TimeoutError

    def ask(self, command: bytes) -> bytes:
        """The answer to one command, as the protocol has it."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=10) as connection:
            connection.sendall(command + b"\r\n")
            return connection.recv(65536)

    def freeze(self) -> None:
        self.process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self.process.send_signal(signal.SIGCONT)

    def stop(self) -> None:
        self.thaw()
        self.process.kill()
        self.process.wait(30)


def is_installed() -> bool:
    return shutil.which("redis-server") is not None
