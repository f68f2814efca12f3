"""Usage of Anthropic's Messages: ``input_tokens`` is only what the cache had no part in; reads and writes come on top.

``output_tokens`` holds thinking. What a compaction spent stands in ``iterations`` alone and is billed with the rest.
"""

from __future__ import annotations

from decimal import Decimal

from service.api.dialects.usages.reading import Block, Reading
from service.api.dialects.usages.tiers import served_region, served_tier

_NAMES = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "cache_write_1h_tokens")


def read(block: Block) -> Reading:
    """The usage. Raises ``ApiError``."""
    counts = _spent(block)
    details = block.block("output_tokens_details")
    counts["reasoning_tokens"] = details.part("thinking_tokens", "reasoning_tokens")
    details.within(counts["reasoning_tokens"], "thinking_tokens", counts["output_tokens"], "output_tokens")
    for inner in block.blocks("iterations"):
        _iteration(block, inner, counts)
    tools = block.block("server_tool_use")
    tools.ignore("web_fetch_requests")  # fetching costs its tokens only
    block.ignore("fallback_credit")
    tier = served_tier(block.word("service_tier"))
    return Reading(
        counts,
        {"web_searches": Decimal(tools.part("web_search_requests"))},
        service_tier="fast" if block.word("speed") == "fast" else tier,
        region=served_region(block.word("inference_geo")),
    )


def _spent(block: Block) -> dict[str, int]:
    """The five counts of one call, or of one of its iterations, inclusive."""
    plain, output = block.whole("input_tokens"), block.whole("output_tokens")
    cached = block.part("cache_read_input_tokens")
    creation = block.block("cache_creation")
    hour = creation.part("ephemeral_1h_input_tokens")
    short = creation.part("ephemeral_5m_input_tokens")
    if creation:
        written = block.stated("cache_creation_input_tokens")
        if written is not None and written != hour + short:
            problem = "the writes by time to live do not add up to cache_creation_input_tokens"
            block.refuse("cache_creation_input_tokens", problem)
        written = hour + short
    else:
        written = block.part("cache_creation_input_tokens")
        if written:
            message = "The usage does not say for how long was written to the cache; five minutes are priced."
            block.warn("cache_ttl_unreported", message, "cache_creation_input_tokens")
    return dict(zip(_NAMES, (plain + cached + written, output, cached, written, hour), strict=True))


def _iteration(block: Block, inner: Block, counts: dict[str, int]) -> None:
    """Add what a compaction spent; the messages are in the whole already, and another model's work cannot be priced."""
    kind = inner.word("type")
    spent = _spent(inner)
    inner.block("output_tokens_details").ignore("thinking_tokens")
    inner.word("model")
    if kind == "compaction":
        for name, count in spent.items():
            counts[name] += count
    elif kind != "message":
        message = "This iteration is not priced: it may be another model's. Send its usage by itself."
        block.warn("usage_field_unknown", message, "iterations")
