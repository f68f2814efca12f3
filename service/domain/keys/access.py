"""Who asks: a key's project and what the key may do."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from service.domain.spending.budgets import DEFAULT_PROJECT

_PROJECT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


class KeyScope(StrEnum):
    """What a key may do. ``ADMIN`` may do all, make keys, and look into every project."""

    COUNT = "count"
    ESTIMATE = "estimate"
    SPEND_WRITE = "spend:write"
    BUDGET_READ = "budget:read"
    BUDGET_WRITE = "budget:write"
    SPEND_READ = "spend:read"
    METRICS_READ = "metrics:read"
    ADMIN = "admin"


@dataclass(frozen=True, slots=True)
class Caller:
    """Who sent a request. ``key_id`` is ``None`` where no keys are in use."""

    project: str
    key_id: str | None
    scopes: frozenset[KeyScope]

    def may(self, scope: KeyScope) -> bool:
        """Whether the caller has ``scope``; an admin has all."""
        return scope in self.scopes or KeyScope.ADMIN in self.scopes

    @property
    def name(self) -> str:
        """Who did it, as changes of budgets and keys are kept."""
        return "anyone" if self.key_id is None else f"key {self.key_id}"


ANYONE = Caller(DEFAULT_PROJECT, None, frozenset(KeyScope))
"""Every caller while no keys are in use."""

STRANGER = Caller("", None, frozenset())
"""A caller without a valid key, while keys are in use."""


def is_project(text: str) -> bool:
    """Whether ``text`` can be a project's name."""
    return _PROJECT.fullmatch(text) is not None
