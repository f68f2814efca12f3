"""Errors on the wire: one table from an error's class to its problem, and the ``application/problem+json`` form.

A problem never repeats a caller's values (RFC 9457 form; ``code`` is stable and what programs should read).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec

from adapters.port import DeadlineExceeded, InvalidIds, StretchTooLong, TokenizerError
from service.domain.errors import (
    ChatNotRendered,
    InconsistentUsage,
    InexactCount,
    NoIds,
    NoTokenizer,
    TemplateNotAllowed,
    UnknownModel,
    UnknownTokenizer,
)

PROBLEM_JSON = b"application/problem+json"


class Problem(msgspec.Struct, frozen=True, omit_defaults=True):
    """An error as clients read it."""

    type: str
    title: str
    status: int
    code: str
    detail: str
    path: str = ""
    request_id: str = ""
    nearest: Sequence[str] = ()


class ApiError(Exception):
    """A request that cannot be served as it is. ``path`` names the part of the body, never its value."""

    def __init__(
        self, status: int, code: str, detail: str, *, path: str = "", headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.code = code
        self.detail = detail
        self.path = path
        self.headers = dict(headers or {})


@dataclass(frozen=True, slots=True)
class _Row:
    status: int
    code: str
    retry_after: int = 0


_TABLE: Mapping[type[Exception], _Row] = {
    UnknownModel: _Row(422, "unknown_model"),
    UnknownTokenizer: _Row(422, "unknown_tokenizer"),
    NoTokenizer: _Row(422, "no_tokenizer"),
    NoIds: _Row(422, "no_ids"),
    InexactCount: _Row(422, "inexact"),
    InconsistentUsage: _Row(422, "inconsistent_usage"),
    InvalidIds: _Row(422, "invalid_ids"),
    ChatNotRendered: _Row(422, "chat_not_rendered"),
    TemplateNotAllowed: _Row(422, "chat_template_not_allowed"),
    DeadlineExceeded: _Row(503, "deadline_exceeded", retry_after=1),
    StretchTooLong: _Row(413, "text_too_long"),
    TokenizerError: _Row(422, "text_not_countable"),
}

TITLES: Mapping[str, str] = {
    "ambiguous_dialect": "The body could be in more than one wire form",
    "bad_host": "The Host header is not one of this service's names",
    "bad_origin": "The Origin header belongs to another site",
    "chat_not_rendered": "The chat template does not take these messages",
    "chat_template_not_allowed": "Chat templates of a caller's own are not run here",
    "deadline_exceeded": "The answer took longer than the deadline",
    "inconsistent_usage": "The usage contradicts itself",
    "inexact": "An exact count was asked for and there is none",
    "internal_error": "The service failed",
    "invalid_ids": "An id is not in the vocabulary",
    "invalid_json": "The body is not JSON",
    "invalid_request": "The body does not fit the route",
    "method_not_allowed": "The route does not take this method",
    "no_ids": "The vocabulary counts tokens and cannot name them",
    "no_tokenizer": "The model is known, but no tokenizer for it",
    "model_missing": "No model is named",
    "not_found": "No such route",
    "overloaded": "Too many large requests at once",
    "price_unknown": "The price is not known",
    "request_body_encoding_invalid": "The body is not what its Content-Encoding says",
    "request_body_encoding_unsupported": "The body's Content-Encoding is not taken",
    "request_body_timeout": "The body did not arrive in time",
    "request_body_too_large": "The body is too large",
    "request_body_too_large_after_decoding": "The body is too large once decompressed",
    "sampling_unsupported": "The tokenizer has only one encoding of a text",
    "text_not_countable": "The tokenizer could not take the text",
    "text_not_utf8": "The text is not UTF-8",
    "text_too_long": "The text is too long for this route",
    "unknown_dialect": "The wire form of the request is not recognised",
    "unknown_model": "No such model",
    "unknown_tokenizer": "No such tokenizer",
    "unsupported_media_type": "The body is of a kind that the route does not take",
    "usage_missing": "A count that the cost depends on is not there",
}


def as_problem(error: Exception, request_id: str = "") -> tuple[Problem, dict[str, str]]:
    """The problem that ``error`` is answered with, and its extra headers. An unforeseen error becomes a bare 500."""
    if isinstance(error, ApiError):
        return _problem(error.status, error.code, error.detail, error.path, request_id), error.headers
    for kind, row in _TABLE.items():
        if isinstance(error, kind):
            headers = {"retry-after": str(row.retry_after)} if row.retry_after else {}
            nearest = getattr(error, "nearest", ())
            return _problem(row.status, row.code, str(error), "", request_id, nearest), headers
    detail = "Something failed that should not. The log names the place under this request id."
    return _problem(500, "internal_error", detail, "", request_id), {}


def _problem(status: int, code: str, detail: str, path: str, request_id: str, nearest: Sequence[str] = ()) -> Problem:
    return Problem(f"urn:weighbridge:problem:{code}", TITLES[code], status, code, detail, path, request_id, nearest)
