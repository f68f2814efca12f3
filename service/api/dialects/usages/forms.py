"""The wire forms of usage by name, and how a usage is told by its own field names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, get_args

from service.api.dialects.usages import anthropic, bedrock, cohere, gemini, openai_chat, openai_responses, own
from service.api.dialects.usages.reading import Block, Reading
from service.api.errors import ApiError
from service.api.pricing.schemas import UsageDialect, UsageIn
from service.domain.errors import InconsistentUsage
from service.domain.notices import Notice
from service.domain.prices import Free, Price, Unknown
from service.domain.usage import Usage

OWN = "weighbridge"
_NAMES = get_args(UsageDialect)
_SHARED = frozenset({"input_tokens", "output_tokens", "reasoning_tokens"})

# Names that only this form has. Where LiteLLM and others add Anthropic's names to OpenAI's, the form is OpenAI's.
_MARKS: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        OWN: frozenset(UsageIn.__struct_fields__) - _SHARED,
        "openai_chat": frozenset(
            {"prompt_tokens", "completion_tokens", "prompt_tokens_details", "completion_tokens_details"}
        ),
        "openai_responses": frozenset(
            {"input_tokens_details", "output_tokens_details", "input_token_details", "output_token_details"}
        ),
        "anthropic": frozenset(
            {
                *("cache_creation_input_tokens", "cache_read_input_tokens", "cache_creation", "server_tool_use"),
                *("inference_geo", "iterations"),
            }
        ),
        "gemini": frozenset(
            {
                *("promptTokenCount", "candidatesTokenCount", "totalTokenCount", "thoughtsTokenCount"),
                *("prompt_token_count", "candidates_token_count", "total_token_count", "thoughts_token_count"),
            }
        ),
        "bedrock": frozenset({"inputTokens", "outputTokens", "totalTokens"}),
        "cohere": frozenset({"billed_units"}),
    }
)
_CHAT_TOO = frozenset({"openai_chat", "anthropic"})
_RESPONSES_TOO = frozenset({"openai_responses", "anthropic"})  # Anthropic's has output_tokens_details as well
_FLAVOURS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {  # names of one vendor inside OpenAI's form that say how the rest is meant
        "perplexity": ("citation_tokens", "num_search_queries"),
        "xai": ("num_sources_used", "cost_in_usd_ticks"),
    }
)
_READERS: Mapping[str, Callable[[Block], Reading]] = MappingProxyType(
    {
        "openai_responses": openai_responses.read,
        "anthropic": anthropic.read,
        "gemini": gemini.read,
        "bedrock": bedrock.read,
        "cohere": cohere.read,
    }
)


def recognise(values: Mapping[str, Any], path: str, likely: str = OWN) -> str:
    """The form of a usage, by names that no other form has; ``likely`` where it has none but shared ones.

    Raises ``ApiError`` where it has names of two forms.
    """
    found = {form for form, marks in _MARKS.items() if not marks.isdisjoint(values)}
    if found == _CHAT_TOO:
        found = {"openai_chat"}
    elif found == _RESPONSES_TOO and not {"input_tokens_details", "input_token_details"} & values.keys():
        found = {"anthropic"}
    if len(found) > 1:
        detail = (
            f"The usage has field names of more than one form: {', '.join(sorted(found))}. "
            f"Name the right one with `dialect`: {', '.join(_NAMES)}."
        )
        raise ApiError(422, "ambiguous_dialect", detail, path=path)
    if not found:
        return _by_shared_names(values, likely)
    form = found.pop()
    if form == "openai_chat":
        return next((name for name, marks in _FLAVOURS.items() if any(m in values for m in marks)), form)
    return form


def _by_shared_names(values: Mapping[str, Any], likely: str) -> str:
    """``input_tokens`` and ``output_tokens`` mean the same in every form that has them; other names tell it."""
    if likely != OWN or not _SHARED & values.keys():
        return likely
    if "total_tokens" in values:
        return "openai_responses"
    return "anthropic" if "service_tier" in values else OWN


def read_usage(
    values: Mapping[str, Any], path: str, *, dialect: str, seller: str, notices: list[Notice]
) -> tuple[str, Reading]:
    """The form's name and what the usage says; ``seller`` is the provider, whose flavour of a form holds.

    Raises ``ApiError``: the usage contradicts itself, lacks a count, or is of another shape.
    """
    if dialect == OWN:
        return dialect, own.read(values, path)
    if dialect == "openai_chat" and seller in openai_chat.FLAVOURS:
        dialect = seller
    if dialect == "gemini":
        values = gemini.in_camel_case(values)
    block = Block(values, path, notices)
    reader = _READERS.get(dialect)
    reading = reader(block) if reader else openai_chat.read(block, dialect)
    block.close()
    return dialect, reading


def in_units(reading: Reading, price: Price | Free | Unknown, path: str) -> Usage:
    """The usage in the units of a price. Raises ``ApiError`` where its parts are more than their whole."""
    try:
        return reading.usage(price)
    except InconsistentUsage as error:
        raise ApiError(422, "inconsistent_usage", str(error), path=path) from None
