"""A circuit breaker: an endpoint that fails again and again is left alone for a while, then tried with one call."""

from __future__ import annotations

from collections.abc import Callable

_FAILURES = 5
_SECONDS = 30.0
_LONGEST = 300.0


class Breaker:
    """Closed at first. ``clock`` gives monotonic seconds.

    Five failures in a row open it for 30 s, a wait that the endpoint asks for opens it at once for so long (300 s at
    most). Then one call is let through: its success closes the circuit, its failure opens it again.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._failures = 0
        self._until: float | None = None
        self._trying = False

    def admit(self) -> bool:
        """Whether a call may be made; of each that was admitted, the outcome is told."""
        if self._until is None:
            return True
        if self._clock() < self._until or self._trying:
            return False
        self._trying = True
        return True

    def succeeded(self) -> None:
        """The endpoint works."""
        self._failures, self._until, self._trying = 0, None, False

    def failed(self, wait: float | None = None) -> None:
        """The endpoint does not; ``wait`` are the seconds that it asks for."""
        self._failures += 1
        if wait is not None or self._failures >= _FAILURES or self._trying:
            self._until = self._clock() + min(_SECONDS if wait is None else wait, _LONGEST)
        self._trying = False

    def gave_up(self) -> None:
        """The call ended without an outcome: its caller went away."""
        self._trying = False
