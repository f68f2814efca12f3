"""The configuration file and the package's own data about models: one reader, one schema, errors with their line.

``read_config`` reads the user's ``weighbridge.toml``; ``load_catalog`` puts what it says over the package's models.
"""

from __future__ import annotations

import hashlib
import lzma
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any, cast, get_args

import regex

from adapters.port import Family, TokenizerSpec
from service.configfile.document import Document, Row
from service.configfile.prices import SECTIONS as PRICE_SECTIONS
from service.configfile.prices import PriceFile, provider_ids, read_prices
from service.configfile.webhooks import SECTION as WEBHOOKS
from service.configfile.webhooks import read_webhooks
from service.domain.catalog import Accuracy, Catalog, Estimator, Kind, ModelSpec, clashes, merge
from service.domain.errors import InvalidConfig
from service.domain.resolution import LONGEST_NAME, Host, normalised
from service.domain.spending.alerts import Target

DATA = Path(__file__).parents[1] / "data"

_TOKENIZER = ("name", "family", "file", "sha256", "pattern", "normalizer", "special", "license", "source")
_ESTIMATOR = ("name", "tokenizer", "factor", "low", "high", "slack", "repeats", "capitals", "source", "checked")
_MODEL = (
    *("provider", "id", "aliases", "tokenizer", "accuracy", "reasons", "estimator", "bounds"),
    *("context_window", "max_output_tokens", "kind", "source", "checked"),
)
_HOST = (
    *("id", "names", "prefixes", "marks", "vendors", "drop_prefixes", "drop_suffixes", "aliases", "regions"),
    *("neutral", "makers", "price_provider"),
)
_SHARED = ("provider", "tokenizer", "accuracy", "reasons", "estimator", "bounds", "kind", "source", "checked")
_NORMALIZERS = ("", "NFC", "NFKC")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
_MOST_ID = 2**31 - 1
_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Config:
    """What one file says: tokenizers, models, prices and webhooks, in the file's order, and estimators by name."""

    tokenizers: tuple[TokenizerSpec, ...] = ()
    models: tuple[ModelSpec, ...] = ()
    estimators: Mapping[str, Estimator] = field(default_factory=dict)
    prices: PriceFile = field(default_factory=PriceFile)
    webhooks: tuple[Target, ...] = ()


def read_config(
    path: Path,
    patterns: Mapping[str, str],
    *,
    required: bool = True,
    vocabularies: Collection[str] | None = None,
    env: Mapping[str, str] | None = None,
) -> Config:
    """Read the user's file. ``patterns`` are the split patterns that may be named.

    With ``vocabularies``, a model may name only these and the file's own tokenizers. With ``env``, webhooks have their
    secrets, from there and from their files; only who sends to them needs these. A file that is not there is empty,
    unless ``required``. Raises ``InvalidConfig``.
    """
    if not path.is_file():
        if required:
            raise InvalidConfig(path, 0, "The configuration file does not exist.")
        return Config()
    document = Document(path, ("tokenizer", "estimator", "model", *PRICE_SECTIONS, WEBHOOKS))
    tokenizers = _unique(document, "tokenizer", [_tokenizer(row, patterns) for row in document.rows("tokenizer")])
    known = None if vocabularies is None else {*vocabularies, *(spec.name for spec in tokenizers)}
    config = _config(document, tokenizers, _shipped_estimators() if document.values.get("model") else {}, known)
    config = replace(config, webhooks=read_webhooks(document, env))
    if not any(document.values.get(section) for section in PRICE_SECTIONS):
        return config
    hosts = shipped_hosts()
    providers = provider_ids(hosts, (model.provider for model in config.models))
    return replace(config, prices=read_prices(document, providers, hosts=hosts))


@cache
def shipped_prices(data: Path = DATA) -> tuple[PriceFile, ...]:
    """What the package itself says of prices, over the price list: one part for each file. Raises ``InvalidConfig``."""
    hosts = shipped_hosts(data)
    providers = provider_ids(hosts)
    documents = (Document(path, (*PRICE_SECTIONS, "canary")) for path in sorted((data / "prices").glob("*.toml")))
    return tuple(read_prices(document, providers, hosts=hosts, sourced=True) for document in documents)


def shipped_hosts(data: Path = DATA) -> list[Host]:
    """The vendors and sellers that the package knows."""
    return [_host(row) for row in Document(data / "hosts.toml", ("host",)).rows("host")]


