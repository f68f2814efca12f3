"""The price book of the service: the price list of a package, then the package's own patches, then the user's file."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from service.configfile import DATA, Config, shipped_prices
from service.configfile.document import Document
from service.configfile.prices import PriceFile
from service.domain.catalog import Catalog
from service.domain.errors import InvalidConfig
from service.domain.prices import PriceBook, PriceRow
from service.domain.resolution import Host
from service.pricebook.genai import rows_of
from service.pricebook.names import catalog_models, names_of, patched_models

if TYPE_CHECKING:
    from genai_prices.types import Provider

__all__ = ["PriceList", "bundled_list", "price_book", "priced_catalog", "rows_of"]


@dataclass(frozen=True, slots=True)
class PriceList:
    """A price list as the genai-prices package reads it, and what its rows say of where they are from.

    ``bundled`` is the list of the installed package, by which the user's file is checked. ``checked`` is a day as
    ``YYYY-MM-DD``, empty where nobody knows when the list was compared with its sources.
    """

    providers: Sequence[Provider] = field(repr=False)
    source: str
    revision: str
    checked: str
    bundled: bool = False


def bundled_list(data: Path = DATA) -> PriceList:
    """The list inside the installed package. Its import takes a fifth of a second, so only callers pay for it."""
    from genai_prices import data as listed  # noqa: PLC0415 - slow, see above

    row = next(Document(data / "price_list.toml", ("price_list",)).rows("price_list"))
    name, version = row.text("package"), metadata.version(row.text("package"))
    return PriceList(
        providers=listed.providers,
        source=f"{name} {version}",
        revision=hashlib.sha256(Path(listed.__file__).read_bytes()).hexdigest()[:12],
        checked=row.day("checked") if version == row.text("version") else "",
        bundled=True,
    )


def priced_catalog(catalog: Catalog, prices: PriceList, config: Config | None = None, *, data: Path = DATA) -> Catalog:
    """``catalog`` with the models of which only ``prices``, our patches or the user's prices know."""
    listed = catalog_models(prices.providers, catalog, source=prices.source, checked=prices.checked)
    rows = [row for file in _files(config, data) for row in file.rows]
    priced = (*listed, *patched_models(rows, catalog, listed))
    return Catalog(catalog.models, tuple(catalog.hosts.values()), priced)


def price_book(
    prices: PriceList,
    catalog: Catalog,
    config: Config | None = None,
    *,
    data: Path = DATA,
    left_out: Counter[str] | None = None,
) -> PriceBook:
    """The book of ``prices``, our patches in ``data``, and what ``config`` says: the later goes before the earlier.

    Of ``catalog`` only the sellers matter. ``left_out`` counts what of the list is no price, as ``rows_of`` says.
    Raises ``InvalidConfig``, with the bundled list also for a multiplier of ``config`` on a model that nobody knows.
    """
    rows = rows_of(
        prices.providers, source=prices.source, revision=prices.revision, checked=prices.checked, left_out=left_out
    )
    *patches, own = _files(config, data)
    hosts = tuple(catalog.hosts.values())
    book = PriceBook(
        [rows, list(_patched(patches, prices.providers, hosts)), own.rows],
        [multiplier for file in (*patches, own) for multiplier in file.multipliers],
        names=names_of(prices.providers, hosts),
        sellers={host.id: host.price_provider for host in hosts if host.price_provider},
    )
    if prices.bundled:  # a refreshed list may have dropped a model, which is no fault of the file
        _require_known(own, catalog, book)
    return book


def _require_known(own: PriceFile, catalog: Catalog, book: PriceBook) -> None:
    for multiplier, line in zip(own.multipliers, own.lines, strict=True):
        for name in sorted(multiplier.models):
            known = multiplier.provider in catalog.hosts and catalog.known(name, multiplier.provider) is not None
            if not known and book.find(multiplier.provider, (name,)) is None:
                raise InvalidConfig(
                    own.path, line, f"'models' names {name!r}, which {multiplier.provider} does not have."
                )


def _patched(files: Iterable[PriceFile], providers: Sequence[Provider], hosts: Iterable[Host]) -> Iterator[PriceRow]:
    """Our rows. A pattern of ours stands for those ids of the price list that it matches, and for no other name."""
    sellers = {host.id: host.price_provider or host.id for host in hosts}
    for row in (row for file in files for row in file.rows):
        if "*" not in row.model:
            yield row
            continue
        pattern = re.compile(".*".join(map(re.escape, row.model.split("*"))))
        seller = sellers.get(row.provider, row.provider)
        ids = (model.id.lower() for provider in providers if provider.id == seller for model in provider.models)
        yield from (replace(row, model=name) for name in ids if pattern.fullmatch(name))


def _files(config: Config | None, data: Path) -> tuple[PriceFile, ...]:
    """Our patches, and last the user's prices."""
    return (*shipped_prices(data), config.prices if config else PriceFile())
