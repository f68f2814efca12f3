"""Which price a hold was made at, as one line of text that is kept with it and read when it is settled."""

from __future__ import annotations

import re
from dataclasses import dataclass

from service.domain.catalog import Resolution
from service.domain.estimate import STANDARD
from service.domain.prices import Free, Price, PriceContext, Unknown

_WORD = re.compile(r"[A-Za-z0-9._:/@+-]{1,200}")


@dataclass(frozen=True, slots=True)
class PriceMark:
    """The price list's ``revision``; the name of its row where that is not the model's id; and how the call is sold.

    A fine-tuned model, say, has a row of its own, which the model's id alone does not tell.
    """

    revision: str = ""
    model: str | None = None
    context: PriceContext = STANDARD

    def __str__(self) -> str:
        context = self.context
        tier = None if context.service_tier == "standard" else context.service_tier
        parts = {"model": self.model, "service_tier": tier, "region": context.region}
        kept = [f"{name}={value}" for name, value in parts.items() if value and _WORD.fullmatch(value)]
        return " ".join((self.revision, *kept))

    @staticmethod
    def read(text: str) -> PriceMark:
        """The mark that was written as ``text``."""
        revision, *parts = text.split(" ")
        told = dict(part.split("=", 1) for part in parts if "=" in part)
        context = PriceContext(told.get("service_tier", "standard"), told.get("region"))
        return PriceMark(revision, told.get("model"), context)


def price_mark(found: Resolution, price: Price | Free | Unknown, context: PriceContext) -> PriceMark:
    """The mark of the price that a model has."""
    if isinstance(price, Unknown):
        return PriceMark(context=context)
    name = None if price.row.model == found.model.id else price.row.model
    return PriceMark(price.row.revision, name, context)
