"""The OpenAPI document, the documentation page and the README say what the service does."""

from __future__ import annotations

import asyncio
import gzip
import json
import re
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest
from openapi_spec_validator import validate

from service.api.application import STATIC_ROUTES
from service.api.errors import _TABLE, TITLES
from service.api.glossary import ANYWHERE, PATH, glossary
from service.api.openapi import complete, examples
from service.api.routes.weighing import HOT
from service.api.vendors.paths import ROUTES, STATIC, find_route
from service.api.weighing.schemas import CountRequest
from service.api.weighing.streaming import HEADERS
from service.app import build_app
from service.domain.counting import Count, CountBatch
from service.domain.limits import LimitedCount
from service.domain.remote import RemoteCount
from service.domain.spending.alerts import AlertKind
from service.settings import PREFIX, Settings
from service.store.ledger import sql_ledger
from tests.service.conftest import Api

VENDORS = (
    *("Anthropic", "CountTokens", "CostEstimate", "Gemini", "LiteLLM", "Llama", "MessagesInput", "ModalityTokens"),
    *("OpenAI", "ResponsesInput", "Server", "SpendAnswer", "SpendRequest", "Tei", "TokenCounter", "Vllm"),
)
ROOT = Path(__file__).parents[3]
_ID = re.compile(r"^[he]_[0-9a-f]{32}$")
_INSTANT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
README = (ROOT / "README.md").read_text("utf-8")


@pytest.fixture(scope="module")
def document(api):
    return api.get("/openapi.json").json()


def test_the_document_is_valid_openapi_3_1(document):
    assert document["openapi"].startswith("3.1")
    validate(document)


@pytest.fixture
def new_ledger_api(services, tmp_path):
    ledger = sql_ledger("", tmp_path, services.now)
    yield Api(build_app(replace(services, ledger=ledger)))
    asyncio.run(ledger.close())


@pytest.mark.parametrize("name", list(examples()))
def test_each_example_is_what_the_service_answers(api, new_ledger_api, name):
    example = examples()[name]
    if name in ("preflight", "reservations", "usage"):  # what others have written shows in these
        api = new_ledger_api
    route = example.get("route") or f"/v1/{name.partition('_')[0]}"
    assert _masked(api.post(route, example["request"]).json()) == _masked(example["answer"])


def _masked(value):
    """Without what differs each time: instants and ids."""
    if isinstance(value, dict):
        return {name: _masked(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_masked(part) for part in value]
    return _ID.sub("id", _INSTANT.sub("instant", value)) if isinstance(value, str) else value


def test_a_hot_route_is_documented_with_the_structs_that_it_uses(document):
    assert set(HOT) == {"/v1/count"}
    operation = document["paths"]["/v1/count"]["post"]
    schema = operation["requestBody"]["content"]["application/json"]["schema"]
    assert schema == {"$ref": "#/components/schemas/CountRequest"}
    expected = complete({}, [CountRequest, Count, RemoteCount, CountBatch, LimitedCount])["components"]["schemas"]
    for name, component in expected.items():
        assert document["components"]["schemas"][name] == json.loads(json.dumps(component))
    answers = operation["responses"]["200"]["content"]["application/json"]["schema"]["anyOf"]
    assert [a["$ref"].rsplit("/", 1)[1] for a in answers] == ["Count", "RemoteCount", "CountBatch", "LimitedCount"]
    assert {row["name"] for row in operation["parameters"]} == set(HEADERS)
    assert "text/plain" in operation["requestBody"]["content"]


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.template)
def test_a_vendors_route_is_documented_with_the_structs_that_it_uses(document, route):
    operation = document["paths"][route.template]["post"]
    schema = operation["requestBody"]["content"]["application/json"]["schema"]
    named = [each["$ref"].rsplit("/", 1)[1] for each in schema.get("anyOf", [schema])]
    assert named == [kind.__name__ for kind in route.operation.requests]
    used = [*route.operation.requests, *route.operation.answers, route.operation.error]
    for name, component in complete({}, used)["components"]["schemas"].items():
        assert document["components"]["schemas"][name] == json.loads(json.dumps(component))
    stated = {part["name"] for part in operation.get("parameters", ())}
    assert stated == set(re.findall(r"{(\w+)}", route.template))


@pytest.mark.parametrize("name", [name for name, example in examples().items() if "route" in example])
def test_a_vendors_example_fits_the_documented_schemas(document, name):
    example = examples()[name]
    operation = document["paths"][find_route(example["route"]).route.template]["post"]
    components = {"components": document["components"]}
    for part, holder in (("request", operation["requestBody"]), ("answer", operation["responses"]["200"])):
        jsonschema.validate(example[part], holder["content"]["application/json"]["schema"] | components)


