r"""What the price list calls its models: other names for the price book, and models that the catalog lacks.

Only whole names count: ids, ``equals`` clauses, and ``regex`` clauses that are anchored at both ends and simple:
letters, escaped marks, classes, ``\d{n}`` and a few optional groups of those, so that no name takes long to compare.
``starts_with``, ``ends_with`` and ``contains`` match what nobody has looked at, so they never count.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from service.domain.catalog import Catalog, Kind, ModelSpec
from service.domain.prices import PriceNames, PriceRow
from service.domain.resolution import Host, normalised

if TYPE_CHECKING:
    from genai_prices.types import ModelInfo, Provider

_ATOM = r"(?:[A-Za-z0-9/_:@=-]|\\[.\[\]/_:@+-]|\\d(?:\{[1-9]\d?\})?|\[[A-Za-z0-9@._:/-]{1,40}\])"
_SIMPLE = re.compile(rf"\^(?:{_ATOM}|\({_ATOM}{{1,60}}\)\?){{1,200}}\$")
_LONGEST_PATTERN = 200
_MOST_OPTIONAL = 4
_REGIONAL, _GLOBAL = "regional.", "global."


def names_of(providers: Iterable[Provider], hosts: Iterable[Host] = ()) -> PriceNames:
    """The other names of the models of ``providers``, by the list's own provider ids, in lower case.

    For a seller whose ids carry a vendor and a version (``hosts`` with marks) an id also counts without them. One that
    begins with ``regional.`` is the price of the name without that, and of the regions that its clauses name.
    """
    marked = {host.price_provider or host.id: host for host in hosts if host.marks}
    exact: dict[tuple[str, str], str] = {}
    patterns: dict[str, list[tuple[re.Pattern[str], str]]] = {}
    for provider in providers:
        claims: dict[str, set[str]] = {}
        for model in provider.models:
            for kind, text in _clauses(model.match):
                if kind == "equals":
                    claims.setdefault(text.lower(), set()).add(model.id.lower())
                elif (pattern := _anchored(text)) is not None:
                    patterns.setdefault(provider.id, []).append((pattern, model.id.lower()))
        host = marked.get(provider.id)
        if host is not None:
            for name, models in _shorter(provider.models, host).items():
                claims.setdefault(name, models)
        exact |= {(provider.id, name): next(iter(models)) for name, models in claims.items() if len(models) == 1}
        exact |= {(provider.id, model.id.lower()): model.id.lower() for model in provider.models}
    return PriceNames(exact, patterns)


def catalog_models(providers: Iterable[Provider], catalog: Catalog, *, source: str, checked: str) -> list[ModelSpec]:
    """The models of ``providers`` that ``catalog`` does not find, so that their cost can be asked for."""
    sellers = _sellers(catalog)
    found: dict[tuple[str, str], ModelSpec] = {}
    for provider in providers:
        hosts = sellers.get(provider.id) or [Host(provider.id)]
        for model in provider.models:
            name = normalised(model.id)
            if _is_known(catalog, hosts, name):
                continue
            seller = _seller(hosts, name)
            names = (normalised(text) for kind, text in _clauses(model.match) if kind == "equals")
            aliases = tuple(alias for alias in dict.fromkeys(names) if (seller, alias) not in found and alias != name)
            spec = ModelSpec(
                seller,
                name,
                aliases,
                context_window=model.context_window or None,
                kind="chat" if _writes(model) else "embedding",
                source=source,
                checked=checked,
            )
            found |= dict.fromkeys(((seller, name), *((seller, alias) for alias in aliases)), spec)
    return list({id(spec): spec for spec in found.values()}.values())


def patched_models(rows: Iterable[PriceRow], catalog: Catalog, listed: Iterable[ModelSpec]) -> list[ModelSpec]:
    """The models that ``rows`` name and neither ``catalog`` nor the price list's models (``listed``) have."""
    sellers = _sellers(catalog)
    names = {(spec.provider, name) for spec in listed for name in (spec.id, *spec.aliases)}
    found: dict[tuple[str, str], ModelSpec] = {}
    for row in rows:
        hosts = [catalog.hosts[row.provider]] if row.provider in catalog.hosts else sellers.get(row.provider)
        hosts = hosts or [Host(row.provider)]
        key = (_seller(hosts, row.model), row.model)
        if "*" not in row.model and key not in names and not _is_known(catalog, hosts, row.model):
            kind: Kind = "embedding" if row.rates.keys() == {"input_mtok"} else "chat"
            found.setdefault(key, ModelSpec(*key, kind=kind, source=row.source, checked=row.checked))
    return list(found.values())


