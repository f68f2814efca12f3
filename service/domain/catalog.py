"""The models that can be asked about: who makes them, how their text is counted, and how sure that count is."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_HALF_EVEN, Decimal
from enum import StrEnum
from types import MappingProxyType
from typing import Literal

from adapters.port import well_formed
from service.domain.errors import NoTokenizer, UnknownModel, UnknownProvider
from service.domain.resolution import Host, Nearest, Rule, fine_tuned_base, normalised, undated

Kind = Literal["chat", "embedding", "completion"]

_LAG = 12  # periods 1, 2, 3, 4, 6 and 12 all repeat at this distance
_SAME = re.compile(rb"\0{8,}")
_FOUR_BYTE_STARTS = b"\xf0\xf1\xf2\xf3\xf4"
_CONTROLS = bytes({*range(0x20), 0x7F} - set(b"\t\n"))
_PRIVATE_USE = re.compile(rb"\xee[\x80-\xbf]{2}|\xef[\x80-\xa3][\x80-\xbf]")
_BLANKS = b" \t\n\r\x0b\x0c"
_CAPITALS = re.compile(rb"[A-Z]{2,}")
_DEAREST_EMOJI = 2  # a stand-in may hold an emoji as one token where the vendor spends three


class Accuracy(StrEnum):
    """How sure a count is, best first."""

    EXACT = "exact"
    CLOSE = "close"
    APPROXIMATE = "approximate"
    UNKNOWN = "unknown"

    @property
    def rank(self) -> int:
        """0 for exact, rising as the count gets less sure."""
        return _RANKS[self]

    @staticmethod
    def worst(parts: Iterable[Accuracy]) -> Accuracy:
        """The least sure of ``parts``: a whole is no surer than its parts. Exact where there are none."""
        return max(parts, key=_RANKS.__getitem__, default=Accuracy.EXACT)


_RANKS = {accuracy: rank for rank, accuracy in enumerate(Accuracy)}


@dataclass(frozen=True, slots=True)
class Measures:
    """What an estimator's bounds depend on beside the count.

    Bytes that repeat what stood before (``blank`` ones and others), characters beyond the BMP, tokens that a vendor may
    drop, and capitals that follow a capital. Those of parts that overlap add up to the whole's, or to more.
    """

    blank: int = 0
    solid: int = 0
    emoji: int = 0
    vanishing: int = 0
    shouted: int = 0

    def __add__(self, other: Measures) -> Measures:
        return Measures(
            self.blank + other.blank,
            self.solid + other.solid,
            self.emoji + other.emoji,
            self.vanishing + other.vanishing,
            self.shouted + other.shouted,
        )


@dataclass(frozen=True, slots=True)
class Estimator:
    """Turns a count by ``tokenizer`` into an estimate for a model whose own vocabulary is not at hand.

    ``factor`` is typical of English and code; ``low`` and ``high`` held for every text measured (see ``source``), with
    ``slack`` tokens to spare on either side, which is what short texts need. With ``repeats``, what no factor can hold
    is added to the bounds from the text itself: stretches that repeat, which vocabularies merge very differently,
    emoji, and characters that a vendor may drop. ``capitals`` is what each further letter of a word in capitals may
    cost, for vocabularies that lack them.
    """

    tokenizer: str
    factor: Decimal
    low: Decimal
    high: Decimal
    slack: int = 4
    repeats: bool = True
    capitals: Decimal = Decimal(0)
    source: str = ""
    checked: str = ""

    def bounds(self, count: int, text: str = "") -> tuple[int, int, int]:
        """Tokens, low and high where ``tokenizer`` counts ``count``; repetitions are seen only in a ``text`` given."""
        return self.bounds_of(count, self.measure(text))

    def measure(self, text: str) -> Measures:
        """What of ``text`` the bounds depend on."""
        blank, solid, emoji = _unsettled(text) if self.repeats else (0, 0, 0)
        return Measures(blank, solid, emoji, _vanishing(text) if self.repeats else 0, self._shouted(text))

    def bounds_of(self, count: int, seen: Measures) -> tuple[int, int, int]:
        """Tokens, low and high of a text with these measures."""
        if not count:
            return 0, 0, 0
        visible = max(0, count - seen.vanishing)
        low = math.floor(visible * self.low) - self.slack - seen.blank - seen.solid
        low = max(1 if visible == count else 0, low)
        high = math.ceil(count * self.high + self.capitals * seen.shouted)
        high += self.slack + seen.solid + _DEAREST_EMOJI * seen.emoji
        tokens = int((count * self.factor).to_integral_value(ROUND_HALF_EVEN))
        return min(max(tokens, low, 1), high), low, high

    def most(self, limit: int) -> int:
        """The most tokens that ``tokenizer`` may count where ``high`` is not to pass ``limit``."""
        return math.floor(limit / self.high)

    def _shouted(self, text: str) -> int:
        """Capitals that follow a capital, where they matter."""
        if not self.capitals:
            return 0
        return sum(len(word) - 1 for word in _CAPITALS.findall(well_formed(text).encode()))


def _vanishing(text: str) -> int:
    """Tokens that a stand-in may spend on characters which a vendor may drop: control and private-use characters."""
    data = well_formed(text).encode()
    controls = len(data) - len(data.translate(None, _CONTROLS))
    private = 0 if text.isascii() else len(_PRIVATE_USE.findall(data))
    return controls + 3 * private


def _unsettled(text: str) -> tuple[int, int, int]:
    """Bytes of white space and of anything else that merely repeat what stood before, and characters beyond the BMP.

    The text is compared with itself shifted by 12 bytes, as one long number, so the cost is linear and small.
    """
    data = well_formed(text).encode()
    emoji = 0 if text.isascii() else len(data) - len(data.translate(None, _FOUR_BYTE_STARTS))
    if len(data) < _LAG + 8:
        return 0, 0, emoji
    difference = int.from_bytes(data[_LAG:], "big") ^ int.from_bytes(data[:-_LAG], "big")
    blank = solid = 0
    for match in _SAME.finditer(difference.to_bytes(len(data) - _LAG, "big")):
        stretch = data[match.start() : match.end() + _LAG]
        rest = len(stretch.translate(None, _BLANKS))
        blank += len(stretch) - rest
        solid += rest
    return blank, solid, emoji


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """A model as its vendor sells it.

    ``tokenizer`` names its vocabulary; ``accuracy`` is what a count with it is worth, ``reasons`` the codes why it is
    no better, and ``own_bounds`` the error then (None where exact). ``estimator`` stands in where there is no
    vocabulary, or it is not installed. ``context_window`` and ``max_output_tokens`` are None where no source gives
    them. ``checked`` is a date as ``YYYY-MM-DD``.
    """

    provider: str
    id: str
    aliases: tuple[str, ...] = ()
    tokenizer: str | None = None
    accuracy: Accuracy = Accuracy.UNKNOWN
    reasons: tuple[str, ...] = ()
    estimator: Estimator | None = None
    own_bounds: Estimator | None = None
    context_window: int | None = None
    max_output_tokens: int | None = None
    kind: Kind = "chat"
    source: str = ""
    checked: str = ""


@dataclass(frozen=True, slots=True)
class Resolution:
    """What a name means: the model, who sells it, and the rule that decided.

    ``requested`` is the name in the seller's own spelling, as a price list has it (dates and fine-tunes may have their
    own price). It can hold the caller's words: never a label, never kept.
    """

    model: ModelSpec
    provider: str
    rule: Rule
    requested: str


class Catalog:
    """All models by name. A lookup never guesses: it gives one model, or says that there is none.

    ``priced`` are models of which only the price is known: they answer to what no other model answers to, and where a
    seller has them, only together with the seller's name.
    """

    def __init__(
        self, models: Sequence[ModelSpec], hosts: Sequence[Host] = (), priced: Sequence[ModelSpec] = ()
    ) -> None:
        self.models = tuple(models)
        self.priced = tuple(priced)
        providers = dict.fromkeys(model.provider for model in (*models, *priced))
        makers = [Host(name, prefixes=(f"{name}/",)) for name in providers]
        known = {host.id for host in hosts}
        self.hosts: Mapping[str, Host] = MappingProxyType(
            {host.id: host for host in (*hosts, *(host for host in makers if host.id not in known))}
        )
        self._named_hosts = {name: host for host in self.hosts.values() for name in (host.id, *host.names)}
        self._partners: dict[str, list[Host]] = {}
        for host in self.hosts.values():
            self._partners.setdefault(host.price_provider or host.id, []).append(host)
        self._prefixes = {prefix: host for host in self.hosts.values() for prefix in host.prefixes}
        self._marks = {mark: host for host in self.hosts.values() for mark in host.marks}
        self._longest_prefix = max((len(text) for text in (*self._prefixes, *self._marks)), default=0)
        self._own: dict[str, dict[str, Resolution]] = {}
        self._bare: dict[str, Resolution] = {}
        self._index(self.models)
        # A bare name means the vendor; a seller's own row answers only where no vendor has the name.
        for provider in sorted(self._own, key=self._sells):
            for name, resolution in self._own[provider].items():
                self._bare.setdefault(name, resolution)
        self._index(self.priced)
        for model in self.priced:
            if not self._sells(model.provider):
                for name in (model.id, *model.aliases):
                    if "/" not in name:  # that is a seller's prefix
                        self._bare.setdefault(name, self._own[model.provider][name])
        self._nearest = Nearest(name for name, found in self._bare.items() if found.rule is Rule.EXACT)

    def _sells(self, provider: str) -> bool:
        """Whether ``provider`` sells other vendors' models."""
        return bool(self.hosts[provider].vendors)

    def _index(self, models: Iterable[ModelSpec]) -> None:
        for model in models:
            own = self._own.setdefault(model.provider, {})
            own.setdefault(model.id, Resolution(model, model.provider, Rule.EXACT, model.id))
        for model in models:
            own = self._own[model.provider]
            for alias in model.aliases:
                own.setdefault(alias, Resolution(model, model.provider, Rule.ALIAS, alias))

    def price_providers(self, name: str) -> set[str]:
        """The ids under which a price list may keep the rows of the provider called ``name``."""
        host = self._named_hosts.get(name)
        return {name} if host is None else {name, host.id, host.price_provider or host.id}

    def resolve(self, name: str, provider: str | None = None) -> Resolution:
        """The model that ``name`` means and can be counted. Raises ``UnknownModel`` or ``NoTokenizer``."""
        resolution = self.find(name, provider)
        model = resolution.model
        if model.tokenizer is None and model.estimator is None:
            raise NoTokenizer(model.id)
        return resolution

    def find(self, name: str, provider: str | None = None) -> Resolution:
        """As ``resolve``, also for a model of which only the price is known. Raises ``UnknownModel``."""
        found = self.known(name, provider)
        if found is None:
            raise UnknownModel(self._nearest.search(self._select(normalised(name), provider)[1]))
        return found

    def known(self, name: str, provider: str | None = None) -> Resolution | None:
        """As ``find``, with None for a model that nobody knows. Raises ``UnknownProvider``."""
        if provider is None:
            known = self._bare.get(name)
            if known is not None:
                return known
        text = normalised(name)
        host, rest = self._select(text, provider)
        whole = None if host is None or rest == text else self._own.get(host.id, {}).get(text)
        if whole is not None and provider is not None:
            return whole  # an own id that begins as the prefix does
        for form in (rest,) if host is None else host.forms(rest):
            found = self._match(form, host)
            if found is not None and host is not None and not host.allows(text, form, found.model.provider):
                return whole
            if found is not None:
                seller = found.model.provider if host is None else host.id
                return Resolution(found.model, seller, found.rule, rest)
        if whole is None and host is not None and provider is None and rest.startswith(host.prefixes):
            whole = self.known(rest, host.id)  # a seller whose own ids begin as its prefix does
        if whole is None and host is not None and provider is None and rest != text:
            whole = self._by_partner(host, rest)
        return whole

    def _by_partner(self, host: Host, name: str) -> Resolution | None:
        """``name`` at another of those whom the price data has under one id: a cloud and its own vendor."""
        partners = self._partners[host.price_provider or host.id]
        found = (self.known(name, partner.id) for partner in partners if partner is not host)
        return next((resolution for resolution in found if resolution is not None), None)

    def _select(self, text: str, provider: str | None) -> tuple[Host | None, str]:
        """The provider asked for, None for "the vendor, whoever it is", and the name without the provider's prefix."""
        if provider is not None:
            host = self._named_hosts.get(normalised(provider))
            if host is None:
                raise UnknownProvider(Nearest(self.hosts).search(normalised(provider)))
            cut = max((len(prefix) for prefix in host.prefixes if text.startswith(prefix)), default=0)
            return host, text[cut:]
        if text in self._bare:
            return None, text
        for end in range(min(len(text), self._longest_prefix), 0, -1):
            if text[end - 1] in "/.":
                start = text[:end]
                if start in self._prefixes:
                    return self._prefixes[start], text[end:]
                if start in self._marks:
                    return self._marks[start], text
        return None, text

    def _match(self, name: str, host: Host | None) -> Resolution | None:
        """The model called ``name``, or so called once its date or fine-tune is off."""
        found = self._named(name, host)
        if found is not None:
            return found
        plain = undated(name)
        if plain is not None:
            found = self._named(plain, host)
            return found and replace(found, rule=Rule.DATED_SUFFIX)
        base = fine_tuned_base(name)
        if base is not None:
            found = self._named(base, host) or self._named(undated(base) or base, host)
            return found and replace(found, rule=Rule.FINE_TUNED)
        return None

    def _named(self, name: str, host: Host | None) -> Resolution | None:
        """The model that ``host`` (None: any vendor) sells under exactly this name."""
        if host is None:
            return self._bare.get(name)
        own = self._own.get(host.id, {}).get(name)
        if own is not None:
            return own
        alias = host.aliases.get(name)
        found = self._bare.get(name if alias is None else alias)
        if found is None and "/" in name:
            start = name[: name.index("/") + 1]
            vendor = self._prefixes.get(start)
            if vendor is not None:
                found = self._own.get(vendor.id, {}).get(name[len(start) :])
        if found is None or not host.serves(found.model.provider):
            return None
        return found if alias is None else replace(found, rule=Rule.ALIAS)


def merge(models: Sequence[ModelSpec], later: Sequence[ModelSpec]) -> tuple[ModelSpec, ...]:
    """``models`` with ``later`` put over them: the same (provider, id) is replaced, a name that is taken over moves."""
    taken = {(model.provider, name) for model in later for name in (model.id, *model.aliases)}
    kept = []
    for model in models:
        if (model.provider, model.id) in taken:
            continue
        free = tuple(alias for alias in model.aliases if (model.provider, alias) not in taken)
        kept.append(model if free == model.aliases else replace(model, aliases=free))
    return (*kept, *later)


def clashes(models: Iterable[ModelSpec]) -> list[tuple[str, str]]:
    """Every (provider, name) that two models claim, as id or alias."""
    seen: set[tuple[str, str]] = set()
    names = [(model.provider, name) for model in models for name in (model.id, *model.aliases)]
    return [key for key in names if key in seen or seen.add(key)]  # type: ignore[func-returns-value]  # add is None