@pytest.mark.parametrize("body", [{"model": "zebra-7"}, {"model": 7}, {}])
@pytest.mark.parametrize("path", sorted(STATIC))
def test_a_vendors_refusal_fits_the_documented_schema(api, document, path, body):
    answer = api.post(path, body)
    assert answer.status_code in (400, 404, 422)
    schema = document["paths"][path]["post"]["responses"]["default"]["content"]["application/json"]["schema"]
    jsonschema.validate(answer.json(), schema | {"components": document["components"]})


def test_static_routes_are_those_of_the_document(document):
    assert set(STATIC_ROUTES) == {path for path in document["paths"] if "{" not in path} | {"/openapi.json"}


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/count", {"model": "claude-sonnet-4-5", "text": "Hello <|im_end|>"}),
        ("/v1/count", {"model": "gpt-4o", "text": "Hello <|im_end|>", "limit": 3}),
        ("/v1/count", {"model": "claude-sonnet-4-5", "text": "Hello", "limit": 100}),
        ("/v1/count", {"tokenizer": "qwen", "texts": ["a", "", "<|im_end|>"]}),
        ("/v1/estimate", {"model": "gpt-4o", "text": "Hello <|im_end|>", "max_cost_usd": "0.01"}),
        ("/v1/estimate", {"model": "text-embedding-3-small", "texts": ["a b", "c"]}),
        ("/v1/compare", {"texts": ["Hello", "世界"]}),
        ("/v1/compare", {"text": "Hello", "tokenizers": ["qwen", "cl100k_base"]}),
        ("/v1/cost", {"model": "gpt-4o", "usage": {"input_tokens": 5, "reasoning_tokens": 1, "output_tokens": 2}}),
        ("/v1/advise", {"model": "gpt-5", "text": "a   b <|im_end|>", "alternative_text": "c"}),
        ("/v1/advise", {"model": "qwen3-8b", "system": "x", "messages": [{"role": "user", "content": "Hello"}]}),
        ("/v1/trim", {"model": "gpt-4o", "limit": 9, "messages": [{"role": "user", "content": "Hello <|im_end|>"}]}),
        ("/v1/trim", {"limit": 9, "request": {"model": "gpt-4o", "input": [{"role": "user", "content": "Hi"}]}}),
        ("/v1/preflight", {"model": "gpt-4o", "texts": ["Hello", "a"], "limits": {"max_cost_usd": "0"}}),
        ("/v1/preflight", {"model": "gpt-4o", "text": "Hello", "reserve": True}),
        ("/v1/preflight", {"model": "nobody", "text": "Hello"}),
        ("/v1/reservations", {"model": "gpt-4o", "text": "Hello", "tags": {"team": "search"}}),
        ("/v1/reservations", {"amount_usd": "0.01"}),
        ("/v1/usage", {"model": "gpt-4o", "usage": {"input_tokens": 1}}),
        ("/v1/usage", {"records": [{"model": "llama-3.1-8b", "usage": {"input_tokens": 1}}, {"cost_usd": 1}]}),
        ("/v1/tokenize", {"tokenizer": "tekken", "text": "Hi 世"}),
        ("/v1/detokenize", {"tokenizer": "tekken", "ids": [1, 2000]}),
    ],
)
def test_answers_fit_the_documented_schema(api, document, path, body):
    answer = api.post(path, body)
    assert answer.status_code in (200, 201), answer.text
    answers = document["paths"][path]["post"]["responses"]
    schema = answers[str(answer.status_code)]["content"]["application/json"]["schema"]
    jsonschema.validate(answer.json(), schema | {"components": document["components"]})


def test_a_reservation_fits_the_documented_schema_all_the_way(api, document):
    def fits(answer, path, method):
        answers = document["paths"][path][method]["responses"]
        schema = answers[str(answer.status_code)]["content"]["application/json"]["schema"]
        jsonschema.validate(answer.json(), schema | {"components": document["components"]})

    made = api.post("/v1/reservations", {"amount_usd": "0.01"}).json()["id"]
    fits(api.get(f"/v1/reservations/{made}"), "/v1/reservations/{id}", "get")
    for word, body in (
        ("extend", {"ttl_seconds": 60}),
        ("settle", {"usage": {"input_tokens": 1}, "model": "gpt-4o", "partial": True}),
    ):
        fits(api.post(f"/v1/reservations/{made}/{word}", body), f"/v1/reservations/{{id}}/{word}", "post")
    made = api.post("/v1/reservations", {"amount_usd": "0.01"}).json()["id"]
    fits(api.post(f"/v1/reservations/{made}/release", {}), "/v1/reservations/{id}/release", "post")


@pytest.mark.parametrize(
    "path",
    [
        *("/v1/models", "/v1/tokenizers", "/v1/prices?provider=openai", "/livez", "/readyz"),
        *("/v1/budgets", "/v1/spend?group_by=model", "/v1/spend/entries", "/v1/refusals"),
    ],
)
def test_lists_fit_the_documented_schema(api, document, path):
    schema = document["paths"][path.split("?")[0]]["get"]["responses"]["200"]["content"]["application/json"]["schema"]
    jsonschema.validate(api.get(path).json(), schema | {"components": document["components"]})


