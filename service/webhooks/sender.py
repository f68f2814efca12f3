"""One attempt at delivering an alert: a signed POST to an address that was checked; the answer's body is not read."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable
from enum import StrEnum

import httpx

from service import __version__
from service.domain.spending.alerts import Delivery, Target
from service.webhooks.addresses import AddressRefused, Resolve, addresses_of, resolved
from service.webhooks.signing import signature

SECONDS = 10.0
"""Longest time for one attempt, whatever takes it."""


class Outcome(StrEnum):
    """How an attempt ended; only ``delivered`` is the last one. ``status``: the receiver answered something else."""

    DELIVERED = "delivered"
    STATUS = "status"
    REDIRECTED = "redirected"
    TIMEOUT = "timeout"
    UNREACHABLE = "unreachable"
    ADDRESS_REFUSED = "address_refused"


class Sender:
    """Sends over connections of its own. ``close`` at the end.

    No proxy of the environment is used, no redirect followed, and TLS certificates are those of the host's name.
    """

    def __init__(
        self,
        *,
        resolve: Resolve = resolved,
        now: Callable[[], float] = time.time,
        seconds: float = SECONDS,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._resolve = resolve
        self._now = now
        self._seconds = seconds
        limits = httpx.Limits(
            max_keepalive_connections=0
        )  # a connection belongs to the address that was checked for it
        self._client = httpx.AsyncClient(
            trust_env=False,
            follow_redirects=False,
            timeout=httpx.Timeout(seconds, connect=seconds / 3),
            limits=limits,
            transport=transport,
        )

    async def close(self) -> None:
        """Close what is open."""
        await self._client.aclose()

    async def send(self, target: Target, delivery: Delivery) -> Outcome:
        """Try once. Never raises for what the receiver, its name or its network does."""
        try:
            async with asyncio.timeout(self._seconds):
                return await self._send(target, delivery)
        except AddressRefused:
            return Outcome.ADDRESS_REFUSED
        except (TimeoutError, httpx.TimeoutException):
            return Outcome.TIMEOUT
        except (OSError, UnicodeError, httpx.HTTPError, httpx.InvalidURL):
            return Outcome.UNREACHABLE

    async def _send(self, target: Target, delivery: Delivery) -> Outcome:
        url = httpx.URL(target.url)
        port = url.port or (443 if url.scheme == "https" else 80)
        if url.scheme != "https" and not target.allow_private:
            raise AddressRefused
        host = url.raw_host.decode()
        found = await addresses_of(host, port, self._resolve, allow_private=target.allow_private)
        for address in found[:-1]:
            with contextlib.suppress(httpx.ConnectError, httpx.ConnectTimeout):
                return await self._post(target, delivery, url, address)
        return await self._post(target, delivery, url, found[-1])

    async def _post(self, target: Target, delivery: Delivery, url: httpx.URL, address: str) -> Outcome:
        timestamp = int(self._now())
        request = self._client.build_request(
            "POST",
            url.copy_with(host=address),
            content=delivery.body,
            headers={
                "host": url.netloc.decode(),
                "content-type": "application/json",
                "user-agent": f"weighbridge/{__version__}",
                "webhook-id": delivery.id,
                "webhook-timestamp": str(timestamp),
                "webhook-signature": signature(target.secret, delivery.id, timestamp, delivery.body),
            },
            extensions={"sni_hostname": url.raw_host.decode()},
        )
        response = await self._client.send(request, stream=True)
        await response.aclose()
        if response.is_success:
            return Outcome.DELIVERED
        return Outcome.REDIRECTED if response.is_redirect else Outcome.STATUS
