"""Reading a vendor's usage field by field, so that nothing in it goes unseen or is taken for something else.

Three rules hold for every form: what contradicts itself is refused with the field's path, a count that is ``null`` is
not zero, and a number under a name that nobody asked for is named in a warning.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from types import MappingProxyType
from typing import Any, NoReturn

from service.api.errors import ApiError
from service.domain.notices import Notice
from service.domain.prices import Free, Price, Unknown
from service.domain.usage import Usage

MOST_TOKENS = 10**12
_LEAST = 1e-12  # less than that has more digits than exact sums have room for
_MOST_UNKNOWN = 20
_PLAIN = re.compile(r"[A-Za-z0-9_-]{1,64}\Z")


@dataclass(frozen=True, slots=True)
class Reading:
    """What a usage says: ``counts`` by the names of ``Usage``, ``fees`` by unit, and how the call was served.

    ``service_tier`` and ``region`` are None where the usage does not say. ``sold_as_text`` are the modalities of input
    that this vendor sells at the rate of text where its price list has no rate of their own.
    """

    counts: Mapping[str, int]
    fees: Mapping[str, Decimal] = field(default_factory=lambda: MappingProxyType({}))
    service_tier: str | None = None
    region: str | None = None
    sold_as_text: tuple[str, ...] = ()

    def usage(self, price: Price | Free | Unknown) -> Usage:
        """The usage in the units of ``price``. Raises ``InconsistentUsage``."""
        rates = price.row.rates if isinstance(price, Price) else {}
        merged = {
            name
            for modality in self.sold_as_text
            if f"input_{modality}_mtok" not in rates
            for name in (f"input_{modality}_tokens", f"cache_{modality}_read_tokens")
        }
        counts = {name: count for name, count in self.counts.items() if name not in merged}
        return Usage(**counts, other=MappingProxyType({n: quantity for n, quantity in self.fees.items() if quantity}))


class Block:
    """One JSON object of a usage. Every name that is asked for counts as known; ``close`` warns of the others."""

    def __init__(self, values: Mapping[str, Any], path: str, notices: list[Notice]) -> None:
        self.path = path
        self._values = values
        self._notices = notices
        self._known: set[str] = set()
        self._inner: dict[str, Block] = {}

    def __bool__(self) -> bool:
        return bool(self._values)

    def at(self, name: str) -> str:
        """The path of a field."""
        return f"{self.path}.{name}"

    def has(self, name: str) -> bool:
        """Whether a field is there, be it ``null``."""
        return name in self._values

    def states(self, name: str) -> bool:
        """Whether a field is there and is not ``null``."""
        return self._values.get(name) is not None

    def whole(self, name: str) -> int:
        """A count that the form always has. Raises ``ApiError`` where it is missing or ``null``: that is not zero."""
        count = self._count(name)
        if count is None:
            how = "null, which is not zero" if name in self._values else "missing"
            detail = f"{name} is {how}. Send the usage as the vendor answered it, or with the number that was billed."
            raise ApiError(422, "usage_missing", detail, path=self.at(name))
        return count

    def stated(self, name: str) -> int | None:
        """A count, or None where it is missing or ``null``."""
        return self._count(name)

    def part(self, *names: str) -> int:
        """A count that stands only where there is something to count; ``names`` are spellings of one field."""
        return same(*((self, name) for name in names))

    def quantity(self, name: str) -> Decimal:
        """A number that need not be whole, such as seconds; 0 where it is missing or ``null``."""
        self._known.add(name)
        value = self._values.get(name)
        if value is None or value == {}:  # Mistral writes an empty object for no audio
            return Decimal(0)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ApiError(422, "invalid_request", "Give a number.", path=self.at(name))
        if not 0 <= value <= MOST_TOKENS or 0 < value < _LEAST:
            self.refuse(name, f"{name} is negative or out of range")
        return Decimal(str(value))

    def word(self, name: str) -> str:
        """A word, empty where it is missing or not a string."""
        self._known.add(name)
        value = self._values.get(name)
        return value if isinstance(value, str) else ""

    def block(self, *names: str) -> Block:
        """An object inside, empty where it is missing or ``null``; ``names`` are spellings of one field."""
        self._known.update(names)
        return self._inside(self._values.get(name := self._spelling(names)), self.at(name))

    def blocks(self, *names: str) -> Iterator[Block]:
        """The objects of a list inside."""
        self._known.update(names)
        value = self._values.get(name := self._spelling(names))
        if value is not None and not isinstance(value, list):
            raise ApiError(422, "invalid_request", "Give a list of objects.", path=self.at(name))
        for index, item in enumerate(value or ()):
            yield self._inside(item, f"{self.at(name)}[{index}]")

    def ignore(self, *names: str) -> None:
        """Fields that are known and not billed."""
        self._known.update(names)

    def warn(self, code: str, message: str, name: str) -> None:
        """Say something about a field."""
        self._notices.append(Notice(code, message, self.at(name)))

    def refuse(self, name: str, problem: str) -> NoReturn:
        """Raise ``ApiError``: the usage contradicts itself at a field."""
        detail = f"The usage contradicts itself: {problem}. Send it as the vendor answered it."
        raise ApiError(422, "inconsistent_usage", detail, path=self.at(name))

    def within(self, part: int, name: str, whole: int, whole_name: str) -> None:
        """Refuse a part that is larger than its whole."""
        if part > whole:
            self.refuse(name, f"{name} is more than {whole_name}, which holds it")

    def close(self) -> None:
        """Warn of numbers under names that nobody asked for: they may be billed, and are not priced."""
        unknown = [name for name, value in self._values.items() if name not in self._known and _counts(value)]
        for name in unknown[:_MOST_UNKNOWN]:
            path = self.at(name) if _PLAIN.match(name) else self.path
            message = "This number has a name that is not known here: it is not priced, though it may be billed."
            self._notices.append(Notice("usage_field_unknown", message, path))
        for inner in self._inner.values():
            inner.close()

    def _count(self, name: str) -> int | None:
        self._known.add(name)
        value = self._values.get(name)
        if value is None:
            return None
        if isinstance(value, float) and value.is_integer() and abs(value) <= MOST_TOKENS:
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int) or value > MOST_TOKENS:
            detail = f"Give a whole number, at most {MOST_TOKENS}."
            raise ApiError(422, "invalid_request", detail, path=self.at(name))
        if value < 0:
            self.refuse(name, f"{name} is negative")
        return value

    def _spelling(self, names: tuple[str, ...]) -> str:
        return next((name for name in names if self.states(name)), names[0])

    def _inside(self, value: Any, path: str) -> Block:
        if path not in self._inner:
            if not isinstance(value, dict | None):
                raise ApiError(422, "invalid_request", "Give an object.", path=path)
            self._inner[path] = Block(value or {}, path, self._notices)
        return self._inner[path]


def same(*places: tuple[Block, str]) -> int:
    """One count that may stand in several places: they have to agree. 0 where it is in none.

    Where it is nowhere but as ``null``, a warning says that it is not known: its tokens are priced with their whole.
    """
    found = [(block, name, count) for block, name in places if (count := block.stated(name)) is not None]
    if not found:
        for block, name in places:
            if block.has(name):
                message = f"{name} is null, which is not zero: tokens it may stand for are priced with their whole."
                block.warn("usage_unreported", message, name)
        return 0
    _, first_name, count = found[0]
    for block, name, other in found[1:]:
        if other != count:
            block.refuse(name, f"{name} differs from {first_name}, which is the same count")
    return count


def _counts(value: Any) -> bool:
    """Whether a JSON value holds a number other than zero, at any depth."""
    pending = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, dict):
            pending += item.values()
        elif isinstance(item, list):
            pending += item
        elif isinstance(item, int | float) and not isinstance(item, bool) and item:
            return True
    return False
