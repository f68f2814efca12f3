"""From the name a caller writes to the name the catalog knows: sellers, spellings, dates, fine-tunes.

Nothing here guesses. Every step removes something that a vendor or seller is known to add, and what is left has to be
an id or an alias of the catalog, whole: no substring and no prefix of a name ever matches.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum
from types import MappingProxyType

from service.domain.errors import UnknownModel

LONGEST_NAME = 512
_LONGEST_COMPARED = 200
_ALIKE = 0.5
_FIRST_YEAR, _LAST_YEAR = 2019, 2039  # of dates in model names; anything else that looks like one is a number
_NO_ALIASES: Mapping[str, str] = MappingProxyType({})


class Rule(StrEnum):
    """Which rule turned the caller's name into a model of the catalog."""

    EXACT = "exact"
    ALIAS = "alias"
    DATED_SUFFIX = "dated_suffix"
    FINE_TUNED = "fine_tuned"


@dataclass(frozen=True, slots=True)
class Host:
    """Who is paid for a model: its vendor, or a seller of other vendors' models.

    ``prefixes`` select the provider and are cut off (``azure/``); ``marks`` select it and stay (``anthropic.``), since
    the seller's own ids begin with them. ``names`` are other spellings of ``id`` in a ``provider`` field. ``vendors``
    are the vendors sold, ``"*"`` for all; none means that the provider sells its own models only. ``drop_prefixes`` and
    ``drop_suffixes`` are what the seller adds to a vendor's id, and ``neutral`` those of them that change no price;
    ``aliases`` maps the seller's ids to vendors' ids. ``makers`` says which vendor a mark or a prefix names
    (``anthropic.``): under it stand that vendor's models alone. ``price_provider`` is the provider's id in the price
    data, where that is another one.
    """

    id: str
    prefixes: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    vendors: tuple[str, ...] = ()
    marks: tuple[str, ...] = ()
    drop_prefixes: tuple[str, ...] = ()
    drop_suffixes: tuple[str, ...] = ()
    neutral: tuple[str, ...] = ()
    aliases: Mapping[str, str] = field(default_factory=lambda: _NO_ALIASES)
    makers: Mapping[str, str] = field(default_factory=lambda: _NO_ALIASES)
    price_provider: str = ""

    def serves(self, vendor: str) -> bool:
        """Whether a model of ``vendor`` can be bought here."""
        return vendor == self.id or vendor in self.vendors or "*" in self.vendors

    def allows(self, name: str, form: str, vendor: str) -> bool:
        """Whether what stands before ``form`` in ``name`` names no maker but ``vendor``, and nothing twice."""
        before = "/" + name[: name.rfind(form)].replace(".", "/")
        stated = {maker for mark, maker in self.makers.items() if "/" + mark.replace(".", "/") in before}
        parts = before.split("/")[1:-1]
        return stated <= {vendor} and len(parts) == len(set(parts))

    def forms(self, name: str, *, neutral: bool = False) -> Iterator[str]:
        """``name``, then what is left of it as the seller's additions come off, longest first.

        With ``neutral`` only those come off that change no price; where another one stands, the rest stays as it is.
        """
        yield name
        for _ in range(3):  # a route, a region and a vendor
            if not name.startswith(self.drop_prefixes):
                break
            prefix = max((prefix for prefix in self.drop_prefixes if name.startswith(prefix)), key=len)
            if neutral and prefix not in self.neutral:
                break
            name = name[len(prefix) :]
            yield name
        if name.endswith(self.drop_suffixes):
            suffix = max((suffix for suffix in self.drop_suffixes if name.endswith(suffix)), key=len)
            if not neutral or suffix in self.neutral:
                yield name[: -len(suffix)]


def normalised(name: str) -> str:
    """``name`` in lower case without outer blanks, inner ones as hyphens. Raises ``UnknownModel`` if far too long."""
    if len(name) > LONGEST_NAME:
        raise UnknownModel
    if name.isascii():  # of other letters some are lower-cased into ASCII, such as the Kelvin sign
        name = name.lower()
    return "/".join("-".join(part.split()) for part in name.split("/"))


def undated(name: str) -> str | None:
    """``name`` without its date, ``-2024-08-06``, ``-20250929`` or ``@20250929``; None where it ends in no date."""
    for length, separators in ((11, "-"), (9, "-@")):
        tail = name[-length:]
        if len(name) > length and tail[0] in separators and tail.isascii() and _is_date(tail[1:]):
            return name[:-length]
    return None


def _is_date(text: str) -> bool:
    if not text.replace("-", "").isdigit():
        return False  # fromisoformat also reads week dates, which no vendor writes
    try:
        year = date.fromisoformat(text).year
    except ValueError:
        return False
    return _FIRST_YEAR <= year <= _LAST_YEAR


def fine_tuned_base(name: str) -> str | None:
    """The model that was fine-tuned: ``ft:BASE:organisation::id`` or ``BASE.ft-id``; None where ``name`` is neither."""
    if name.startswith("ft:"):
        return name[3:].partition(":")[0]
    base, found, _ = name.partition(".ft-")
    return base if found else None


class Nearest:
    """Finds the known names most like a misspelt one, by the pairs of characters they share (Dice's coefficient)."""

    def __init__(self, names: Iterable[str]) -> None:
        self._known = [(name, _pairs(name)) for name in names]

    def search(self, name: str, limit: int = 3) -> tuple[str, ...]:
        """At most ``limit`` names, best first; none for a name too long to be a slip of the pen."""
        if not 0 < len(name) <= _LONGEST_COMPARED:
            return ()
        pairs = _pairs(name)
        scored = ((2 * len(pairs & other) / (len(pairs) + len(other)), known) for known, other in self._known)
        alike = ((-score, len(known), known) for score, known in scored if score >= _ALIKE)
        return tuple(known for _, _, known in heapq.nsmallest(limit, alike))


def _pairs(name: str) -> frozenset[str]:
    return frozenset(map("".join, zip(f" {name}", f"{name} ", strict=True)))
