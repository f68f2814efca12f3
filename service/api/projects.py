"""The project that a request is about."""

from __future__ import annotations

from fastapi import Request

from service.api.errors import ApiError
from service.api.exchange import Exchange
from service.domain.keys.access import KeyScope, is_project

PROJECT = "project"
TAKEN_BY = (
    *("/v1/estimate", "/v1/compare", "/v1/preflight", "/v1/reservations", "/v1/usage", "/v1/budgets", "/v1/spend"),
    *("/v1/refusals", "/v1/keys"),
)
"""How the paths begin whose requests are about a project."""


def project_of(request: Request) -> str:
    """The caller's project, or the one that an admin names with ``?project=``.

    Raises ``ApiError``: 403 ``scope_missing`` where another than an admin names a foreign one, 422 where it is no name.
    """
    caller = Exchange.of(request.scope).caller
    if not request.scope["query_string"]:
        return caller.project
    named = request.query_params.getlist(PROJECT)
    if not named:
        return caller.project
    if len(named) > 1 or not is_project(named[0]):
        detail = "Give `project` once: 1 to 64 of A-Z a-z 0-9 . _ -, the first a letter or digit."
        raise ApiError(422, "invalid_request", detail, path=PROJECT)
    if named[0] != caller.project and not caller.may(KeyScope.ADMIN):
        raise ApiError(403, "scope_missing", "Only a key with the scope `admin` may name another project.")
    return named[0]
