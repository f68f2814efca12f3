"""The vendors' counting endpoints: where they are, what they are sent and what they answer.

Shapes are those of the vendors' references, as read on 2026-11-29: OpenAI's "Count input tokens", Anthropic's "Count
Message tokens" (version 2023-06-01) and the Gemini API's ``models.countTokens`` (v1beta).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from service.domain.remote import RemoteAsk, RemoteFailed
from service.providers.bodies import anthropic_body, gemini_body, openai_body

_MOST_TOKENS = 10**10


@dataclass(frozen=True, slots=True)
class Form:
    """How one vendor is asked: the path for a model, the headers for a key, the body; and the field of the count."""

    url: str
    path: Callable[[str], str]
    headers: Callable[[str], Mapping[str, str]]
    body: Callable[[RemoteAsk], dict[str, Any]]
    count: str


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A vendor's endpoint with the operator's key, at the vendor's own address or at another."""

    form: Form
    key: str = field(repr=False)
    url: str = ""

    def address(self, ask: RemoteAsk) -> str:
        """Where to ask. Raises ``RemoteFailed`` (``not_translatable``)."""
        try:
            return (self.url or self.form.url).rstrip("/") + self.form.path(ask.model)
        except UnicodeError:
            raise RemoteFailed("not_translatable") from None

    def headers(self) -> dict[str, str]:
        """The headers, with the key."""
        return {"content-type": "application/json", **self.form.headers(self.key)}

    def body(self, ask: RemoteAsk) -> bytes:
        """The body as JSON. Raises ``RemoteFailed`` (``not_translatable``)."""
        try:
            return json.dumps(self.form.body(ask), separators=(",", ":"), allow_nan=False).encode()
        except (ValueError, RecursionError):
            raise RemoteFailed("not_translatable") from None

    def tokens(self, answer: bytes) -> int:
        """The count in an answer. Raises ``RemoteFailed`` (``malformed``)."""
        try:
            value = json.loads(answer)
        except (ValueError, RecursionError):
            raise RemoteFailed("malformed") from None
        tokens = value.get(self.form.count) if isinstance(value, dict) else None
        if isinstance(tokens, bool) or not isinstance(tokens, int) or not 0 <= tokens <= _MOST_TOKENS:
            raise RemoteFailed("malformed")
        return tokens


FORMS: Mapping[str, Form] = {
    "openai": Form(
        "https://api.openai.com",
        lambda _model: "/v1/responses/input_tokens",
        lambda key: {"authorization": f"Bearer {key}"},
        openai_body,
        "input_tokens",
    ),
    "anthropic": Form(
        "https://api.anthropic.com",
        lambda _model: "/v1/messages/count_tokens",
        lambda key: {"x-api-key": key, "anthropic-version": "2023-06-01"},
        anthropic_body,
        "input_tokens",
    ),
    "google": Form(
        "https://generativelanguage.googleapis.com",
        lambda model: f"/v1beta/models/{quote(model, safe='')}:countTokens",
        lambda key: {"x-goog-api-key": key},
        gemini_body,
        "totalTokens",
    ),
}
"""By the provider's id in the catalog. Who sells a vendor's models elsewhere is not asked."""
