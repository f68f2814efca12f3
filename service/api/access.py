"""The layer that asks for keys, and counts the requests of those with a rate limit, before any body is read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NoReturn
from urllib.parse import parse_qs

from service.api.errors import ApiError
from service.api.exchange import App, Exchange, Receive, Scope, Send
from service.api.scopes import OPEN, Needed, needed
from service.api.vendors import gemini
from service.api.vendors.paths import find_route
from service.domain.keys.access import ANYONE, STRANGER
from service.domain.keys.errors import KeysUnavailable
from service.domain.keys.keyring import Gate, InForce, KeyRing
from service.domain.keys.rates import RateLimit, RateLimiter

_HEADERS = (b"x-api-key", b"x-goog-api-key")
_CHALLENGE = {"www-authenticate": "Bearer"}
_MISSING = "Send a key: `Authorization: Bearer wb_...` or `x-api-key: wb_...`."
_INVALID = "The key is not valid: it is wrong, expired or revoked."
_GEMINI = frozenset({gemini.DEVELOPER.template, gemini.VERTEX.template, gemini.VERTEX_PROJECT.template})


class KeyGuard:
    """Plain ASGI. Where keys are on, a request needs one that may do what its route needs; else it goes no further."""

    def __init__(self, app: App, ring: KeyRing, limiter: RateLimiter) -> None:
        self._app = app
        self._ring = ring
        self._limiter = limiter

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and self._ring.gate is not Gate.OPEN and scope["path"] not in OPEN:
            await self._admit(scope, Exchange.of(scope))
        await self._app(scope, receive, send)

    async def _admit(self, scope: Scope, exchange: Exchange) -> None:
        """Note who asks. Raises ``ApiError``: 401, 403, 404, 405 or 429."""
        exchange.caller = STRANGER
        if self._ring.gate is Gate.CLOSED:
            await self._ring.try_again()
        if self._ring.gate is Gate.CLOSED:
            raise KeysUnavailable
        if self._ring.gate is Gate.OPEN:
            exchange.caller = ANYONE
            return
        route = needed(scope["path"])
        if route is not None:
            exchange.route = route.template
        found = self._key(scope, exchange)
        exchange.caller = found.caller
        if found.rate_limit is not None:
            await self._count(exchange, found, found.rate_limit)
        _require_scope(route, scope["method"], found)

    def _key(self, scope: Scope, exchange: Exchange) -> InForce:
        texts = given_keys(exchange.headers) or _queried_keys(scope)
        for text in texts:  # a cloud's client may send a token of its own beside ours
            found = self._ring.find(text)
            if found is not None:
                return found
        if texts:
            raise ApiError(401, "key_invalid", _INVALID, headers=_CHALLENGE)
        raise ApiError(401, "key_missing", _MISSING, headers=_CHALLENGE)

    async def _count(self, exchange: Exchange, found: InForce, limit: RateLimit) -> None:
        allowance = await self._limiter.take(found.key.id, limit)
        policy = f'"key";q={limit.requests};w={limit.seconds}'
        left = f'"key";r={allowance.remaining};t={allowance.reset_seconds}'
        exchange.marks += [(b"ratelimit-policy", policy.encode()), (b"ratelimit", left.encode())]
        if not allowance.passes:
            detail = f"The key may ask {limit.requests} times in {limit.seconds} s. Try again after the time it says."
            raise ApiError(429, "rate_limited", detail, headers={"retry-after": str(allowance.reset_seconds)})


def given_keys(headers: Mapping[bytes, bytes]) -> list[bytes]:
    """What the headers of a request have for a key: as a bearer token, or as vendors' clients send it."""
    scheme, _, token = headers.get(b"authorization", b"").partition(b" ")
    texts = [token] if scheme.lower() == b"bearer" else []
    texts += [headers.get(name, b"") for name in _HEADERS]
    return [text.strip() for text in texts if text.strip()]


def _queried_keys(scope: Scope) -> list[bytes]:
    """The key in the query, where Gemini's clients put it; on no other route."""
    found = find_route(scope["path"])
    if found is None or found.route.template not in _GEMINI:
        return []
    texts = parse_qs(scope["query_string"].decode("latin-1"), encoding="latin-1").get("key", [])
    return [text.encode("latin-1") for text in texts[-1:]]


def _require_scope(route: Needed | None, method: str, found: InForce) -> None:
    if route is None:  # the framework reads paths less strictly than the table, so nothing else may reach it
        raise ApiError(404, "not_found", "See /docs or /openapi.json for all routes.")
    scope = route.scope(method)
    if scope is None:
        _refuse_method(route)
    if not found.caller.may(scope):
        detail = f"The key has not the scope `{scope.value}`, which this route needs."
        raise ApiError(403, "scope_missing", detail)


def _refuse_method(route: Needed) -> NoReturn:
    detail = "See /openapi.json for what this route takes."
    raise ApiError(405, "method_not_allowed", detail, headers={"allow": ", ".join(sorted(route.scopes))})
