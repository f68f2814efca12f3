"""The service with keys: its parts, a key for each that a test names, and requests with one."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx

from service.api.services import Services
from service.app import build_app
from service.domain.keys.access import KeyScope
from service.domain.keys.keyring import Issued
from service.domain.keys.keys import KeySpec
from service.domain.keys.rates import RateLimit
from tests.service.conftest import Api
from tests.service.kept import kept

ALL = frozenset(KeyScope)
COUNT = {"model": "gpt-4o", "text": "Hello, World!"}


class KeyedApi(Api):
    """The application over keys of its own, in ``folder``; the first one is an admin's, of the project ``default``."""

    def __init__(self, services: Services, folder: Path, **settings: Any) -> None:
        parts = replace(services, **kept(folder), settings=replace(services.settings, **settings))
        self.services = parts
        self.ring = parts.keyring
        super().__init__(build_app(parts))
        self.admin = self.make(KeyScope.ADMIN)

    def make(self, *scopes: KeyScope, project: str = "default", rate_limit: str | None = None) -> Issued:
        limit = None if rate_limit is None else RateLimit.parse(rate_limit)
        return asyncio.run(self.ring.create(KeySpec(project, "of a test", frozenset(scopes), None, limit), by="a test"))

    def all_but(self, *scopes: KeyScope, project: str = "default") -> Issued:
        """A key that may do all but that, and is no admin's."""
        return self.make(*(ALL - {*scopes, KeyScope.ADMIN}), project=project)

    def with_key(self, key: Issued | str, method: str, path: str, **options: Any) -> httpx.Response:
        text = key if isinstance(key, str) else key.text
        headers = {"authorization": f"Bearer {text}"} | options.pop("headers", {})
        return self.request(method, path, headers=headers, **options)

    def close(self) -> None:
        asyncio.run(self.services.ledger.close())


def codes(answers: Iterable[httpx.Response]) -> list[tuple[int, str]]:
    return [(answer.status_code, answer.json()["code"]) for answer in answers]
