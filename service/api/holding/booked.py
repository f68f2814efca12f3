"""Names of models as the ledger books them: the catalog's id, or a seller and that id."""

from __future__ import annotations

from service.domain.catalog import Resolution
from service.domain.resolution import Rule, normalised


def booked_name(found: Resolution, given: str) -> str | None:
    """What calls of the model called ``given`` are booked under, ``None`` where that holds other calls too.

    A name with its seller (``azure/gpt-4o``) means that seller's calls, a bare id those of every seller. The ledger
    tells neither dates nor fine-tunes apart: a dated name is booked as its model, and a budget of it counts the whole
    model; with a fine-tune that would hardly be what was meant.
    """
    if found.rule is Rule.FINE_TUNED:
        return None
    named_seller = found.provider != found.model.provider or normalised(given) != found.requested
    return f"{found.provider}/{found.model.id}" if named_seller else found.model.id
