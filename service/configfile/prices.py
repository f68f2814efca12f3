"""``[[price]]`` and ``[[multiplier]]``: the package's patches and the user's own prices, one schema and one reader."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path
from types import MappingProxyType
from typing import Any

from service.configfile.document import Document, Row, plain_decimal
from service.domain.errors import UnknownModel
from service.domain.prices import SERVICE_TIERS, Multiplier, PriceRow, Rate, Tier, Window, within_reason
from service.domain.resolution import Host, Nearest, normalised
from service.domain.usage import PRICE_KEYS

SECTIONS = ("price", "multiplier")

_PRICE = ("provider", "model", "from", "to", "service_tier", "free", "unknown", "tiers", "windows", "source", "checked")
_PRICES = (*_PRICE, *sorted(PRICE_KEYS))
_MULTIPLIER = ("provider", "match", "factor", "models", "from", "source", "checked")
_SHARED = ("provider", "source", "checked")
_MATCH = ("region", "service_tier")
_HIGHEST_FACTOR = 10
_HOURS = re.compile(r"([01]\d|2[0-3]):([0-5]\d)-(?:([01]\d|2[0-3]):([0-5]\d)|(24:00))")
_DAY = 24 * 60
_EVER = (datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC))


@dataclass(frozen=True, slots=True)
class PriceFile:
    """What one file says of prices. ``revision`` is a short hash of the file, which is in every row too.

    ``lines`` are those of ``path`` in which the multipliers name their models.
    """

    rows: tuple[PriceRow, ...] = ()
    multipliers: tuple[Multiplier, ...] = ()
    revision: str = ""
    path: Path = Path()
    lines: tuple[int, ...] = ()


def provider_ids(hosts: Iterable[Host], others: Iterable[str] = ()) -> dict[str, str]:
    """Every way to name a provider, with the id that it stands for."""
    hosts = list(hosts)
    found = {name: host.id for host in hosts for name in host.names}
    return found | {host.id: host.id for host in hosts} | {name: name for name in others}


def read_prices(
    document: Document, providers: Mapping[str, str], *, hosts: Iterable[Host] = (), sourced: bool = False
) -> PriceFile:
    """The prices of ``document``. ``sourced`` requires a source and a date for every row. Raises ``InvalidConfig``.

    ``providers`` are the names that may stand in ``provider``, with their ids. A row without ``source`` has the file's
    name, one without ``checked`` the day on which the file was changed. A model's name may not begin with the prefix
    that selects its provider among ``hosts``, since no lookup would find it. Of two patterns that hold for one model at
    the same time the one that stands later in the file decides.
    """
    if not any(document.values.get(section) for section in SECTIONS):
        return PriceFile()
    revision = hashlib.sha256(document.text.encode()).hexdigest()[:12]
    if sourced:
        document.defaults.only(_SHARED)
    reader = _Reader(document, providers, _cut_prefixes(hosts), revision, sourced)
    rows = [reader.price(row) for row in document.rows("price")]
    _refuse_overlaps(document, rows)
    multipliers = [reader.multiplier(row) for row in document.rows("multiplier")]
    seen: dict[object, int] = {}
    for index, item in enumerate(multipliers):
        key = (item.provider, frozenset(item.match.items()), item.models, item.start)
        if key in seen:
            line = document.line("multiplier", seen[key])
            Row(document, "multiplier", index, {}).refuse(f"The same multiplier stands in line {line}.")
        seen[key] = index
    lines = tuple(document.line("multiplier", index, "models") for index in range(len(multipliers)))
    return PriceFile(tuple(rows), tuple(multipliers), revision, document.path, lines)


@dataclass(frozen=True, slots=True)
class _Reader:
    document: Document
    providers: Mapping[str, str]
    prefixes: Mapping[str, tuple[str, ...]]
    revision: str
    sourced: bool

    def price(self, row: Row) -> PriceRow:
        """One ``[[price]]``: rates, or ``free``, or ``unknown``."""
        row = self._with_defaults(row)
        row.only(_PRICES)
        start, end = _moment(row, "from"), _moment(row, "to")
        if start is not None and end is not None and start >= end:
            row.refuse("'from' has to be before 'to', which is exclusive.", "to")
        free, unknown = row.flag("free", default=False), row.flag("unknown", default=False)
        rates = _rates(row)
        if free + unknown + bool(rates) != 1:
            row.refuse("[[price]] needs rates (such as input_mtok), or free = true, or unknown = true: one of them.")
        if rates and not any(any(rate.amounts) for rate in rates.values()):
            row.refuse("Every rate is 0: a model that costs nothing is written free = true.", next(iter(rates)))
        provider = self._provider(row)
        return PriceRow(
            provider=provider,
            model=self._model(row, provider, row.text("model"), "model"),
            rates=MappingProxyType(rates),
            service_tier=row.one_of("service_tier", SERVICE_TIERS, "standard"),
            start=start,
            end=end,
            windows=tuple(_windows(row)),
            free=free,
            source=self._source(row),
            revision=self.revision,
            checked=self._checked(row),
        )

    def multiplier(self, row: Row) -> Multiplier:
        """One ``[[multiplier]]``."""
        row = self._with_defaults(row)
        row.only(_MULTIPLIER)
        match = row.pairs("match", str)
        match = {key: value.strip().lower() for key, value in match.items()}
        if not match or not set(match) <= set(_MATCH) or not all(match.values()):
            row.refuse(
                "'match' says when the factor holds, such as {region = \"us\"}; or service_tier, or both.", "match"
            )
        if match.get("service_tier", "standard") not in SERVICE_TIERS:
            row.refuse(f"'service_tier' is one of {', '.join(SERVICE_TIERS)}.", "match")
        factor = row.number("factor")
        if not 0 < factor <= _HIGHEST_FACTOR:
            row.refuse(f"'factor' must be above 0 and at most {_HIGHEST_FACTOR}.", "factor")
        provider = self._provider(row)
        return Multiplier(
            provider=provider,
            match=MappingProxyType(match),
            factor=factor,
            models=frozenset(self._model(row, provider, model, "models") for model in row.texts("models")),
            start=_moment(row, "from"),
            source=self._source(row),
            checked=self._checked(row),
        )

    def _with_defaults(self, row: Row) -> Row:
        defaults = {key: value for key, value in self.document.defaults.values.items() if key in _SHARED}
        return replace(row, values={**defaults, **row.values})

    def _provider(self, row: Row) -> str:
        name = row.text("provider").strip().lower()
        if name not in self.providers:
            nearest = Nearest(self.providers).search(name)
            hint = f" Nearest: {', '.join(nearest)}." if nearest else ""
            row.refuse(f"No provider of that name.{hint} One of your own needs a [[model]] in this file.", "provider")
        return self.providers[name]

    def _model(self, row: Row, provider: str, name: str, key: str) -> str:
        name = _model(row, name, key)
        prefix = next((prefix for prefix in self.prefixes.get(provider, ()) if name.startswith(prefix)), None)
        if prefix is not None:
            row.refuse(f"{key!r} begins with {prefix!r}, which says who sells the model: 'provider' does.", key)
        return name

    def _source(self, row: Row) -> str:
        return row.text("source") if self.sourced else row.text("source", self.document.path.name)

    def _checked(self, row: Row) -> str:
        checked = row.day("checked")
        if not checked and self.sourced:
            row.refuse(f"[[{row.section}]] needs 'checked', the day on which its source was read.")
        return checked or _changed(self.document.path)


def _cut_prefixes(hosts: Iterable[Host]) -> dict[str, tuple[str, ...]]:
    """What a lookup cuts off before it asks for a price, by provider; a seller is also asked with its id in front."""
    return {
        host.id: tuple(prefix for prefix in host.prefixes if not host.vendors or prefix != f"{host.id}/")
        for host in hosts
    }


def _changed(path: Path) -> str:
    return datetime.fromtimestamp(path.stat().st_mtime, UTC).date().isoformat()


def _model(row: Row, name: str, key: str) -> str:
    try:
        return normalised(name)
    except UnknownModel:
        row.refuse(f"{key!r} is too long.", key)


def _moment(row: Row, key: str) -> datetime | None:
    """A day, which begins at midnight UTC, or a time with its offset."""
    value = row.values.get(key)
    if value is None:
        return None
    if isinstance(value, datetime):
        if value.tzinfo is None:
            row.refuse(f"{key!r} needs an offset, such as 2026-11-29T00:00:00Z; or leave the time out.", key)
        try:
            return value.astimezone(UTC)
        except OverflowError:
            row.refuse(f"{key!r} lies outside the years 1 to 9999 in UTC.", key)
    if not isinstance(value, date):
        row.refuse(f"{key!r} must be a date without quotation marks, such as 2026-11-29.", key)
    return datetime.combine(value, time(), UTC)


def _rates(row: Row) -> dict[str, Rate]:
    base = {key: _amount(row, key, value) for key, value in row.values.items() if key in PRICE_KEYS}
    tiers: dict[str, list[Tier]] = {key: [] for key in base}
    last = -1
    for table in _tables(row, "tiers"):
        above, inclusive = table.get("above_input"), table.get("inclusive", False)
        if type(above) is not int or above < 1 or type(inclusive) is not bool:
            row.refuse("A tier has above_input, a whole number of tokens, and may say inclusive = true.", "tiers")
        if above <= last:
            row.refuse("Tiers stand in rising order of above_input, each once.", "tiers")
        last = above
        rates = {key: value for key, value in table.items() if key not in ("above_input", "inclusive")}
        if not rates or not rates.keys() <= base.keys():
            row.refuse("A tier gives rates for units that the row itself has a rate for, and nothing else.", "tiers")
        for key, value in rates.items():
            tiers[key].append(Tier(above, _amount(row, key, value, "tiers"), inclusive))
    return {key: Rate(rate, tuple(tiers[key])) for key, rate in base.items()}


def _amount(row: Row, key: str, value: object, where: str | None = None) -> Decimal:
    number = plain_decimal(value)
    if number is None:
        row.refuse(
            f'{key!r} must be dollars as a string, at least 0, such as "2.5", in at most 30 digits.', where or key
        )
    if not within_reason(key, number):
        row.refuse(
            f"{key!r} is beyond reason: rates are dollars per million tokens, or what the key says.", where or key
        )
    return number


def _windows(row: Row) -> Iterator[Window]:
    for table in _tables(row, "windows"):
        days, text = table.get("days", [1, 2, 3, 4, 5, 6, 7]), table.get("utc", "")
        if not table.keys() <= {"days", "utc"} or not _are_days(days):
            row.refuse("A window has days, from 1 (Monday) to 7, and utc.", "windows")
        hours = _HOURS.fullmatch(text) if isinstance(text, str) else None
        if hours is None:
            row.refuse('A window\'s utc is its hours, such as "01:00-04:00"; the end is exclusive.', "windows")
        start = time(int(hours[1]), int(hours[2]))
        end = time() if hours[5] else time(int(hours[3]), int(hours[4]))
        yield Window(frozenset(day - 1 for day in days), start, end)


def _are_days(days: object) -> bool:
    return (
        isinstance(days, list)
        and all(type(day) is int and 1 <= day <= 7 for day in days)
        and 0 < len(days) == len(set(days))
    )


def _tables(row: Row, key: str) -> list[Mapping[str, Any]]:
    tables = row.values.get(key, [])
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        row.refuse(f"{key!r} must be a list of tables.", key)
    return tables


def _refuse_overlaps(document: Document, rows: Sequence[PriceRow]) -> None:
    """Two rows of one model and tier never hold at the same time, except that one has hours and the other has none."""
    groups: dict[tuple[str, str, str, bool], list[int]] = {}
    for index, row in enumerate(rows):
        groups.setdefault((row.provider, row.model, row.service_tier, bool(row.windows)), []).append(index)
    for indices in groups.values():
        for place, index in enumerate(indices):
            for other in indices[:place]:
                if _dates_meet(rows[index], rows[other]) and _hours_meet(rows[index], rows[other]):
                    line = document.line("price", other)
                    problem = (
                        f"This price holds at the same time as the one in line {line}: end one where the other starts."
                    )
                    Row(document, "price", index, {}).refuse(problem)


def _dates_meet(one: PriceRow, other: PriceRow) -> bool:
    return (one.start or _EVER[0]) < (other.end or _EVER[1]) and (other.start or _EVER[0]) < (one.end or _EVER[1])


def _hours_meet(one: PriceRow, other: PriceRow) -> bool:
    if not one.windows:
        return True
    first, second = list(_minutes(one.windows)), list(_minutes(other.windows))
    return any(a < d and c < b for a, b in first for c, d in second)


def _minutes(windows: Iterable[Window]) -> Iterator[tuple[int, int]]:
    """The minutes of the week, from Monday's midnight, that the windows hold: (from, to), to exclusive."""
    for window in windows:
        start, end = (clock.hour * 60 + clock.minute for clock in (window.start, window.end))
        length = end - start if end > start else end - start + _DAY
        for day in window.days:
            first = day * _DAY + start
            yield first, min(first + length, 7 * _DAY)
            if first + length > 7 * _DAY:
                yield 0, first + length - 7 * _DAY
