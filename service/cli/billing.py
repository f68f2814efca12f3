"""What the commands about money share: the options that decide a price, and how a cost is shown.

Dollars are exact decimals and are printed as they are: no exponent, no rounding.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from decimal import Decimal, InvalidOperation
from typing import Any

import click
import msgspec

from service.cli.output import note, print_table, printable
from service.domain.costing import Component
from service.domain.money import canonical
from service.domain.notices import Notice
from service.domain.prices import SERVICE_TIERS, Free, Price, PriceContext, Rate, Tier, Unknown
from service.domain.usage import MTOK, UNITS, Unit

UNKNOWN = "unknown"
NONE = "-"
MOST_TOKENS = 10**12
"""More than any call has; so many at most are taken."""

_DATE = len("2026-11-29")
_MOST, _PLACES = 10**15, 12  # what exact arithmetic holds, as on the HTTP routes
_PER = {MTOK: "per million", 1000: "per thousand", 1: "each", 3600: "per hour", 10**9: "per billion"}


def moment(text: str) -> datetime:
    """The value of an option: a time with its offset (RFC 3339), or a date, which is its midnight UTC."""
    try:
        if len(text) == _DATE:
            return datetime.combine(msgspec.convert(text, date), time(), UTC)
        at = msgspec.convert(text, datetime)
        if at.tzinfo is not None:
            return at.astimezone(UTC)
    except (msgspec.ValidationError, OverflowError):
        pass
    raise click.BadParameter("Give a date, or a time with its offset: 2026-11-29 or 2026-11-29T12:00:00Z.")


def token_count(text: str) -> int:
    """The value of an option: a number of tokens."""
    try:
        number = int(text)
    except ValueError:
        number = -1
    if not 0 <= number <= MOST_TOKENS:
        raise click.BadParameter(f"Give a whole number from 0 to {MOST_TOKENS}.")
    return number


def amount(text: str) -> Decimal:
    """The value of an option: an exact decimal from 0 to 10**15 with at most 12 places."""
    try:
        number = Decimal(text)
    except InvalidOperation:
        number = Decimal("NaN")
    if not number.is_finite() or not 0 <= number <= _MOST or number != round(number, _PLACES):
        raise click.BadParameter(f"Give a number of at least 0 with at most {_PLACES} decimal places, such as 0.25.")
    return number


@dataclass(frozen=True, slots=True)
class Billing:
    """When a call is made, in UTC, and what else decides its price."""

    at: datetime
    context: PriceContext


def billed(command: Callable[..., None]) -> Callable[..., None]:
    """The options that say how and when a call is billed, as the argument ``billing``; and ``--json``."""

    @functools.wraps(command)
    def run(*, tier: str, region: str | None, at: datetime | None, **others: Any) -> None:
        command(billing=Billing(at or datetime.now(UTC), PriceContext(tier, region or None)), **others)

    for option in (
        click.option("--json", "as_json", is_flag=True, help="Print one line of JSON, as the HTTP route answers it."),
        click.option("--at", type=moment, metavar="TIME", help="A date or a time: when it is called. [default: now]"),
        click.option("--region", metavar="NAME", help="Where the call is served, if that has a price of its own."),
        click.option(
            "--tier", type=click.Choice(SERVICE_TIERS), default="standard", show_default=True, help="The service tier."
        ),
    ):
        run = option(run)
    return run


def dollars(cost: Decimal | None, none: str = UNKNOWN) -> str:
    """``cost`` in full, or ``none``."""
    return none if cost is None else canonical(cost)


def print_facts(facts: Iterable[tuple[str, object]]) -> None:
    """Print a label and its value on each line: aligned on a terminal, else separated by a tab."""
    facts = list(facts)
    wide = sys.stdout.isatty()
    width = max(len(label) for label, _ in facts)
    for label, value in facts:
        text = printable(str(value))
        click.echo(f"{label:<{width}}  {text}" if wide else f"{label}\t{text}")


def print_components(components: Sequence[Component]) -> None:
    """Print each product of a cost: unit, quantity, rate with its tier and factors, dollars."""
    cells = [(c.unit.name, canonical(c.quantity), _rate_of(c), canonical(c.usd)) for c in components]
    if cells:
        print_table(("unit", "quantity", "rate", "dollars"), cells, right=("quantity", "rate", "dollars"))


def print_notices(notices: Iterable[Notice], name: str = "") -> None:
    """Say each notice once on standard error, after the ``name`` of the input that it is about."""
    for message in dict.fromkeys(notice.message for notice in notices):
        note(f"{name}: {message}" if name else message)


def origin(price: Price | Free | Unknown) -> str:
    """Where a price comes from: the source, its revision, its dates."""
    if isinstance(price, Unknown):
        return UNKNOWN
    row = price.row
    parts = [
        *(["free"] if isinstance(price, Free) else []),
        *([] if row.service_tier == "standard" else [row.service_tier]),
        " ".join(filter(None, (row.source or "no source", row.revision and f"({row.revision[:12]})"))),
        *([f"from {instant(row.start)}"] if row.start else []),
        *([f"to {instant(row.end)}"] if row.end else []),
        *([f"checked {row.checked}"] if row.checked else []),
    ]
    return ", ".join(parts)


def instant(at: datetime | None) -> str:
    """A date where ``at`` is midnight UTC, else the time; empty for ``None``."""
    if at is None:
        return ""
    at = at.astimezone(UTC)
    return at.date().isoformat() if at.time() == time() else at.isoformat().replace("+00:00", "Z")


def rate_texts(rates: Mapping[str, Rate]) -> list[str]:
    """The rates of a price row, per million if nothing else is said: ``input 2.5 (above 200000: 5)``."""
    order = {unit.price_key: unit for unit in UNITS.values()}
    return [_rate_text(order[key], rates[key]) for key in order if key in rates]


def _rate_text(unit: Unit, rate: Rate) -> str:
    per = "" if unit.per == MTOK else f" {_per(unit.per)}"
    tiers = "".join(f" ({_beyond(tier)}: {canonical(tier.rate)})" for tier in rate.tiers)
    return f"{unit.name} {canonical(rate.base)}{per}{tiers}"


def _rate_of(component: Component) -> str:
    factors = "".join(f" x {canonical(factor)}" for factor in component.factors)
    tier = f" ({_beyond(component.tier)} input tokens)" if component.tier else ""
    return f"{canonical(component.rate)} {_per(component.unit.per)}{factors}{tier}"


def _per(per: int) -> str:
    return _PER.get(per, f"per {per}")


def _beyond(tier: Tier) -> str:
    return f"{'from' if tier.inclusive else 'above'} {tier.above_input}"
