"""Wire models of budgets. Dollars are decimal strings, exact, also on their way in."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from service.api.pricing.schemas import Dollars

LimitTokens = Annotated[int, Meta(ge=0, le=10**18)]
Part = Annotated[Decimal, Meta(description="A part of the limit, above 0 and at most 1, such as 0.8.")]
Period = Literal["none", "day", "week", "month"]
ScopeKind = Literal["project", "all", "key", "model", "tag"]


class BudgetScope(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The calls that a budget counts: those of its project, or (an admin's) of all projects; or of its project some.

    ``key`` counts those of one API key (``value``: its id), ``model`` those of a model (its id, or ``provider/id`` for
    one seller's), ``tag`` those with a tag (``key``: its name, and ``value``).
    """

    kind: ScopeKind = "project"
    key: str | None = None
    value: str | None = None


class BudgetRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A new budget. It counts from now on; a limit that is missing is none, one of 0 refuses everything.

    ``period`` says when it starts anew, by the clocks of ``timezone`` (a week begins on Monday). ``warn_at`` is the
    part of a limit from which on ``warned`` is true; ``export`` shows the budget in the metrics by its name.
    """

    name: str
    limit_usd: Dollars | None = None
    limit_tokens: LimitTokens | None = None
    period: Period = "none"
    timezone: Annotated[str, Meta(max_length=64)] = "UTC"
    scope: BudgetScope = BudgetScope()
    warn_at: Part | None = None
    export: bool = False


class BudgetChange(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What to change; the rest stays. ``null`` removes a limit, or the warning."""

    limit_usd: Dollars | UnsetType | None = UNSET
    limit_tokens: LimitTokens | UnsetType | None = UNSET
    warn_at: Part | UnsetType | None = UNSET
    export: bool | UnsetType = UNSET


class BudgetAnswer(msgspec.Struct, frozen=True):
    """A budget as it stands in its present period, both of whose ends are ``null`` where it never starts anew.

    ``spent`` is what calls cost, ``held`` what open reservations hold, and ``remaining`` what is left of the limit
    beside both: negative where a limit was lowered or a call cost more than it held, ``null`` without a limit.
    ``burn_rate_usd_per_day`` goes by what was spent in the period, ``forecast_usd`` is what will be at its end if it
    goes on so.
    """

    name: str
    project: str
    limit_usd: str | None
    spent_usd: str
    held_usd: str
    remaining_usd: str | None
    limit_tokens: int | None
    spent_tokens: int
    held_tokens: int
    remaining_tokens: int | None
    open_holds: int
    period: Period
    period_start: datetime | None
    period_end: datetime | None
    timezone: str
    scope: BudgetScope
    warn_at: float | None
    warned: bool
    export: bool
    burn_rate_usd_per_day: str
    forecast_usd: str | None
    created_at: datetime
    changed_at: datetime
    version: int


class BudgetList(msgspec.Struct, frozen=True):
    """Budgets in the order they were made; ``cursor`` asks for the next ones, ``null`` at the end."""

    budgets: Sequence[BudgetAnswer]
    cursor: str | None


class BudgetChangeRow(msgspec.Struct, frozen=True):
    """What a budget's terms became, when and by whom: ``anyone`` without keys, else ``key`` and its id."""

    version: int
    at: datetime
    by: str
    limit_usd: str | None
    limit_tokens: int | None
    warn_at: float | None
    export: bool


class BudgetChanges(msgspec.Struct, frozen=True):
    """The changes of a budget, the first first."""

    changes: Sequence[BudgetChangeRow]
