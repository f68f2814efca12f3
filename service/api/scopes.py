"""What a key must be allowed for each route: one table from route template and method to scope."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from service.api.vendors.paths import ROUTES as VENDOR_ROUTES
from service.api.vendors.paths import find_route
from service.domain.keys.access import KeyScope

_COUNT, _ESTIMATE = KeyScope.COUNT, KeyScope.ESTIMATE
_COSTED_BY_VENDORS = frozenset({"/spend/calculate", "/cost/estimate"})

OPEN: frozenset[str] = frozenset({"/livez", "/readyz", "/openapi.json", "/docs", "/docs/rapidoc.js", "/docs/icon.svg"})
"""Routes that need no key."""

_OWN: Mapping[str, Mapping[str, KeyScope]] = {
    "/v1/count": {"POST": _COUNT},
    "/v1/tokenize": {"POST": _COUNT},
    "/v1/detokenize": {"POST": _COUNT},
    "/v1/advise": {"POST": _COUNT},
    "/v1/trim": {"POST": _COUNT},
    "/v1/models": {"GET": _COUNT},
    "/v1/tokenizers": {"GET": _COUNT},
    "/v1/estimate": {"POST": _ESTIMATE},
    "/v1/compare": {"POST": _ESTIMATE},
    "/v1/cost": {"POST": _ESTIMATE},
    "/v1/prices": {"GET": _ESTIMATE},
    "/v1/preflight": {"POST": _ESTIMATE},  # with `reserve` it needs `spend:write` too, which the route sees
    "/v1/batches": {"POST": _ESTIMATE},
    "/v1/reservations": {"POST": KeyScope.SPEND_WRITE},
    "/v1/reservations/{id}": {"GET": KeyScope.SPEND_WRITE},
    "/v1/reservations/{id}/settle": {"POST": KeyScope.SPEND_WRITE},
    "/v1/reservations/{id}/release": {"POST": KeyScope.SPEND_WRITE},
    "/v1/reservations/{id}/extend": {"POST": KeyScope.SPEND_WRITE},
    "/v1/usage": {"POST": KeyScope.SPEND_WRITE},
    "/v1/budgets": {"GET": KeyScope.BUDGET_READ, "POST": KeyScope.BUDGET_WRITE},
    "/v1/budgets/{name}": {
        "GET": KeyScope.BUDGET_READ,
        "PATCH": KeyScope.BUDGET_WRITE,
        "DELETE": KeyScope.BUDGET_WRITE,
    },
    "/v1/budgets/{name}/changes": {"GET": KeyScope.BUDGET_READ},
    "/v1/spend": {"GET": KeyScope.SPEND_READ},
    "/v1/spend/entries": {"GET": KeyScope.SPEND_READ},
    "/v1/refusals": {"GET": KeyScope.SPEND_READ},
    "/v1/keys": {"GET": KeyScope.ADMIN, "POST": KeyScope.ADMIN},
    "/v1/keys/{id}": {"GET": KeyScope.ADMIN, "DELETE": KeyScope.ADMIN},
    "/v1/keys/{id}/changes": {"GET": KeyScope.ADMIN},
    "/v1/keys/{id}/rotate": {"POST": KeyScope.ADMIN},
    "/metrics": {"GET": KeyScope.METRICS_READ},
}

SCOPES: Mapping[str, Mapping[str, KeyScope]] = {
    **_OWN,
    **{
        route.template: {"POST": _ESTIMATE if route.template in _COSTED_BY_VENDORS else _COUNT}
        for route in VENDOR_ROUTES
    },
}
"""The scope by route template and method. GET stands for HEAD too."""

_PATTERNS = tuple((re.compile(re.sub(r"{\w+}", "[^/]+", template)), template) for template in _OWN if "{" in template)


_SCHEMES = {
    "bearer": {"type": "http", "scheme": "bearer", "description": "A key, where keys are in use."},
    "x-api-key": {"type": "apiKey", "in": "header", "name": "x-api-key", "description": "The same key."},
}


def secured(document: dict[str, Any]) -> dict[str, Any]:
    """An OpenAPI document, once it says which scope each operation's key needs."""
    document.setdefault("components", {})["securitySchemes"] = _SCHEMES
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            scope = SCOPES.get(path, {}).get(method.upper())
            if scope is not None:
                operation["security"] = [{name: [scope.value]} for name in _SCHEMES]
    return document


@dataclass(frozen=True, slots=True)
class Needed:
    """What a path's route needs, by method."""

    template: str
    scopes: Mapping[str, KeyScope]

    def scope(self, method: str) -> KeyScope | None:
        """The scope for ``method``; ``None`` where the route does not take it."""
        return self.scopes.get("GET" if method == "HEAD" else method)


_STATIC: Mapping[str, Needed] = {path: Needed(path, scopes) for path, scopes in _OWN.items() if "{" not in path}


def needed(path: str) -> Needed | None:
    """What the route of ``path`` needs; ``None`` where no route is known, which then is not to be reached."""
    found = _STATIC.get(path)
    if found is not None:
        return found
    vendor = find_route(path)
    if vendor is not None:
        return Needed(vendor.route.template, SCOPES[vendor.route.template])
    for pattern, template in _PATTERNS:
        if pattern.fullmatch(path):
            return Needed(template, _OWN[template])
    return None
