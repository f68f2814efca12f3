"""Price rows as the text of a patch file, such as the reader of ``[[price]]`` takes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, time

from service.domain.money import canonical
from service.domain.prices import PriceRow, Window


def toml_of(rows: Iterable[PriceRow]) -> str:
    """``rows`` as ``[[price]]`` tables: read again they are the same rows, but for ``revision``."""
    return "\n".join("\n".join(_lines(row)) + "\n" for row in rows)


def _lines(row: PriceRow) -> Iterator[str]:
    yield "[[price]]"
    yield f"provider = {_text(row.provider)}"
    yield f"model = {_text(row.model)}"
    for key, moment in (("from", row.start), ("to", row.end)):
        if moment is not None:
            yield f"{key} = {_moment(moment)}"
    if row.service_tier != "standard":
        yield f"service_tier = {_text(row.service_tier)}"
    if row.free or not row.rates:
        yield "free = true" if row.free else "unknown = true"
    yield from (f"{key} = {_text(canonical(rate.base))}" for key, rate in row.rates.items())
    yield from _tiers(row)
    if row.windows:
        yield f"windows = [{', '.join(map(_window, row.windows))}]"
    if row.source:
        yield f"source = {_text(row.source)}"
    if row.checked:
        yield f"checked = {row.checked}"


def _tiers(row: PriceRow) -> Iterator[str]:
    steps = sorted({(tier.above_input, tier.inclusive) for rate in row.rates.values() for tier in rate.tiers})
    tables = []
    for above, inclusive in steps:
        fields = [f"above_input = {above}", *(["inclusive = true"] if inclusive else [])]
        for key, rate in row.rates.items():
            found = [tier.rate for tier in rate.tiers if (tier.above_input, tier.inclusive) == (above, inclusive)]
            fields += [f"{key} = {_text(canonical(dollars))}" for dollars in found]
        tables.append("{" + ", ".join(fields) + "}")
    if tables:
        yield f"tiers = [{', '.join(tables)}]"


def _window(window: Window) -> str:
    days = ", ".join(str(day + 1) for day in sorted(window.days))
    return f'{{days = [{days}], utc = "{window.start:%H:%M}-{window.end:%H:%M}"}}'


def _moment(moment: datetime) -> str:
    moment = moment.astimezone(UTC)
    return moment.date().isoformat() if moment.time() == time() else moment.isoformat().replace("+00:00", "Z")


def _text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
