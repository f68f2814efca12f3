"""Delivers alerts to webhooks: signed as Standard Webhooks does, and to public addresses alone unless allowed."""

from service.webhooks.sender import Outcome, Sender
from service.webhooks.signing import signature

__all__ = ["Outcome", "Sender", "signature"]
