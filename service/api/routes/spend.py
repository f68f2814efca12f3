"""What was spent and what was refused: ``/v1/spend``, ``/v1/spend/entries``, ``/v1/refusals``."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from service.api.openapi import Operation
from service.api.reports import work
from service.api.reports.schemas import EntryList, RefusalList, SpendReport
from service.api.services import Services

_TIMES = {
    "start": "RFC 3339; thirty days before the end where it is missing.",
    "end": "RFC 3339, exclusive; now where it is missing.",
}
_CSV = {
    "format": "json or csv; without it the header Accept decides. CSV has every row, with neither cursor nor limit."
}
_PAGE = {"cursor": "What the page before gave."}
_SPEND = Operation(
    "Spend by interval and group, from sums that are kept by the quarter of an hour.",
    answers=(SpendReport,),
    csv=True,
    query=_TIMES
    | {
        "group_by": "model, provider, project (an admin's), key, tokenizer or tag.NAME; all in one without it.",
        "interval": "hour, day, week or month; the whole time where it is missing.",
        "timezone": "Where a day begins: an IANA name such as Europe/Berlin; UTC where it is missing.",
        "limit": "Most rows of a page: 1000, at most 10000.",
    }
    | _PAGE
    | _CSV,
)
_ENTRIES = Operation(
    "Single entries with what was expected and what was billed, the one booked last first.",
    answers=(EntryList,),
    csv=True,
    query={
        "start": "RFC 3339: booked from then on.",
        "end": "RFC 3339: booked before.",
        "model": "Of this model, by any of its names.",
        "provider": "Of this provider.",
        "tag.NAME": "With this value of the tag NAME; several tags may be asked for.",
        "limit": "Most entries of a page: 100, at most 1000.",
    }
    | _PAGE
    | _CSV,
)
_REFUSALS = Operation(
    "What was refused, for which reason, by the minute.",
    answers=(RefusalList,),
    query=_TIMES | {"limit": "Most rows: 1000, at most 10000."},
)

OPERATIONS = (_SPEND, _ENTRIES, _REFUSALS)


def router(services: Services) -> APIRouter:
    """The routes, over ``services``."""
    routes = APIRouter(tags=["spend"])

    @routes.get("/v1/spend", **_SPEND.options())
    async def spend(request: Request) -> Response:
        return await work.spend(services, request)

    @routes.get("/v1/spend/entries", **_ENTRIES.options())
    async def entries(request: Request) -> Response:
        return await work.entries(services, request)

    @routes.get("/v1/refusals", **_REFUSALS.options())
    async def refusals(request: Request) -> Response:
        return await work.refusals(services, request)

    return routes
