"""The calls about budgets, reservations and spend. Each builds a ``Call``; the clients carry it out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any, TypeVar, Unpack
from urllib.parse import quote

import msgspec

from service.client.call import Call, new_key, nothing
from service.client.counting_calls import costed
from service.client.inputs import Billed, Checked, Held, Listed, Messages, NewBudget, Refused, Reported, Tags, Terms
from service.client.ledger_answers import Budget, Budgets, Entries, Preflight, Refusals, Reservation, Settled, Spend
from service.client.wording import Money, dollars, encode, without_none

T = TypeVar("T")

_read_preflight = msgspec.json.Decoder(Preflight).decode
_read_reservation = msgspec.json.Decoder(Reservation).decode
_read_settled = msgspec.json.Decoder(Settled).decode
_read_entries = msgspec.json.Decoder(Entries).decode
_read_budget = msgspec.json.Decoder(Budget).decode
_read_budgets = msgspec.json.Decoder(Budgets).decode
_read_spend = msgspec.json.Decoder(Spend).decode
_read_refusals = msgspec.json.Decoder(Refusals).decode


def preflight(model: str | None = None, **what: Unpack[Checked]) -> Call[Preflight]:
    """Whether a call may be made, why not, and what it will cost; with ``reserve`` it is held for at once."""
    key = new_key() if what.get("reserve") else None  # without it nothing is written
    fields = costed({"model": model, **what})
    if fields.get("limits") is not None:
        fields["limits"] = costed(fields["limits"])
    body = encode(without_none(fields))
    return Call("POST", "/v1/preflight", _read_preflight, body, key=key)


def reserve(
    model: str | None = None,
    messages: Messages | None = None,
    max_output_tokens: int | None = None,
    *,
    idempotency_key: str | None = None,
    **what: Unpack[Held],
) -> Call[Reservation]:
    """Hold what a call may cost at most. Raises ``BudgetExceeded`` where it does not fit.

    It holds for ``ttl_seconds``, ten minutes where they are missing.
    """
    fields = {"model": model, "messages": messages, "max_output_tokens": max_output_tokens}
    given = {name: value for name, value in fields.items() if value is not None}
    return _written("/v1/reservations", costed({**given, **what}), _read_reservation, idempotency_key)


def reservation(reservation_id: str) -> Call[Reservation]:
    """A reservation as it stands."""
    return Call("GET", _of("reservations", reservation_id), _read_reservation)


def settle(
    reservation_id: str,
    usage: Any = None,
    *,
    response: Any = None,
    cost_usd: Money | None = None,
    partial: bool = False,
    model: str | None = None,
    idempotency_key: str | None = None,
    **billed: Unpack[Billed],
) -> Call[Settled]:
    """Book what a call really used: its ``usage``, the vendor's whole ``response``, or its ``cost_usd``.

    ``partial`` says that it was cut short: what is not known is taken from the reservation's estimate, and flagged.
    """
    fields = {"usage": usage, "response": response, "cost_usd": cost_usd, "partial": partial or None, "model": model}
    path = _of("reservations", reservation_id, "settle")
    return _written(path, costed({**fields, **billed}), _read_settled, idempotency_key)


def release(reservation_id: str, *, idempotency_key: str | None = None) -> Call[Reservation]:
    """End a reservation of which nothing was spent."""
    return _written(_of("reservations", reservation_id, "release"), {}, _read_reservation, idempotency_key)


def extend(reservation_id: str, ttl_seconds: float, *, idempotency_key: str | None = None) -> Call[Reservation]:
    """Let a reservation last ``ttl_seconds`` from now."""
    path = _of("reservations", reservation_id, "extend")
    return _written(path, {"ttl_seconds": ttl_seconds}, _read_reservation, idempotency_key)


def record_usage(
    model: str | None = None,
    usage: Any = None,
    *,
    response: Any = None,
    cost_usd: Money | None = None,
    at: datetime | None = None,
    tags: Tags | None = None,
    partial: bool = False,
    idempotency_key: str | None = None,
    **billed: Unpack[Billed],
) -> Call[Entries]:
    """Book a call that was made without a reservation."""
    fields = {"model": model, "usage": usage, "response": response, "cost_usd": cost_usd, "at": at, "tags": tags}
    return _written(
        "/v1/usage", costed({**fields, "partial": partial or None, **billed}), _read_entries, idempotency_key
    )


def record_all(records: Iterable[Mapping[str, Any]], *, idempotency_key: str | None = None) -> Call[Entries]:
    """Book up to 1,000 calls, all of them or none; each has the fields of ``record_usage``."""
    each = [without_none(costed(record)) for record in records]
    return _written("/v1/usage", {"records": each}, _read_entries, idempotency_key)


def create_budget(name: str, *, idempotency_key: str | None = None, **terms: Unpack[NewBudget]) -> Call[Budget]:
    """Make a budget, which counts from now on."""
    return _written("/v1/budgets", costed({"name": name, **terms}), _read_budget, idempotency_key)


def get_budget(name: str) -> Call[Budget]:
    """A budget as it stands in its present period."""
    return Call("GET", _of("budgets", name), _read_budget)


def list_budgets(*, cursor: str | None = None, limit: int | None = None) -> Call[Budgets]:
    """The project's budgets."""
    return Call("GET", "/v1/budgets", _read_budgets, query={"cursor": cursor, "limit": limit})


def change_budget(name: str, *, idempotency_key: str | None = None, **terms: Unpack[Terms]) -> Call[Budget]:
    """Change what is given of a budget; ``None`` removes a limit or the warning."""
    fields: dict[str, Any] = dict(terms)
    if fields.get("limit_usd") is not None:
        fields["limit_usd"] = dollars(fields["limit_usd"])
    path = _of("budgets", name)
    return Call("PATCH", path, _read_budget, encode(fields), key=new_key(idempotency_key))


def delete_budget(name: str) -> Call[None]:
    """Delete a budget of which nothing is held; what was spent stays."""
    return Call("DELETE", _of("budgets", name), nothing, ends=True)


def spend(**asked: Unpack[Reported]) -> Call[Spend]:
    """Spend by ``group_by`` and ``interval``; the last 30 days where no times are given."""
    return Call("GET", "/v1/spend", _read_spend, query=dict(asked))


def entries(**asked: Unpack[Listed]) -> Call[Entries]:
    """Single entries, the last first."""
    return Call("GET", "/v1/spend/entries", _read_entries, query=_listed(asked))


def refusals(**asked: Unpack[Refused]) -> Call[Refusals]:
    """What was refused and why, by the minute, the last first."""
    return Call("GET", "/v1/refusals", _read_refusals, query=dict(asked))


def _listed(asked: Listed) -> dict[str, object]:
    query: dict[str, object] = dict(asked)
    tags = query.pop("tags", None) or {}
    return query | {f"tag.{name}": value for name, value in dict(tags).items()}  # type: ignore[call-overload]


def _of(kind: str, name: str, *more: str) -> str:
    return "/".join((f"/v1/{kind}", quote(name, safe=""), *more))


def _written(
    path: str, fields: Mapping[str, Any], read: Callable[[bytes], T], idempotency_key: str | None = None
) -> Call[T]:
    return Call("POST", path, read, encode(without_none(fields)), key=new_key(idempotency_key))
