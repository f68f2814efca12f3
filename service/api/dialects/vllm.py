"""vLLM's chat form: OpenAI's messages and tools, and what shapes the chat template."""

from __future__ import annotations

from dataclasses import replace

from service.api.dialects import openai_chat
from service.api.dialects.blocks import Probes
from service.api.dialects.walking import Node, refuse
from service.domain.request import Request

NAME = "vllm"
KNOWN = openai_chat.KNOWN | frozenset(
    (
        *("add_generation_prompt", "continue_final_message", "add_special_tokens", "chat_template"),
        *("chat_template_kwargs", "mm_processor_kwargs", "return_token_strs", "documents", "priority", "min_p"),
        *("repetition_penalty", "ignore_eos", "guided_json", "guided_choice", "guided_regex", "structured_outputs"),
    )
)
"""Fields of a body; those that are not read here change nothing that is counted."""


def read(body: Node, probes: Probes) -> Request:
    """The request of a body. Raises ``ApiError`` with the path of what is wrong."""
    if body.has("prompt"):
        refuse(body.at("prompt"), "A bare prompt is no chat: send it as `text`.")
    options = body.optional("chat_template_kwargs")
    continued = body.flag("continue_final_message", default=False)
    primed = body.flag("add_generation_prompt", default=not continued)
    if continued and primed:
        refuse(body.at("continue_final_message"), "It goes with `add_generation_prompt: false` only.")
    return replace(
        openai_chat.read(body, probes),
        dialect=NAME,
        add_generation_prompt=primed,
        continue_final_message=continued,
        template=body.text("chat_template", "") or None,
        template_options=options.values if options is not None else {},
    )
