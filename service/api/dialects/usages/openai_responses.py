"""Usage of OpenAI's Responses, of its Realtime, image and transcription routes, and of others that speak the form.

``input_tokens`` holds what was read from and written to the cache and every modality, ``output_tokens`` reasoning.
"""

from __future__ import annotations

from decimal import Decimal

from service.api.dialects.usages.reading import Block, Reading
from service.api.dialects.usages.tiers import served_tier

_MODALITIES = ("audio", "image", "video")
_NOT_BILLED = ("num_server_side_tools_used", "cost_in_usd_ticks", "context_details", "cost", "cost_details", "is_byok")


def read(block: Block) -> Reading:
    """The usage. Raises ``ApiError``."""
    details = block.block("input_tokens_details", "input_token_details")
    cached = details.block("cached_tokens_details")
    answered = block.block("output_tokens_details", "output_token_details")
    for inner in (details, cached, answered):
        inner.ignore("text_tokens")
    answered.ignore("accepted_prediction_tokens", "rejected_prediction_tokens")
    counts = {
        "input_tokens": block.whole("input_tokens"),
        "output_tokens": block.whole("output_tokens"),
        "cache_read_tokens": details.part("cached_tokens", "cache_read_input_tokens"),
        "cache_write_tokens": details.part("cache_write_tokens", "cache_creation_input_tokens"),
        "reasoning_tokens": answered.part("reasoning_tokens"),
    }
    for modality in _MODALITIES:
        counts[f"input_{modality}_tokens"] = details.part(f"{modality}_tokens")
        counts[f"cache_{modality}_read_tokens"] = cached.part(f"{modality}_tokens")
        counts[f"output_{modality}_tokens"] = answered.part(f"{modality}_tokens")
    _require(block, details, answered, counts)
    block.ignore(*_NOT_BILLED)
    return Reading(counts, _fees(block), service_tier=served_tier(block.word("service_tier")))


def _require(block: Block, details: Block, answered: Block, counts: dict[str, int]) -> None:
    whole, output = counts["input_tokens"], counts["output_tokens"]
    details.within(counts["cache_read_tokens"], "cached_tokens", whole, "input_tokens")
    both = counts["cache_read_tokens"] + counts["cache_write_tokens"]
    details.within(both, "cache_write_tokens", whole, "input_tokens with what was read")
    answered.within(counts["reasoning_tokens"], "reasoning_tokens", output, "output_tokens")
    total = block.stated("total_tokens")
    if total is not None and total != whole + output:
        block.refuse("total_tokens", "total_tokens is not the sum of input_tokens and output_tokens")


def _fees(block: Block) -> dict[str, Decimal]:
    calls = block.block("server_side_tool_usage_details")
    searches = block.block("tool_calls_details").block("search_web").part("invocation")  # Perplexity's
    return {
        "web_searches": Decimal(calls.part("web_search_calls") + searches),
        "social_searches": Decimal(calls.part("x_search_calls")),
        "storage_searches": Decimal(calls.part("file_search_calls") + calls.part("document_search_calls")),
        "code_executions": Decimal(calls.part("code_interpreter_calls")),
    }
