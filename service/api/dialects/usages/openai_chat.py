"""Usage of OpenAI's Chat Completions and of the many services that speak its form, each with fields of its own.

``prompt_tokens`` holds what was read from and written to the cache, ``completion_tokens`` holds reasoning, and the
total is their sum. Two vendors differ: xAI reports reasoning beside the completion (and in the total), Perplexity
reasoning and citations beside both.
"""

from __future__ import annotations

from decimal import Decimal

from service.api.dialects.usages.reading import Block, Reading, same
from service.api.dialects.usages.tiers import served_region, served_tier

FLAVOURS = ("openai_chat", "mistral", "deepseek", "groq", "litellm", "xai", "perplexity")

# Times, the vendor's own sum of money, and words.
_NOT_BILLED = (
    *("queue_time", "prompt_time", "completion_time", "total_time"),
    *("cost", "cost_details", "cost_in_usd_ticks", "estimated_cost", "is_byok", "context_details"),
    *("search_context_size", "num_server_side_tools_used", "prompt_cache_miss_tokens"),
)


def read(block: Block, flavour: str) -> Reading:
    """The usage. Raises ``ApiError``."""
    counts = {"input_tokens": block.whole("prompt_tokens")} | _cache(block) | _input_modalities(block)
    output, reasoning, outside = _output(block, counts["input_tokens"], flavour)
    counts |= {"output_tokens": output, "reasoning_tokens": reasoning} | _output_modalities(block)
    if flavour == "perplexity":
        counts["output_citation_tokens"] = block.part("citation_tokens")
        counts["output_tokens"] += counts["output_citation_tokens"]
    _require_total(block, counts["input_tokens"], output, outside)
    block.ignore(*_NOT_BILLED)
    tier = served_tier(block.word("service_tier"))
    return Reading(
        counts,
        _fees(block),
        service_tier="fast" if block.word("speed") == "fast" else tier,
        region=served_region(block.word("inference_geo")),
        sold_as_text=("image", "video"),
    )


def _prompt_details(block: Block) -> Block:
    return block.block("prompt_tokens_details", "prompt_token_details")


def _completion_details(block: Block) -> Block:
    return block.block("completion_tokens_details", "completion_token_details")


def _cache(block: Block) -> dict[str, int]:
    """Reads and writes, from wherever one of these vendors puts them; what stands twice has to agree."""
    prompt = block.whole("prompt_tokens")
    details = _prompt_details(block)
    cached = same(
        (details, "cached_tokens"),
        *((block, name) for name in ("cached_tokens", "num_cached_tokens", "prompt_cache_hit_tokens")),
        *((block, name) for name in ("cache_read_input_tokens", "cached_prompt_text_tokens")),
    )
    block.within(cached, "cached tokens", prompt, "prompt_tokens")
    missed = block.stated("prompt_cache_miss_tokens")
    if missed is not None and missed != prompt - cached:
        block.refuse("prompt_cache_miss_tokens", "cache hits and misses do not add up to prompt_tokens")
    written = same(
        (details, "cache_write_tokens"), (details, "cache_creation_tokens"), (block, "cache_creation_input_tokens")
    )
    block.within(cached + written, "cached and written tokens", prompt, "prompt_tokens")
    spans = details.block("cache_creation_token_details"), block.block("cache_creation")
    hour = same(*((span, "ephemeral_1h_input_tokens") for span in spans))
    short = same(*((span, "ephemeral_5m_input_tokens") for span in spans))
    if any(spans) and hour + short != written:
        block.refuse("cache_creation_input_tokens", "the writes by time to live do not add up to all writes")
    return {"cache_read_tokens": cached, "cache_write_tokens": written, "cache_write_1h_tokens": hour}


def _input_modalities(block: Block) -> dict[str, int]:
    details = _prompt_details(block)
    cached = details.block("cached_tokens_details")
    for inner in (details, cached):
        inner.ignore("text_tokens")
    found = {}
    for modality in ("audio", "image", "video"):
        found[f"input_{modality}_tokens"] = details.part(f"{modality}_tokens")
        found[f"cache_{modality}_read_tokens"] = cached.part(f"{modality}_tokens")
    return found


def _output(block: Block, prompt: int, flavour: str) -> tuple[int, int, int]:
    """All output, its reasoning, and how much of it stands outside ``completion_tokens``."""
    completion = block.stated("completion_tokens")
    if completion is None:
        # Embeddings have none; that it is zero is proven by the total.
        completion = 0 if block.stated("total_tokens") == prompt else block.whole("completion_tokens")
    details = _completion_details(block)
    details.ignore("accepted_prediction_tokens", "rejected_prediction_tokens", "text_tokens")
    reasoning = same((details, "reasoning_tokens"), (block, "reasoning_tokens"))
    total = block.stated("total_tokens")
    if flavour == "perplexity":
        return completion + reasoning, reasoning, reasoning
    if flavour == "xai" and (total is None or total != prompt + completion):
        return completion + reasoning, reasoning, reasoning
    if reasoning > completion:
        block.refuse("completion_tokens", "reasoning_tokens is more than completion_tokens, which holds it")
    return completion, reasoning, 0


def _output_modalities(block: Block) -> dict[str, int]:
    details = _completion_details(block)
    return {f"output_{modality}_tokens": details.part(f"{modality}_tokens") for modality in ("audio", "image", "video")}


def _require_total(block: Block, prompt: int, output: int, outside: int) -> None:
    """The total is the sum; where something stands outside the completion it may be left out of it."""
    total = block.stated("total_tokens")
    if total is not None and total not in (prompt + output, prompt + output - outside):
        problem = (
            "total_tokens is not the sum of prompt_tokens and completion_tokens (a vendor that reports reasoning "
            "beside the completion is read with `dialect`: xai)"
        )
        block.refuse("total_tokens", problem)


def _fees(block: Block) -> dict[str, Decimal]:
    calls = block.block("server_side_tool_usage_details")
    return {
        "web_searches": Decimal(
            block.part("num_search_queries") + calls.part("web_search_calls") + _proxied_searches(block)
        ),
        "social_searches": Decimal(calls.part("x_search_calls")),
        "storage_searches": Decimal(calls.part("file_search_calls") + calls.part("document_search_calls")),
        "code_executions": Decimal(calls.part("code_interpreter_calls")),
        "input_audio_seconds": block.quantity("prompt_audio_seconds"),
    }


def _proxied_searches(block: Block) -> int:
    """LiteLLM's count of searches, which it keeps in two places."""
    details, tools = _prompt_details(block), block.block("server_tool_use")
    tools.ignore("web_fetch_requests")
    inside, beside = details.stated("web_search_requests") or 0, tools.part("web_search_requests")
    if inside and beside and inside != beside:
        details.refuse("web_search_requests", "web_search_requests differs from that of server_tool_use")
    return max(inside, beside)
