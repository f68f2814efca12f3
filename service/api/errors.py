"""Errors on the wire: one table from an error's class to its problem, and the ``application/problem+json`` form.

A problem never repeats a caller's values (RFC 9457 form; ``code`` is stable and what programs should read).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import msgspec

from adapters.port import DeadlineExceeded, InvalidIds, StretchTooLong, TokenizerError
from service.domain.errors import (
    ChatNotRendered,
    DomainError,
    InconsistentUsage,
    InexactCount,
    NoIds,
    NoTokenizer,
    PriceUnknown,
    TemplateNotAllowed,
    UnknownModel,
    UnknownTokenizer,
)
from service.domain.keys import errors as keys
from service.domain.money import canonical
from service.domain.spending import errors as ledger
from service.domain.spending.budgets import dollars

PROBLEM_JSON = b"application/problem+json"


class WireShortfall(msgspec.Struct, frozen=True):
    """A limit of a budget that a reservation does not fit: dollars as a decimal string, or tokens."""

    budget: str
    unit: Literal["usd", "tokens"]
    remaining: str | int


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
    key_id: str = ""
    shortfalls: Sequence[WireShortfall] = ()


class ApiError(Exception):
    """A request that cannot be served as it is. ``path`` names the part of the body, never its value.

    ``cause`` is the error behind it, which may know the nearest names, or the limits that were not kept.
    """

    def __init__(
        self,
        status: int,
        code: str,
        detail: str,
        *,
        path: str = "",
        headers: Mapping[str, str] | None = None,
        cause: Exception | None = None,
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.code = code
        self.detail = detail
        self.path = path
        self.headers = dict(headers or {})
        self.cause = cause


def refused(cause: DomainError) -> ApiError:
    """A call that may not be made: 402, which no client takes for something to try again."""
    return ApiError(402, cause.code, str(cause), cause=cause)


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
    PriceUnknown: _Row(422, "price_unknown"),
    InexactCount: _Row(422, "inexact"),
    InconsistentUsage: _Row(422, "inconsistent_usage"),
    InvalidIds: _Row(422, "invalid_ids"),
    ChatNotRendered: _Row(422, "chat_not_rendered"),
    TemplateNotAllowed: _Row(422, "chat_template_not_allowed"),
    ledger.LedgerUnavailable: _Row(503, "ledger_unavailable", retry_after=1),
    ledger.LedgerNotOpened: _Row(503, "ledger_unavailable", retry_after=30),
    ledger.InvalidBudget: _Row(422, "invalid_budget"),
    ledger.InvalidQuery: _Row(422, "invalid_query"),
    ledger.InvalidAmount: _Row(422, "invalid_amount"),
    ledger.UnknownBudget: _Row(404, "unknown_budget"),
    ledger.BudgetExists: _Row(409, "budget_exists"),
    ledger.BudgetHasHolds: _Row(409, "budget_has_holds"),
    ledger.BudgetExceeded: _Row(402, "budget_exceeded"),
    ledger.TokensRequired: _Row(422, "tokens_required"),
    ledger.UnknownReservation: _Row(404, "unknown_reservation"),
    ledger.AlreadySettled: _Row(409, "already_settled"),
    ledger.ReservationClosed: _Row(409, "reservation_closed"),
    ledger.KeyReused: _Row(422, "idempotency_key_reused"),
    ledger.InFlight: _Row(409, "idempotency_in_flight", retry_after=1),
    keys.KeysUnavailable: _Row(503, "keys_unavailable", retry_after=2),
    keys.InvalidKey: _Row(422, "invalid_request"),
    keys.UnknownKey: _Row(404, "unknown_key"),
    keys.KeyRevoked: _Row(409, "key_revoked"),
    keys.FirstKeyNotAdmin: _Row(409, "first_key_not_admin"),
    keys.LastAdminKey: _Row(409, "last_admin_key"),
    keys.AlreadyCreated: _Row(409, "already_created"),
    DeadlineExceeded: _Row(503, "deadline_exceeded", retry_after=1),
    StretchTooLong: _Row(413, "text_too_long"),
    TokenizerError: _Row(422, "text_not_countable"),
}

TITLES: Mapping[str, str] = {
    "already_created": "The key was made before, and its text is shown once",
    "already_settled": "The reservation was settled with another content",
    "ambiguous_dialect": "The body could be in more than one wire form",
    "bad_host": "The Host header is not one of this service's names",
    "bad_origin": "The Origin header belongs to another site",
    "budget_exceeded": "The reservation does not fit the budget",
    "budget_exists": "The budget exists already",
    "budget_has_holds": "The budget has open reservations",
    "chat_not_rendered": "The chat template does not take these messages",
    "chat_template_not_allowed": "Chat templates of a caller's own are not run here",
    "deadline_exceeded": "The answer took longer than the deadline",
    "first_key_not_admin": "The first key has to be an admin's",
    "idempotency_in_flight": "The first request with this Idempotency-Key is under way",
    "idempotency_key_reused": "The Idempotency-Key belongs to another request",
    "inconsistent_usage": "The usage contradicts itself",
    "inexact": "An exact count was asked for and there is none",
    "internal_error": "The service failed",
    "invalid_amount": "The amount cannot be that of a call",
    "invalid_budget": "A budget cannot be so",
    "invalid_idempotency_key": "The Idempotency-Key is none",
    "invalid_ids": "An id is not in the vocabulary",
    "invalid_json": "The body is not JSON",
    "invalid_query": "The report cannot be made so",
    "invalid_request": "The request does not fit the route",
    "key_invalid": "The key is not valid",
    "key_missing": "The request has no key",
    "key_revoked": "The key is revoked",
    "keys_unavailable": "The keys are not known yet",
    "last_admin_key": "It is the last admin key",
    "ledger_unavailable": "The ledger's database cannot be used",
    "method_not_allowed": "The route does not take this method",
    "no_ids": "The vocabulary counts tokens and cannot name them",
    "no_tokenizer": "The model is known, but no tokenizer for it",
    "model_missing": "No model is named",
    "not_found": "No such route",
    "overloaded": "Too many large requests at once",
    "price_unknown": "The price is not known",
    "rate_limited": "The key has asked too often",
    "request_body_encoding_invalid": "The body is not what its Content-Encoding says",
    "request_body_encoding_unsupported": "The body's Content-Encoding is not taken",
    "request_body_timeout": "The body did not arrive in time",
    "reservation_closed": "The reservation holds nothing any more",
    "request_body_too_large": "The body is too large",
    "request_body_too_large_after_decoding": "The body is too large once decompressed",
    "sampling_unsupported": "The tokenizer has only one encoding of a text",
    "scope_missing": "The key may not do this",
    "text_not_countable": "The tokenizer could not take the text",
    "text_not_utf8": "The text is not UTF-8",
    "text_too_long": "The text is too long for this route",
    "tokens_required": "A budget with a token limit needs tokens",
    "unknown_budget": "No such budget",
    "unknown_key": "No such key",
    "unknown_dialect": "The wire form of the request is not recognised",
    "unknown_model": "No such model",
    "unknown_reservation": "No such reservation",
    "unknown_tokenizer": "No such tokenizer",
    "unsupported_media_type": "The body is of a kind that the route does not take",
    "usage_missing": "A count that the cost depends on is not there",
}


def as_problem(error: Exception, request_id: str = "") -> tuple[Problem, dict[str, str]]:
    """The problem that ``error`` is answered with, and its extra headers. An unforeseen error becomes a bare 500."""
    if isinstance(error, ApiError):
        return _problem(error.status, error.code, error.detail, error.path, request_id, error.cause), error.headers
    for kind, row in _TABLE.items():
        if isinstance(error, kind):
            path = getattr(error, "field", "")
            return _problem(row.status, row.code, str(error), path, request_id, error), _headers(row)
    detail = "Something failed that should not. The log names the place under this request id."
    return _problem(500, "internal_error", detail, "", request_id), {}


def _headers(row: _Row) -> dict[str, str]:
    """When to try again. SDKs of vendors take every 409 for a passing one, unless they are told."""
    headers = {"retry-after": str(row.retry_after)} if row.retry_after else {}
    if row.status == 409:
        headers["x-should-retry"] = "true" if row.retry_after else "false"
    return headers


def _problem(
    status: int, code: str, detail: str, path: str, request_id: str, cause: Exception | None = None
) -> Problem:
    return Problem(
        type=f"urn:weighbridge:problem:{code}",
        title=TITLES[code],
        status=status,
        code=code,
        detail=detail,
        path=path,
        request_id=request_id,
        nearest=getattr(cause, "nearest", ()),
        key_id=getattr(cause, "key_id", ""),
        shortfalls=tuple(_wire_shortfall(item) for item in getattr(cause, "shortfalls", ())),
    )


def _wire_shortfall(item: ledger.Shortfall) -> WireShortfall:
    if item.unit == "tokens":
        return WireShortfall(item.budget, "tokens", item.left)
    return WireShortfall(item.budget, "usd", canonical(dollars(item.left)))
