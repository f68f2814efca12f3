"""What can go wrong with a call: a small tree of classes, each with the service's stable ``code``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

import httpx
import msgspec


class WeighbridgeError(Exception):
    """A call that the service did not carry out.

    ``code`` is stable and what programs should read, ``detail`` is for people, ``path`` names the part of the request
    that is meant. ``status`` is HTTP's, 0 where there was no answer; ``request_id`` is the one in the service's log.
    ``nearest`` are the known models whose names are most like the one that is not.
    """

    nearest: Sequence[str] = ()

    def __init__(self, code: str, detail: str, *, status: int = 0, path: str = "", request_id: str = "") -> None:
        super().__init__(f"{code}: {detail}")
        self.code = code
        self.detail = detail
        self.status = status
        self.path = path
        self.request_id = request_id


class Refused(WeighbridgeError):
    """402: the call may not be made: it does not fit a budget, or nobody can tell what it will cost."""


@dataclass(frozen=True, slots=True)
class Shortfall:
    """A limit that a hold does not fit. ``remaining`` is what is left of it: dollars or tokens, by ``unit``."""

    budget: str
    unit: str
    remaining: Decimal


class BudgetExceeded(Refused):
    """402: the hold does not fit every budget that applies; ``shortfalls`` are the limits that it does not fit."""

    shortfalls: Sequence[Shortfall] = ()


class NotAllowed(WeighbridgeError):
    """401 or 403: no key, one that is not known, or one that may not do this."""


class RateLimited(WeighbridgeError):
    """429: too many requests. ``retry_after`` is when to try again, in seconds."""

    retry_after: float = 0.0


class Unavailable(WeighbridgeError):
    """The service could not be reached, or says that it cannot answer now: nothing is known to have happened."""

    retry_after: float = 0.0


class _Problem(msgspec.Struct, frozen=True):
    code: str
    detail: str
    path: str = ""
    request_id: str = ""
    shortfalls: tuple[Shortfall, ...] = ()
    nearest: tuple[str, ...] = ()


_read_problem = msgspec.json.Decoder(_Problem).decode
_UNAVAILABLE = (502, 503, 504)


def error_of(answer: httpx.Response) -> WeighbridgeError:
    """The error that an answer other than 2xx stands for."""
    try:
        problem = _read_problem(answer.content)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):  # a proxy's own page, say
        detail = f"The answer has status {answer.status_code} and is no problem of the service."
        problem = _Problem(f"http_{answer.status_code}", detail)
    kind = _kind(answer.status_code, problem.code)
    own_id = problem.request_id or answer.headers.get("x-request-id", "")
    error = kind(problem.code, problem.detail, status=answer.status_code, path=problem.path, request_id=own_id)
    error.nearest = problem.nearest
    if isinstance(error, BudgetExceeded):
        error.shortfalls = problem.shortfalls
    if isinstance(error, RateLimited | Unavailable):
        error.retry_after = retry_after(answer)
    return error


def unreached(error: httpx.RequestError, url: str) -> Unavailable:
    """The error of a call that had no answer. It was perhaps carried out all the same."""
    if isinstance(error, httpx.TimeoutException):
        return Unavailable("timeout", f"No answer from {url} in time.")
    return Unavailable("unreachable", f"No answer from {url} ({type(error).__name__}). Is the service running?")


def retry_after(answer: httpx.Response) -> float:
    """Seconds until a request may be tried again, as the answer says; 0 where it does not."""
    said = answer.headers.get("retry-after", "")
    return float(said) if said.isascii() and said.isdecimal() and len(said) <= 9 else 0.0


def _kind(status: int, code: str) -> type[WeighbridgeError]:
    if status == 402:
        return BudgetExceeded if code == "budget_exceeded" else Refused
    if status in (401, 403):
        return NotAllowed
    if status == 429:
        return RateLimited
    return Unavailable if status in _UNAVAILABLE else WeighbridgeError
