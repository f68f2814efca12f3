"""What shows a body's wire form: fields and blocks that no other form has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

_TOP: Mapping[str, frozenset[str]] = {
    "openai_chat": frozenset(
        (
            "functions",
            "function_call",
            "response_format",
            "max_completion_tokens",
            "reasoning_effort",
            "logprobs",
            "logit_bias",
        )
    ),
    "openai_responses": frozenset(("input", "instructions", "previous_response_id", "conversation")),
    "anthropic": frozenset(
        ("anthropic_version", "anthropic_beta", "output_config", "mcp_servers", "context_management", "container")
    ),
    "gemini": frozenset(
        (
            "contents",
            "generateContentRequest",
            "systemInstruction",
            "system_instruction",
            "generationConfig",
            "generation_config",
            "safetySettings",
            "cachedContent",
        )
    ),
    "bedrock": frozenset(
        ("modelId", "inferenceConfig", "additionalModelRequestFields", "guardrailConfig", "performanceConfig")
    ),
    "vllm": frozenset(
        (
            "add_generation_prompt",
            "continue_final_message",
            "chat_template",
            "chat_template_kwargs",
            "mm_processor_kwargs",
            "add_special_tokens",
            "return_token_strs",
        )
    ),
    "litellm": frozenset(("call_endpoint", "litellm_metadata", "litellm_params")),
}
_BASES: Mapping[str, str] = {"vllm": "openai_chat", "litellm": "openai_chat"}
"""Forms that take another's fields too: their own marks go before that one's."""

_WITHOUT_MESSAGES = {"gemini", "openai_responses"}
_OPENAI_BLOCKS = frozenset(("image_url", "input_audio", "file", "refusal"))
_ANTHROPIC_BLOCKS = frozenset(
    ("image", "document", "tool_use", "tool_result", "redacted_thinking", "server_tool_use", "search_result")
)
_BEDROCK_BLOCKS = frozenset(
    ("toolUse", "toolResult", "reasoningContent", "cachePoint", "guardContent", "image", "document", "video")
)


def marks_of(values: Mapping[str, Any]) -> set[str]:
    """The names of the wire forms of which the body has something of their own."""
    shown = {name for name, keys in _TOP.items() if not keys.isdisjoint(values)}
    shown |= set(_of_tools(values.get("tools"))) | set(_of_choice(values)) | set(_of_system(values))
    shown |= set(_of_messages(values.get("messages")))
    if "messages" in values and shown & _WITHOUT_MESSAGES:
        shown.add("openai_chat")
    if not shown and isinstance(values.get("thinking"), dict):
        shown.add("anthropic")  # others take the field too, but beside something of their own
    for name, base in _BASES.items():
        if name in shown:
            shown.discard(base)
    return shown


def _of_tools(tools: Any) -> Iterator[str]:
    for tool in tools if isinstance(tools, list) else ():
        if not isinstance(tool, dict):
            continue
        if isinstance(tool.get("function"), dict):
            yield "openai_chat"
        elif "input_schema" in tool:
            yield "anthropic"
        elif "functionDeclarations" in tool or "function_declarations" in tool:
            yield "gemini"


def _of_choice(values: Mapping[str, Any]) -> Iterator[str]:
    choice = values.get("tool_choice")
    if isinstance(choice, dict):
        if choice.get("type") in ("auto", "any", "tool", "none"):
            yield "anthropic"
        elif isinstance(choice.get("function"), dict):
            yield "openai_chat"
    config = values.get("toolConfig")
    if isinstance(config, dict):
        yield "gemini" if "functionCallingConfig" in config else "bedrock"


def _of_system(values: Mapping[str, Any]) -> Iterator[str]:
    system = values.get("system")
    if isinstance(system, str):
        yield "anthropic"
    elif isinstance(system, list):
        typed = any(isinstance(block, dict) and "type" in block for block in system)
        untyped = any(isinstance(block, dict) and "type" not in block for block in system)
        yield from ("anthropic",) * typed + ("bedrock",) * untyped


def _of_messages(messages: Any) -> Iterator[str]:
    for message in messages if isinstance(messages, list) else ():
        if not isinstance(message, dict):
            continue
        if message.get("role") in ("system", "developer", "tool", "function") or "tool_calls" in message:
            yield "openai_chat"
        content = message.get("content")
        for block in content if isinstance(content, list) else ():
            if isinstance(block, dict):
                yield from _of_block(block)


def _of_block(block: Mapping[str, Any]) -> Iterator[str]:
    kind = block.get("type")
    if kind is not None and not isinstance(kind, str):
        return  # its reader refuses it
    if kind is None and ("text" in block or not _BEDROCK_BLOCKS.isdisjoint(block)):
        yield "bedrock"
    elif kind in _OPENAI_BLOCKS:
        yield "openai_chat"
    elif kind in _ANTHROPIC_BLOCKS:
        yield "anthropic"
