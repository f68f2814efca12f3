"""Where a price book disagrees with LiteLLM's price file, over a few models that both should know."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from service.configfile import DATA
from service.configfile.document import Document
from service.domain.money import canonical
from service.domain.prices import Price, PriceBook, PriceContext, Rate
from service.pricebook.litellm import entries_of, rows_of_entry

_COMPARED = ("input_mtok", "output_mtok", "cache_read_mtok", "cache_write_mtok", "cache_write_1h_mtok")


@dataclass(frozen=True, slots=True)
class Canary:
    """A model on which both lists should agree: ours by provider and model, theirs by its key."""

    provider: str
    model: str
    key: str


@dataclass(frozen=True, slots=True)
class Difference:
    """A disagreement on one rate: dollars in canonical form, ``None`` where a side has no such rate, or no such model.

    ``what`` is the price key, with the length of input above which the rate holds, or ``price`` where a side has none.
    """

    canary: Canary
    what: str
    ours: str | None
    theirs: str | None


def read_canaries(path: Path = DATA / "prices" / "canaries.toml") -> list[Canary]:
    """The models that are compared where none are named. Raises ``InvalidConfig``."""
    rows = Document(path, ("canary",)).rows("canary")
    return [Canary(row.text("provider"), row.text("model"), row.text("litellm")) for row in rows]


def differences(book: PriceBook, body: bytes, canaries: Iterable[Canary], *, at: datetime) -> list[Difference]:
    """Where ``book`` and LiteLLM's file disagree at ``at`` on the standard tier's rates for text and its cache.

    Raises ``ValueError`` where ``body`` is not such a file.
    """
    entries = entries_of(body)
    found: list[Difference] = []
    for canary in canaries:
        name = book.find(canary.provider, (canary.model,))
        price = book.price(canary.provider, name or canary.model, at, PriceContext())
        ours = _flat(price.row.rates) if isinstance(price, Price) else {}
        rows, _ = rows_of_entry(entries.get(canary.key, {}), canary.provider, canary.model)
        held = [row for row in rows if row.service_tier == "standard" and row.in_force(at)]
        theirs = _flat(max(held, key=lambda row: bool(row.windows)).rates) if held else {}
        if not ours or not theirs:
            found.append(Difference(canary, "price", ours.get("input_mtok"), theirs.get("input_mtok")))
            continue
        found += [
            Difference(canary, what, ours.get(what), theirs.get(what))
            for what in sorted(ours.keys() | theirs.keys())
            if ours.get(what) != theirs.get(what)
        ]
    return found


def _flat(rates: Mapping[str, Rate]) -> dict[str, str]:
    flat = {}
    for key in _COMPARED:
        if key in rates:
            flat[key] = canonical(rates[key].base)
            flat |= {f"{key} above {tier.above_input}": canonical(tier.rate) for tier in rates[key].tiers}
    return flat
