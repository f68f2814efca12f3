"""The server: uvicorn with this service's shutdown, its reload on SIGHUP and its price refresh."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import signal
import socket
import sys
from collections.abc import Coroutine
from types import FrameType
from typing import Any, cast

import uvicorn

from service import __version__
from service.api.lane import FastLane
from service.app.assembly import Assembly
from service.app.refreshing import asked_for, refresh_prices
from service.app.saying import say
from service.app.upkeep import close, upkeep
from service.domain.errors import DomainError
from service.settings import InvalidSetting, unknown_variables


class Server(uvicorn.Server):
    """uvicorn's server. On SIGTERM it answers 503 on ``/readyz`` where a connection is open, drains, and ends."""

    def __init__(self, config: uvicorn.Config, assembly: Assembly) -> None:
        super().__init__(config)
        self._assembly = assembly
        self._refresh = asked_for(assembly)
        assembly.secret.key("")  # says now what is missing, and not when it is needed
        self._tasks: set[asyncio.Task[None]] = set()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Note the shutdown before uvicorn begins it; a second signal does not cut off what is drained."""
        if not self._assembly.lifecycle.draining:
            self._assembly.lifecycle.draining = True
            super().handle_exit(sig, frame)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, then begin what runs beside the requests."""
        await super().startup(sockets)
        host, port = self.servers[0].sockets[0].getsockname()[:2]
        where = f"http://{f'[{host}]' if ':' in host else host}:{port}"
        sys.stderr.write(f"weighbridge {__version__}: listening on {where}, process {os.getpid()}; see {where}/docs\n")
        asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, self._reload)
        if self._refresh is not None:
            self._begin(refresh_prices(self._assembly, self._refresh))
        for work in upkeep(self._assembly):
            self._begin(work)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End what runs beside the requests, then drain, then close the connections to vendors."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)  # none of them may keep the drain from happening
        await super().shutdown(sockets)
        await close(self._assembly)

    def _reload(self) -> None:
        self._begin(asyncio.to_thread(reload, self._assembly))

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def reload(assembly: Assembly) -> None:
    """Read the configuration anew, and say on stderr how that ended; a wrong file changes nothing."""
    try:
        assembly.reload()
    except Exception as error:
        say(f"the configuration was not reloaded, the one before stays: {_message(error)}")
    else:
        say("the configuration was reloaded")


def bind(host: str, port: int) -> socket.socket:
    """A socket on ``host`` and ``port`` that takes no connection yet. Raises ``InvalidSetting`` where it is taken."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except OSError as error:
        listener.close()
        reason = (error.strerror or "the address cannot be used").lower()
        raise InvalidSetting(f"Port {port} of {host}: {reason}. Choose another with --port.") from None
    return listener


def serve(app: FastLane, assembly: Assembly, listener: socket.socket) -> None:
    """Serve ``app`` on ``listener`` until SIGTERM or SIGINT."""
    for message in unknown_variables(os.environ):
        say(message)
    # Its warnings are about what was sent (no HTTP, an upgrade to WebSocket): anyone could fill the log with them.
    logging.getLogger("uvicorn").setLevel(logging.ERROR)
    config = uvicorn.Config(
        cast("Any", app),
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,  # nothing here depends on who asks; it would be one more layer around each request
        timeout_keep_alive=75,  # longer than the idle time of common client pools
        timeout_graceful_shutdown=assembly.settings.drain_seconds,
    )
    server = Server(config, assembly)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _already_handled)
    gc.collect()
    gc.freeze()  # what was loaded stays, and need not be looked at again by each full collection
    server.run([listener])
    app.flush()
    if assembly.pool.close():
        sys.stderr.flush()
        os._exit(0)  # a library call that cannot be interrupted would hold up the exit, with nobody left to answer


def _message(error: Exception) -> str:
    return str(error) if isinstance(error, DomainError) else f"{type(error).__name__}: {error}"


def _already_handled(number: int, frame: FrameType | None) -> None:
    """Take the signal that uvicorn, once it has drained, raises again: the process then ends with status 0."""
    del number, frame
