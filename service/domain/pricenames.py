"""From a resolved model to the names under which its seller's price may be kept."""

from __future__ import annotations

from collections.abc import Iterator

from service.domain.catalog import Resolution
from service.domain.resolution import Host, Rule, fine_tuned_base, undated


def price_names(found: Resolution, host: Host | None) -> tuple[str, ...]:
    """The names to ask ``PriceBook.find`` for, the caller's own spelling first; ``host`` is who sells the model.

    The vendor's price goes by the model's other names too. A seller's goes by them only where nothing of the spelling
    is lost that changes the price: ``host.neutral`` says which of its additions do not. The seller's prefix may be part
    of its ids. A fine-tuned model has the price of fine-tuned ones (``ft:`` and its base), never that of its base.
    """
    if found.rule is Rule.FINE_TUNED:
        base = fine_tuned_base(found.requested.rpartition("/")[2]) or found.model.id
        return tuple(dict.fromkeys((found.requested, f"ft:{base}", f"ft:{undated(base) or base}")))
    own = (found.model.id, *found.model.aliases)
    if host is None or host.id == found.model.provider:
        return tuple(dict.fromkeys((found.requested, undated(found.requested) or found.requested, *own)))
    names = dict.fromkeys((*_spellings(found.requested, host), f"{host.id}/{found.requested}"))
    return tuple(dict.fromkeys((*names, *own))) if names.keys() & set(own) else tuple(names)


def _spellings(name: str, host: Host) -> Iterator[str]:
    for form in host.forms(name, neutral=True):
        yield form
        if form in host.aliases:
            yield host.aliases[form]
        plain = undated(form)
        if plain is not None:
            yield plain
