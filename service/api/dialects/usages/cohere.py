"""Usage of Cohere: ``billed_units`` is what is paid for; ``tokens`` also counts a preamble that is not."""

from __future__ import annotations

from decimal import Decimal

from service.api.dialects.usages.reading import Block, Reading


def read(block: Block) -> Reading:
    """The usage. Raises ``ApiError``."""
    billed = block.block("billed_units")
    if not billed:
        block.whole("billed_units")
    block.block("tokens").ignore("input_tokens", "output_tokens")
    counts = {"input_tokens": billed.part("input_tokens"), "output_tokens": billed.part("output_tokens")}
    return Reading(counts, {"rerank_searches": Decimal(billed.part("search_units"))})
