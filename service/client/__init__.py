"""A client of the service, for Python: ``Weighbridge`` waits, ``AsyncWeighbridge`` is awaited, both with one interface.

It needs httpx and msgspec and nothing of the service itself::

    from service.client import Weighbridge

    with Weighbridge(key="wb_...") as client:
        with client.budget("team-a").hold("gpt-4o", messages, max_output_tokens=500) as hold:
            hold.sent()
            response = openai.chat.completions.create(model="gpt-4o", messages=messages, max_tokens=500)
            hold.settle(response=response)

A hold ends by itself after ``ttl_seconds`` (600); ``hold.extend`` lets it last longer. Money is ``Decimal`` throughout.
"""

from service.client.answers import (
    Affordable,
    ComparedRow,
    Comparison,
    Component,
    Context,
    Cost,
    Count,
    Counts,
    Estimate,
    KnownCost,
    Notice,
    Price,
    Tokenizer,
)
from service.client.attempts import Patience
from service.client.awaited import AsyncHold, AsyncWeighbridge
from service.client.errors import (
    BudgetExceeded,
    NotAllowed,
    RateLimited,
    Refused,
    Shortfall,
    Unavailable,
    WeighbridgeError,
)
from service.client.ledger_answers import (
    Alternative,
    Budget,
    BudgetLeft,
    Budgets,
    Entries,
    Entry,
    Expected,
    Preflight,
    Reason,
    RefusalRow,
    Refusals,
    Reservation,
    Settled,
    Spend,
    SpendRow,
    Usage,
)
from service.client.waiting import Hold, Weighbridge

__all__ = [
    "Affordable",
    "Alternative",
    "AsyncHold",
    "AsyncWeighbridge",
    "Budget",
    "BudgetExceeded",
    "BudgetLeft",
    "Budgets",
    "ComparedRow",
    "Comparison",
    "Component",
    "Context",
    "Cost",
    "Count",
    "Counts",
    "Entries",
    "Entry",
    "Estimate",
    "Expected",
    "Hold",
    "KnownCost",
    "NotAllowed",
    "Notice",
    "Patience",
    "Preflight",
    "Price",
    "RateLimited",
    "Reason",
    "RefusalRow",
    "Refusals",
    "Refused",
    "Reservation",
    "Settled",
    "Shortfall",
    "Spend",
    "SpendRow",
    "Tokenizer",
    "Unavailable",
    "Usage",
    "Weighbridge",
    "WeighbridgeError",
]
