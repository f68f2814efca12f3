"""The chat templates that ship with the package or can be fetched, and the models that have them.

Read from ``data/templates.toml``; a template's source stands in ``data/templates``, a fetched one's next to its
vocabulary in the data directory. A file that is not what its row says is never rendered.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import cast

from adapters.carriers import Member
from adapters.manifest import Carrier, Client
from service.configfile.document import Document, Row
from service.configfile.shipped import DATA
from service.rendering.messages import Arguments, Content, Form, Missing
from service.rendering.templates import ChatTemplate, TemplateUse

_TEMPLATE = (
    "name", "file", "sha256", "content", "arguments", "results", "missing",
    "variables", "switches", "ending", "license", "source", "checked",
    "vocabulary", "carrier", "member", "bytes",
)  # fmt: skip
_CARRIER = ("name", "client", "package", "version", "file", "bytes", "sha256")


@dataclass(frozen=True, slots=True)
class Fetched:
    """A template that may not be redistributed: it comes with the vocabulary called ``vocabulary``, from ``carrier``.

    ``template`` has no source yet; ``member`` is where the carrier has it.
    """

    template: ChatTemplate
    vocabulary: str
    carrier: Carrier
    member: Member

    @property
    def file(self) -> str:
        """The name of its file in the directory of vocabularies."""
        return f"{self.template.name}.jinja"


@dataclass(frozen=True)
class Library:
    """All chat templates by name, those that ``shipped`` and those ``fetched``, and the ``uses`` of both."""

    shipped: Mapping[str, ChatTemplate]
    fetched: Mapping[str, Fetched]
    uses: tuple[TemplateUse, ...]

    def available(self, directory: Path) -> dict[str, ChatTemplate]:
        """The templates on this machine: those shipped, and those in ``directory`` that are what they should be."""
        found = dict(self.shipped)
        for name, entry in self.fetched.items():
            source = _source(directory / entry.file, entry.member.sha256)
            if source is not None:
                found[name] = replace(entry.template, source=source)
        return found

    @cached_property
    def by_vocabulary(self) -> Mapping[str, tuple[Fetched, ...]]:
        """The templates to fetch, by the vocabulary that they come with."""
        names = dict.fromkeys(entry.vocabulary for entry in self.fetched.values())
        return {name: tuple(e for e in self.fetched.values() if e.vocabulary == name) for name in names}


def read_library(data: Path = DATA) -> Library:
    """The package's templates. Raises ``InvalidConfig`` for a wrong row, or a file that is not what its row says."""
    document = Document(data / "templates.toml", ("carrier", "template", "chat"))
    carriers = {row.text("name"): _carrier(row) for row in document.rows("carrier")}
    shipped: dict[str, ChatTemplate] = {}
    fetched: dict[str, Fetched] = {}
    for row in document.rows("template"):
        row.only(_TEMPLATE)
        template = _template(row)
        if template.name in shipped or template.name in fetched:
            row.refuse(f"There are two templates {template.name!r}.", "name")
        if "carrier" in row.values:
            fetched[template.name] = _fetched(row, template, carriers)
        else:
            file = f"{row.text('file', template.name)}.jinja"
            source = _source(data / "templates" / file, row.text("sha256"))
            if source is None:
                row.refuse(f"templates/{file} is missing or has another hash.", "sha256")
            shipped[template.name] = replace(template, source=source)
    uses = tuple(_use(row, {*shipped, *fetched}) for row in document.rows("chat"))
    return Library(shipped, fetched, uses)


def _source(file: Path, sha256: str) -> str | None:
    """The template in ``file``; ``None`` where there is none, or another one."""
    try:
        data = file.read_bytes()
    except OSError:
        return None
    return data.decode() if hashlib.sha256(data).hexdigest() == sha256 else None


def _template(row: Row) -> ChatTemplate:
    content = cast("Content", row.one_of("content", ("text", "parts"), "text"))
    arguments = cast("Arguments", row.one_of("arguments", ("object", "text"), "object"))
    results = cast("Arguments", row.one_of("results", ("object", "text"), "text"))
    missing = cast("Missing", row.one_of("missing", ("empty", "none"), "empty"))
    return ChatTemplate(
        name=row.text("name"),
        source="",
        form=Form(content, arguments, results, missing),
        variables={**row.pairs("variables", str), **row.pairs("switches", bool)},
        ending=row.text("ending", ""),
        license=row.text("license"),
        origin=row.text("source"),
        checked=row.day("checked") or row.document.defaults.day("checked"),
    )


def _fetched(row: Row, template: ChatTemplate, carriers: Mapping[str, Carrier]) -> Fetched:
    carrier = carriers[row.one_of("carrier", carriers)]
    member = Member(row.text("member"), row.whole("bytes") or 0, row.text("sha256"))
    return Fetched(template, row.text("vocabulary"), carrier, member)


def _carrier(row: Row) -> Carrier:
    row.only(_CARRIER)
    return Carrier(
        client=Client(row.one_of("client", tuple(Client))),
        package=row.text("package"),
        version=row.text("version"),
        file=row.text("file"),
        bytes=row.whole("bytes") or 0,
        sha256=row.text("sha256"),
    )


def _use(row: Row, names: set[str]) -> TemplateUse:
    row.only(("provider", "models", "template", "source", "checked"))
    return TemplateUse(row.text("provider"), row.texts("models"), row.one_of("template", sorted(names)))
