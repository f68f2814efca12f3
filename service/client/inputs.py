"""What calls take, by keyword: the fields of the API's requests, typed. Messages and usage may be vendors' objects."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, TypedDict

from service.client.wording import Money

Messages = Iterable[Any]
"""A chat: mappings, or the message objects of a vendor's SDK."""

Tags = Mapping[str, str]


class Framed(TypedDict, total=False):
    """What goes with a text or a chat, and how it is read."""

    tools: Iterable[Any]
    tool_choice: Any
    response_format: Any
    system: Any
    dialect: str
    provider: str
    as_: Literal["text", "message"]
    special_tokens: Literal["text", "parse"]
    strict: bool


class Content(Framed, total=False):
    """What is weighed: one of ``text``, ``messages`` and ``request``, a vendor's whole body."""

    text: str
    messages: Messages
    request: Any


class Counted(Content, total=False):
    """What is counted; ``tokenizer`` stands in the place of a model."""

    tokenizer: str
    remote: str


class CountedTexts(Framed, total=False):
    """What goes with several texts."""

    tokenizer: str


class Planned(TypedDict, total=False):
    """How a call will be made and billed."""

    expected_output_tokens: Any
    cache: Mapping[str, Any]
    service_tier: str
    region: str
    at: datetime
    bounds: str
    max_cost_usd: Money
    remote: str


class Costed(Content, Planned, total=False):
    """What is weighed, and how the call will be made."""

    max_output_tokens: int


class Compared(Content, total=False):
    """What is compared, for ``models`` or ``tokenizers``, or for the models by default."""

    texts: Sequence[str]
    models: Sequence[str]
    tokenizers: Sequence[str]
    max_output_tokens: int
    expected_output_tokens: int
    service_tier: str
    region: str
    at: datetime


class Billed(TypedDict, total=False):
    """How a call that was made was billed, where its response does not say."""

    provider: str
    dialect: str
    service_tier: str
    region: str


class Held(Framed, Planned, total=False):
    """What is held, for what: a request's own ``high`` cost, or ``amount_usd`` and ``tokens``.

    ``budget`` names the one budget to hold of; without it every budget that applies counts the call.
    """

    text: str
    request: Any
    budget: str
    amount_usd: Money
    tokens: int
    ttl_seconds: float
    tags: Tags


class Checked(Costed, total=False):
    """What is checked before a call; ``reserve`` also holds it, ``limits`` are those of this one request."""

    limits: Mapping[str, Money | int]
    reserve: bool
    budget: str
    amount_usd: Money
    tokens: int
    ttl_seconds: float
    tags: Tags
    alternatives: Sequence[str]


class Terms(TypedDict, total=False):
    """What of a budget can be changed; ``None`` removes a limit or the warning."""

    limit_usd: Money | None
    limit_tokens: int | None
    warn_at: Money | None
    export: bool


class NewBudget(Terms, total=False):
    """A new budget."""

    period: Literal["none", "day", "week", "month"]
    timezone: str
    scope: Mapping[str, str]


class Reported(TypedDict, total=False):
    """What spend is asked for."""

    start: datetime
    end: datetime
    group_by: str
    interval: Literal["hour", "day", "week", "month"]
    timezone: str
    cursor: str
    limit: int


class Refused(TypedDict, total=False):
    """Which refusals are asked for."""

    start: datetime
    end: datetime
    limit: int


class Listed(TypedDict, total=False):
    """Which entries are asked for."""

    start: datetime
    end: datetime
    model: str
    provider: str
    tags: Tags
    cursor: str
    limit: int
