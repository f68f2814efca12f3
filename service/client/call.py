"""One call of the service: what is sent, and how its answer is read."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import httpx
import msgspec

from service.client.errors import WeighbridgeError
from service.client.wording import query_text

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Call(Generic[T]):
    """``read`` makes the answer of its body, ``body`` is JSON or nothing.

    ``key`` is the Idempotency-Key of a call that writes: the same for each attempt, so that it happens once.
    ``in_project`` calls are about one project's budgets and spend. ``ends`` removes something: where an attempt had no
    answer and a later one finds nothing to remove, that is done.
    """

    method: str
    path: str
    read: Callable[[bytes], T]
    body: bytes | None = None
    query: Mapping[str, object] = field(default_factory=dict)
    key: str | None = None
    in_project: bool = True
    ends: bool = False

    def request(self, project: str | None) -> dict[str, Any]:
        """The arguments of httpx's ``request``, ``timeout`` apart."""
        query = {name: query_text(value) for name, value in self.query.items() if value is not None}
        if self.in_project and project is not None:
            query["project"] = project
        headers = {} if self.body is None else {"content-type": "application/json"}
        if self.key is not None:
            headers["idempotency-key"] = self.key
        return {"method": self.method, "url": self.path, "content": self.body, "params": query, "headers": headers}

    def answer(self, found: httpx.Response) -> T:
        """What a 2xx says. Raises ``WeighbridgeError`` where it is not of the form that is known."""
        try:
            return self.read(found.content)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            own_id = found.headers.get("x-request-id", "")
            detail = f"The answer of {self.method} {self.path} is not of the form that this client knows: {error}"
            raise WeighbridgeError("unexpected_answer", detail, status=found.status_code, request_id=own_id) from error


def new_key(given: str | None = None) -> str:
    """An Idempotency-Key: the one that was given, else a new one."""
    return given or uuid.uuid4().hex


def nothing(_body: bytes) -> None:
    """The answer of a call that has none."""
