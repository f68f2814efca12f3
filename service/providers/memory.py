"""Counts that were asked before, found by a keyed hash of what was sent: no text and no plain hash of it is kept."""

from __future__ import annotations

import hmac
from collections import OrderedDict
from collections.abc import Callable

_MOST = 4096
_SECONDS = 3600.0


class Memory:
    """At most 4,096 counts, the least used forgotten first, each for an hour: a vendor may change how it counts."""

    def __init__(self, secret: bytes, clock: Callable[[], float]) -> None:
        self._secret = secret
        self._clock = clock
        self._counts: OrderedDict[bytes, tuple[int, float]] = OrderedDict()

    def key(self, *parts: bytes) -> bytes:
        """The key of what is sent where."""
        sized = b"".join(len(part).to_bytes(8, "big") + part for part in parts)
        return hmac.digest(self._secret, sized, "sha256")

    def recall(self, key: bytes) -> int | None:
        """The count, ``None`` where it is not known or too old."""
        tokens, at = self._counts.get(key, (0, float("-inf")))
        if self._clock() - at >= _SECONDS:
            self._counts.pop(key, None)
            return None
        self._counts.move_to_end(key)
        return tokens

    def keep(self, key: bytes, tokens: int) -> None:
        """Remember a count."""
        self._counts[key] = (tokens, self._clock())
        self._counts.move_to_end(key)
        while len(self._counts) > _MOST:
            self._counts.popitem(last=False)
