"""How a call was served, from vendors' words to ours."""

from __future__ import annotations

from collections.abc import Mapping

OTHER_TIER = "other"
"""A service tier without a public price: provisioned or reserved capacity, or a word that is not known here."""

_TIERS: Mapping[str, str | None] = {
    "standard": "standard",
    "default": "standard",
    "on_demand": "standard",
    "batch": "batch",
    "flex": "flex",
    "on_demand_flex": "flex",
    "priority": "priority",
    "on_demand_priority": "priority",
    "fast": "fast",
    # What was asked for, or nothing: not how the call was served.
    "auto": None,
    "": None,
    "unspecified": None,
    "traffic_type_unspecified": None,
}
_NO_REGION = frozenset({"", "global", "not_available"})


def served_tier(word: str) -> str | None:
    """Our word for a vendor's; None where it does not say how the call was served, ``OTHER_TIER`` for any other."""
    return _TIERS.get(word.strip().lower(), OTHER_TIER)


def served_region(word: str) -> str | None:
    """The region that a price may depend on; None for the world's."""
    word = word.strip().lower()
    return None if word in _NO_REGION else word
