"""Wire models of the costed routes. Money leaves as canonical decimal strings, never as floats."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from service.api.weighing.schemas import Input, Name, Remote
from service.domain.compare import CompareItem, ScriptTokens
from service.domain.counting import Breakdown, TokenizerInfo
from service.domain.estimate import ContextFit
from service.domain.notices import Notice
from service.domain.past.output import OutputHistory
from service.domain.remote import RemoteSource

Tokens = Annotated[int, Meta(ge=0, le=10**12)]
Label = Annotated[str, Meta(min_length=1, max_length=256)]
Tags = Annotated[dict[Label, Label], Meta(max_length=10, description="At most 10 names, each with a value.")]
Bounds = Literal["plain", "calibrated"]
ServiceTier = Literal["standard", "batch", "flex", "priority", "fast"]
Quantity = Annotated[Decimal, Meta(description="A number, or a decimal string.")]
Dollars = Annotated[Decimal, Meta(description="Dollars as a decimal string, such as 0.25.")]


UsageDialect = Literal[
    "weighbridge",
    "openai_chat",
    "openai_responses",
    "anthropic",
    "gemini",
    "bedrock",
    "cohere",
    "mistral",
    "deepseek",
    "groq",
    "litellm",
    "xai",
    "perplexity",
]


class Cache(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``read_tokens`` of the input may come from the vendor's cache; ``write`` asks for the rest to be written."""

    read_tokens: Tokens = 0
    write: Literal["5m", "1h"] | None = None


