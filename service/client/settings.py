"""What both clients begin with."""

from __future__ import annotations

from service.client.errors import WeighbridgeError

DEFAULT_URL = "http://127.0.0.1:8000"


def headers_of(key: str | None) -> dict[str, str]:
    """The headers of every request."""
    headers = {"user-agent": "weighbridge-client", "accept": "application/json"}
    return headers if key is None else headers | {"authorization": f"Bearer {key}"}


def left_over(reservation_id: str, failure: WeighbridgeError) -> str:
    """What to add to the error of a block whose hold could not be ended."""
    return f"The reservation {reservation_id} is still open ({failure}). Settle it later, or it expires by itself."
