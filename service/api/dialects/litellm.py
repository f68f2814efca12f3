"""LiteLLM's form: OpenAI's messages, whose blocks may also be Anthropic's, or Gemini's contents."""

from __future__ import annotations

from dataclasses import replace

from service.api.dialects import anthropic, gemini, openai_chat
from service.api.dialects.blocks import Probes, texts
from service.api.dialects.walking import Node, objects
from service.domain.request import Message, Request

NAME = "litellm"
KNOWN = (
    openai_chat.KNOWN
    | gemini.KNOWN
    | anthropic.KNOWN
    | frozenset(("prompt", "call_endpoint", "litellm_metadata", "litellm_params", "api_base", "api_key", "drop_params"))
)
"""Fields of a body; those that are not read here change nothing that is counted."""

_ANTHROPIC_BLOCKS = frozenset(("tool_use", "tool_result", "document", "image", "redacted_thinking"))


def read(body: Node, probes: Probes) -> Request:
    """The request of a body. Raises ``ApiError`` with the path of what is wrong."""
    if body.has("contents"):
        return replace(gemini.read(body, probes), dialect=NAME)
    anthropic_tools = any(node.has("input_schema") for node in body.children("tools"))
    if anthropic_tools or _has_anthropic_blocks(body):
        return replace(anthropic.read(body, probes), dialect=NAME)
    request = openai_chat.read(body, probes)
    if not body.has("system"):
        return replace(request, dialect=NAME)
    first = Message("system", tuple(texts(body, "system")), path=body.at("system"))
    return replace(request, dialect=NAME, messages=(first, *request.messages))


def _has_anthropic_blocks(body: Node) -> bool:
    return any(
        str(block.get("type")) in _ANTHROPIC_BLOCKS
        for message in body.children("messages")
        for block in objects({"content": message.values.get("content")})
    )
