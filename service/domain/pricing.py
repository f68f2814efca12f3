"""From a resolved model to its price."""

from __future__ import annotations

from datetime import datetime

from service.domain.catalog import Catalog, Resolution
from service.domain.pricenames import price_names
from service.domain.prices import Free, Price, PriceBook, PriceContext, Unknown


class Pricer:
    """Prices of resolved models, from one price book."""

    def __init__(self, catalog: Catalog, book: PriceBook) -> None:
        self._catalog = catalog
        self.book = book

    def price(self, found: Resolution, at: datetime, context: PriceContext) -> Price | Free | Unknown:
        """What the seller asks for the model at ``at``; another seller's price is never taken in its place."""
        model = self.book.find(found.provider, price_names(found, self._catalog.hosts.get(found.provider)))
        if model is None:
            return Unknown("model", "No price is known for this model at this provider.")
        return self.book.price(found.provider, model, at, context)
