"""The service's one secret, from which each use has a key of its own."""

from __future__ import annotations

import hmac
from collections.abc import Callable
from functools import cached_property


class Secret:
    """``load`` gives the secret when it is first needed; it raises where there is none to be had."""

    def __init__(self, load: Callable[[], bytes]) -> None:
        self._load = load

    @cached_property
    def _root(self) -> bytes:
        return self._load()

    def key(self, label: str) -> bytes:
        """The key of one use, 32 bytes: nobody can tell the secret or another use's key from it."""
        return hmac.digest(self._root, label.encode(), "sha256")