class Costed(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How a call is billed. ``at`` is when it is made, RFC 3339; now where it is missing."""

    service_tier: ServiceTier = "standard"
    region: Annotated[str, Meta(min_length=1, max_length=64)] | None = None
    at: datetime | None = None


class CostedInput(Input, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What is weighed, and how the call is billed. ``at`` is when it is made, RFC 3339; now where it is missing."""

    service_tier: ServiceTier = "standard"
    region: Annotated[str, Meta(min_length=1, max_length=64)] | None = None
    at: datetime | None = None


class ForeseenInput(CostedInput, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What is weighed, how the call is billed, and what past calls of the project may say of it.

    ``bounds: "calibrated"``: ``low`` and ``high`` of a count that is not exact are those between which 90 % of the
    model's settled calls lay, once there are 50: one in 20 had more. ``expected_output_tokens: "history"``: half of the
    model's settled calls had as much output, or less, once there are 20; of those with one of the ``tags``, where
    enough had it.
    """

    bounds: Bounds = "plain"
    max_output_tokens: Tokens | None = None
    expected_output_tokens: Tokens | Literal["history"] | None = None
    tags: Tags = msgspec.field(default_factory=dict)


class PlannedInput(ForeseenInput, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What is sent, the ``model`` that it is sent to, and how the call will be made.

    Where ``model`` or ``max_output_tokens`` is missing, a ``request`` that says it is taken at its word.
    """

    model: Name | None = None
    provider: Name | None = None
    cache: Cache = Cache()


class EstimateRequest(PlannedInput, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What is sent, the ``model`` that it is sent to, and how the call will be made.

    Where ``model`` or ``max_output_tokens`` is missing, a ``request`` that says it is taken at its word.
    """

    max_cost_usd: Dollars | None = None
    remote: Remote | None = None


class CompareRequest(ForeseenInput, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What is weighed for ``models`` (or those by default) or for ``tokenizers``; at most 1,000 ``texts``."""

    models: Annotated[list[Name], Meta(min_length=1, max_length=64)] | None = None
    tokenizers: Annotated[list[Name], Meta(min_length=1, max_length=64)] | None = None


class UsageIn(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What a call consumed, inclusive: ``input_tokens`` holds cache reads and writes, ``output_tokens`` reasoning."""

    input_tokens: Tokens = 0
    output_tokens: Tokens = 0
    cache_read_tokens: Tokens = 0
    cache_write_tokens: Tokens = 0
    cache_write_1h_tokens: Tokens = 0
    reasoning_tokens: Tokens = 0
    input_audio_tokens: Tokens = 0
    input_image_tokens: Tokens = 0
    input_video_tokens: Tokens = 0
    cache_audio_read_tokens: Tokens = 0
    cache_image_read_tokens: Tokens = 0
    cache_video_read_tokens: Tokens = 0
    output_audio_tokens: Tokens = 0
    output_image_tokens: Tokens = 0
    output_video_tokens: Tokens = 0
    output_citation_tokens: Tokens = 0
    audio_seconds: Quantity | None = None
    input_audio_seconds: Quantity | None = None
    output_audio_seconds: Quantity | None = None
    output_video_seconds: Quantity | None = None
    input_images: Quantity | None = None
    output_images: Quantity | None = None
    input_pixels: Quantity | None = None
    input_characters: Quantity | None = None
    output_characters: Quantity | None = None
    input_text_messages: Quantity | None = None
    input_document_pages: Quantity | None = None
    input_annotated_document_pages: Quantity | None = None
    rerank_searches: Quantity | None = None
    web_searches: Quantity | None = None
    social_searches: Quantity | None = None
    storage_searches: Quantity | None = None
    code_executions: Quantity | None = None
    requests: Quantity | None = None


UsageObject = Annotated[
    dict[str, Any],
    Meta(
        description="Our inclusive usage (UsageIn), or a vendor's as it was answered.",
        extra_json_schema={"anyOf": [{"$ref": "#/components/schemas/UsageIn"}, {"type": "object"}]},
    ),
]


class MadeCall(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What is said of a call that was made: its ``usage`` or a vendor's whole ``response``, and how it was sold.

    The form is told by its field names, or named by ``dialect``.
    """

    model: Name | None = None
    provider: Name | None = None
    usage: UsageObject | None = None
    response: dict[str, Any] | list[Any] | None = None
    dialect: UsageDialect | None = None
    service_tier: ServiceTier | None = None
    region: Annotated[str, Meta(min_length=1, max_length=64)] | None = None


class CostRequest(MadeCall, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Exactly one of ``usage`` (ours or a vendor's) and ``response``: a vendor's whole, or the events of its stream.

    The form is told by its field names, or named by ``dialect``. ``model`` may be left out where the response names
    it; given, it decides. The service tier and region that served the call, where the response says, go before those
    here; ``standard`` and none where neither does.
    """

    at: datetime | None = None


class WireComponent(msgspec.Struct, frozen=True, omit_defaults=True):
    """One product of a cost: tokens times dollars per million, or a quantity times dollars per ``per``; and factors."""

    unit: str
    usd: str
    tokens: int | None = None
    usd_per_mtok: str | None = None
    quantity: str | None = None
    usd_per_unit: str | None = None
    per: int | None = None
    rate: str | None = None
    above_input_tokens: int | None = None
    factors: Sequence[str] = ()


class WireCost(msgspec.Struct, frozen=True):
    """Dollars as decimal strings. Where ``status`` is ``unknown`` they are ``null``; ``missing`` says what lacks."""

    status: Literal["priced", "free", "unknown"]
    currency: Literal["USD"]
    low: str | None
    expected: str | None
    high: str | None
    components: Sequence[WireComponent]
    missing: str | None = None


class WirePrice(msgspec.Struct, frozen=True):
    """Where a price comes from: the row of the price list, its dates, and when it was last checked."""

    provider: str
    model: str
    service_tier: str
    source: str
    revision: str
    effective_from: str | None
    effective_to: str | None
    checked: str


class WireAffordable(msgspec.Struct, frozen=True):
    """Output tokens that ``max_cost_usd`` pays for once the high input is paid; ``null`` where that is not known."""

    max_cost_usd: str
    output_tokens: int | None
    input_fits: bool | None


class EstimateAnswer(msgspec.Struct, frozen=True):
    """A count, and what the call will cost. ``counted`` and ``accepted`` are an embedding model's, else ``null``.

    ``remote`` is there only where the vendor itself counted, ``output_history``, the output
    tokens of past calls, only where they were asked for and say something.
    """

    model: str | None
    provider: str | None
    rule: str | None
    tokenizer: TokenizerInfo
    tokens: int
    low: int
    high: int
    accuracy: str
    accuracy_reasons: Sequence[str]
    characters: int
    utf8_bytes: int
    tokens_per_character: float | None
    characters_per_token: float | None
    breakdown: Breakdown
    input_tokens: int
    max_output_tokens: int | None
    expected_output_tokens: int
    context: ContextFit
    cost: WireCost
    price: WirePrice | None
    affordable: WireAffordable | None
    counted: int | None
    accepted: int | None
    warnings: Sequence[Notice]
    remote: RemoteSource | msgspec.UnsetType = msgspec.UNSET
    output_history: OutputHistory | msgspec.UnsetType = msgspec.UNSET


class EstimateBatchAnswer(msgspec.Struct, frozen=True):
    """Several texts, each estimated as a call of its own; the totals are sums."""

    items: Sequence[EstimateAnswer]
    tokens: int
    low: int
    high: int
    input_tokens: int
    accuracy: str
    cost: WireCost


class CostAnswer(msgspec.Struct, frozen=True):
    """The cost of known usage: ``low``, ``expected`` and ``high`` are one number.

    ``dialect`` is the form that the usage was read as, ``service_tier`` the tier that was priced (``other`` where it
    has no public price).
    """

    model: str
    provider: str
    rule: str
    dialect: str
    service_tier: str
    usage: Mapping[str, int | str]
    cost: WireCost
    price: WirePrice | None
    warnings: Sequence[Notice]


class CompareRowAnswer(msgspec.Struct, frozen=True):
    """One model or tokenizer of a comparison; ``cost`` is ``null`` for a tokenizer.

    ``output_history`` is there as in an estimate.
    """

    model: str | None
    provider: str | None
    tokenizer: TokenizerInfo
    vocab_size: int
    installed: bool
    accuracy: str
    accuracy_reasons: Sequence[str]
    tokens: int
    low: int
    high: int
    characters: int
    tokens_per_character: float | None
    by_script: Mapping[str, ScriptTokens]
    items: Sequence[CompareItem]
    cost: WireCost | None
    price: WirePrice | None
    output_history: OutputHistory | msgspec.UnsetType = msgspec.UNSET


class CompareAnswer(msgspec.Struct, frozen=True):
    """Rows by cost, unknown prices last. ``cheapest`` is the model with the lowest expected cost that is known."""

    rows: Sequence[CompareRowAnswer]
    cheapest: str | None
    warnings: Sequence[Notice]


class WireTier(msgspec.Struct, frozen=True):
    """A rate for long input: above so many tokens, or from so many on where ``inclusive``."""

    above_input: int
    inclusive: bool
    usd: str


class WireRate(msgspec.Struct, frozen=True):
    """Dollars per ``per`` of a unit."""

    unit: str
    per: int
    usd: str
    tiers: Sequence[WireTier]


class WireWindow(msgspec.Struct, frozen=True):
    """Hours of the week, UTC; day 1 is Monday."""

    days: Sequence[int]
    utc: str


class PriceListRow(msgspec.Struct, frozen=True):
    """One row of the price list. A row without rates that is not ``free`` says that the price is unknown."""

    provider: str
    model: str
    service_tier: str
    effective_from: str | None
    effective_to: str | None
    windows: Sequence[WireWindow]
    free: bool
    rates: Sequence[WireRate]
    source: str
    revision: str
    checked: str


class PriceList(msgspec.Struct, frozen=True):
    """Rows by provider and model; of one model, the row that goes before the others comes first."""

    rows: Sequence[PriceListRow]
