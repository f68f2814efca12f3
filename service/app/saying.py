"""What the service says on stderr beside the lines of requests."""

from __future__ import annotations

import sys
from datetime import UTC, datetime

from service import __version__


def say(message: str) -> None:
    """Write one line, with the time."""
    at = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    sys.stderr.write(
        f"weighbridge {message}\n" if message.startswith(__version__) else f"weighbridge: {at} {message}\n"
    )
