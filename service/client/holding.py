"""A hold around one call of a model: what is left to do when the block ends, whichever way it ends.

The steps are generators: they yield a ``Call`` and are sent its answer, or thrown its error; the hold that waits and
the one that is awaited carry them out.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any, TypeVar, Unpack

from service.client import counting_calls, ledger_calls
from service.client.call import Call
from service.client.errors import Unavailable, WeighbridgeError
from service.client.inputs import Billed, Counted
from service.client.ledger_answers import Reservation, Settled
from service.client.streams import Seen
from service.client.wording import Money

T = TypeVar("T")
Steps = Generator[Call[Any], Any, T]


class Holding:
    """What both kinds of hold know: the reservation, whether the request went out, and what was booked."""

    def __init__(self, reserve: Callable[[], Call[Reservation]]) -> None:
        self._reserve = reserve
        self._reservation: Reservation | None = None
        self._settlement: Call[Settled] | None = None
        self._sent = False
        self._over = False
        self._seen = Seen()
        self.settled: Settled | None = None

    @property
    def reservation(self) -> Reservation:
        """What is held. Raises ``RuntimeError`` before the block is entered."""
        if self._reservation is None:
            raise RuntimeError("Nothing is held yet: use the hold in a with statement.")
        return self._reservation

    @property
    def id(self) -> str:
        """The reservation's id."""
        return self.reservation.id

    def sent(self) -> None:
        """Say that the request goes out now: from here on the call may cost money, whether it ends well or not."""
        self._sent = True

    def opening(self) -> Steps[None]:
        """Hold the amount. Raises ``Refused`` where it may not be held."""
        if self._reservation is not None:
            raise RuntimeError("A hold is for one call: make another one.")
        self._reservation = yield self._reserve()

    def settling(
        self,
        usage: Any = None,
        *,
        response: Any = None,
        cost_usd: Money | None = None,
        partial: bool = False,
        model: str | None = None,
        **billed: Unpack[Billed],
    ) -> Steps[Settled]:
        """Book what the call really used: its ``usage``, the vendor's whole ``response``, or its ``cost_usd``.

        After a ``stream`` nothing need be given: what it told is booked.
        """
        self._sent = True
        if usage is None and response is None and cost_usd is None and not partial and self._seen.told:
            response = self._seen.events
        given = {"usage": usage, "response": response, "cost_usd": cost_usd, "partial": partial, "model": model}
        return (yield from self._book(ledger_calls.settle(self.id, **given, **billed)))

    def releasing(self) -> Steps[Reservation]:
        """End the hold: nothing was spent."""
        found: Reservation = yield ledger_calls.release(self.id)
        self._over = True
        self._reservation = found
        return found

    def extending(self, ttl_seconds: float) -> Steps[Reservation]:
        """Let the hold last ``ttl_seconds`` from now: for a call that takes longer than it was held for."""
        self._reservation = yield ledger_calls.extend(self.id, ttl_seconds)
        return self.reservation

    def closing(self) -> Steps[None]:
        """What is left to do at the end of the block: nothing, or settle as it stands, or release."""
        if self._over or self._reservation is None:
            return
        if not self._sent:
            yield from self.releasing()
            return
        if self._settlement is not None:  # the block's own, which had no answer: the same again, with the same key
            try:
                yield from self._book(self._settlement)
            except Unavailable:
                raise
            except WeighbridgeError:
                self._settlement = None
        if not self._over:
            yield from self._book((yield from self._as_it_stands()))

    def _book(self, call: Call[Settled]) -> Steps[Settled]:
        self._settlement = call
        try:
            self.settled = yield call
        except Unavailable:
            raise
        except WeighbridgeError as error:
            self._settlement = None
            self._over = error.code == "already_settled"
            raise
        self._over = True
        return self.settled

    def _as_it_stands(self) -> Steps[Call[Settled]]:
        """The settlement of a call that nobody settled: by its stream, else by the estimate."""
        if self._seen.ended and self._seen.told:
            return ledger_calls.settle(self.id, response=self._seen.events)
        if not self._seen.text:
            return ledger_calls.settle(self.id, partial=True)
        held = self.reservation
        try:
            found = yield counting_calls.count(held.model, **_written(self._seen.text, held))
        except WeighbridgeError:
            return ledger_calls.settle(self.id, partial=True)
        return ledger_calls.settle(self.id, partial=True, **self._seen.cut_off_at(found.tokens, held.estimate))


def _written(text: str, held: Reservation) -> Counted:
    return {"text": text} if held.provider is None else {"text": text, "provider": held.provider}
