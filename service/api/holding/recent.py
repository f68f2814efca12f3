"""The reservations that this process made last: to settle one, what it was made for need not be read again."""

from __future__ import annotations

from service.domain.spending.ledger import Hold

_MOST = 4096


class RecentHolds:
    """Holds as they were made, the last of them. What they are for, and at what price, never changes; all else may.

    ``most`` is how many are kept.
    """

    __slots__ = ("_holds", "_most")

    def __init__(self, most: int = _MOST) -> None:
        self._holds: dict[tuple[str, str], Hold] = {}
        self._most = most

    def note(self, hold: Hold) -> Hold:
        """Keep ``hold``, which was just made."""
        self._holds[hold.spender.project, hold.id] = hold
        if len(self._holds) > self._most:
            del self._holds[next(iter(self._holds))]
        return hold

    def find(self, project: str, hold_id: str) -> Hold | None:
        """The hold as it was made, if it is among the last."""
        return self._holds.get((project, hold_id))
