"""A request is about the caller's project; an admin may name another."""

from __future__ import annotations

from urllib.parse import quote

import pytest
from fastapi import Request

from service.api.errors import ApiError
from service.api.exchange import Exchange
from service.api.projects import project_of
from service.domain.keys.access import ANYONE, Caller, KeyScope

ALL_BUT_ADMIN = Caller("mine", "k1", frozenset(KeyScope) - {KeyScope.ADMIN})
ADMIN = Caller("mine", "k1", frozenset({KeyScope.ADMIN}))


def asked(caller: Caller, query: str = "") -> str:
    scope = {"type": "http", "method": "GET", "path": "/v1/budgets", "headers": [], "query_string": query.encode()}
    Exchange(scope).caller = caller
    return project_of(Request(scope))


@pytest.mark.parametrize(
    ("caller", "query", "project"),
    [
        (ANYONE, "", "default"),
        (ANYONE, "project=other", "other"),
        (ADMIN, "", "mine"),
        (ADMIN, "project=other", "other"),
        (ALL_BUT_ADMIN, "", "mine"),
        (ALL_BUT_ADMIN, "project=mine", "mine"),
        (ADMIN, "project=" + "a" * 64, "a" * 64),
    ],
)
def test_the_project_is_the_callers_or_the_one_an_admin_names(caller, query, project):
    assert asked(caller, query) == project


def test_no_other_key_may_name_another_project():
    with pytest.raises(ApiError) as refused:
        asked(ALL_BUT_ADMIN, "project=other")
    assert (refused.value.status, refused.value.code) == (403, "scope_missing")


@pytest.mark.parametrize("value", ["", "a" * 65, ".a", "a b", "a\n", "ä", "a&project=a", "a/b"])
def test_what_is_no_name_is_refused_without_being_repeated(value):
    query = "project=" + (value if value.startswith("a&") else quote(value))
    for caller in (ADMIN, ALL_BUT_ADMIN):
        with pytest.raises(ApiError) as refused:
            asked(caller, query)
        assert (refused.value.status, refused.value.code, refused.value.path) == (422, "invalid_request", "project")
