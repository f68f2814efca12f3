"""Usage of Gemini's generateContent, on the developer API and on Vertex AI, in camel or snake case.

``promptTokenCount`` holds what was read from the cache. Thoughts stand beside the candidates, and what tools put into
the prompt stands beside the prompt. The JSON leaves zeros out: a count that is missing is zero if the total agrees.
"""

from __future__ import annotations

import re
from typing import Any

from service.api.dialects.usages.reading import Block, Reading
from service.api.dialects.usages.tiers import served_tier

_MODALITIES = {"AUDIO": "audio", "IMAGE": "image", "DOCUMENT": "image", "VIDEO": "video"}


def in_camel_case(value: Any) -> Any:
    """The JSON value with the names of its objects in camel case, as the REST API writes them."""
    if isinstance(value, dict):
        return {re.sub(r"_([a-z])", lambda m: m[1].upper(), key): in_camel_case(item) for key, item in value.items()}
    return [in_camel_case(item) for item in value] if isinstance(value, list) else value


def read(block: Block) -> Reading:
    """The usage. Raises ``ApiError``."""
    prompt = block.whole("promptTokenCount")
    tools = block.part("toolUsePromptTokenCount")
    thoughts = block.part("thoughtsTokenCount")
    # The Live API calls the candidates a response.
    answer = block.part("candidatesTokenCount", "responseTokenCount")
    total = block.stated("totalTokenCount")
    if total is None and not any(map(block.states, ("candidatesTokenCount", "responseTokenCount"))):
        block.whole("candidatesTokenCount")  # nothing shows that it is zero
    if total is not None and total != prompt + tools + answer + thoughts:
        problem = "totalTokenCount is not the sum of prompt, tool use, candidates and thoughts"
        block.refuse("totalTokenCount", problem)
    cached = block.part("cachedContentTokenCount")
    block.within(cached, "cachedContentTokenCount", prompt, "promptTokenCount")
    counts = {
        "input_tokens": prompt + tools,
        "output_tokens": answer + thoughts,
        "cache_read_tokens": cached,
        "reasoning_tokens": thoughts,
    }
    _split(block, ("promptTokensDetails",), prompt, counts, "input_{}_tokens")
    _split(block, ("toolUsePromptTokensDetails",), tools, counts, "input_{}_tokens")
    _split(block, ("cacheTokensDetails",), cached, counts, "cache_{}_read_tokens")
    _split(block, ("candidatesTokensDetails", "responseTokensDetails"), answer, counts, "output_{}_tokens")
    tier = served_tier(block.word("trafficType")) or served_tier(block.word("serviceTier"))
    return Reading(counts, service_tier=tier, sold_as_text=("image", "video"))


def _split(block: Block, names: tuple[str, ...], whole: int, counts: dict[str, int], form: str) -> None:
    """Add the tokens of each modality but text to ``counts``."""
    listed = 0
    for item in block.blocks(*names):
        count = item.part("tokenCount")
        listed += count
        modality = _MODALITIES.get(item.word("modality"))
        if modality:
            name = form.format(modality)
            counts[name] = counts.get(name, 0) + count
    if listed > whole:
        block.refuse(names[0], f"{names[0]} add up to more than the count they are part of")
