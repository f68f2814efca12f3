"""Who passes: where a key may stand, what is answered without a good one, and when none is needed."""

from __future__ import annotations

import asyncio
import json

import pytest

from service.api.scopes import OPEN
from service.domain.keys.access import KeyScope
from service.domain.keys.keyring import Gate, Reach
from service.domain.spending.errors import LedgerUnavailable
from tests.service.api.keys.keyed import ALL, COUNT, KeyedApi, codes

GEMINI = "/v1beta/models/gemini-2.0-flash:countTokens"
JSON = {"content-type": "application/json"}
HEADERS = [
    lambda text: {"authorization": f"Bearer {text}"},
    lambda text: {"authorization": f"bearer  {text} "},
    lambda text: {"x-api-key": text},
    lambda text: {"x-goog-api-key": text},
    lambda text: {"authorization": "Basic eDp5", "x-api-key": text},
    lambda text: {"authorization": "Bearer a-clouds-own-token", "x-api-key": text},
    lambda text: {"authorization": "Bearer ", "x-api-key": " ", "x-goog-api-key": text},
]
PATHS = ["/v1/count", "/v1/estimate", "/v1/messages/count_tokens", GEMINI, "/tokenize"]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("headers", HEADERS)
def test_a_key_may_stand_in_any_of_the_headers_on_every_route(keyed: KeyedApi, path, headers):
    assert keyed.post(path, {}, headers=headers(keyed.admin.text)).status_code not in (401, 403)
    assert keyed.post(path, {}, headers=headers("wb_wrong")).status_code == 401


@pytest.mark.parametrize("path", ["/v1/count", "/v1/messages/count_tokens", "/v1/keys", "/v1/responses/input_tokens"])
def test_a_key_in_the_query_is_taken_on_geminis_routes_alone(keyed: KeyedApi, path):
    assert keyed.post(f"{GEMINI}?key={keyed.admin.text}", {}).status_code not in (401, 403)
    assert keyed.post(f"{GEMINI}?key=wb_wrong", {}).status_code == 401
    assert keyed.post(f"{path}?key={keyed.admin.text}", {}).status_code == 401


def test_what_is_wrong_unknown_revoked_or_expired_is_told_alike(keyed: KeyedApi):
    revoked = keyed.make(KeyScope.COUNT)
    asyncio.run(keyed.ring.revoke(revoked.key.id, force=False, by="a test"))
    texts = (keyed.admin.text[:-1] + "x", "wb_" + "0" * 16 + keyed.admin.text[19:], revoked.text, "other", "ÿ")
    answers = [keyed.post("/v1/count", COUNT, headers={"x-api-key": text.encode("latin-1")}) for text in texts]
    assert codes(answers) == [(401, "key_invalid")] * len(texts)
    assert len({answer.json()["detail"] for answer in answers}) == 1
    assert codes([keyed.post("/v1/count", COUNT)]) == [(401, "key_missing")]
    assert {answer.headers["www-authenticate"] for answer in answers} == {"Bearer"}


def test_refusals_have_the_shape_of_the_paths_vendor(keyed: KeyedApi):
    only_estimate = keyed.make(KeyScope.ESTIMATE).text
    for headers, status, kinds in (
        ({}, 401, ("authentication_error", "UNAUTHENTICATED")),
        ({"x-api-key": only_estimate}, 403, ("permission_error", "PERMISSION_DENIED")),
    ):
        anthropic = keyed.post("/v1/messages/count_tokens", {}, headers=headers)
        gemini = keyed.post(GEMINI, {}, headers=headers)
        openai = keyed.post("/v1/responses/input_tokens", {}, headers=headers)
        assert {answer.status_code for answer in (anthropic, gemini, openai)} == {status}
        assert (anthropic.json()["error"]["type"], gemini.json()["error"]["status"]) == kinds
        assert openai.json()["error"]["code"] in ("key_missing", "scope_missing")
        assert anthropic.headers["request-id"]


def test_probes_and_documentation_need_no_key_and_metrics_do(keyed: KeyedApi):
    for path in OPEN:
        assert keyed.get(path).status_code == 200
    assert keyed.get("/metrics").status_code == 401
    assert keyed.with_key(keyed.make(KeyScope.COUNT), "GET", "/metrics").status_code == 403
    assert keyed.with_key(keyed.make(KeyScope.METRICS_READ), "GET", "/metrics").status_code == 200


def test_a_body_is_not_read_before_its_key(keyed: KeyedApi):
    async def ask(path: str, headers: list[tuple[bytes, bytes]]) -> int:
        sent = []

        async def receive() -> dict:
            raise AssertionError("the body was read")

        async def send(message) -> None:
            sent.append(message)

        scope = {"type": "http", "method": "POST", "path": path, "query_string": b"", "http_version": "1.1"}
        given = [(b"host", b"localhost"), (b"content-type", b"application/json"), (b"content-length", b"15")]
        await keyed.app(scope | {"headers": given + headers}, receive, send)
        return sent[0]["status"]

    counter = keyed.make(KeyScope.COUNT)
    for path in ("/v1/count", "/v1/tokenize", "/v1/messages/count_tokens", "/v1/budgets"):
        assert asyncio.run(ask(path, [])) == 401
        assert asyncio.run(ask(path, [(b"x-api-key", b"wb_wrong")])) == 401
    assert asyncio.run(ask("/v1/budgets", [(b"x-api-key", counter.text.encode())])) == 403
    assert asyncio.run(ask("/v1/nowhere", [(b"x-api-key", counter.text.encode())])) == 404


