"""``/v1/keys``: made, listed, rotated, revoked; a text is shown once and never again."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import jsonschema
import pytest

from service.api.services import Services
from service.app import build_app
from tests.service.api.keys.keyed import COUNT, KeyedApi, codes
from tests.service.conftest import Api

NEW = {"name": "app", "scopes": ["count", "spend:write"]}


def create(keyed: KeyedApi, body: dict[str, Any] = NEW, **headers: str) -> dict[str, Any]:
    answer = keyed.with_key(keyed.admin, "POST", "/v1/keys", json=body, headers=headers)
    assert answer.status_code == 201, answer.text
    assert answer.headers["cache-control"] == "no-store"
    return answer.json()


def ask(keyed: KeyedApi, method: str, path: str, **options: Any) -> Any:
    answer = keyed.with_key(keyed.admin, method, path, **options)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_a_key_is_made_shown_once_and_opens(keyed: KeyedApi, api: Api):
    before = datetime.now(UTC)
    made = create(keyed, NEW | {"project": "search", "expires_at": "2027-01-01T01:00:00+01:00", "rate_limit": "9/hour"})
    text = made.pop("key")
    assert text.startswith(f"wb_{made['id']}_")
    created = datetime.fromisoformat(made.pop("created_at"))
    assert before <= created <= datetime.now(UTC)
    assert made == {
        "id": made["id"],
        "project": "search",
        "name": "app",
        "scopes": ["count", "spend:write"],
        "state": "active",
        "created_by": f"key {keyed.admin.key.id}",
        "expires_at": "2027-01-01T00:00:00Z",
        "last_used_at": None,
        "revoked_at": None,
        "revoked_by": None,
        "rate_limit": "9/hour",
        "previous_valid_until": None,
    }
    assert keyed.with_key(text, "POST", "/v1/count", json=COUNT).status_code == 200
    for path in ("/v1/keys", f"/v1/keys/{made['id']}", f"/v1/keys/{made['id']}/changes"):
        shown = keyed.with_key(keyed.admin, "GET", path)
        assert shown.status_code == 200
        assert text[20:] not in shown.text
    assert ask(keyed, "GET", f"/v1/keys/{made['id']}") == made | {
        "created_at": ask(keyed, "GET", "/v1/keys")["keys"][1]["created_at"]
    }
    schemas = api.get("/openapi.json").json()
    operation = schemas["paths"]["/v1/keys"]["post"]["responses"]["201"]["content"]["application/json"]["schema"]
    jsonschema.validate(made | {"key": text, "created_at": "x"}, operation | {"components": schemas["components"]})


def test_a_project_without_a_name_is_not_the_callers(keyed: KeyedApi):
    answer = keyed.with_key(keyed.admin, "POST", "/v1/keys", json=NEW | {"project": ""})
    assert codes([answer]) == [(422, "invalid_request")]
    assert answer.json()["path"] == "project"
    assert create(keyed, NEW | {"project": None})["project"] == "default"


def test_the_same_request_for_another_project_is_another_one(keyed: KeyedApi):
    def make(path: str) -> httpx.Response:
        return keyed.with_key(keyed.admin, "POST", path, json=NEW, headers={"idempotency-key": "k"})

    made = [make(path) for path in ("/v1/keys", "/v1/keys?project=one", "/v1/keys?project=two")]
    assert [(answer.status_code, answer.json()["project"]) for answer in made] == [
        (201, "default"),
        (201, "one"),
        (201, "two"),
    ]
    again = make("/v1/keys?project=one")
    assert (*codes([again]), again.json()["key_id"]) == ((409, "already_created"), made[1].json()["id"])


def test_keys_are_listed_by_project_and_page(keyed: KeyedApi):
    for project in ("one", "two", "one"):
        create(keyed, NEW | {"project": project})
    everything = ask(keyed, "GET", "/v1/keys")
    assert [key["project"] for key in everything["keys"]] == ["default", "one", "two", "one"]
    first = ask(keyed, "GET", "/v1/keys?limit=3")
    rest = ask(keyed, "GET", f"/v1/keys?limit=3&cursor={first['cursor']}")
    assert [*first["keys"], *rest["keys"]] == everything["keys"]
    assert rest["cursor"] is None
    one = ask(keyed, "GET", "/v1/keys?project=one")["keys"]
    assert [key["project"] for key in one] == ["one", "one"]
    assert codes([keyed.with_key(keyed.admin, "GET", f"/v1/keys/{one[0]['id']}?project=two")]) == [(404, "unknown_key")]
    assert ask(keyed, "DELETE", f"/v1/keys/{one[0]['id']}")["state"] == "revoked"
    assert len(ask(keyed, "GET", "/v1/keys?project=one")["keys"]) == 1
    assert [key["state"] for key in ask(keyed, "GET", "/v1/keys?project=one&revoked=true")["keys"]] == [
        "revoked",
        "active",
    ]


def test_a_rotated_key_has_a_new_text_and_the_old_one_for_the_overlap(keyed: KeyedApi):
    made = create(keyed)
    path = f"/v1/keys/{made['id']}"
    overlapping = ask(keyed, "POST", f"{path}/rotate", json={"overlap_seconds": 3600})
    until = datetime.fromisoformat(overlapping["previous_valid_until"])
    assert timedelta(minutes=59) < until - datetime.now(UTC) <= timedelta(hours=1)
    texts = [made["key"], overlapping["key"]]
    assert [keyed.with_key(text, "POST", "/v1/count", json=COUNT).status_code for text in texts] == [200, 200]
    texts.append(ask(keyed, "POST", f"{path}/rotate")["key"])
    assert [keyed.with_key(text, "POST", "/v1/count", json=COUNT).status_code for text in texts] == [401, 401, 200]
    changes = ask(keyed, "GET", f"{path}/changes")["changes"]
    assert [change["what"] for change in changes] == ["created", "rotated", "rotated"]
    assert {change["by"] for change in changes} == {f"key {keyed.admin.key.id}"}


def test_a_repeat_of_a_creation_or_rotation_tells_the_id_and_no_text(keyed: KeyedApi):
    key = {"idempotency-key": "once"}
    made = create(keyed, **key)
    repeat = keyed.with_key(keyed.admin, "POST", "/v1/keys", json=NEW, headers=key)
    assert (repeat.status_code, repeat.json()["code"], repeat.json()["key_id"]) == (409, "already_created", made["id"])
    other = keyed.with_key(keyed.admin, "POST", "/v1/keys", json=NEW | {"name": "b"}, headers=key)
    assert codes([other]) == [(422, "idempotency_key_reused")]
    assert len(ask(keyed, "GET", "/v1/keys")["keys"]) == 2
    path = f"/v1/keys/{made['id']}/rotate"
    rotated = ask(keyed, "POST", path, headers=key)
    repeat = keyed.with_key(keyed.admin, "POST", path, headers=key)
    assert (repeat.status_code, repeat.json()["key_id"]) == (409, made["id"])
    assert keyed.with_key(rotated["key"], "POST", "/v1/count", json=COUNT).status_code == 200


def test_a_revoked_key_opens_nothing_at_once_and_stays_revoked(keyed: KeyedApi):
    made = create(keyed)
    revoked = ask(keyed, "DELETE", f"/v1/keys/{made['id']}")
    assert (revoked["state"], revoked["revoked_by"]) == ("revoked", f"key {keyed.admin.key.id}")
    assert keyed.with_key(made["key"], "POST", "/v1/count", json=COUNT).status_code == 401
    assert ask(keyed, "DELETE", f"/v1/keys/{made['id']}") == revoked
    assert codes([keyed.with_key(keyed.admin, "POST", f"/v1/keys/{made['id']}/rotate")]) == [(409, "key_revoked")]


def test_the_last_admin_key_is_revoked_by_force_alone(keyed: KeyedApi):
    path = f"/v1/keys/{keyed.admin.key.id}"
    assert codes([keyed.with_key(keyed.admin, "DELETE", path)]) == [(409, "last_admin_key")]
    assert codes([keyed.with_key(keyed.admin, "DELETE", f"{path}?force=false")]) == [(409, "last_admin_key")]
    assert ask(keyed, "DELETE", f"{path}?force=true")["state"] == "revoked"
    assert keyed.post("/v1/count", COUNT).status_code == 200  # on this machine none is needed now


def test_the_first_key_is_an_admins(services: Services, tmp_path):
    keyed = KeyedApi(services, tmp_path)
    asyncio.run(keyed.ring.revoke(keyed.admin.key.id, force=True, by="a test"))
    api = Api(build_app(keyed.services))
    assert codes([api.post("/v1/keys", NEW)]) == [(409, "first_key_not_admin")]
    made = api.post("/v1/keys", {"name": "first", "scopes": ["admin"]})
    assert (made.status_code, made.json()["created_by"]) == (201, "anyone")
    assert codes([api.post("/v1/keys", NEW)]) == [(401, "key_missing")]
    keyed.close()


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({}, ""),
        ({"name": "a"}, ""),
        (NEW | {"name": ""}, "name"),
        (NEW | {"name": "a\u0007"}, "name"),
        (NEW | {"scopes": []}, "scopes"),
        (NEW | {"scopes": ["zebra7secret"]}, "scopes[0]"),
        (NEW | {"project": "zebra7secret "}, "project"),
        (NEW | {"expires_at": "2027-01-01T00:00:00"}, "expires_at"),
        (NEW | {"expires_at": "2020-01-01T00:00:00Z"}, "expires_at"),
        (NEW | {"expires_at": "9999-12-31T23:59:59-23:59"}, "expires_at"),
        (NEW | {"rate_limit": "zebra7secret"}, "rate_limit"),
        (NEW | {"rate_limit": "0/minute"}, "rate_limit"),
        (NEW | {"key": "zebra7secret"}, ""),
    ],
)
def test_a_body_that_cannot_be_is_refused_with_its_path(keyed: KeyedApi, body, path):
    answer = keyed.with_key(keyed.admin, "POST", "/v1/keys", json=body)
    assert (answer.status_code, answer.json()["code"], answer.json().get("path", "")) == (422, "invalid_request", path)
    assert "zebra7secret" not in answer.text


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/v1/keys?limit=0", 422),
        ("GET", "/v1/keys?limit=1001", 422),
        ("GET", "/v1/keys?cursor=zebra", 422),
        ("GET", "/v1/keys?cursor=1-%00", 422),
        ("GET", "/v1/keys?revoked=1", 422),
        ("GET", "/v1/keys?none=1", 422),
        ("GET", "/v1/keys?project=a%20b", 422),
        ("GET", "/v1/keys/0123456789abcdef", 404),
        ("GET", "/v1/keys/%00", 404),
        ("GET", "/v1/keys/0123456789ABCDEF/changes", 404),
        ("DELETE", "/v1/keys/0123456789abcdef", 404),
        ("DELETE", "/v1/keys/0123456789abcdef?force=yes", 422),
        ("POST", "/v1/keys/0123456789abcdef/rotate", 404),
    ],
)
def test_what_is_not_there_or_cannot_be_asked_is_told(keyed: KeyedApi, method, path, status):
    assert keyed.with_key(keyed.admin, method, path).status_code == status


@pytest.mark.parametrize("seconds", [-1, 2_592_001, "60"])
def test_an_overlap_has_bounds(keyed: KeyedApi, seconds):
    path = f"/v1/keys/{keyed.admin.key.id}/rotate"
    answer = keyed.with_key(keyed.admin, "POST", path, json={"overlap_seconds": seconds})
    assert (answer.status_code, answer.json()["path"]) == (422, "overlap_seconds")


def test_a_key_may_be_given_scopes_once_each(keyed: KeyedApi):
    assert create(keyed, NEW | {"scopes": ["count", "count", "admin"]})["scopes"] == ["admin", "count"]
