"""Vendors' own counts on the routes: asked for once it was counted here, and never in the way of an answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from service.api.errors import ApiError
from service.api.services import Later, Services
from service.api.weighing.schemas import Input
from service.domain.catalog import Resolution
from service.domain.counting import Count, require_exact_count
from service.domain.remote import RemoteAsk, RemoteFailed, RemoteMode, by_vendor, wants_vendor, without_vendor
from service.domain.request import Request


def refuse_remote(mode: RemoteMode | None) -> None:
    """Raise ``ApiError`` where a vendor is to count what is no whole request."""
    if mode not in (None, "never"):
        detail = "`remote` goes with one whole request: `messages`, `request`, or a `text` with `as: message`."
        raise ApiError(422, "invalid_request", detail, path="remote")


def counted_by_vendor(
    services: Services,
    given: Input,
    mode: RemoteMode | None,
    found: Resolution,
    request: Request,
    count: Count,
    answer: Callable[[Count], bytes],
) -> bytes | Later:
    """``answer`` of ``count``, or what is left to wait for: the vendor's count, then ``answer`` of that.

    Where the vendor does not answer, the count made here stands, with a warning.
    """
    remote, provider = services.remote, found.provider
    if not wants_vendor(mode or services.settings.remote, count):
        return answer(count)
    if mode is None and (remote is None or not remote.serves(provider)):
        return answer(count)  # the service's own choice holds for the vendors that it can ask
    ask = RemoteAsk(provider, found.requested, request, _sent(given))

    async def later() -> bytes:
        try:
            if remote is None:
                raise RemoteFailed("unconfigured")
            counted = by_vendor(count, await remote.tokens(ask), ask)
        except RemoteFailed as failure:
            counted = without_vendor(count, failure)
        if given.strict:
            require_exact_count(counted)
        return answer(counted)

    return later


def _sent(given: Input) -> dict[str, Any] | None:
    """The body of a call as its sender wrote it; of a chat, the fields that its wire form may share with it."""
    if given.request is not None or given.messages is None:
        return given.request
    fields = {name: getattr(given, name) for name in ("messages", "tools", "tool_choice", "system")}
    return {name: value for name, value in fields.items() if value is not None}
