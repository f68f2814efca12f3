"""Every route asks for a key with its scope, and shows nothing of another project. Driven by the table of scopes."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import httpx
import pytest
from sqlalchemy import Connection, select

from service.api.application import build_api
from service.api.scopes import OPEN, SCOPES, needed
from service.api.services import Services
from service.api.vendors.paths import ROUTES as VENDOR_ROUTES
from service.domain.keys.access import KeyScope
from service.domain.spending.budgets import BudgetSpec, Spender, Terms
from service.domain.spending.ledger import Refusal, ReserveRequest, UsageRecord
from service.store.tables import KEYS, METADATA
from tests.service.api.keys.keyed import ALL, KeyedApi
from tests.service.conftest import Api

MARK = "zebra7secret"
TABLE = [(template, method, scope) for template, row in SCOPES.items() for method, scope in row.items()]
IDS = [f"{method} {template}" for template, method, _ in TABLE]
OF_A_PROJECT = {KeyScope.BUDGET_READ, KeyScope.BUDGET_WRITE, KeyScope.SPEND_READ, KeyScope.SPEND_WRITE}
LOOKS_AT_A_PROJECT = {"/v1/preflight", "/v1/estimate", "/v1/compare"}
BODIES = {
    "/v1/budgets": {"name": "another", "limit_usd": "1"},
    "/v1/budgets/{name}": {"limit_usd": "1"},
    "/v1/reservations/{id}/extend": {"ttl_seconds": 60},
    "/v1/reservations/{id}/settle": {"usage": {"input_tokens": 1, "output_tokens": 1}},
}
"""Bodies that the route takes, so that it looks at what its path names."""


@dataclass
class Owned:
    """A service in which the project ``default`` has a budget, a reservation, spend, a refusal and keys."""

    api: KeyedApi
    hold: str
    key: str

    def path(self, template: str) -> str:
        """The template's path to what ``default`` has."""
        values = {"version": "v1beta", "model": "gpt-4o", "name": MARK, "project": "p", "location": "l"}
        values["id"] = self.key if "keys" in template else self.hold
        return re.sub(r"{(\w+)}", lambda match: values[match[1]], template)

    def ask(self, key: str, template: str, method: str, query: str = "") -> httpx.Response:
        body = {} if method in ("GET", "DELETE") else {"json": BODIES.get(template, {})}
        return self.api.with_key(key, method, self.path(template) + query, **body)

    def rows(self) -> dict[str, list[tuple[object, ...]]]:
        """All that the database holds, but for when keys were last used."""

        def read(connection: Connection) -> dict[str, list[tuple[object, ...]]]:
            columns = {t: [c for c in t.c if c is not KEYS.c.last_used_at] for t in METADATA.sorted_tables}
            return {t.name: sorted(map(tuple, connection.execute(select(*c))), key=str) for t, c in columns.items()}

        return asyncio.run(self.api.services.ledger.read(read))


@pytest.fixture(scope="module")
def owned(services: Services, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Owned]:
    api = KeyedApi(services, tmp_path_factory.mktemp("keys"))
    ledger, now = api.services.ledger, api.services.now()

    async def fill() -> str:
        spender = Spender("default", api.admin.key.id, "openai", "gpt-4o", None, {MARK: MARK})
        await ledger.create_budget(BudgetSpec("default", MARK, Terms(10**9)), by="a test")
        await ledger.record([UsageRecord(spender, Decimal("0.25"), now)])
        ledger.refused(Refusal("default", "budget_exceeded", MARK))
        await ledger.keep_up_once()
        return (await ledger.reserve(ReserveRequest(spender, Decimal("0.5")))).id

    yield Owned(api, asyncio.run(fill()), api.admin.key.id)
    api.close()


@pytest.fixture(scope="module")
def keys(owned: Owned) -> dict[str, str]:
    """Keys by what is special about them: without one scope, with one scope, and of another project."""
    made = {f"without {scope}": owned.api.all_but(scope).text for scope in KeyScope}
    made |= {f"only {scope}": owned.api.make(scope).text for scope in KeyScope}
    made["foreign"] = owned.api.make(*(ALL - {KeyScope.ADMIN}), project="other").text
    return made


@pytest.fixture(scope="module")
def routes(services: Services) -> frozenset[tuple[str, str]]:
    """Path and method of every route of the framework."""
    waiting: list[Any] = [*build_api(services).routes]
    found: set[tuple[str, str]] = set()
    while waiting:
        route = waiting.pop()
        waiting += getattr(getattr(route, "original_router", route), "routes", ())
        found |= {(route.path, method) for method in getattr(route, "methods", None) or () if method != "HEAD"}
    return frozenset(found)


