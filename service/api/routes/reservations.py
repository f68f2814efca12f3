"""Reservations: ``/v1/reservations`` holds what a call may cost; settling books what it did."""

from __future__ import annotations

import re
from typing import Annotated

import msgspec
from fastapi import APIRouter, Path, Request, Response

from service.api.body import json_body
from service.api.decoding import decode
from service.api.exchange import Exchange
from service.api.holding.reserving import Attempt, reserve
from service.api.holding.schemas import (
    ExtendRequest,
    ReleaseRequest,
    Reservation,
    ReservationRequest,
    SettledReservation,
    SettleRequest,
)
from service.api.holding.settling import settle
from service.api.holding.wire import wire_hold, wire_settled
from service.api.once import written
from service.api.openapi import Operation
from service.api.queries import named_project
from service.api.services import Services
from service.domain.notices import Notice
from service.domain.spending.errors import UnknownReservation
from service.domain.spending.ledger import Once, Settled

_RESERVE = Operation(
    "Hold what a call may cost of every budget that counts it, or of none: 402 says which it does not fit.",
    request=ReservationRequest,
    answers=(Reservation,),
    once=True,
    example="reservations",
    status=201,
)
_LOOK = Operation("A reservation as it stands.", answers=(Reservation,))
_SETTLE = Operation(
    "Book what a call really cost, and end its reservation; the same content again gets the first answer.",
    request=SettleRequest,
    answers=(SettledReservation,),
    once=True,
)
_RELEASE = Operation(
    "End a reservation without a cost; one that has ended stays as it is.",
    request=ReleaseRequest,
    answers=(Reservation,),
    once=True,
)
_EXTEND = Operation(
    "Let an open reservation last so long from now.", request=ExtendRequest, answers=(Reservation,), once=True
)

OPERATIONS = (_RESERVE, _LOOK, _SETTLE, _RELEASE, _EXTEND)

Id = Annotated[str, Path(alias="id")]

_encode = msgspec.json.Encoder().encode
_ID = re.compile(r"h_[0-9a-f]{32}")


def router(services: Services) -> APIRouter:
    """The routes, over ``services``."""
    routes = APIRouter(tags=["spend"])

    @routes.post("/v1/reservations", **_RESERVE.options())
    async def make(request: Request) -> Response:
        exchange = Exchange.of(request.scope)
        body, attempt = json_body(exchange), Attempt(named_project(request), exchange.caller)
        return await written(
            services,
            request,
            attempt.project,
            lambda once: reserve(services, attempt, body, once),
            lambda hold: _encode(wire_hold(hold, attempt.notices)),
            status=201,
        )

    @routes.get("/v1/reservations/{id}", **_LOOK.options())
    async def look(request: Request, reservation_id: Id) -> Response:
        hold = await services.ledger.hold(named_project(request), _known(reservation_id))
        return Response(_encode(wire_hold(hold)), media_type="application/json")

    _changing(services, routes)
    return routes


def _changing(services: Services, routes: APIRouter) -> None:
    """The routes that change a reservation."""

    @routes.post("/v1/reservations/{id}/settle", **_SETTLE.options())
    async def settle_one(request: Request, reservation_id: Id) -> Response:
        body, project, notices = json_body(Exchange.of(request.scope)), named_project(request), list[Notice]()

        async def act(once: Once | None) -> Settled:
            return await settle(services, project, _known(reservation_id), body, once, notices)

        return await written(services, request, project, act, lambda done: _encode(wire_settled(done, notices)))

    @routes.post("/v1/reservations/{id}/release", **_RELEASE.options())
    async def release(request: Request, reservation_id: Id) -> Response:
        exchange, project = Exchange.of(request.scope), named_project(request)
        if exchange.body:
            decode(json_body(exchange), ReleaseRequest)
        ledger, hold_id = services.ledger, _known(reservation_id)
        return await written(
            services,
            request,
            project,
            lambda once: ledger.release(project, hold_id, once=once),
            lambda hold: _encode(wire_hold(hold)),
        )

    @routes.post("/v1/reservations/{id}/extend", **_EXTEND.options())
    async def extend(request: Request, reservation_id: Id) -> Response:
        seconds = decode(json_body(Exchange.of(request.scope)), ExtendRequest).ttl_seconds
        ledger, project, hold_id = services.ledger, named_project(request), _known(reservation_id)
        return await written(
            services,
            request,
            project,
            lambda once: ledger.extend(project, hold_id, seconds, once=once),
            lambda hold: _encode(wire_hold(hold)),
        )


def _known(reservation_id: str) -> str:
    """The id where it can be one: nothing else reaches the database. Raises ``UnknownReservation``."""
    if not _ID.fullmatch(reservation_id):
        raise UnknownReservation
    return reservation_id
