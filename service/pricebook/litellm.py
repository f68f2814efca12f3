"""LiteLLM's price file as ``[[price]]`` rows. It fills gaps by way of a patch; the service itself never reads it.

The file has dollars per token, second, image or call under flat keys: what is priced, then ``_above_200k_tokens``, then
the service tier. What is not followed: a rate of 0 stands where none is known, and is left out; a row has no dates;
what has no unit here is named in the notes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import time
from decimal import Decimal
from types import MappingProxyType
from typing import Any, NamedTuple, NoReturn

from service.domain.prices import PriceBook, PriceRow, Rate, Tier, Window, within_reason
from service.domain.resolution import Host, normalised

_MTOK, _THOUSAND, _HOUR, _ONE = Decimal(1_000_000), Decimal(1000), Decimal(3600), Decimal(1)
_KEYS: Mapping[str, tuple[str, Decimal]] = MappingProxyType(
    {
        "input_cost_per_token": ("input_mtok", _MTOK),
        "output_cost_per_token": ("output_mtok", _MTOK),
        "cache_read_input_token_cost": ("cache_read_mtok", _MTOK),
        "cache_creation_input_token_cost": ("cache_write_mtok", _MTOK),
        "cache_creation_input_token_cost_above_1hr": ("cache_write_1h_mtok", _MTOK),
        "input_cost_per_audio_token": ("input_audio_mtok", _MTOK),
        "output_cost_per_audio_token": ("output_audio_mtok", _MTOK),
        "cache_read_input_audio_token_cost": ("cache_audio_read_mtok", _MTOK),
        "input_cost_per_image_token": ("input_image_mtok", _MTOK),
        "output_cost_per_image_token": ("output_image_mtok", _MTOK),
        "cache_read_input_image_token_cost": ("cache_image_read_mtok", _MTOK),
        "input_cost_per_video_token": ("input_video_mtok", _MTOK),
        "output_cost_per_video_token": ("output_video_mtok", _MTOK),
        "output_cost_per_reasoning_token": ("output_reasoning_mtok", _MTOK),
        "citation_cost_per_token": ("output_citation_mtok", _MTOK),
        "input_cost_per_character": ("input_mchars", _MTOK),
        "output_cost_per_character": ("output_mchars", _MTOK),
        "input_cost_per_image": ("input_images", _ONE),
        "output_cost_per_image": ("output_images", _ONE),
        "input_cost_per_audio_per_second": ("input_audio_hours", _HOUR),
        "output_cost_per_video_per_second": ("output_video_seconds", _ONE),
        "input_cost_per_request": ("requests_kcount", _THOUSAND),
        "ocr_cost_per_page": ("input_document_kpages", _THOUSAND),
        "annotation_cost_per_page": ("input_annotated_document_kpages", _THOUSAND),
    }
)
_KEYS_OF_MODE: Mapping[tuple[str, str], tuple[str, Decimal]] = MappingProxyType(
    {
        ("audio_transcription", "input_cost_per_second"): ("input_audio_hours", _HOUR),
        ("video_generation", "output_cost_per_second"): ("output_video_seconds", _ONE),
        ("rerank", "input_cost_per_query"): ("rerank_searches_kcount", _THOUSAND),
    }
)
_TIERS = {"_batches": "batch", "_flex": "flex", "_priority": "priority"}
_REPEATED = frozenset({"input_cost_per_token_cache_hit"})  # says again what cache_read_input_token_cost says
_ABOVE = re.compile(r"_above_(\d+)k_tokens")
_PART = re.compile(r"-[a-z0-9_-]*models$")  # "cloud-maker_models" is a part of "cloud"
_HOURS = re.compile(r"(\d\d):(\d\d)-(\d\d):(\d\d)")
_NOISE_DIGITS = 12


class Note(NamedTuple):
    """Something of the file that is not in the rows: its key there, and why."""

    key: str
    reason: str


@dataclass(frozen=True, slots=True)
class Imported:
    """The rows of the file, and what could not become one."""

    rows: tuple[PriceRow, ...]
    notes: tuple[Note, ...]


def import_rows(
    body: bytes,
    hosts: Iterable[Host],
    *,
    lacking_in: PriceBook | None = None,
    inclusive: Collection[str] = ("xai",),
    source: str = "",
    checked: str = "",
) -> Imported:
    """The rows of LiteLLM's ``model_prices_and_context_window.json``. Raises ``ValueError`` if it is not such a file.

    With ``lacking_in`` only those of models and service tiers that this book does not price. ``inclusive`` are
    providers whose thresholds mean "from" and not "above", which the file does not say. Without ``source`` a row has
    its entry's.
    """
    ids = {name: host for host in hosts for name in (host.id, *host.names)}
    rows: dict[tuple[object, ...], PriceRow] = {}
    notes: list[Note] = []
    for key, entry in entries_of(body).items():
        host = ids.get(_PART.sub("", str(entry.get("litellm_provider", ""))))
        if host is None:
            notes.append(Note(key, "unknown provider"))
            continue
        try:
            found, reasons = rows_of_entry(entry, host.id, _model(key, host), inclusive=host.id in inclusive)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):  # a shape that nobody has seen
            found, reasons = [], ["cannot be read"]
        notes += [Note(key, reason) for reason in reasons]
        for row in found:
            place = (row.provider, row.model, row.service_tier, row.windows)
            if place in rows and rows[place].rates != row.rates:
                notes.append(Note(key, "another entry for the same model has another price"))
            rows.setdefault(place, replace(row, source=source or str(entry.get("source", "")), checked=checked))
    kept = (row for row in rows.values() if lacking_in is None or _is_lacking(lacking_in, row))
    return Imported(tuple(kept), tuple(notes))


def entries_of(body: bytes) -> dict[str, dict[str, Any]]:
    """The entries of the file, every number an exact ``Decimal``. Raises ``ValueError``."""
    content = json.loads(body, parse_float=Decimal, parse_int=Decimal, parse_constant=_refuse)
    if not isinstance(content, dict) or not all(isinstance(entry, dict) for entry in content.values()):
        raise ValueError("The file is not a table of models.")
    return {key: entry for key, entry in content.items() if key != "sample_spec"}


def _refuse(text: str) -> NoReturn:
    raise ValueError(f"{text} is no number.")


def rows_of_entry(
    entry: Mapping[str, Any], provider: str, model: str, *, inclusive: bool = False
) -> tuple[list[PriceRow], list[str]]:
    """The rows of one entry, and why some or all of it is left out."""
    reader = _EntryReader(str(entry.get("mode", "")), inclusive)
    reader.read(entry)
    reader.read_steps(entry.get("tiered_pricing"))
    reader.read_searches(entry.get("search_context_cost_per_query"))
    off_peak = entry.get("off_peak_pricing")
    low = _EntryReader(reader.mode, inclusive)
    windows: tuple[Window, ...] = ()
    if isinstance(off_peak, dict):
        low.read(off_peak)
        windows = tuple(_windows(off_peak.get("windows")))
    if reader.refused or low.refused:
        return [], [*reader.refused, *low.refused]
    rows = [
        PriceRow(provider, model, rates, service_tier=tier)
        for tier, rates in sorted(reader.rates().items(), key=lambda item: item[0] != "standard")
    ]
    if windows and "standard" in low.rates():
        rows.append(PriceRow(provider, model, low.rates()["standard"], windows=windows))
    elif off_peak:
        return [], ["its hours cannot be read"]
    return rows, reader.notes if rows else [*reader.notes, "no rate above 0"]


@dataclass(slots=True)
class _EntryReader:
    """Collects the rates of one entry: by service tier and price key, the base rate (at 0) and those above a length."""

    mode: str
    inclusive: bool
    found: dict[str, dict[str, dict[int, Decimal]]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)

    def read(self, values: Mapping[str, Any], above: int = 0) -> None:
        """Take every rate of ``values``; those without a length of their own hold above ``above``."""
        for key, value in values.items():
            if "cost" not in key or key in _REPEATED or not isinstance(value, Decimal):
                continue
            tier = next((suffix for suffix in _TIERS if key.endswith(suffix)), "")
            rest = key.removesuffix(tier)
            length = _ABOVE.search(rest)
            what = _ABOVE.sub("", rest)
            unit = _KEYS_OF_MODE.get((self.mode, what)) or _KEYS.get(what)
            if unit is not None:
                start = int(length[1]) * 1000 if length else above
                self.take(_TIERS.get(tier, "standard"), unit[0], start, value * unit[1])
            elif value:
                self.notes.append(f"no unit for {key}")

    def take(self, tier: str, unit: str, above: int, dollars: Decimal) -> None:
        """Keep one rate. One that cannot be right refuses the entry."""
        if not within_reason(unit, dollars):
            self.refused.append(f"{unit} is {dollars}, which cannot be right")
        elif dollars:
            if len(dollars.normalize().as_tuple().digits) > _NOISE_DIGITS:
                self.notes.append(f"{unit} has more digits than a price has")
            self.found.setdefault(tier, {}).setdefault(unit, {})[above] = dollars

    def read_steps(self, steps: object) -> None:
        """Rates by ranges of input length, from ``range[0]`` on (exclusive)."""
        for step in steps if isinstance(steps, list) else ():
            if "range" in step:
                self.read(step, int(step["range"][0]))
            else:
                self.notes.append("a step without a range")

    def read_searches(self, prices: object) -> None:
        """A web search has one price here: different ones for different context sizes are left out."""
        if isinstance(prices, dict):
            amounts = {value for value in prices.values() if isinstance(value, Decimal)}
            if len(amounts) == 1:
                self.take("standard", "web_searches_kcount", 0, amounts.pop() * _THOUSAND)
            elif amounts:
                self.notes.append("web searches of several prices")

    def rates(self) -> dict[str, Mapping[str, Rate]]:
        """The rates by service tier. A unit with a rate for long input alone is left out; fees hold in each tier."""
        fees = {key: by for key, by in self.found.get("standard", {}).items() if key == "web_searches_kcount"}
        result: dict[str, Mapping[str, Rate]] = {}
        for tier, units in self.found.items():
            rates = {
                unit: Rate(by[0], tuple(Tier(above, by[above], self.inclusive) for above in sorted(by) if above))
                for unit, by in (fees | units).items()
                if 0 in by
            }
            if rates.keys() - fees.keys():
                result[tier] = MappingProxyType(rates)
        return result


def _windows(windows: object) -> Iterator[Window]:
    for window in windows if isinstance(windows, list) else ():
        days = frozenset(int(day) - 1 for day in window.get("weekdays", range(1, 8)))
        hours = window.get("hours_utc", ())
        for text in [hours] if isinstance(hours, str) else hours:
            clock = _HOURS.fullmatch(text)
            if clock is not None:
                yield Window(days, time(int(clock[1]), int(clock[2])), time(int(clock[3]), int(clock[4])))


def _model(key: str, host: Host) -> str:
    name = normalised(key)
    return name[max((len(prefix) for prefix in host.prefixes if name.startswith(prefix)), default=0) :]


def _is_lacking(book: PriceBook, row: PriceRow) -> bool:
    name = book.find(row.provider, (row.model,))
    if name is None:
        return True
    known: Sequence[PriceRow] = book.rows(row.provider, name)
    return not any(other.service_tier == row.service_tier and (other.rates or other.free) for other in known)
