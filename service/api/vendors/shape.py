"""How an error is written: as a problem on our own routes, in the vendor's shape on a vendor's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from service.api.errors import PROBLEM_JSON, Problem, as_problem


@dataclass(frozen=True, slots=True)
class Shape:
    """A vendor's errors: ``write`` makes status and body of a problem.

    ``id_header`` names the vendor's own header for the request's id, where it is not ``x-request-id``.
    """

    write: Callable[[Problem], tuple[int, Any]]
    id_header: str = ""

    def headers(self, request_id: str) -> dict[str, str]:
        """What every answer in this shape bears."""
        return {self.id_header: request_id} if self.id_header else {}


@dataclass(frozen=True, slots=True)
class Refusal:
    """An error as it is sent. ``code`` is ours, whatever the shape."""

    code: str
    status: int
    body: bytes
    content_type: bytes
    headers: Mapping[str, str] = field(default_factory=dict)


def refusal(error: Exception, request_id: str, shape: Shape | None) -> Refusal:
    """What ``error`` is answered with; without a ``shape`` it is a problem."""
    problem, headers = as_problem(error, request_id)
    if shape is None:
        return Refusal(problem.code, problem.status, msgspec.json.encode(problem), PROBLEM_JSON, headers)
    status, body = shape.write(problem)
    headers |= shape.headers(request_id)
    return Refusal(problem.code, status, msgspec.json.encode(body), b"application/json", headers)


def told(problem: Problem) -> str:
    """The detail, with the place in the body in front."""
    return f"{problem.path}: {problem.detail}" if problem.path else problem.detail


def folded(problem: Problem) -> int:
    """The status as vendors use them: an unknown model is 404, and what does not fit the route is 400."""
    if problem.code == "unknown_model":
        return 404
    return 400 if problem.status == 422 else problem.status
