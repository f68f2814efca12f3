"""Keys with a rate limit: the headers that tell it, 429 in the shape of the path, and a limit of the settings."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from service.app import build_app
from service.domain.keys.access import KeyScope
from service.domain.keys.keyring import KeyRing
from service.domain.keys.rates import RateLimit
from tests.service.api.keys.keyed import COUNT, KeyedApi
from tests.service.conftest import Api


def test_a_key_may_ask_as_often_as_its_limit_says(keyed: KeyedApi) -> None:
    limited = keyed.make(KeyScope.COUNT, rate_limit="3/day")
    answers = [keyed.with_key(limited, "POST", "/v1/count", json=COUNT) for _ in range(4)]
    assert [answer.status_code for answer in answers] == [200, 200, 200, 429]
    assert {answer.headers["ratelimit-policy"] for answer in answers} == {'"key";q=3;w=86400'}
    left = [answer.headers["ratelimit"].split(";") for answer in answers]
    assert [row[:2] for row in left] == [['"key"', f"r={number}"] for number in (2, 1, 0, 0)]
    assert answers[3].json()["code"] == "rate_limited"
    assert answers[3].headers["retry-after"] == left[3][2].removeprefix("t=")
    anthropic = keyed.with_key(limited, "POST", "/v1/messages/count_tokens", json={})
    assert (anthropic.status_code, anthropic.json()["error"]["type"]) == (429, "rate_limit_error")
    assert anthropic.headers["retry-after"]
    assert keyed.with_key(keyed.make(KeyScope.COUNT), "POST", "/v1/count", json=COUNT).status_code == 200
    assert "ratelimit" not in keyed.with_key(keyed.admin, "GET", "/v1/models").headers


def test_requests_that_are_refused_count_and_tell_what_is_left(keyed: KeyedApi) -> None:
    limited = keyed.make(KeyScope.COUNT, rate_limit="2/day")
    answers = [keyed.with_key(limited, "GET", path) for path in ("/v1/budgets", "/nowhere", "/v1/models")]
    assert [answer.status_code for answer in answers] == [403, 404, 429]
    assert [answer.headers["ratelimit"].split(";")[1] for answer in answers] == ["r=1", "r=0", "r=0"]


def test_the_limit_of_the_settings_is_that_of_keys_without_one(keyed: KeyedApi) -> None:
    plain, own = keyed.make(KeyScope.COUNT), keyed.make(KeyScope.COUNT, rate_limit="2/day")
    parts = keyed.services
    ring = KeyRing(keyed.ring.store, parts.secret, parts.now, rate_limit=RateLimit(1, 86_400), may_hold=lambda: True)
    asyncio.run(ring.refresh())
    api = Api(build_app(replace(parts, keyring=ring)))
    for key, statuses in ((plain, [200, 429, 429]), (own, [200, 200, 429])):
        headers = {"x-api-key": key.text}
        assert [api.post("/v1/count", COUNT, headers=headers).status_code for _ in range(3)] == statuses