def load_catalog(config: Config | None = None, data: Path = DATA) -> Catalog:
    """The package's models and sellers, with what ``config`` says put over them. Raises ``InvalidConfig``."""
    estimators = _shipped_estimators(data)
    models: list[ModelSpec] = []
    for path in sorted((data / "models").glob("*.toml")):
        models += _config(Document(path, ("estimator", "model")), (), estimators, None).models
    for provider, name in clashes(models):
        raise InvalidConfig(data / "models", 0, f"{provider}/{name} is claimed by two models.")
    return Catalog(merge(models, config.models if config else ()), shipped_hosts(data))


def _shipped_estimators(data: Path = DATA) -> dict[str, Estimator]:
    return _estimators(Document(data / "estimators.toml", ("estimator",)))


def _config(
    document: Document,
    tokenizers: tuple[TokenizerSpec, ...],
    estimators: Mapping[str, Estimator],
    vocabularies: Collection[str] | None,
) -> Config:
    document.defaults.only(_SHARED)
    every = dict(estimators) | _estimators(document)
    models, seen = [], dict[tuple[str, str], str]()
    for row in document.rows("model"):
        model = _model(row, every, vocabularies)
        for name in (model.id, *model.aliases):
            other = seen.setdefault((model.provider, name), model.id)
            if other != model.id or (name == model.id and model in models):
                row.refuse(f"{model.provider}/{name} already names the model {other!r} of this file.")
        models.append(model)
    return Config(tokenizers, tuple(models), every)


def _estimators(document: Document) -> dict[str, Estimator]:
    found: dict[str, Estimator] = {}
    for row in document.rows("estimator"):
        row.only(_ESTIMATOR)
        name = row.text("name")
        if name in found:
            row.refuse(f"The estimator {name!r} is there twice.", "name")
        slack = row.whole("slack", 0)
        if slack is None:
            row.refuse("[[estimator]] needs 'slack'.")
        found[name] = estimator = Estimator(
            row.text("tokenizer"),
            factor=row.number("factor"),
            low=row.number("low"),
            high=row.number("high"),
            slack=slack,
            repeats=row.flag("repeats", default=True),
            capitals=row.number("capitals", Decimal(0)),
            source=row.text("source", ""),
            checked=row.day("checked"),
        )
        if not estimator.low <= estimator.factor <= estimator.high:
            row.refuse("An estimator needs low <= factor <= high.", "factor")
    return found


def _model(row: Row, estimators: Mapping[str, Estimator], vocabularies: Collection[str] | None) -> ModelSpec:
    row.only(_MODEL)
    row = Row(row.document, row.section, row.index, {**row.document.defaults.values, **row.values})
    tokenizer = row.text("tokenizer", "") or None
    if tokenizer is not None and vocabularies is not None and tokenizer not in vocabularies:
        row.refuse(f"No such tokenizer. Known: {', '.join(sorted(vocabularies))}.", "tokenizer")
    estimator, bounds = (_estimator(row, key, estimators) for key in ("estimator", "bounds"))
    usual = Accuracy.EXACT if tokenizer else Accuracy.APPROXIMATE if estimator else Accuracy.UNKNOWN
    accuracy = Accuracy(row.one_of("accuracy", [*Accuracy], usual.value))
    if tokenizer is None and accuracy.rank < usual.rank:
        row.refuse(f"Without a tokenizer of its own the model is {usual.value} at best.", "accuracy")
    if tokenizer is not None and (accuracy is Accuracy.EXACT) != (bounds is None):
        row.refuse("'bounds' names the estimator that holds the error of a count that is not exact.", "accuracy")
    if bounds is not None and bounds.tokenizer != tokenizer:
        row.refuse("The estimator in 'bounds' is for another tokenizer.", "bounds")
    return ModelSpec(
        provider=_name(row, "provider", row.text("provider")),
        id=_name(row, "id", row.text("id")),
        aliases=tuple(_name(row, "aliases", alias) for alias in row.texts("aliases")),
        tokenizer=tokenizer,
        accuracy=accuracy,
        reasons=row.texts("reasons"),
        estimator=estimator,
        own_bounds=bounds,
        context_window=row.whole("context_window"),
        max_output_tokens=row.whole("max_output_tokens"),
        kind=cast("Kind", row.one_of("kind", get_args(Kind), "chat")),
        source=row.text("source", ""),
        checked=row.day("checked"),
    )


