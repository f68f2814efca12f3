"""Reports of spend: from a request's query to the ledger's, and its answer page by page."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta

import msgspec
from fastapi import Request, Response

from service.api.errors import ApiError
from service.api.exchange import Exchange
from service.api.holding.booked import booked_name
from service.api.projects import PROJECT, project_of
from service.api.queries import instant, parameters, whole_number
from service.api.reports.csv_text import csv_answer
from service.api.reports.schemas import EntryList, RefusalList, SpendReport
from service.api.reports.wire import (
    ENTRY_COLUMNS,
    SPEND_COLUMNS,
    entry_cells,
    spend_cells,
    wire_entry,
    wire_refusal,
    wire_spend_row,
)
from service.api.services import Services
from service.domain.keys.access import KeyScope
from service.domain.spending.budgets import PeriodKind, is_label, period_at
from service.domain.spending.errors import InvalidBudget, InvalidQuery
from service.domain.spending.intervals import floor_quarter
from service.domain.spending.ledger import EntryQuery, SpendQuery

SPEND = ("start", "end", "group_by", "interval", "timezone", "cursor", "limit", "format")
ENTRIES = ("start", "end", "model", "provider", "cursor", "limit", "format")
REFUSALS = ("start", "end", "limit")
TAG = "tag."

_encode = msgspec.json.Encoder().encode
_DAYS = timedelta(days=30)
_QUARTER = timedelta(minutes=15)
_CSV_ROWS = 5_000
_ENTRY_ID = re.compile(r"e_[0-9a-f]{32}")


async def spend(services: Services, request: Request) -> Response:
    """``GET /v1/spend``."""
    given = parameters(request, SPEND)
    start, end = _span(given, services.now())
    wanted = SpendQuery(
        start,
        end,
        _project(request, given),
        given.get("group_by"),
        given.get("interval"),
        _zone(given.get("timezone", "UTC"), end),
        _text_of(given.get("cursor")),
        whole_number(given, "limit", 1000, 10_000),
    )
    ledger = services.ledger
    if _as_csv(request, given):
        whole = replace(wanted, limit=_CSV_ROWS)
        return await csv_answer("spend", SPEND_COLUMNS, lambda at: ledger.spend(replace(whole, cursor=at)), spend_cells)
    page = await ledger.spend(wanted)
    rows = [wire_spend_row(row) for row in page.items]
    said = (wanted.start, wanted.end, wanted.project, wanted.group_by, wanted.interval, wanted.timezone)
    return _json(SpendReport(*said, rows, _opaque(page.cursor)))


async def entries(services: Services, request: Request) -> Response:
    """``GET /v1/spend/entries``."""
    given = parameters(request, ENTRIES, prefix=TAG)
    wanted = replace(
        _of_model(services, given),
        start=instant(given, "start"),
        end=instant(given, "end"),
        project=project_of(request),
        tags=_tags(given),
        cursor=_entry_id(given.get("cursor")),
        limit=whole_number(given, "limit", 100, 1000),
    )
    ledger = services.ledger
    if _as_csv(request, given):
        whole = replace(wanted, limit=_CSV_ROWS)
        return await csv_answer(
            "entries", ENTRY_COLUMNS, lambda at: ledger.entries(replace(whole, cursor=at)), entry_cells
        )
    page = await ledger.entries(wanted)
    return _json(EntryList([wire_entry(entry) for entry in page.items], page.cursor))


async def refusals(services: Services, request: Request) -> Response:
    """``GET /v1/refusals``."""
    given = parameters(request, REFUSALS)
    start, end = _span(given, services.now())
    if end <= start:
        raise InvalidQuery("end", "The end must be after the start.")
    limit = whole_number(given, "limit", 1000, 10_000)
    found = await services.ledger.refusals(project_of(request), start, end, limit=limit + 1)
    return _json(RefusalList(start, end, [wire_refusal(count) for count in found[:limit]], len(found) > limit))


def _span(given: Mapping[str, str], now: datetime) -> tuple[datetime, datetime]:
    """From when to when: by default the thirty days up to the end, and up to now, by the quarter of an hour."""
    start, end = instant(given, "start"), instant(given, "end")
    if end is None:
        end = floor_quarter(now + _QUARTER)
    return start or floor_quarter(end - _DAYS), end


def _project(request: Request, given: Mapping[str, str]) -> str | None:
    """The project asked about; ``None``, all of them, for an admin who groups by project and names none."""
    if given.get("group_by") != "project" or PROJECT in given:
        return project_of(request)
    if not Exchange.of(request.scope).caller.may(KeyScope.ADMIN):
        detail = "Spend by project looks into all of them: it needs a key with the scope admin."
        raise ApiError(403, "scope_missing", detail, path="group_by")
    return None


def _zone(name: str, at: datetime) -> str:
    """``name`` if it is a time zone. Raises ``InvalidQuery``."""
    try:
        period_at(PeriodKind.DAY, name, at)
    except InvalidBudget as error:
        raise InvalidQuery("timezone", str(error)) from None
    return name


def _of_model(services: Services, given: Mapping[str, str]) -> EntryQuery:
    """Entries of a model and a provider, by whatever name the catalog knows the model; of others, as they stand."""
    model, provider = given.get("model"), given.get("provider")
    found = None if model is None else services.weigher.catalog.known(model)
    if model is None or found is None:
        return EntryQuery(model=model, provider=provider)
    booked = booked_name(found, model) or found.model.id
    named_seller = booked != found.model.id
    return EntryQuery(model=found.model.id, provider=found.provider if named_seller and not provider else provider)


def _tags(given: Mapping[str, str]) -> dict[str, str]:
    tags = {name.removeprefix(TAG): value for name, value in given.items() if name.startswith(TAG)}
    if not all(is_label(text) for pair in tags.items() for text in pair):
        raise InvalidQuery("tag", "A tag's name and value have 1 to 256 characters.")
    return tags


def _as_csv(request: Request, given: Mapping[str, str]) -> bool:
    """Whether CSV is asked for, which is whole. Raises ``InvalidQuery`` where a page of it is."""
    kind = given.get("format")
    if kind not in (None, "json", "csv"):
        raise InvalidQuery("format", "A format is json or csv.")
    if kind is None:
        accepted = [part.split(";")[0].strip().lower() for part in request.headers.get("accept", "").split(",")]
        kind = "csv" if "text/csv" in accepted and "application/json" not in accepted else "json"
    for name in ("cursor", "limit"):
        if kind == "csv" and name in given:
            raise InvalidQuery(name, "CSV has every row: cursor and limit go with JSON.")
    return kind == "csv"


def _opaque(cursor: str | None) -> str | None:
    return None if cursor is None else base64.urlsafe_b64encode(cursor.encode()).decode().rstrip("=")


def _text_of(cursor: str | None) -> str | None:
    """The ledger's own cursor. Raises ``InvalidQuery``."""
    if cursor is None:
        return None
    try:
        return base64.b64decode(cursor + "=" * (-len(cursor) % 4), b"-_", validate=True).decode()
    except (binascii.Error, ValueError):
        raise InvalidQuery("cursor", "The cursor is not one that an answer gave.") from None


def _entry_id(cursor: str | None) -> str | None:
    if cursor is not None and not _ENTRY_ID.fullmatch(cursor):
        raise InvalidQuery("cursor", "The cursor is not one that an answer gave.")
    return cursor


def _json(answer: msgspec.Struct) -> Response:
    return Response(_encode(answer), media_type="application/json", headers={"vary": "accept"})
