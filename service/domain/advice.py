"""The types of advice: a way to save on one call, what it would change, and where."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from adapters.port import Stop
from service.domain import money
from service.domain.caching import CacheRule, Caching
from service.domain.costing import cost_of
from service.domain.counting import Count
from service.domain.estimate import CallPlan, likely_usage
from service.domain.images import ImageRule
from service.domain.prices import Free, Price, PriceContext, Unknown
from service.domain.request import Request

Weigh = Callable[[Request], Count]
PriceOf = Callable[[PriceContext], Price | Free | Unknown]


@dataclass(frozen=True, slots=True)
class Place:
    """Where something may go: ``length`` code points from ``offset`` on of the text at ``path``.

    ``first_path`` and ``first_offset`` are where a repeated passage stood first. Offsets are ``None`` for a picture.
    """

    path: str
    offset: int | None = None
    length: int | None = None
    first_path: str | None = None
    first_offset: int | None = None


@dataclass(frozen=True, slots=True)
class Saving:
    """Input tokens and dollars of a call as it is and as it would be; dollars are ``None`` where a price is unknown."""

    tokens_before: int
    tokens_after: int
    usd_before: Decimal | None
    usd_after: Decimal | None

    @property
    def tokens_saved(self) -> int:
        """Tokens less; negative where there are more."""
        return self.tokens_before - self.tokens_after

    @property
    def usd_saved(self) -> Decimal | None:
        """Dollars less; negative where there are more."""
        if self.usd_before is None or self.usd_after is None:
            return None
        return money.total([self.usd_before, self.usd_after.copy_negate()])


@dataclass(frozen=True, slots=True)
class Advice:
    """One way to save. ``reason`` is a code that says why it does not apply.

    ``places`` are the first of ``found`` places. ``service_tier`` is the tier that a price is of, ``caching`` what a
    cache would do.
    """

    code: str
    applies: bool
    saving: Saving
    reason: str | None = None
    places: Sequence[Place] = ()
    found: int = 0
    service_tier: str | None = None
    caching: Caching | None = None


@dataclass(frozen=True, slots=True)
class Advised:
    """The count of the call as it is, every way to save, and all changes of the content that apply, made together."""

    count: Count
    usd: Decimal | None
    advice: Sequence[Advice]
    combined: Sequence[str]
    together: Saving


@dataclass(frozen=True, slots=True)
class Call:
    """The call that is asked about, and all that its advice needs.

    ``weigh`` counts a request as ``request`` was counted; ``plan`` says how the call is billed. ``image`` is the rule
    of the model's pictures, ``cache`` that of its cache. ``alternative`` is the request with the caller's own text.
    """

    request: Request
    plan: CallPlan
    weigh: Weigh
    price_of: PriceOf
    image: ImageRule | None = None
    cache: CacheRule | None = None
    alternative: Request | None = None
    stop: Stop | None = None

    def usd(self, count: Count, *, tier: str | None = None, reads: int = 0) -> Decimal | None:
        """What the call costs with the input ``count``; ``reads`` of it, or as many as planned, from the cache."""
        plan = self.plan
        price = self.price_of(plan.context if tier is None else replace(plan.context, service_tier=tier))
        if isinstance(price, Unknown):
            return None
        read = min(max(reads, plan.cache.read_tokens), count.tokens)
        return cost_of(likely_usage(count, price, plan, plan.expected_output_tokens or 0, read), price).usd

    def saving(self, before: Count, after: Count) -> Saving:
        """What it saves to send ``after`` in place of ``before``."""
        return Saving(before.tokens, after.tokens, self.usd(before), self.usd(after))