def test_every_route_has_a_summary_and_documents_its_problems(document):
    for path, operations in document["paths"].items():
        for operation in operations.values():
            assert operation["summary"], path
            vendor = path in {route.template for route in ROUTES}
            media_type = "application/json" if vendor else "application/problem+json"
            assert [media_type] == [*operation["responses"]["default"]["content"]]


def test_every_field_and_parameter_of_our_own_says_what_it_means(document):
    words, schemas = glossary(), document["components"]["schemas"]
    own = {name for name in schemas if not name.startswith(VENDORS)}
    fields = [(name, *row) for name in own for row in schemas[name].get("properties", {}).items()]
    told = {(name, field, declared.get("description")) for name, field, declared in fields}
    assert {row for row in told if not row[2]} == set()
    used = {(name, field) for name, field, says in told if words.get(name, {}).get(field) == says}
    assert used >= {(name, field) for name in words if name not in (ANYWHERE, PATH) for field in words[name]}
    assert {field for _, field, says in told if words[ANYWHERE].get(field) == says} == {*words[ANYWHERE]}
    operations = [operation for path in document["paths"].values() for operation in path.values()]
    parameters = [one for operation in operations for one in operation.get("parameters", ())]
    assert all(one["description"] for one in parameters)
    assert {one["name"] for one in parameters if one["in"] == "path"} == {*words[PATH]}


def test_every_alert_is_documented(document):
    told = [
        row["post"]["requestBody"]["content"]["application/json"]["schema"] for row in document["webhooks"].values()
    ]
    kinds = [document["components"]["schemas"][one["$ref"].rpartition("/")[2]]["properties"]["type"] for one in told]
    assert {name for kind in kinds for name in kind["enum"]} == {kind.value for kind in AlertKind}


def test_the_routes_that_take_a_project_say_so(api, document):
    asked = [(method, path) for path, operations in document["paths"].items() for method in operations]
    for method, path in asked:
        body = examples().get(path.removeprefix("/v1/"), {}).get("request")
        if "{" in path or path.startswith("/v1/keys") or (method == "post" and body is None):
            continue
        answer = api.request(method.upper(), f"{path}?project=%20", json=body)
        refused = answer.status_code == 422 and answer.json().get("path") == "project"
        parameters = {each["name"] for each in document["paths"][path][method].get("parameters", ())}
        assert refused == ("project" in parameters), (path, answer.text)


def test_every_problem_code_has_a_title():
    assert {row.code for row in _TABLE.values()} <= set(TITLES)
    source = "".join(path.read_text("utf-8") for path in (ROOT / "service" / "api").rglob("*.py"))
    raised = set(re.findall(r"ApiError\(\s*\d+,\s*\"(\w+)\"", source))
    assert raised <= set(TITLES)
    assert {row.code for row in _TABLE.values()} | raised | {"internal_error"} == set(TITLES)


def test_the_readme_lists_every_setting_with_its_default():
    table = re.findall(rf"^\| (`{PREFIX}[^|]*) \| ([^|]*) \|", README, re.MULTILINE)
    rows = {name: default for names, default in table for name in re.findall(r"`(\w+)`", names)}
    assert set(rows) == {PREFIX + name.upper() for name in Settings.__dataclass_fields__}
    for name, field in Settings.__dataclass_fields__.items():
        if isinstance(field.default, int | float) and name != "workers":
            assert (
                f"`{field.default:g}`" in rows[PREFIX + name.upper()]
                or f"`{field.default}`" in rows[PREFIX + name.upper()]
            )


def test_the_readme_lists_every_route(document):
    for path in document["paths"]:
        assert path in README, path


def test_the_readme_lists_every_metric(services):
    names = set(re.findall(rb"^# TYPE (weighbridge_\w+)", services.metrics.render(), re.MULTILINE))
    for name in names:
        assert name.decode() in README, name


def test_the_readme_has_at_most_175_lines_and_its_example_is_true(api):
    assert len(README.splitlines()) <= 175
    request, answer = re.search(r"-d '(\{.*?\})'.*?```json\n(.*?)```", README, re.DOTALL).groups()
    assert api.post("/v1/count", request.encode()).json() == json.loads(answer)


def test_the_documentation_page_loads_from_the_package_alone(api):
    page = api.get("/docs")
    assert page.status_code == 200
    assert re.findall(r"https?://[^\s\"']+", page.text) == []
    assert "script-src 'self'" in page.headers["content-security-policy"]
    assert api.get("/docs/rapidoc.js").content.startswith(
        gzip.decompress((ROOT / "service/data/docs/rapidoc-min.js.gz").read_bytes())[:100]
    )
