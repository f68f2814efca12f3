"""Counting the whole request that a vendor's route was sent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from adapters.port import Stop
from service.api.dialects.registry import read_request
from service.api.services import Later, Services
from service.api.vendors.call import Call, resolved
from service.api.weighing.remote import counted_by_vendor
from service.api.weighing.requests import count_one, record
from service.api.weighing.schemas import CountRequest
from service.domain.catalog import Resolution
from service.domain.counting import Count
from service.domain.remote import RemoteMode
from service.domain.request import Request

Answering = Callable[[Count, Request, Resolution], bytes]
"""The vendor's answer to a count."""


def count_call(
    services: Services,
    call: Call,
    values: dict[str, Any],
    dialect: str,
    stop: Stop | None,
    answering: Answering,
    *,
    mode: RemoteMode | None = None,
) -> bytes | Later:
    """Count the request ``values`` in the wire form ``dialect``, mark the answer, and give it.

    ``mode`` says when the vendor itself is asked too; without one the service's own choice holds. Raises ``ApiError``,
    ``UnknownModel`` and what counting raises.
    """
    request = read_request(values, services.probes, dialect=dialect)
    found = resolved(services, call, request.model)
    count = count_one(services, found, request, services.now(), stop)
    record(services, [count])

    def answer(counted: Count) -> bytes:
        call.mark_count(counted)
        return answering(counted, request, found)

    return counted_by_vendor(services, CountRequest(request=values), mode, found, request, count, answer)