def test_every_route_has_a_scope_or_is_open(routes: frozenset[tuple[str, str]]) -> None:
    assert len(routes) > 30
    every = routes | {(route.template, "POST") for route in VENDOR_ROUTES}
    missing = {(path, method) for path, method in every if path not in OPEN and method not in SCOPES.get(path, ())}
    assert missing == set()


def test_the_document_says_which_scope_each_route_needs(api: Api) -> None:
    document = api.get("/openapi.json").json()
    assert set(document["components"]["securitySchemes"]) == {"bearer", "x-api-key"}
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            stated = {scope for way in operation.get("security", ()) for scope in (*way.values(),)[0]}
            assert stated == (set() if path in OPEN else {SCOPES[path][method.upper()].value})


def test_a_path_is_found_as_its_template_and_nothing_else(owned: Owned) -> None:
    for template in SCOPES:
        found = needed(owned.path(template))
        assert found is not None
        assert found.template == template
        if not template.endswith("}") and "{model}" not in template:
            assert [needed(owned.path(template) + end) for end in ("\n", "/", "%0a", " ")] == [None] * 4
            assert needed("/" + owned.path(template)) is None


@pytest.mark.parametrize(
    "path", ["/metrics\n", "/v1/keys\n", "/v1/keys/", "//v1/keys", "/v1/reservations/x/settle\n", "/V1/keys"]
)
def test_what_the_framework_reads_less_strictly_reaches_no_route(owned: Owned, path: str) -> None:
    scope_less = owned.api.make(KeyScope.COUNT)
    for method in ("GET", "POST", "DELETE"):
        answer = owned.api.with_key(scope_less, method, path.replace("\n", "%0a"))
        assert (answer.status_code, answer.json()["code"]) == (404, "not_found")


@pytest.mark.parametrize(("template", "method", "scope"), TABLE, ids=IDS)
def test_without_a_key_nobody_passes(owned: Owned, template: str, method: str, scope: KeyScope) -> None:
    del scope
    for method_too in {method, "HEAD" if method == "GET" else method}:
        for headers in ({}, {"authorization": "Bearer wb_none"}, {"x-api-key": "0" * 84}):
            answer = owned.api.request(method_too, owned.path(template), headers=headers)
            assert answer.status_code == 401
            assert answer.headers["www-authenticate"] == "Bearer"


@pytest.mark.parametrize(("template", "method", "scope"), TABLE, ids=IDS)
def test_a_key_without_the_scope_does_not_pass_and_with_it_does(
    owned: Owned, keys: dict[str, str], template: str, method: str, scope: KeyScope
) -> None:
    if scope is not KeyScope.ADMIN:
        only = owned.ask(keys[f"only {scope}"], template, method, "?none=1")  # which no route takes: nothing is changed
        assert only.status_code not in (401, 403)
        assert only.status_code < 500
    before = owned.rows()
    refused = owned.ask(keys[f"without {scope}"], template, method)
    assert refused.status_code == 403
    assert scope.value in refused.text
    assert owned.rows() == before


@pytest.mark.parametrize(("template", "method", "scope"), TABLE, ids=IDS)
def test_a_key_of_another_project_sees_and_touches_nothing(
    owned: Owned,
    keys: dict[str, str],
    routes: frozenset[tuple[str, str]],
    template: str,
    method: str,
    scope: KeyScope,
) -> None:
    def own(rows: dict[str, list[tuple[object, ...]]]) -> dict[str, list[tuple[object, ...]]]:
        """What of it is not the other project's."""
        theirs = {"other", f"key {keys['foreign'][3:19]}"}
        return {name: [row for row in found if theirs.isdisjoint(row)] for name, found in rows.items()}

    before = own(owned.rows())
    answer = owned.ask(keys["foreign"], template, method)
    named = owned.ask(keys["foreign"], template, method, "?project=default")
    if scope in OF_A_PROJECT and "{" in template:
        assert answer.status_code == 404
    if (scope in OF_A_PROJECT or template in LOOKS_AT_A_PROJECT) and (template, method) in routes:
        assert named.status_code == 403
    if scope is KeyScope.ADMIN:
        assert (answer.status_code, named.status_code) == (403, 403)
    if method == "GET":
        assert MARK not in answer.text + named.text
        assert owned.hold not in answer.text + named.text
    assert {name: rows for name, rows in own(owned.rows()).items() if rows != before[name]} == {}
