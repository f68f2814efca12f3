"""What can go wrong with budgets, holds and the ledger: one class for each case, each with a stable code.

A message names budgets and numbers of our own, never what a caller sent beside them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from service.domain.errors import DomainError


class LedgerUnavailable(DomainError):
    """The ledger's database cannot be used just now: nothing counts as admitted. ``problem`` is for the operator."""

    code: ClassVar[str] = "ledger_unavailable"

    def __init__(self, problem: str) -> None:
        self.problem = problem
        how = "The request counts as refused; send it again, with the same Idempotency-Key."
        super().__init__(f"The ledger is not available: {problem}. {how}")


class LedgerNotOpened(DomainError):
    """The ledger's database cannot be opened as it is: newer than this program, damaged, or not to be written."""

    code: ClassVar[str] = "ledger_not_opened"


class InvalidBudget(DomainError):
    """A budget cannot be as it was asked for. ``field`` names the part that is wrong."""

    code: ClassVar[str] = "invalid_budget"

    def __init__(self, field: str, problem: str) -> None:
        self.field = field
        super().__init__(problem)


class InvalidQuery(DomainError):
    """A report cannot be as it was asked for. ``field`` names the part that is wrong."""

    code: ClassVar[str] = "invalid_query"

    def __init__(self, field: str, problem: str) -> None:
        self.field = field
        super().__init__(problem)


class UnknownBudget(DomainError):
    """The project has no budget of that name."""

    code: ClassVar[str] = "unknown_budget"

    def __init__(self) -> None:
        super().__init__("The project has no budget of that name. GET /v1/budgets lists those it has.")


class BudgetExists(DomainError):
    """The project has a budget of that name."""

    code: ClassVar[str] = "budget_exists"

    def __init__(self) -> None:
        super().__init__("The project has a budget of that name already. Change that one, or choose another name.")


class BudgetHasHolds(DomainError):
    """A budget is not deleted while something is held of it."""

    code: ClassVar[str] = "budget_has_holds"

    def __init__(self, open_holds: int) -> None:
        self.open_holds = open_holds
        super().__init__(
            f"The budget has open reservations ({open_holds}). Settle or release them, or wait until they expire."
        )


@dataclass(frozen=True, slots=True)
class Shortfall:
    """A limit that a reservation does not fit: how much is ``left`` of it, in ``unit`` (``nano_usd``, ``tokens``)."""

    budget: str
    project: str
    unit: str
    left: int


class BudgetExceeded(DomainError):
    """A reservation does not fit every budget that applies, so nothing was held. ``shortfalls`` are the limits."""

    code: ClassVar[str] = "budget_exceeded"

    def __init__(self, shortfalls: Sequence[Shortfall]) -> None:
        self.shortfalls = tuple(shortfalls)
        names = ", ".join(dict.fromkeys(item.budget for item in self.shortfalls))
        super().__init__(f"The reservation does not fit the budget ({names}). Ask for less, or raise the limit.")


class TokensRequired(DomainError):
    """A budget with a token limit applies, and the reservation names no tokens."""

    code: ClassVar[str] = "tokens_required"

    def __init__(
        self, problem: str = "A budget with a token limit applies: say how many tokens to hold, or send the request."
    ) -> None:
        super().__init__(problem)


class OutputUnknown(TokensRequired):
    """Nothing bounds the output of a call, so nobody knows what to hold for it."""

    def __init__(self) -> None:
        super().__init__("No source says how much the model answers at most: give `max_output_tokens`.")


class InvalidAmount(DomainError):
    """An amount is negative, or larger than one call can cost."""

    code: ClassVar[str] = "invalid_amount"


class UnknownReservation(DomainError):
    """The project has no reservation of that id."""

    code: ClassVar[str] = "unknown_reservation"

    def __init__(self) -> None:
        super().__init__("The project has no reservation of that id.")


class AlreadySettled(DomainError):
    """The reservation was settled before, with another content."""

    code: ClassVar[str] = "already_settled"

    def __init__(self) -> None:
        super().__init__("The reservation is settled already. A correction is recorded as usage of its own.")


class ReservationClosed(DomainError):
    """The reservation holds nothing any more, so it cannot be extended. ``state`` is how it ended."""

    code: ClassVar[str] = "reservation_closed"

    def __init__(self, state: str) -> None:
        self.state = state
        super().__init__(f"The reservation is {state}: it holds nothing any more. Make another one.")


class KeyReused(DomainError):
    """The Idempotency-Key came before with another body."""

    code: ClassVar[str] = "idempotency_key_reused"

    def __init__(self) -> None:
        super().__init__("This Idempotency-Key came with another body before. A new request needs a new key.")


class InFlight(DomainError):
    """The first request with this Idempotency-Key is still being worked on."""

    code: ClassVar[str] = "idempotency_in_flight"

    def __init__(self) -> None:
        super().__init__("The first request with this Idempotency-Key is still under way. Try again in a second.")


class Replayed(Exception):
    """The request was carried out before: ``answer`` is what was answered then."""

    def __init__(self, answer: bytes) -> None:
        self.answer = answer
        super().__init__("answered before")