def test_with_keys_any_host_will_do_and_a_foreign_page_that_has_a_key(keyed: KeyedApi, api):
    foreign = {"host": "weighbridge.example", "origin": "https://page.example"}
    good = {"x-api-key": keyed.admin.text}
    assert keyed.post("/v1/count", COUNT, headers={"host": "weighbridge.example"} | good).status_code == 200
    assert keyed.post("/v1/count", COUNT, headers=foreign | good).status_code == 200
    assert codes([keyed.post("/v1/count", COUNT, headers=foreign)]) == [(403, "bad_origin")]
    assert keyed.post(f"{GEMINI}?key={keyed.admin.text}", {}, headers=foreign).status_code == 403
    assert codes([keyed.post("/v1/count", COUNT, headers=foreign | {"x-api-key": "wrong"})]) == [(401, "key_invalid")]
    assert codes([api.post("/v1/count", COUNT, headers={"host": "weighbridge.example"} | good)]) == [(403, "bad_host")]
    assert codes([api.post("/v1/count", COUNT, headers=foreign | {"host": "localhost"} | good)]) == [
        (403, "bad_origin")
    ]


def test_the_fast_lane_takes_keys_without_a_limit_and_leaves_others_to_the_layers(keyed: KeyedApi):
    asked = []
    layers = keyed.app._layers

    class Watched:
        async def __call__(self, scope, receive, send) -> None:
            asked.append(scope["path"])
            await layers(scope, receive, send)

        def __getattr__(self, name: str):
            return getattr(layers, name)

    keyed.app._layers = Watched()
    for key in (keyed.admin, keyed.make(KeyScope.COUNT, project="search")):
        answer = keyed.with_key(key, "POST", "/v1/count", content=json.dumps(COUNT).encode(), headers=JSON)
        assert answer.json()["tokens"] == 4
    assert asked == []
    limited, other = keyed.make(KeyScope.COUNT, rate_limit="9/day"), keyed.make(KeyScope.ESTIMATE)
    for key, status in ((limited, 200), (other, 403), ("wrong", 401)):
        answer = keyed.with_key(key, "POST", "/v1/count", content=json.dumps(COUNT).encode(), headers=JSON)
        assert answer.status_code == status
    assert keyed.post("/v1/count", COUNT).status_code == 401
    assert len(asked) == 4


def test_a_host_that_keys_let_in_is_not_remembered_once_there_are_none(keyed: KeyedApi):
    good = {"host": "weighbridge.example", "x-api-key": keyed.admin.text}
    assert keyed.post("/v1/count", COUNT, headers=good).status_code == 200
    asyncio.run(keyed.ring.revoke(keyed.admin.key.id, force=True, by="a test"))
    assert codes([keyed.post("/v1/count", COUNT, headers=good)]) == [(403, "bad_host")]
    assert keyed.post("/v1/count", COUNT).status_code == 200


def test_the_log_has_the_project_of_the_key_and_no_key(services, tmp_path, capsys):
    keyed = KeyedApi(services, tmp_path, log="json")
    search = keyed.make(*ALL, project="search")
    content = json.dumps(COUNT).encode()
    for path in ("/v1/count", "/v1/tokenize"):
        keyed.with_key(search, "POST", path, content=content, headers=JSON)
    keyed.with_key(search, "POST", "/v1/count", content=b"{", headers=JSON)
    keyed.post("/v1/count", COUNT, headers={"x-api-key": "wb_zebra7secret"})
    keyed.with_key(search, "GET", f"/v1/keys/{search.key.id}/changes")
    keyed.post(f"{GEMINI}?key=wb_zebra7secret", {})
    keyed.close()
    keyed.app.flush()
    log = capsys.readouterr().err
    lines = [json.loads(line) for line in log.splitlines()]
    assert [line["project"] for line in lines] == ["search", "search", "search", "", "search", ""]
    assert lines[4]["route"] == "/v1/keys/{id}/changes"
    assert not [text for text in ("zebra7secret", search.text, search.key.id) if text in log]


class Down:
    """A database that does not answer."""

    def __init__(self) -> None:
        self.asked = 0

    async def changed(self, since, fingerprint) -> None:
        self.asked += 1
        raise LedgerUnavailable("it is down")


def test_where_the_keys_were_never_read_nothing_passes_but_the_probes(keyed: KeyedApi):
    store, keyed.ring.store = keyed.ring.store, Down()
    keyed.ring._version, keyed.ring._keys = None, {}
    keyed.ring.reached_by(Reach.EXPOSED)
    assert keyed.ring.gate is Gate.CLOSED
    for path in ("/v1/count", "/v1/estimate", "/v1/keys", "/nowhere"):
        answer = keyed.with_key(keyed.admin, "POST", path)
        assert (answer.status_code, answer.json()["code"]) == (503, "keys_unavailable")
        assert answer.headers["retry-after"] == "2"
    assert keyed.post("/v1/messages/count_tokens", {}).json()["error"]["type"] == "overloaded_error"
    assert keyed.ring.store.asked == 1  # those who ask do not all wait for the database
    assert [keyed.get(path, headers={"host": "pod"}).status_code for path in ("/livez", "/readyz")] == [200, 200]
    keyed.ring.store, keyed.ring._tried = store, 0.0
    assert keyed.with_key(keyed.admin, "POST", "/v1/count", json=COUNT).status_code == 200
