"""What the commands work with: the settings, the manifest, the user's file and, when needed, one tokenizer."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cached_property
from importlib import resources

import click

from adapters.manifest import Manifest, read_manifest
from adapters.port import Tokenizer, TokenizerSpec
from service.cli.output import note
from service.configfile import Config, load_catalog, read_config
from service.domain.catalog import Catalog
from service.domain.counting import Scale, Weigher
from service.domain.errors import NoTokenizer
from service.domain.literals import control_marks
from service.settings import Settings


@dataclass(frozen=True)
class Environment:
    """Everything is read when it is first asked for, and only the tokenizer in use is loaded."""

    settings: Settings

    @cached_property
    def manifest(self) -> Manifest:
        """The package's vocabularies."""
        return read_manifest()

    @cached_property
    def config(self) -> Config:
        """The user's configuration file."""
        settings = self.settings
        return read_config(
            settings.config_file,
            self.manifest.patterns,
            required=settings.config is not None,
            vocabularies=(*self.manifest.vendored, *self.manifest.on_request),
        )

    @cached_property
    def catalog(self) -> Catalog:
        """The models."""
        return load_catalog(self.config)

    @cached_property
    def own(self) -> dict[str, TokenizerSpec]:
        """The user's own vocabularies."""
        return {spec.name: spec for spec in self.config.tokenizers}

    @cached_property
    def specs(self) -> dict[str, TokenizerSpec]:
        """Every vocabulary that is known, whether or not its file is on this machine."""
        on_request = {
            name: entry.spec(self.settings.vocabulary_dir) for name, entry in self.manifest.on_request.items()
        }
        return dict(self.manifest.vendored) | on_request | self.own

    def load(self, name: str) -> Tokenizer:
        """One tokenizer, checked and proven. Raises ``TokenizerError``."""
        from adapters.loader import LoaderOptions, Vocabularies  # noqa: PLC0415 - 140 ms that only counting costs

        patterns = frozenset(self.manifest.patterns.values())
        options = LoaderOptions(self.settings.engine, patterns, _say_fallback)
        return Vocabularies(self.specs, options).load(name)

    def scale(self, model: str | None, provider: str | None, tokenizer: str | None) -> Scale:
        """What to count with, by one of ``model`` and ``tokenizer``. Raises ``DomainError`` and ``TokenizerError``."""
        if model is None and tokenizer is not None:
            return self._weigher(tokenizer).scale_of_tokenizer(tokenizer)
        if model is None:
            raise click.UsageError("Give a model (-m) or a tokenizer (-t). `weighbridge models` lists the models.")
        spec = self.catalog.resolve(model, provider).model
        name = spec.tokenizer if self.has(spec.tokenizer) else None
        if name is None and spec.estimator is not None:
            name = spec.estimator.tokenizer
        if name is None:
            raise NoTokenizer(spec.tokenizer)
        return self._weigher(name).scale_of_model(model, provider)

    def has(self, name: str | None) -> bool:
        """Whether a vocabulary's file is on this machine."""
        return name in self.specs and self.specs[name].path.is_file()

    def _weigher(self, name: str) -> Weigher:
        return Weigher(self.catalog, {name: self.load(name)}, self._marks())

    def _marks(self) -> frozenset[str]:
        text = resources.files("service").joinpath("data/control_marks.toml").read_text("utf-8")
        formats = [mark for row in tomllib.loads(text)["format"] for mark in row["marks"]]
        return control_marks((spec.special for spec in self.specs.values()), formats)


def environment() -> Environment:
    """The environment as the variables describe it. Raises ``InvalidSetting``."""
    return Environment(Settings.from_env())


def _say_fallback(vocabulary: str, engine: str) -> None:
    note(f"{vocabulary}: a text that the usual engine cannot take was counted by the engine {engine!r}.")
