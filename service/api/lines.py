"""The request log: one line a request on stderr, written a few at a time so that no request waits for it."""

from __future__ import annotations

import asyncio
import atexit
import sys
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

import msgspec

from service.domain.spending.budgets import DEFAULT_PROJECT

_DELAY = 0.05  # seconds that a line may wait
_MOST = 256  # lines that wait


class RequestLines:
    """Writes log lines as ``json``, ``text`` or (``off``) not at all.

    Lines of requests wait up to 50 ms for others; a process that is killed outright takes those with it. What was
    waiting is written before a line about an error, and when the process ends.
    """

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._encode = msgspec.json.Encoder().encode
        self._waiting: list[tuple[float, str, str, int, float, str, str]] = []
        self._timer: asyncio.TimerHandle | None = None
        if kind != "off":
            atexit.register(self.flush)

    def request(
        self, method: str, route: str, status: int, seconds: float, request_id: str, project: str = DEFAULT_PROJECT
    ) -> None:
        """Note an answered request; ``route`` is a template, ``project`` is empty for a caller without a valid key."""
        if self._kind == "off":
            return
        self._waiting.append((time.time(), method, route, status, seconds, request_id, project))
        if self._timer is None:
            try:
                self._timer = asyncio.get_running_loop().call_later(_DELAY, self.flush)
            except RuntimeError:
                self.flush()
        elif len(self._waiting) >= _MOST:
            self.flush()

    def error(self, facts: Mapping[str, Any]) -> None:
        """Write a line about an error, now."""
        if self._kind != "off":
            self.flush()
            sys.stderr.write(self._line({"time": _moment(time.time()), "level": "error", **facts}))

    def flush(self) -> None:
        """Write what waits."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        lines, self._waiting = self._waiting, []
        if lines:
            sys.stderr.write("".join(map(self._request_line, lines)))

    def _request_line(self, noted: tuple[float, str, str, int, float, str, str]) -> str:
        at, method, route, status, seconds, request_id, project = noted
        return self._line(
            {
                "time": _moment(at),
                "method": method if method.isalpha() and len(method) <= 7 else "other",
                "route": route,
                "status": status,
                "ms": round(seconds * 1000, 3),
                "request_id": request_id,
                "project": project,
            }
        )

    def _line(self, facts: Mapping[str, Any]) -> str:
        if self._kind == "json":
            return self._encode(facts).decode() + "\n"
        return " ".join(f"{key}={value}" for key, value in facts.items()) + "\n"


def _moment(at: float) -> str:
    return f"{_second(int(at))}.{int(at * 1000) % 1000:03}Z"


@lru_cache(maxsize=2)
def _second(at: int) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%S")
