"""The OpenAPI document, the documentation page and the README say what the service does."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

import msgspec
import pytest
from openapi_spec_validator import validate

from service.api.errors import _TABLE, TITLES
from service.api.openapi import examples
from service.api.routes.weighing import HOT
from service.api.schemas import CountRequest
from service.domain.counting import Count, CountBatch
from service.settings import PREFIX, Settings

ROOT = Path(__file__).parents[3]
README = (ROOT / "README.md").read_text("utf-8")


@pytest.fixture(scope="module")
def document(api):
    return api.get("/openapi.json").json()


def test_the_document_is_valid_openapi_3_1(document):
    assert document["openapi"].startswith("3.1")
    validate(document)


@pytest.mark.parametrize("name", list(examples()))
def test_each_example_is_what_the_service_answers(api, name):
    example = examples()[name]
    assert api.post(f"/v1/{name}", example["request"]).json() == example["answer"]


def test_a_hot_route_is_documented_with_the_structs_that_it_uses(document):
    assert set(HOT) == {"/v1/count"}
    operation = document["paths"]["/v1/count"]["post"]
    schema = operation["requestBody"]["content"]["application/json"]["schema"]
    assert schema == {"$ref": "#/components/schemas/CountRequest"}
    _, components = msgspec.json.schema_components(
        [CountRequest, Count, CountBatch], ref_template="#/components/schemas/{name}"
    )
    for name, component in components.items():
        assert document["components"]["schemas"][name] == json.loads(json.dumps(component))
    answers = operation["responses"]["200"]["content"]["application/json"]["schema"]["oneOf"]
    assert [a["$ref"].rsplit("/", 1)[1] for a in answers] == ["Count", "CountBatch"]


def test_every_route_has_a_summary_and_documents_its_problems(document):
    for path, operations in document["paths"].items():
        for operation in operations.values():
            assert operation["summary"], path
            assert "application/problem+json" in operation["responses"]["default"]["content"]


def test_every_problem_code_has_a_title():
    assert {row.code for row in _TABLE.values()} <= set(TITLES)
    source = "".join(path.read_text("utf-8") for path in (ROOT / "service" / "api").rglob("*.py"))
    raised = set(re.findall(r"ApiError\(\s*\d+,\s*\"(\w+)\"", source))
    assert raised <= set(TITLES)
    assert {row.code for row in _TABLE.values()} | raised | {"internal_error"} == set(TITLES)


def test_the_readme_lists_every_setting_with_its_default():
    rows = dict(re.findall(rf"^\| `({PREFIX}\w+)` \| ([^|]*) \|", README, re.MULTILINE))
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


def test_the_readme_has_at_most_150_lines_and_its_example_is_true(api):
    assert len(README.splitlines()) <= 150
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
