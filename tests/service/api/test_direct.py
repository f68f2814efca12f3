"""Routes that are called past the framework answer as it does, and stand in the log and the metrics alike."""

from __future__ import annotations

import asyncio
import inspect
import re
from dataclasses import replace

import pytest

from service.api.application import build_api, direct_routes
from service.app import layered
from service.app.assembly import inner_app
from tests.service.conftest import Api
from tests.service.store.places import Place

HOLD = {"budget": "team-a", "amount_usd": "0.25"}
UNKNOWN = "/v1/reservations/h_00000000000000000000000000000000"
JSON = {"content-type": "application/json"}
REQUESTS = [
    ("POST", "/v1/reservations", HOLD, {}),
    ("POST", "/v1/reservations", HOLD, {"idempotency-key": "k1"}),
    ("POST", "/v1/reservations", HOLD, {"idempotency-key": ""}),
    ("POST", "/v1/reservations", {"model": "gpt-4o", "text": "Hello", "max_output_tokens": 5}, {}),
    ("POST", "/v1/reservations", {"budget": "team-a", "amount_usd": "20"}, {}),
    ("POST", "/v1/reservations", {"budget": "zebra", "amount_usd": "1"}, {}),
    ("POST", "/v1/reservations", {"amount": 1}, {}),
    ("POST", "/v1/reservations", b"{", {}),
    ("POST", "/v1/reservations", HOLD, {"content-type": "text/plain"}),
    ("POST", "/v1/reservations?project=zebra", HOLD, {}),
    ("POST", "/v1/reservations?project=", HOLD, {}),
    ("POST", "/v1/reservations?project=team%20a", HOLD, {}),
    ("GET", "/v1/reservations", None, {}),
    ("PUT", "/v1/reservations", HOLD, {}),
    ("POST", "/v1/reservations/", HOLD, {}),
    ("GET", UNKNOWN, None, {}),
    ("DELETE", UNKNOWN, None, {}),
    ("GET", "/v1/reservations/h%5F1", None, {}),
    ("GET", "/v1/reservations/a%2Fb", None, {}),
    ("GET", "/v1/reservations/a%0A", None, {}),
    ("POST", f"{UNKNOWN}/settle", {"cost_usd": "1"}, {}),
    ("POST", f"{UNKNOWN}/settle", {}, {}),
    ("POST", f"{UNKNOWN}/settle/", {"cost_usd": "1"}, {}),
    ("GET", f"{UNKNOWN}/settle", None, {}),
    ("POST", f"{UNKNOWN}/release", b"", {}),
    ("POST", f"{UNKNOWN}/extend", {"ttl_seconds": 60}, {}),
    ("POST", f"{UNKNOWN}/extend", {"ttl_seconds": -60}, {}),
    ("POST", f"{UNKNOWN}/vanish", {}, {}),
    ("POST", "/v1/usage", {"model": "gpt-4o", "cost_usd": "0.1"}, {}),
    ("POST", "/v1/usage", {"model": "zebra-7", "usage": {}}, {}),
    ("POST", "/v1/preflight", {"model": "gpt-4o", "text": "Hello", "max_output_tokens": 5}, {}),
    ("POST", "/v1/preflight", {"model": "gpt-4o", "text": "Hello", "max_output_tokens": 5, "reserve": True}, {}),
    ("POST", "/v1/preflight", {"model": "gpt-4o"}, {}),
]
_CHANGING = re.compile(r'"([he])_[0-9a-f]{32}"|"request_id":"[^"]*"')


@pytest.fixture(scope="module")
def apis(services, tmp_path_factory):
    """The service, and the framework alone; each over a ledger of its own with one budget, at the same time."""

    def over(name, app):
        place = Place("", tmp_path_factory.mktemp(name))
        own = replace(services, ledger=place.ledger(), now=place.clock)
        api = Api(layered(app(own), own))
        assert api.post("/v1/budgets", {"name": "team-a", "limit_usd": "5"}).status_code == 201
        ledgers.append(own.ledger)
        return api

    ledgers = []
    yield over("ours", inner_app), over("framework", build_api)
    for ledger in ledgers:
        asyncio.run(ledger.close())


@pytest.mark.parametrize(("method", "path", "body", "headers"), REQUESTS)
def test_the_answer_is_the_frameworks(apis, method, path, body, headers):
    content = {} if body is None else {"content": body} if isinstance(body, bytes) else {"json": body}
    ours, framework = (
        [api.request(method, path, headers={**JSON, **headers}, **content) for _ in range(2)] for api in apis
    )
    for mine, theirs in zip(ours, framework, strict=True):  # the second finds what the first did
        assert mine.status_code == theirs.status_code
        assert _CHANGING.sub("", mine.text) == _CHANGING.sub("", theirs.text)
        told = [{k: v for k, v in answer.headers.items() if k != "x-request-id"} for answer in (mine, theirs)]
        assert told[0] | {"content-length": ""} == told[1] | {"content-length": ""}
        assert mine.headers["x-request-id"]


def test_a_reservation_is_settled_the_same(apis):
    answers = []
    for api in apis:
        held = api.post("/v1/reservations", HOLD).json()
        path = f"/v1/reservations/{held['id']}"
        answers.append(
            [
                api.post(f"{path}/extend", {"ttl_seconds": 900}),
                api.post(f"{path}/settle", {"usage": {"prompt_tokens": 5, "completion_tokens": 1}, "model": "gpt-4o"}),
                api.post(f"{path}/settle", {"cost_usd": "1"}),
                api.post(f"{path}/release", {}),
                api.get(path),
            ]
        )
    assert [answer.status_code for answer in answers[0]] == [200, 200, 409, 409, 200]
    for mine, theirs in zip(*answers, strict=True):
        assert mine.status_code == theirs.status_code
        assert _CHANGING.sub("", mine.text) == _CHANGING.sub("", theirs.text)


def test_metrics_and_errors_name_the_template(apis, services):
    ours, _ = apis

    def metrics():
        return services.metrics.render().decode()

    before = metrics()
    ours.post(f"{UNKNOWN}/settle", {"cost_usd": "1"})
    label = 'method="POST",route="/v1/reservations/{id}/settle",status="404"'
    assert _number(metrics(), label) == _number(before, label) + 1
    assert "00000000000000000000000000000000" not in metrics()


def _number(text, label):
    found = re.search(rf"weighbridge_http_requests_total{{{re.escape(label)}}} (\S+)", text)
    return float(found[1]) if found else 0.0


def test_each_endpoint_takes_the_request_and_the_texts_of_its_path(services):
    routes = direct_routes(services)
    assert len(routes) == 7
    framework = {route.path for route in routes}
    assert framework <= set(build_api(services).openapi()["paths"])
    for route in routes:
        first, *texts = inspect.signature(route.endpoint).parameters.values()
        assert first.name == "request"
        assert len(texts) == route.path.count("{")
        assert not route.dependant.query_params
        assert route.response_class is not None
        assert not route.dependencies