def _sellers(catalog: Catalog) -> dict[str, list[Host]]:
    """The hosts by the price list's id of them: a vendor and a cloud may be one there."""
    sellers: dict[str, list[Host]] = {}
    for host in catalog.hosts.values():
        sellers.setdefault(host.price_provider or host.id, []).append(host)
    return sellers


def _is_known(catalog: Catalog, hosts: Iterable[Host], name: str) -> bool:
    return any(host.id in catalog.hosts and catalog.known(name, host.id) is not None for host in hosts)


def _seller(hosts: Sequence[Host], name: str) -> str:
    return next((host for host in hosts if name.startswith(host.marks)), hosts[0]).id


def _writes(model: ModelInfo) -> bool:
    """Whether the list knows a rate for output, or no rate at all."""
    prices = [item.prices for item in model.prices] if isinstance(model.prices, list) else [model.prices]
    keys = {key for price in prices for key, value in vars(price).items() if value is not None}
    return keys != {"input_mtok"}


def _clauses(match: Any) -> Iterator[tuple[str, str]]:
    """The clauses of which one alone makes a match: (``equals`` or ``regex``, its text)."""
    if hasattr(match, "or_"):
        for clause in match.or_:
            yield from _clauses(clause)
    elif hasattr(match, "equals"):
        yield "equals", match.equals
    elif hasattr(match, "regex"):
        yield "regex", match.regex


def _anchored(text: str) -> re.Pattern[str] | None:
    """``text`` as a pattern where it is simple; anything else matches nothing, whoever sent the list."""
    if len(text) > _LONGEST_PATTERN or text.count("?") > _MOST_OPTIONAL or _SIMPLE.fullmatch(text) is None:
        return None
    try:
        return re.compile(text, re.IGNORECASE | re.ASCII)
    except re.error:
        return None


def _shorter(models: Sequence[ModelInfo], host: Host) -> Mapping[str, set[str]]:
    """Names that come of the ids of ``models`` as region, vendor and version go, each with the ids it comes of."""
    claims: dict[str, set[str]] = {}
    for model in models:
        name = model.id.lower()
        rest = name.removeprefix(_REGIONAL).removeprefix(_GLOBAL)
        scope = _GLOBAL if name.startswith(_GLOBAL) else ""
        bare = _unversioned(rest, host)
        forms = {scope + rest, scope + bare}
        vendor, dot, own = bare.partition(".")
        if dot and not scope and f"{vendor}." in host.marks:
            forms |= {own, rest.removeprefix(f"{vendor}.")}
        if name.startswith(_REGIONAL):
            forms |= set(_regions(model.match, bare, host))
        for form in forms:
            claims.setdefault(form, set()).add(name)
    return claims


def _regions(match: Any, bare: str, host: Host) -> Iterator[str]:
    """The regional names that a ``regional.`` id stands for: whole ones, whatever kind of clause has them."""
    for clause in getattr(match, "or_", (match,)):
        for text in vars(clause).values():
            name = _unversioned(str(text).lower(), host)
            if name.endswith(f".{bare}") and f"{name[: -len(bare)]}{bare.partition('.')[0]}." in host.marks:
                yield name


def _unversioned(name: str, host: Host) -> str:
    endings = [suffix for suffix in host.drop_suffixes if name.endswith(suffix)]
    return name[: -max(map(len, endings))] if endings else name
