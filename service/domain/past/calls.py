"""What the ledger's past calls tell of new ones: the port, and one that knows nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from service.domain.past.calibration import Calibration
from service.domain.past.output import OutputHistory

DAYS = 30
"""Calls that were settled longer ago tell nothing any more."""


@dataclass(frozen=True, slots=True)
class CountedBy:
    """What a call's input was estimated for and with: the model, who sells it, and the tokenizer."""

    provider: str
    model: str
    tokenizer: str


class PastCalls(Protocol):
    """Calls of the last ``DAYS`` days, as they were settled or recorded; an answer may be some seconds old.

    A ``project`` of ``None`` is all of them. Every call raises ``LedgerUnavailable`` where the ledger is down.
    """

    async def calibration(self, project: str, counted_by: CountedBy) -> Calibration | None:
        """How far off the estimates were; ``None`` where there was no call to compare."""
        ...

    async def calibrations(self, project: str | None) -> Mapping[CountedBy, Calibration]:
        """As ``calibration``, by what the calls were estimated for and with."""
        ...

    async def output(self, project: str, provider: str, model: str, tags: Mapping[str, str]) -> OutputHistory | None:
        """How long the answers of a model were.

        Of the ``tags``, that one counts which the fewest calls had, of those that enough had; else the model's calls
        are all looked at.
        """
        ...


class NoPastCalls:
    """``PastCalls`` where there is no ledger."""

    async def calibration(self, project: str, counted_by: CountedBy) -> Calibration | None:
        del project, counted_by
        return None

    async def calibrations(self, project: str | None) -> Mapping[CountedBy, Calibration]:
        del project
        return {}

    async def output(self, project: str, provider: str, model: str, tags: Mapping[str, str]) -> OutputHistory | None:
        del project, provider, model, tags
        return None
