"""What a chat format adds around the text of one user message, as an upper bound by model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from service.domain.catalog import ModelSpec


@dataclass(frozen=True, slots=True)
class MessageFraming:
    """So many tokens for the models of a provider (``*``: any) whose id one of ``models`` matches (none: all)."""

    provider: str
    tokens: int
    models: tuple[str, ...] = ()
    source: str = ""
    checked: str = ""

    def matches(self, spec: ModelSpec) -> bool:
        """Whether the row is about ``spec``."""
        if self.provider not in ("*", spec.provider):
            return False
        return not self.models or any(fnmatchcase(spec.id, pattern) for pattern in self.models)


def message_framing(rows: Sequence[MessageFraming], spec: ModelSpec) -> int:
    """Tokens that one user message of ``spec`` may add to its text; the last row that matches decides."""
    if spec.kind != "chat":
        return 0
    return next((row.tokens for row in reversed(rows) if row.matches(spec)), 0)
