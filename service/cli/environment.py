"""What the commands work with: the settings, the manifest, the user's file and, when needed, tokenizers and prices."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING

import click

from adapters.manifest import Manifest, read_manifest
from adapters.port import TokenCounter, TokenizerSpec
from service.cli.output import note
from service.configfile import Config, load_catalog, read_config
from service.configfile.rules import rule_book
from service.configfile.shipped import chat_marks, compared_models, message_framings
from service.domain.catalog import Catalog, ModelSpec
from service.domain.counting import Scale, Weigher
from service.domain.errors import NoTokenizer, UnknownModel
from service.domain.framing import MessageFraming
from service.domain.literals import control_marks
from service.domain.ports import ChatRenderer
from service.domain.prices import PriceBook
from service.domain.pricing import Pricer
from service.domain.rulebook import RuleBook
from service.settings import Settings

if TYPE_CHECKING:
    from adapters.loader import Vocabularies
    from service.pricebook import PriceList
    from service.pricebook.refresh import RefreshOutcome


@dataclass(frozen=True)
class Environment:
    """Everything is read when it is first asked for, and only the tokenizers in use are loaded."""

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

    @property
    def price_list(self) -> PriceList:
        """The price list in force: the bundled one or, where a refresh is asked for, the copy that it kept."""
        return self._prices[0]

    @property
    def kept_copy(self) -> RefreshOutcome | None:
        """What became of the copy that the last refresh kept; ``None`` where no refresh is asked for."""
        return self._prices[1]

    @cached_property
    def priced(self) -> Catalog:
        """The models, and those of which only the price is known."""
        from service.pricebook import priced_catalog  # noqa: PLC0415 - as above

        return priced_catalog(self.catalog, self.price_list, self.config)

    @cached_property
    def book(self) -> PriceBook:
        """The price book: the price list, the package's patches and the user's prices."""
        from service.pricebook import price_book  # noqa: PLC0415 - as above

        return price_book(self.price_list, self.priced, self.config)

    @property
    def pricer(self) -> Pricer:
        """The prices of models that were resolved."""
        return Pricer(self.priced, self.book)

    @cached_property
    def own(self) -> dict[str, TokenizerSpec]:
        """The user's own vocabularies."""
        return {spec.name: spec for spec in self.config.tokenizers}

    @cached_property
    def installed(self) -> dict[str, TokenizerSpec]:
        """The vocabularies whose files are on this machine."""
        return self.manifest.available(self.settings.vocabulary_dir) | self.own

    @cached_property
    def specs(self) -> dict[str, TokenizerSpec]:
        """Every vocabulary that is known, whether or not its file is on this machine."""
        directory = self.settings.vocabulary_dir
        return {name: entry.spec(directory) for name, entry in self.manifest.on_request.items()} | self.installed

    @cached_property
    def framings(self) -> Sequence[MessageFraming]:
        """What the format of one user message adds."""
        return message_framings()

    @cached_property
    def rules(self) -> RuleBook:
        """How whole requests are counted."""
        return rule_book()

    def renderer(self, tokenizers: Mapping[str, TokenCounter]) -> ChatRenderer:
        """The chat templates on this machine, over the vocabularies in use."""
        from service.rendering.library import read_library  # noqa: PLC0415 - 60 ms that only whole requests cost
        from service.rendering.templates import TemplateRenderer  # noqa: PLC0415 - as above

        library = read_library()
        return TemplateRenderer(
            library.available(self.settings.vocabulary_dir),
            library.uses,
            tokenizers,
            clock=lambda: datetime.now(UTC),
            allow_own=self.settings.allow_chat_template,
        )

    @property
    def compared(self) -> Sequence[str]:
        """The models that a comparison shows where none are named."""
        return compared_models()

    def load(self, name: str) -> TokenCounter:
        """One tokenizer, checked and proven. Raises ``TokenizerError``."""
        return self._vocabularies.load(name)

    def scale(self, model: str | None, provider: str | None, tokenizer: str | None) -> Scale:
        """What to count with, by one of ``model`` and ``tokenizer``. Raises ``DomainError`` and ``TokenizerError``."""
        if model is None and tokenizer is not None:
            return self.weigher([tokenizer]).scale_of_tokenizer(tokenizer)
        if model is None:
            raise click.UsageError("Give a model (-m) or a tokenizer (-t). `weighbridge models` lists the models.")
        try:
            found = self.catalog.resolve(model, provider)
        except UnknownModel:
            found = self.priced.resolve(model, provider)
        return self.weigher([self.vocabulary_of(found.model)]).scale_of(found)

    def weigher(self, names: Iterable[str]) -> Weigher:
        """A weigher with the tokenizers called ``names``. Raises ``TokenizerError``."""
        return Weigher(self.catalog, {name: self.load(name) for name in names}, self._marks)

    def vocabulary_of(self, spec: ModelSpec) -> str:
        """The vocabulary that counts for a model: its own, or else its stand-in. Raises ``NoTokenizer``."""
        if spec.tokenizer is not None and self.has(spec.tokenizer):
            return spec.tokenizer
        if spec.estimator is None:
            raise NoTokenizer(spec.tokenizer)
        return spec.estimator.tokenizer

    def has(self, name: str | None) -> bool:
        """Whether a vocabulary's file is on this machine."""
        return name in self.installed

    @cached_property
    def _prices(self) -> tuple[PriceList, RefreshOutcome | None]:
        from service.pricebook import bundled_list  # noqa: PLC0415 - 20 ms, and 160 more for the list

        bundled = bundled_list()
        if not self.settings.prices_url:
            return bundled, None
        from service.cli.refreshed import restored  # noqa: PLC0415 - 100 ms that only a refreshed list costs

        return restored(self.settings, bundled)

    @cached_property
    def _vocabularies(self) -> Vocabularies:
        from adapters.loader import LoaderOptions, Vocabularies  # noqa: PLC0415 - 140 ms that only counting costs
        from adapters.native.cores import Cores  # noqa: PLC0415

        patterns = frozenset(self.manifest.patterns.values())
        settings = self.settings
        options = LoaderOptions(
            settings.engine, patterns, _say_fallback, settings.require_native, Cores(settings.workers)
        )
        return Vocabularies(self.specs, options)

    @cached_property
    def _marks(self) -> frozenset[str]:
        return control_marks((spec.special for spec in self.specs.values()), chat_marks())


def environment() -> Environment:
    """The environment as the variables describe it. Raises ``InvalidSetting``."""
    return Environment(Settings.from_env())


def _say_fallback(vocabulary: str, engine: str) -> None:
    note(f"{vocabulary}: the usual engine cannot serve here; the engine {engine!r} counted in its place.")
