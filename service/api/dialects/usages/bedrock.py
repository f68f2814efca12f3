"""Usage of Amazon Bedrock's Converse: ``inputTokens`` leaves out what the cache had a part in, which comes on top."""

from __future__ import annotations

from service.api.dialects.usages.reading import Block, Reading


def read(block: Block) -> Reading:
    """The usage. Raises ``ApiError``."""
    plain, output = block.whole("inputTokens"), block.whole("outputTokens")
    cached = block.part("cacheReadInputTokens", "cacheReadInputTokenCount")
    written = block.part("cacheWriteInputTokens", "cacheWriteInputTokenCount")
    total = block.stated("totalTokens")
    if total is not None and total not in (plain + output, plain + output + cached + written):
        block.refuse("totalTokens", "totalTokens is the sum of the counts neither with nor without the cache")
    return Reading(
        {
            "input_tokens": plain + cached + written,
            "output_tokens": output,
            "cache_read_tokens": cached,
            "cache_write_tokens": written,
            "cache_write_1h_tokens": _hour(block, written),
        }
    )


def _hour(block: Block, written: int) -> int:
    """Of the writes, those for an hour."""
    spans: dict[str, int] = {}
    for item in block.blocks("cacheDetails"):
        ttl = item.word("ttl")
        if ttl not in ("5m", "1h"):
            detail = "This time to live has no price here: known are 5m and 1h."
            block.warn("usage_field_unknown", detail, "cacheDetails")
        spans[ttl] = spans.get(ttl, 0) + item.part("inputTokens")
    if spans and sum(spans.values()) != written:
        block.refuse("cacheDetails", "cacheDetails do not add up to cacheWriteInputTokens")
    if written and not spans:
        message = "The usage does not say for how long was written to the cache; five minutes are priced."
        block.warn("cache_ttl_unreported", message, "cacheWriteInputTokens")
    return spans.get("1h", 0)