def _estimator(row: Row, key: str, estimators: Mapping[str, Estimator]) -> Estimator | None:
    name = row.text(key, "")
    if name and name not in estimators:
        row.refuse(f"No such estimator. Known: {', '.join(sorted(estimators))}.", key)
    return estimators.get(name)


def _name(row: Row, key: str, name: str) -> str:
    """A model's or provider's name as names are looked up; the comparison forgives case and blanks."""
    if len(name) > LONGEST_NAME:
        row.refuse(f"{key!r} is longer than {LONGEST_NAME} characters.", key)
    return normalised(name)


def _host(row: Row) -> Host:
    row.only(_HOST)
    marks = row.texts("marks")
    return Host(
        id=row.text("id"),
        names=row.texts("names"),
        prefixes=row.texts("prefixes"),
        marks=(*marks, *(region + mark for region in row.texts("regions") for mark in marks)),
        vendors=row.texts("vendors"),
        drop_prefixes=(*row.texts("drop_prefixes"), *row.texts("regions"), *marks),
        drop_suffixes=row.texts("drop_suffixes"),
        neutral=row.texts("neutral"),
        aliases=row.pairs("aliases", str),
        makers=row.pairs("makers", str),
        price_provider=row.text("price_provider", ""),
    )


def _tokenizer(row: Row, patterns: Mapping[str, str]) -> TokenizerSpec:
    row.only(_TOKENIZER)
    name = row.text("name")
    if not _NAME.fullmatch(name):
        row.refuse("'name' is made of letters, digits, '.', '_' and '-'.", "name")
    family = Family(row.one_of("family", [family for family in Family if family is not Family.CLAUDE]))
    path = row.document.path.parent / row.text("file")
    if not path.is_file():
        row.refuse(f"The file {path} does not exist.", "file")
    special = row.pairs("special", int)
    if any(not 0 <= i <= _MOST_ID for i in special.values()) or len(set(special.values())) < len(special):
        row.refuse(f"'special' gives each literal an id of its own, from 0 to {_MOST_ID}.", "special")
    if "" in special:
        row.refuse("A literal in 'special' is empty: it would stand everywhere.", "special")
    return TokenizerSpec(
        name=name,
        family=family,
        path=path,
        sha256=_sha256(row, path),
        pattern=_pattern(row, family, patterns),
        normalizer=row.one_of("normalizer", _NORMALIZERS, ""),
        special=special,
        license=row.text("license", ""),
        source=row.text("source", str(row.document.path)),
    )


def _pattern(row: Row, family: Family, patterns: Mapping[str, str]) -> str:
    pattern = row.text("pattern", "")
    if family in (Family.HUGGINGFACE, Family.SENTENCEPIECE):
        if pattern:
            row.refuse(f"A {family.value} file brings its own pattern: leave 'pattern' out.", "pattern")
        return ""
    if pattern in patterns:
        return patterns[pattern]
    if not pattern or _NAME.fullmatch(pattern):
        row.refuse(f"'pattern' must be a regular expression or one of {', '.join(sorted(patterns))}.", "pattern")
    try:
        regex.compile(pattern)
    except regex.error as error:
        row.refuse(f"'pattern' is no regular expression: {error}.", "pattern")
    return pattern


def _sha256(row: Row, path: Path) -> str:
    value = row.text("sha256", "")
    if not value:
        row.refuse(f"[[tokenizer]] needs 'sha256'. If the file is the right one: sha256 = \"{_hash_of(row, path)}\"")
    if not _SHA256.fullmatch(value):
        row.refuse("'sha256' must be 64 lower-case hexadecimal digits.", "sha256")
    return value


def _hash_of(row: Row, path: Path) -> str:
    """The hash of the file's content, decompressed where it is an .xz file."""
    try:
        with lzma.open(path) if path.suffix == ".xz" else path.open("rb") as file:
            return hashlib.file_digest(cast("Any", file), "sha256").hexdigest()
    except (OSError, lzma.LZMAError, EOFError) as error:
        row.refuse(f"The file {path} cannot be read: {error}.", "file")


def _unique(document: Document, section: str, specs: list[TokenizerSpec]) -> tuple[TokenizerSpec, ...]:
    seen: set[str] = set()
    for index, spec in enumerate(specs):
        if spec.name in seen:
            line = document.line(section, index, "name")
            raise InvalidConfig(document.path, line, f"The tokenizer {spec.name!r} is there twice.")
        seen.add(spec.name)
    return tuple(specs)
