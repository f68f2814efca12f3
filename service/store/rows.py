"""Rows of the tables as the domain's values, and back."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from types import MappingProxyType
from typing import Any, TypeAlias

import msgspec
from sqlalchemy import Row

from service.domain.spending.budgets import (
    Budget,
    BudgetSpec,
    PeriodKind,
    Scope,
    ScopeKind,
    Spender,
    Terms,
    Totals,
    dollars,
    spent_nano,
)
from service.domain.spending.ledger import Entry, Estimate, Flag, Hold, HoldState, Metered

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
Charge: TypeAlias = tuple[int, int]
"""A budget's id and the start of the period, in microseconds, that something was held or booked in."""

_CHARGES = msgspec.json.Decoder(tuple[Charge, ...])
_TAGS = msgspec.json.Decoder(dict[str, str])
_MICROSECOND = timedelta(microseconds=1)
_NO_TAGS: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class HeldRow:
    """A hold with what only the store knows of it: its charges, and the digest of its settlement."""

    hold: Hold
    charges: tuple[Charge, ...]
    digest: str | None = None


def json_text(value: object) -> str:
    """``value`` as JSON without blanks; letters of any script as they are."""
    return msgspec.json.encode(value).decode()


def micros(at: datetime) -> int:
    """Microseconds since 1970."""
    return (at - EPOCH) // _MICROSECOND


def moment(at: int) -> datetime:
    """The instant of so many microseconds since 1970."""
    return EPOCH + at * _MICROSECOND


def new_id(prefix: str, now: datetime) -> str:
    """An id that sorts by time: the prefix, the millisecond, and 80 random bits, in hex."""
    return first_id(prefix, now) + secrets.token_hex(10)


def first_id(prefix: str, at: datetime) -> str:
    """What every id made from ``at`` on is not below."""
    return f"{prefix}_{micros(at) // 1000:012x}"


def budget_of(row: Row[Any]) -> Budget:
    """A row of ``budgets``."""
    warn_at = None if row.warn_at is None else Decimal(row.warn_at)
    spec = BudgetSpec(
        row.project,
        row.name,
        Terms(row.limit_nano, row.limit_tokens, warn_at, row.export),
        Scope(ScopeKind(row.scope_kind), row.scope_value, row.scope_key),
        PeriodKind(row.period),
        row.timezone,
    )
    return Budget(row.id, spec, row.version, moment(row.created_at), moment(row.changed_at))


def terms_values(terms: Terms) -> dict[str, Any]:
    """The columns of a budget's terms."""
    return {
        "limit_nano": terms.limit_nano,
        "limit_tokens": terms.limit_tokens,
        "warn_at": None if terms.warn_at is None else str(terms.warn_at),
        "export": terms.export,
    }


def totals_of(row: Row[Any]) -> Totals:
    """A row of ``budget_periods``."""
    return Totals(row.spent_nano, row.held_nano, row.spent_tokens, row.held_tokens, row.open_holds)


def totals_values(charge: Charge, totals: Totals) -> dict[str, Any]:
    """The row of ``budget_periods`` for a budget's period."""
    return {
        "budget_id": charge[0],
        "start": charge[1],
        "spent_nano": totals.spent_nano,
        "held_nano": totals.held_nano,
        "spent_tokens": totals.spent_tokens,
        "held_tokens": totals.held_tokens,
        "open_holds": totals.open_holds,
    }


def budgets_of(row: Row[Any]) -> list[int]:
    """The ids of the budgets that a row of ``holds`` holds of."""
    return [budget for budget, _ in _CHARGES.decode(row.charges)]


def held_of(row: Row[Any], names: Mapping[int, str]) -> HeldRow:
    """A row of ``holds``; ``names`` are those of its budgets."""
    charges = _CHARGES.decode(row.charges)
    hold = Hold(
        id=row.id,
        spender=_spender(row),
        state=HoldState(row.state),
        nano=row.nano,
        tokens=row.tokens,
        at=moment(row.at),
        expires_at=moment(row.expires_at),
        price_revision=row.price_revision,
        estimate=_estimate(row),
        budgets=tuple(names[budget] for budget, _ in charges),
        entry_id=row.entry_id,
    )
    return HeldRow(hold, charges, row.digest)


def held_values(held: HeldRow) -> dict[str, Any]:
    """The row of ``holds``."""
    hold = held.hold
    return {
        "id": hold.id,
        "state": hold.state.value,
        "nano": hold.nano,
        "tokens": hold.tokens,
        "at": micros(hold.at),
        "expires_at": micros(hold.expires_at),
        "price_revision": hold.price_revision,
        "charges": json_text(held.charges),
        "entry_id": hold.entry_id,
        "digest": held.digest,
        **_spender_values(hold.spender),
        **_estimate_values(hold.estimate),
    }


def entry_of(row: Row[Any]) -> Entry:
    """A row of ``entries``."""
    return Entry(
        id=row.id,
        spender=_spender(row),
        at=moment(row.at),
        booked_at=moment(row.booked_at),
        nano=row.nano,
        metered=Metered(
            row.input_tokens, row.output_tokens, row.cache_read_tokens, row.cache_write_tokens, row.reasoning_tokens
        ),
        flags=frozenset(Flag(flag) for flag in row.flags.split()),
        price_revision=row.price_revision,
        estimate=_estimate(row),
        hold_id=row.hold_id,
        held_nano=row.held_nano,
    )


def entry_values(entry: Entry) -> dict[str, Any]:
    """The row of ``entries``."""
    return {
        "id": entry.id,
        "at": micros(entry.at),
        "booked_at": micros(entry.booked_at),
        "nano": entry.nano,
        "input_tokens": entry.metered.input_tokens,
        "output_tokens": entry.metered.output_tokens,
        "cache_read_tokens": entry.metered.cache_read_tokens,
        "cache_write_tokens": entry.metered.cache_write_tokens,
        "reasoning_tokens": entry.metered.reasoning_tokens,
        "flags": " ".join(sorted(entry.flags)),
        "price_revision": entry.price_revision,
        "hold_id": entry.hold_id,
        "held_nano": entry.held_nano,
        **_spender_values(entry.spender),
        **_estimate_values(entry.estimate),
    }


def _spender(row: Row[Any]) -> Spender:
    tags = _TAGS.decode(row.tags) if row.tags else _NO_TAGS
    return Spender(
        row.project, row.key_id or None, row.provider or None, row.model or None, row.tokenizer or None, tags
    )


def _spender_values(spender: Spender) -> dict[str, Any]:
    return {
        "project": spender.project,
        "key_id": spender.key_id or "",
        "provider": spender.provider or "",
        "model": spender.model or "",
        "tokenizer": spender.tokenizer or "",
        "tags": json_text(dict(sorted(spender.tags.items()))) if spender.tags else "",
    }


def _estimate(row: Row[Any]) -> Estimate:
    usd = None if row.estimated_nano is None else dollars(row.estimated_nano)
    return Estimate(row.estimated_input_tokens, row.estimated_output_tokens, usd)


def _estimate_values(estimate: Estimate) -> dict[str, Any]:
    return {
        "estimated_input_tokens": estimate.input_tokens,
        "estimated_output_tokens": estimate.output_tokens,
        "estimated_nano": None if estimate.usd is None else spent_nano(estimate.usd),
    }
