"""Signatures in the form of Standard Webhooks (https://www.standardwebhooks.com)."""

from __future__ import annotations

import base64
import hmac


def signature(secret: bytes, number: str, timestamp: int, body: bytes) -> str:
    """The header ``webhook-signature``: HMAC-SHA256 over id, time (seconds since 1970) and body, joined by dots."""
    signed = b".".join((number.encode(), str(timestamp).encode(), body))
    return "v1," + base64.b64encode(hmac.digest(secret, signed, "sha256")).decode()
